"""The product as a contender: `runner.py --feeds N --base URL [--close] [--tls]`, started by any Python.

It asks `URL/feedbell/0.xml`, `URL/feedbell/1.xml` and so on. The roots to trust come from SSL_CERT_FILE.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv" / "bin" / "python"


def main() -> None:
    """Go on as the project's own Python, which has its libraries."""
    if Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        if not PYTHON.exists():
            sys.exit(f"{PYTHON} is missing; `make setup` makes it")
        os.execv(PYTHON, [str(PYTHON), str(Path(__file__).resolve()), *sys.argv[1:]])
    sys.path[0] = str(ROOT)  # this folder's modules are bench.*, none of them is at the top
    os.environ.pop("PYTHONPATH", None)
    from bench.contender import play

    parser = argparse.ArgumentParser()
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--base", default="http://127.0.0.1:8100")
    parser.add_argument("--close", action="store_true", help="a new connection for each poll")
    parser.add_argument("--tls", action="store_true", help="the base is https")
    parser.add_argument("--state", default="", help="where the store is (default: a new SQLite file)")
    parser.add_argument("--rows", type=int, default=0, help="feeds in the store, those beyond --feeds never due")
    parser.add_argument("--who", default="feedbell", help="the name in the addresses")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="feedbell-bench-") as folder:
        state = options.state or f"sqlite:///{folder}/bell.db"
        base = f"{options.base}/{options.who.replace(' ', '-')}"
        play(feeds=options.feeds, base=base, close=options.close, state=state, rows=options.rows)


if __name__ == "__main__":
    main()
