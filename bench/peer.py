"""A peer: the library `reader` (PyPI) on its own SQLite file, one worker. Run by a Python that has it."""

import argparse
import os
import tempfile
import time
from pathlib import Path

from bench.protocol import serve


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--feeds", type=int, default=100)
    parser.add_argument("--base", required=True)
    parser.add_argument("--close", action="store_true", help="it always closes")
    options = parser.parse_args()
    import requests.adapters  # type: ignore[import-untyped]
    from reader import make_reader  # type: ignore[import-not-found]

    if roots := os.environ.get("SSL_CERT_FILE"):
        # It looks at no environment; so it reads a bundle, as it does its own one, and knows the test's root.
        requests.adapters.DEFAULT_CA_BUNDLE_PATH = roots
        requests.adapters._preloaded_ssl_context = None
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-peer-") as folder:
        reader = make_reader(str(Path(folder) / "reader.sqlite"))
        for number in range(options.feeds):
            reader.add_feed(f"{options.base}/peer/{number}.xml")

        def play(_: object) -> dict[str, object]:
            results = list(reader.update_feeds_iter(workers=1, scheduled=False))
            failed = sum(isinstance(result.value, Exception) for result in results)
            return {"status": {"polled": len(results), "failed": failed}}

        serve(play, setup_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
