"""Asks feed servers politely and safely: a guarded, conditional, bounded GET."""
