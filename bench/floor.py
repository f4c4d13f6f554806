"""The floor: aiohttp alone, that asks with the validators it got and does nothing with the answers."""

import argparse
import asyncio
import ssl
import time
from collections import Counter

import aiohttp

from bench.protocol import serve

AT_ONCE = 50  # as many as feedbell's polling.concurrency


async def poll_all(session: aiohttp.ClientSession, urls: list[str], known: dict[str, dict[str, str]]) -> Counter[str]:
    """Ask each URL once."""
    seen: Counter[str] = Counter()
    waiting = iter(urls)

    async def work() -> None:
        for url in waiting:
            async with session.get(url, headers=known.get(url)) as answer:
                await answer.read()
                seen[str(answer.status)] += 1
                if answer.status == 200:
                    pairs = (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
                    known[url] = {ask: answer.headers[name] for ask, name in pairs if name in answer.headers}

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return seen


async def opened(*, close: bool, tls: bool) -> aiohttp.ClientSession:
    context = ssl.create_default_context() if tls else True
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE, force_close=close, ssl=context))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--base", required=True)
    parser.add_argument("--close", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    urls = [f"{options.base}/floor/{number}.xml" for number in range(options.feeds)]
    known: dict[str, dict[str, str]] = {}
    with asyncio.Runner() as runner:
        session = runner.run(opened(close=options.close, tls=options.base.startswith("https")))
        setup = time.perf_counter() - started
        serve(lambda _: {"status": runner.run(poll_all(session, urls, known))}, setup_s=setup)
        runner.run(session.close())


if __name__ == "__main__":
    main()
