"""Each threat of docs/security.md has a test here that fails without its control."""
