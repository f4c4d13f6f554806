"""Payloads drawn as their platforms draw them: for eyes, by escaping alone."""
