"""What the eight seed entries look like on each platform; `python -m tests.golden.write` writes them anew."""
