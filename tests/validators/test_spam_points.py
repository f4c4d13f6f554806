"""No mail of ours costs a point at SpamAssassin; where it is not installed, that is said aloud."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.message import Message
from bot.core.model.route import OnEdit
from bot.core.render import render_owed
from bot.notifiers.email_layout import to_payload
from bot.notifiers.email_wire import message_id_of, to_bytes
from tests.core.messages import BERLIN, delivery, digest, entry, message
from tests.golden.thirty import thirty
from tests.golden.write import seed_entries

JUDGE_S = 120
READER = "reader@example.net"
UNSUBSCRIBE = "https://bell.example.org/unsubscribe/t0ken"
# What each mail passed on its way: a foreign host, a name that fits, encryption.
ENVELOPE = """\
Return-Path: <{sender}>
Received: from mail.example.org (mail.example.org [9.10.11.12])
\tby mx.example.net (Postfix) with ESMTPS id 4XABC{number}
\tfor <{reader}>; Wed, 16 Sep 2026 09:30:01 +0000 (UTC)
"""


@pytest.fixture(scope="module")
def spamassassin() -> str:
    found = shutil.which("spamassassin")
    if found is None:
        pytest.skip("the spam check needs spamassassin, which is not installed")
    return found


def mails() -> Iterator[bytes]:
    """Every kind of mail, with and without a name, a link to unsubscribe, and HTML."""
    ordinary = [*seed_entries(), *thirty()]
    edited = delivery(DeliveryKind.EDIT, options=Options(on_edit=OnEdit.THREAD))
    original = delivery(remote_ref=message_id_of("a" * 32, "email:reader@example.net", "example.org"))
    whole = [message(one) for one in ordinary]
    others: list[Message] = [
        digest(tuple(ordinary), more_url="https://bell.example.org/"),
        digest((entry(),)),
        render_owed(Owed(delivery=edited, entries=(entry(),), original=original), timezone=BERLIN),
        render_owed(
            Owed(delivery=delivery(DeliveryKind.NOTICE, notice="A feed is gone."), entries=()), timezone=BERLIN
        ),
    ]
    for said in (*whole, *others):
        yield wire(replace(said, unsubscribe_url=UNSUBSCRIBE))
    for said in (whole[0], *others):
        yield wire(said, sender="Our News <news@example.org>")
        yield wire(said, plain=True)


def wire(said: Message, *, sender: str = "news@example.org", plain: bool = False) -> bytes:
    payload = to_payload(said, sender=sender, plain=plain)
    return to_bytes(payload, recipient=READER, message_id=message_id_of(said.key, f"email:{READER}", "example.org"))


def points(program: str, folder: Path, letters: list[bytes]) -> list[dict[str, float]]:
    """Return the rules that each mail meets, in order, with what they cost."""
    whole = b""
    for number, letter in enumerate(letters):
        envelope = ENVELOPE.format(sender="news@example.org", reader=READER, number=number).encode()
        text = (envelope + f"X-Number: {number}\n".encode() + letter.replace(b"\r\n", b"\n")).rstrip(b"\n")
        whole += b"From news@example.org Wed Sep 16 09:30:01 2026\n" + re.sub(rb"(?m)^From ", b">From ", text) + b"\n\n"
    # Offline (-L), as a test (-t), without anybody's preferences (-x): points may only come from the mail itself.
    mailbox = folder / "mails.mbox"
    mailbox.write_bytes(whole)
    command = [program, "-L", "-t", "-x", "--mbox", str(mailbox)]
    judged = subprocess.run(command, capture_output=True, timeout=JUDGE_S, check=True)
    found: dict[int, dict[str, float]] = {}
    for part in re.split(rb"(?m)^From news@example\.org .*\n", judged.stdout)[1:]:
        which = re.search(rb"(?m)^X-Number: (\d+)$", part)
        assert which is not None
        rules = re.findall(rb"(?m)^ *(-?\d+\.\d) ([A-Z_0-9]+) ", part)
        found[int(which[1])] = {name.decode(): float(cost) for cost, name in rules}
    return [found[number] for number in range(len(letters))]


def test_no_mail_costs_a_point(spamassassin: str, tmp_path: Path) -> None:
    letters = list(mails())
    judged = points(spamassassin, tmp_path, letters)
    assert len(judged) > 50
    assert [{name: cost for name, cost in one.items() if cost > 0} for one in judged] == [{}] * len(letters)


def test_the_check_finds_a_mail_that_looks_like_spam(spamassassin: str, tmp_path: Path) -> None:
    bad = (
        wire(message())
        .replace(b"Date: Wed, 16 Sep 2026", b"Date: Wed, 16 Sep 2020")
        .replace(b"Subject: A title", b"Subject: ")
    )
    (rules,) = points(spamassassin, tmp_path, [bad])
    assert sum(cost for cost in rules.values() if cost > 0) > 1
