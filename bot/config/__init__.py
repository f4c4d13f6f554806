"""What the operator wrote: read, checked and explained, every mistake at once with its place."""
