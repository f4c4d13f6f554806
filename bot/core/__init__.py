"""What feedbell decides: pure functions over frozen values, without clock, chance, waiting or I/O."""
