"""What the bot says about itself: its log, without secrets, and its metrics."""
