"""Seed entries and thirty others, byte for byte, and as independent readers see them."""

import email
import email.policy
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from slack_sdk.models.blocks import Block as SlackBlock

from bot.core.model.message import Payload
from bot.notifiers.email_wire import to_bytes
from tests.golden import write
from tests.servers.discord_limits import message_errors
from tests.servers.slack_blocks import block_errors

GOLDEN = Path(write.__file__).parent
Stored = list[dict[str, object]]


def stored(platform: str, *, of: str = "") -> Stored:
    payloads: Stored = json.loads((GOLDEN / of / f"{platform}.json").read_text(encoding="utf-8"))
    assert len(payloads) == (30 if of else 8)
    return payloads


def every(platform: str) -> Stored:
    return [*stored(platform), *stored(platform, of="thirty")]


@pytest.mark.parametrize(("of", "rendered"), [("", write.seed_payloads), ("thirty", write.thirty_payloads)])
def test_everything_looks_as_it_did_when_somebody_looked_at_it(of: str, rendered: object) -> None:
    made: Iterable[tuple[str, list[Payload]]] = rendered()  # type: ignore[operator]  # one of the two above
    for platform, payloads in made:
        found = (GOLDEN / of / f"{platform}.json").read_text(encoding="utf-8")
        assert write.to_text(payloads) == found, platform


def test_slacks_own_models_give_every_block_back_unchanged() -> None:
    for payload in every("slack"):
        assert block_errors(payload["blocks"]) == []
        for block in payload["blocks"]:  # type: ignore[attr-defined]  # a list of blocks, as just judged
            known = SlackBlock.parse(block)
            assert known is not None
            assert known.to_dict() == block


def test_discords_limits_find_nothing_to_complain_about() -> None:
    for payload in every("discord"):
        assert message_errors(payload) == {}


def test_every_mail_reads_back_as_it_was_meant() -> None:
    for number, payload in enumerate(every("email")):
        raw = to_bytes(payload, recipient="a@example.org", message_id=f"<{number}@example.org>")
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        assert mail.defects == []
        headers = payload["headers"]
        assert isinstance(headers, dict)
        assert str(mail["Subject"]) == headers["Subject"]
        (sender,) = mail["From"].addresses
        assert (sender.addr_spec, sender.display_name in headers["From"]) == ("news@example.org", True)
        for kind, name in (("plain", "text"), ("html", "html")):
            part = mail.get_body((kind,))
            assert part is not None
            assert part.get_content().replace("\r\n", "\n") == payload[name]


def test_the_tag_is_the_entrys_own_and_the_date_a_day() -> None:
    for payload in stored("discord"):
        first = payload["embeds"][0]["description"].split("\n")[0]  # type: ignore[index]  # one embed
        assert first.split(" · ")[0] in ("evpn", "bgp", "infiniband", "roce")
        assert "AI Networking" not in first
        assert ":" not in first


def test_a_date_beside_hebrew_and_arabic_stays_in_one_piece() -> None:
    """The mark before it is ours: one that a feed brings is taken out."""
    marked = [json.dumps(payload).count("\\u200e") for payload in stored("discord", of="thirty")]
    assert [number for number, count in enumerate(marked, 1) if count] == [5, 6, 22]
    assert max(marked) == 1
