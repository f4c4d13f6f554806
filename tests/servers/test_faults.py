"""Faults strike in order, as often as asked, and nobody else."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time

import aiohttp
import pytest

from tests.servers.faults import Fault, FaultPlan
from tests.servers.hooks import HookServer


def struck(plan: FaultPlan, lines: list[str]) -> list[int | None]:
    return [None if (fault := plan.take(line)) is None else fault.status for line in lines]


def test_the_first_fault_is_used_up_before_the_second_is_seen() -> None:
    plan = FaultPlan()
    plan.add(Fault(kind="status", status=500, times=2), Fault(kind="status", status=503))
    assert struck(plan, ["POST /a"] * 4) == [500, 500, 503, None]


def test_a_fault_may_skip_and_strike_each_second_until_cleared() -> None:
    plan = FaultPlan()
    plan.add(Fault(kind="status", skip=1, every=2, times=None))
    assert struck(plan, ["x"] * 6) == [None, 500, None, 500, None, 500]
    plan.clear()
    assert struck(plan, ["x"]) == [None]


def test_a_fault_strikes_only_what_it_matches() -> None:
    plan = FaultPlan()
    plan.add(Fault(kind="status", match="postMessage"))
    assert struck(plan, ["POST /api/auth.test", "POST /api/chat.postMessage"]) == [None, 500]


def test_a_fault_survives_its_json_and_a_typo_does_not() -> None:
    fault = Fault(kind="rate", retry_after="Wed, 21 Oct 2026 07:28:00 GMT", times=None)
    assert Fault.from_json(fault.to_json()) == fault
    with pytest.raises(ValueError, match="tiems"):
        Fault.from_json({"kind": "rst", "tiems": 2})


async def test_a_webhook_is_taken_only_with_its_signature() -> None:
    async with HookServer(secret=b"key") as hooks, aiohttp.ClientSession() as http:
        body, stamp = b'{"type": "entry", "entries": []}', str(int(time.time()))
        digest = base64.b64encode(hmac.new(b"key", f"msg_1.{stamp}.".encode() + body, hashlib.sha256).digest()).decode()
        headers = {"webhook-id": "msg_1", "webhook-timestamp": stamp, "Content-Type": "application/json"}
        for signature, status in ((f"v1,{digest}", 204), (f"v1,{digest[::-1]}", 400), ("", 400)):
            sent = headers | {"webhook-signature": signature}
            async with http.post(hooks.url + "/in", data=body, headers=sent) as answer:
                assert answer.status == status
        assert [hook.id for hook in hooks.messages] == ["msg_1"]
