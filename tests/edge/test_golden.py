"""The eight seed entries on three platforms, byte for byte, and as independent readers see them."""

import email
import email.policy
import json
from pathlib import Path

import pytest
from slack_sdk.models.blocks import Block as SlackBlock

from bot.notifiers.email_wire import to_bytes
from tests.golden import write
from tests.servers.discord_limits import message_errors
from tests.servers.slack_blocks import block_errors

GOLDEN = Path(write.__file__).parent


def stored(platform: str) -> list[dict[str, object]]:
    payloads: list[dict[str, object]] = json.loads((GOLDEN / f"{platform}.json").read_text(encoding="utf-8"))
    assert len(payloads) == 8
    return payloads


@pytest.mark.parametrize("platform", write.PLATFORMS)
def test_the_seed_looks_as_it_did_when_somebody_looked_at_it(platform: str) -> None:
    made = dict(write.seed_payloads())[platform]
    assert write.to_text(made) == (GOLDEN / f"{platform}.json").read_text(encoding="utf-8")


def test_slacks_own_models_give_every_block_back_unchanged() -> None:
    for payload in stored("slack"):
        assert block_errors(payload["blocks"]) == []
        for block in payload["blocks"]:  # type: ignore[attr-defined]  # a list of blocks, as just judged
            known = SlackBlock.parse(block)
            assert known is not None
            assert known.to_dict() == block


def test_discords_limits_find_nothing_to_complain_about() -> None:
    for payload in stored("discord"):
        assert message_errors(payload) == {}


def test_every_mail_reads_back_as_it_was_meant() -> None:
    for number, payload in enumerate(stored("email")):
        raw = to_bytes(payload, recipient="a@example.org", message_id=f"<{number}@example.org>")
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        assert mail.defects == []
        assert str(mail["Subject"]) == payload["headers"]["Subject"]  # type: ignore[index]  # a table of headers
        (sender,) = mail["From"].addresses
        assert (sender.display_name, sender.addr_spec) == ("AI Networking · Darren Qu", "news@example.org")
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
