"""How feeds are polled: when, and what of it is told."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from bot.core.errors import FetchError
from bot.core.model.feed import Feed, FeedId, Fetched, Validators
from bot.services.poking import PATIENCE, Pokes
from tests.services.fakes import Page, body_of
from tests.services.flow import HOUR, MINUTE, Flow, flows

URL = "https://blog.example/feed"


def _asked(flow: Flow, url: str = URL) -> list[float]:
    return [request.at for request in flow.fetcher.requests if request.url == url]


@flows
async def test_first_poll_stores_but_tells_nobody(flow: Flow) -> None:
    await flow.follow("blog", "old 2", "old 1")
    await flow.run(MINUTE)
    assert flow.slack.tried == []
    assert await flow.store.entry("old 2") is not None


@flows
async def test_an_empty_first_poll_primes_and_the_first_entry_after_it_is_told(flow: Flow) -> None:
    page = await flow.follow("blog", "gone 1")
    empty = await flow.follow("other")
    empty.titles = []
    await flow.poll_now()
    await flow.publish(page, "post 2")
    await flow.run(5)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_each_entry_is_told_once_however_often_it_is_listed(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, "post 2")
    page.titles.reverse()
    await flow.poll_now()
    page.titles = []
    await flow.poll_now()
    page.titles = ["post 2", "old 1"]
    await flow.poll_now()
    await flow.run(MINUTE)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_validators_are_sent_as_they_were_given(flow: Flow) -> None:
    page = await flow.follow()
    page.etag = 'W/"odd""one'
    await flow.poll_now()
    await flow.poll_now()
    assert flow.fetcher.requests[-1].validators == Validators(etag='W/"odd""one', url=URL)
    assert flow.polls[-1].outcome == "nothing"


@flows
async def test_a_feed_is_polled_at_its_interval_and_not_sooner(flow: Flow) -> None:
    page = await flow.follow(interval=timedelta(minutes=15))
    page.etag = '"1"'
    await flow.poll_now()
    await flow.run(4 * HOUR, polling=True)
    gaps = [later - earlier for earlier, later in pairwise(_asked(flow)[1:])]
    assert len(gaps) > 10
    assert all(15 * MINUTE <= gap <= 17 * MINUTE for gap in gaps)


@flows
async def test_what_is_published_and_poked_during_a_poll_is_told_at_once(flow: Flow) -> None:
    page = await flow.follow()
    page.takes = timedelta(seconds=10)
    poll = asyncio.create_task(flow.poll_now())
    await flow.clock.sleep(timedelta(seconds=5))
    await flow.store.poke(FeedId("blog"), now=flow.clock.now())
    await poll
    asked = len(_asked(flow))
    await flow.run(5, polling=True)
    assert len(_asked(flow)) == asked + 1
    await flow.run(10 * MINUTE, polling=True)
    assert len(_asked(flow)) == asked + 1


@flows
async def test_failures_double_the_wait_and_the_first_success_restores_it(flow: Flow) -> None:
    flow.clock.rolls = 0.0
    page = await flow.follow(own=True, interval=timedelta(minutes=10))
    page.error = FetchError("the server answered 500", status=500)
    await flow.run(3 * HOUR, polling=True)
    gaps = [round((later - earlier) / MINUTE) for earlier, later in pairwise(_asked(flow))]
    assert gaps == [10, 20, 40, 80]
    page.error = None
    await flow.run(3 * HOUR, polling=True)
    assert round((_asked(flow)[-1] - _asked(flow)[-2]) / MINUTE) == 10


@flows
async def test_the_patience_after_a_poke_outlives_a_store_that_is_away_for_a_moment(flow: Flow) -> None:
    page = await flow.follow("blog")
    await flow.run(5)
    pokes = Pokes(flow.store, flow.clock, flow.woken.set, hurry=flow.intake.gate.hurry)
    await pokes.poke(FeedId("blog"))
    flow.break_store("poke")
    await flow.clock.sleep(PATIENCE[0] + timedelta(seconds=1))
    flow.mend_store()
    page.titles.insert(0, "post 2")
    await flow.run(PATIENCE[1].total_seconds() + 5, polling=True)
    assert flow.slack.titles() == ["post 2"]
    await pokes.stop()


@flows
async def test_a_document_that_shares_nothing_with_the_last_one_is_completed_from_its_older_pages(flow: Flow) -> None:
    page = await flow.follow("blog", "post 1")
    flow.fetcher.pages["https://blog.example/feed?page=2"] = Page(titles=["post 4", "post 3", "post 2", "post 1"])
    flow.fetcher.pages["https://elsewhere.example/"] = Page(titles=["spam 9"])
    page.titles = ["post 6", "post 5"]
    page.next_page = "https://blog.example/feed?page=2"
    await flow.poll_now()
    await flow.run(10)
    assert flow.slack.titles() == [f"post {number}" for number in range(2, 7)]

    page.titles = ["post 8", "post 7"]
    page.next_page = "https://elsewhere.example/"
    await flow.poll_now()
    await flow.run(10)
    assert flow.slack.titles()[-2:] == ["post 7", "post 8"]


@flows
async def test_older_pages_that_fail_hold_up_nothing(flow: Flow) -> None:
    page = await flow.follow("blog", "post 1")
    flow.fetcher.pages["https://blog.example/2"] = Page(error=FetchError("gone", status=404))
    page.titles, page.next_page = ["post 3", "post 2"], "https://blog.example/2"
    await flow.poll_now()
    await flow.run(10)
    assert flow.slack.titles() == ["post 2", "post 3"]


@flows
async def test_a_cut_off_document_is_waited_out_twice(flow: Flow) -> None:
    page = await flow.follow()
    page.truncated = True
    for _ in range(2):
        await flow.publish(page, f"post {len(page.titles) + 1}")
        assert flow.polls[-1].outcome == "failed"
    await flow.run(10)
    assert flow.slack.tried == []
    await flow.poll_now()
    await flow.run(10)
    assert flow.slack.titles() == ["post 2", "post 3"]


@flows
async def test_a_poll_whose_lease_was_lost_writes_nothing(flow: Flow) -> None:
    page = await flow.follow()
    page.titles.insert(0, "post 2")
    page.takes = timedelta(seconds=5)
    await flow.store.poke(FeedId("blog"), now=flow.clock.now())
    await flow.intake.poll_due()
    await asyncio.sleep(2)
    flow.steal_feed("blog")
    await flow.poll()
    assert flow.polls[-1].outcome == "lost"
    assert await flow.store.entry("post 2") is None
    page.takes = timedelta(0)
    await flow.run(3 * MINUTE, polling=True)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_a_clock_that_is_set_ahead_in_the_middle_of_a_poll_tells_nothing_twice(flow: Flow) -> None:
    page = await flow.follow(own=True)
    page.takes, page.titles[:0] = timedelta(minutes=1), ["post 2"]
    await flow.store.poke(FeedId("blog"), now=flow.clock.now())
    await flow.run(1, polling=True)
    flow.clock.shift += timedelta(minutes=3)
    await flow.run(3 * MINUTE, polling=True)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_a_poll_that_could_not_be_written_is_done_again(flow: Flow) -> None:
    page = await flow.follow()
    flow.break_store("commit")
    await flow.publish(page, "post 2")
    assert flow.polls[-1].outcome == "lost"
    flow.mend_store()
    await flow.run(3 * MINUTE, polling=True)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_a_pushed_document_is_taken_as_if_it_had_been_polled(flow: Flow) -> None:
    page = await flow.follow()
    pushed = Page(titles=["post 2", "old 1"])
    state = await flow.store.claim_feed(FeedId("blog"), now=flow.clock.now(), lease=timedelta(minutes=2))
    assert state is not None
    await flow.intake.ingest(
        state, Fetched(url=URL, body=body_of(pushed), content_type=None, validators=state.validators)
    )
    await flow.publish(page, "post 2")
    await flow.run(5)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_a_poke_asks_at_once_and_again_with_patience_until_something_new_comes(flow: Flow) -> None:
    page = await flow.follow(own=True, interval=timedelta(hours=6))
    pokes = Pokes(flow.store, flow.clock, flow.woken.set, hurry=flow.intake.gate.hurry)
    flow.on_poll = lambda event: pokes.found(event.feed) if event.new else None
    start, before = flow.loop.elapsed, len(flow.fetcher.requests)
    assert await pokes.poke(FeedId("blog"))
    await flow.run(70, polling=True)
    asked = [round(at - start) for at in _asked(flow)[before:]]
    waits = [wait.total_seconds() for wait in PATIENCE]
    assert asked == [0, *(round(sum(waits[:n])) for n in (1, 2, 3))]
    page.titles.insert(0, "post 2")
    await flow.run(20 * MINUTE, polling=True)
    assert len(_asked(flow)) - before == 5  # the fifth found it; there is no sixth
    assert flow.slack.titles() == ["post 2"]
    assert not await pokes.poke(FeedId("nobody"))
    await pokes.stop()


@flows
async def test_a_feed_gone_for_good_is_asked_once_a_day_and_stopped_at_the_third_answer(flow: Flow) -> None:
    page = await flow.follow(interval=timedelta(hours=1))
    page.error = FetchError("gone", status=410)
    await flow.poll_now()
    start = flow.loop.elapsed
    for _ in range(5):
        await flow.run(24 * HOUR, polling=True)
    assert len([at for at in _asked(flow) if at > start]) == 2
    assert any("is not polled any more" in words for words in flow.ops.titles())


@flows
async def test_a_flood_comes_as_one_digest_and_the_newest_ten(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, *(f"post {number}" for number in range(2, 22)))
    await flow.run(MINUTE)
    older = ", ".join(f"post {number}" for number in range(2, 12))
    assert flow.slack.titles() == [older, *(f"post {number}" for number in range(12, 22))]


@flows
async def test_a_feed_that_leaves_the_configuration_is_polled_no_more(flow: Flow) -> None:
    await flow.follow()
    await flow.store.sync_feeds([Feed(id=FeedId("other"), url="https://other.example/")], now=flow.clock.now())
    flow.fetcher.pages["https://other.example/"] = Page()
    before = len(_asked(flow))
    await flow.run(24 * HOUR, polling=True)
    assert len(_asked(flow)) == before


@flows
async def test_a_poll_of_a_former_address_that_is_under_way_does_not_stop_the_feed_at_its_new_one(flow: Flow) -> None:
    page = await flow.follow()
    page.error, new = FetchError("gone", status=410), "https://moved.example/feed"
    for _ in range(2):
        await flow.poll_now()
        await flow.run(25 * HOUR)
    page.takes = timedelta(seconds=5)
    await flow.store.poke(FeedId("blog"), now=flow.clock.now())
    await flow.run(2, polling=True)  # the third answer, on its way, says that it is gone for good
    flow.feeds["blog"] = replace(flow.feeds["blog"], url=new)
    flow.fetcher.pages[new] = Page(titles=["post 2", "old 1"])
    await flow.store.sync_feeds(list(flow.feeds.values()), now=flow.clock.now())
    await flow.run(MINUTE, polling=True)
    assert len(_asked(flow, new)) == 1
    assert flow.slack.titles() == ["post 2"]
