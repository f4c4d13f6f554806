"""Where feedbell is asked: verify, parse, answer and acknowledge commands from Slack and Discord."""
