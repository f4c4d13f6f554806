"""feedbell rings when a feed has a new post: never lost, never twice, never a flood, never out of order."""
