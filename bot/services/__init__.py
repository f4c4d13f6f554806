"""What feedbell does: ask the world through the ports, ask the core, tell the world."""
