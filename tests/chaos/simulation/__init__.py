"""The whole bot in one process, under a clock that jumps and faults that one seed decides."""
