"""Chat against the local Slack and Discord."""
