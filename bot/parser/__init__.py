"""Parses feeds in a guarded process of their own: hostile bytes can end that process, and nothing else."""
