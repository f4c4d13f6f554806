"""Requests that come twice are taken once, and remembering them costs a bounded amount."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from bot.chat import inbound
from bot.chat.buttons import to_asked, to_value
from bot.chat.inbound import Once
from bot.core.errors import Forged, StoreUnavailable
from bot.services.commands import Button
from bot.services.commands.limits import Limits
from tests.chat_room import RoomClock, someone

KEEP = timedelta(seconds=600)


async def answer(text: bytes = b"answer") -> bytes:
    return text


async def test_the_same_request_gets_the_same_answer_also_while_it_is_worked_on() -> None:
    once, gate, made = Once(RoomClock(), keep=KEEP), asyncio.Event(), 0

    async def slowly() -> bytes:
        nonlocal made
        made += 1
        await gate.wait()
        return b"slow"

    asked = [asyncio.create_task(once.answer("a", slowly)) for _ in range(5)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*asked) == [b"slow"] * 5
    assert await once.answer("a", slowly) == b"slow"
    assert made == 1


async def test_a_request_is_forgotten_after_its_time_and_beyond_the_bound() -> None:
    clock = RoomClock()
    once = Once(clock, keep=KEEP, most=3)
    assert [await once.is_first(key) for key in "aab"] == [True, False, True]
    clock.advance(KEEP)
    assert await once.is_first("a")
    assert [await once.is_first(key) for key in "bcd"] == [True, True, True]
    assert await once.is_first("a")


async def test_answers_are_kept_within_a_bound_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound, "KEPT_BYTES", 10)
    once = Once(RoomClock(), keep=KEEP)
    assert await once.answer("a", lambda: answer(b"12345678")) == b"12345678"
    assert await once.answer("b", lambda: answer(b"12345678")) == b"12345678"
    assert await once.answer("a", answer) == b"12345678"
    assert await once.answer("b", answer) == b""


async def test_what_was_no_request_is_none_the_next_time_either() -> None:
    once = Once(RoomClock(), keep=KEEP)

    async def forged() -> bytes:
        raise Forged("no")

    for _ in range(2):
        with pytest.raises(Forged):
            await once.answer("a", forged)


class Shared:
    """A store of replicas that is slow, or away."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.hangs = hangs

    async def inbound_seen(self, request_id: str, *, now: datetime, until: datetime) -> bool:
        if self.hangs:
            await asyncio.Event().wait()
        raise StoreUnavailable("gone")


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_store_that_is_away_does_not_cost_the_answer(hangs: bool) -> None:
    once = Once(RoomClock(), keep=KEEP, store=Shared(hangs=hangs))
    assert await once.answer("a", answer) == b"answer"
    assert not await once.is_first("a")


@pytest.mark.parametrize(
    "button",
    [
        Button(label="x", name="latest", text='tag:"a b" 3', page=12),
        Button(label="x", name="add", text="https://x.example/?a=b:c\n confirm", posts=True),
        Button(label="x", name="help", text=""),
    ],
)
def test_a_button_asks_what_it_was_made_for(button: Button) -> None:
    asked = to_asked(to_value(button), someone())
    assert (asked.name, asked.text, asked.page, asked.public) == (button.name, button.text, button.page, button.posts)


@pytest.mark.parametrize("value", ["", "r", "x:0:latest:", "r:-1:latest:", "r:9999:latest:", "r:0:LATEST:", "r:0:"])
def test_a_value_that_no_button_of_ours_has_is_forged(value: str) -> None:
    with pytest.raises(Forged):
        to_asked(value, someone())


def test_limits_remember_a_bounded_number_of_people() -> None:
    limits = Limits(most=1, remembered=2)
    for key in "abc":
        limits.count(key, 0.0)
    assert [limits.wait(key, 1.0) is None for key in "abc"] == [True, False, False]
    assert limits.wait("c", 60.0) is None
