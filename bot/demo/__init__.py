"""The demo: the whole bot on a replay of the AI Networking feed, with nothing to configure and no network."""
