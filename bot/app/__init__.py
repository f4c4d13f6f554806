"""The composition root: builds everything, introduces everybody, starts and stops the loops."""
