"""Tests over the real process: the contract as somebody outside sees it."""
