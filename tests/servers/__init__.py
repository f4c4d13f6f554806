"""Strict local servers for Slack, Discord, SMTP and feeds, with faults to order."""
