"""The mail notifier at the edge."""
