"""Politeness towards hosts: one at a time, a second apart, and peace when they ask for it (P9, P11)."""

from datetime import timedelta
from itertools import pairwise

from bot.core.errors import FetchError
from bot.core.model.feed import Feed, FeedId
from bot.services.poking import Pokes
from tests.services.fakes import Page
from tests.services.flow import HOUR, MINUTE, Flow, flows

URL = "https://blog.example/feed"


def _asked(flow: Flow, url: str = URL) -> list[float]:
    return [request.at for request in flow.fetcher.requests if request.url == url]


@flows
async def test_a_retry_after_is_kept_by_polls_pokes_and_the_rest_of_the_host(flow: Flow) -> None:
    page = await flow.follow("blog", url="https://shared.example/a")
    await flow.follow("other", url="https://shared.example/b")
    page.error = FetchError("too many", status=429, retry_after=timedelta(hours=3))
    await flow.store.poke(FeedId("blog"), now=flow.clock.now())
    await flow.poll()
    start = flow.loop.elapsed
    await flow.poll_now()
    await flow.run(2.9 * HOUR, polling=True)
    assert [request for request in flow.fetcher.requests if request.at > start] == []
    page.error = None
    await flow.run(HOUR, polling=True)
    assert {request.url for request in flow.fetcher.requests if request.at > start} == {
        "https://shared.example/a",
        "https://shared.example/b",
    }


@flows
async def test_feeds_of_one_host_are_asked_one_at_a_time_and_a_second_apart(flow: Flow) -> None:
    for number in range(4):
        await flow.follow(f"feed {number}", url=f"https://shared.example/{number}")
        flow.fetcher.pages[f"https://shared.example/{number}"].takes = timedelta(seconds=2)
    await flow.run(5)
    flow.fetcher.requests.clear()
    await flow.poll_now()
    times = [request.at for request in flow.fetcher.requests]
    assert len(times) == 4
    assert all(later - earlier > 2.999 for earlier, later in pairwise(times))


@flows
async def test_a_host_is_asked_a_second_apart_also_while_the_store_takes_nothing(flow: Flow) -> None:
    for number in range(3):
        await flow.follow(f"feed {number}", url=f"https://shared.example/{number}")
        flow.fetcher.pages[f"https://shared.example/{number}"].takes = timedelta(seconds=2)
    await flow.run(5)
    flow.fetcher.requests.clear()
    flow.break_store("commit")
    await flow.poll_now()
    times = [request.at for request in flow.fetcher.requests]
    assert len(times) == 3
    assert all(later - earlier > 2.999 for earlier, later in pairwise(times))
    assert {event.outcome for event in flow.polls[-3:]} == {"lost"}


@flows
async def test_feeds_of_ones_own_are_not_paced(flow: Flow) -> None:
    for number in range(3):
        await flow.follow(f"feed {number}", url=f"https://own.example/{number}", own=True)
    await flow.run(5)
    flow.fetcher.requests.clear()
    await flow.poll_now()
    assert len({request.at for request in flow.fetcher.requests}) == 1


@flows
async def test_a_wait_that_is_asked_for_one_page_does_not_keep_the_others_of_its_host_waiting(flow: Flow) -> None:
    page = await flow.follow("blog", url="https://shared.example/a")
    await flow.follow("other", url="https://shared.example/b")
    await flow.run(5)
    page.error = FetchError("there is no such page", status=404, retry_after=timedelta(hours=3))
    await flow.poll_now()
    start = flow.loop.elapsed
    await flow.run(2 * HOUR, polling=True)
    assert {request.url for request in flow.fetcher.requests if request.at > start} == {"https://shared.example/b"}


@flows
async def test_a_request_in_line_is_put_off_when_the_host_asks_for_peace_before_its_turn(flow: Flow) -> None:
    first = await flow.follow("first", url="https://shared.example/1")
    await flow.follow("second", url="https://shared.example/2")
    await flow.run(5)
    first.error = FetchError("too many", status=429, retry_after=timedelta(minutes=30))
    flow.fetcher.requests.clear()
    await flow.poll_now()
    assert [request.url for request in flow.fetcher.requests] == ["https://shared.example/1"]
    await flow.run(29 * MINUTE, polling=True)
    assert len(flow.fetcher.requests) == 1


@flows
async def test_a_poke_passes_while_another_feed_of_its_host_hangs(flow: Flow) -> None:
    await flow.follow("hanging", url="https://shared.example/1")
    await flow.follow("poked", url="https://shared.example/2")
    await flow.run(5)
    flow.fetcher.pages["https://shared.example/1"].takes = timedelta(seconds=50)
    flow.fetcher.requests.clear()
    await flow.store.poke(FeedId("hanging"), now=flow.clock.now())
    await flow.run(2, polling=True)
    pokes = Pokes(flow.store, flow.clock, flow.woken.set, hurry=flow.intake.gate.hurry)
    await pokes.poke(FeedId("poked"))
    await flow.run(3, polling=True)
    assert [request.url for request in flow.fetcher.requests] == [
        "https://shared.example/1",
        "https://shared.example/2",
    ]
    await pokes.stop()


@flows
async def test_a_long_queue_before_a_host_is_left_in_the_store(flow: Flow) -> None:
    for number in range(40):
        await flow.follow(f"feed {number}", url=f"https://shared.example/{number}")
    await flow.run(5)
    flow.fetcher.requests.clear()
    flow.polls.clear()
    await flow.poll_now()
    assert {event.outcome for event in flow.polls} == {"nothing", "put off"}
    await flow.run(2 * MINUTE, polling=True)
    assert len({request.url for request in flow.fetcher.requests}) == 40


@flows
async def test_a_host_of_many_feeds_that_hangs_keeps_no_other_waiting(flow: Flow) -> None:
    await flow.follow("well", url="https://well.example/feed")
    for number in range(700):
        url = f"https://hanging.example/{number}"
        flow.feeds[url] = Feed(id=FeedId(f"hanging-{number}"), url=url)
        flow.fetcher.pages[url] = Page(titles=["old 1"], takes=timedelta(seconds=30))
    await flow.store.sync_feeds(list(flow.feeds.values()), now=flow.clock.now())
    flow.fetcher.requests.clear()
    await flow.run(3 * HOUR, polling=True)
    times = _asked(flow, "https://well.example/feed")
    assert len(times) == 2  # one that promises nothing is polled each hour


@flows
async def test_older_pages_of_a_feed_are_asked_a_second_apart(flow: Flow) -> None:
    page = await flow.follow("blog")
    page.titles, page.next_page = ["post 9"], f"{URL}?page=2"
    flow.fetcher.pages[f"{URL}?page=2"] = Page(titles=["post 8"], next_page=f"{URL}?page=3")
    flow.fetcher.pages[f"{URL}?page=3"] = Page(titles=["old 1"])
    flow.fetcher.requests.clear()
    await flow.poll_now()
    times = [request.at for request in flow.fetcher.requests]
    assert len(times) == 3
    assert all(later - earlier > 0.999 for earlier, later in pairwise(times))
