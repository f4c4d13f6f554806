"""The nouns: frozen values that every layer speaks in."""
