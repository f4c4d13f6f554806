"""`python -m bot`: the same as the `feedbell` command."""

from bot.cli import main

if __name__ == "__main__":
    main(prog_name="feedbell")
