"""Fuzzing: whatever comes from outside is read or refused, never a fault of ours. Findings stay in corpus/."""
