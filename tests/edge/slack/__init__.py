"""The Slack notifiers at the edge."""
