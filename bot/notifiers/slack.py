"""Slack by bot token and by incoming webhook.

Plain aiohttp posts the JSON: a third of the CPU of slack_sdk, whose default handlers also post twice after a reset
connection (performance.md; decision 3). slack_sdk's models judge the payloads in our tests.
"""

import re
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from datetime import datetime, timedelta

import aiohttp

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    NotifyError,
    OutcomeUnknown,
)
from bot.core.model.delivery import WITHOUT_HISTORY, Destination, Probe, Receipt
from bot.core.model.message import Message, Payload
from bot.notifiers import slack_layout
from bot.notifiers.http import Answer, ask, clock_offset, string_in
from bot.notifiers.slack_errors import (
    NO_HISTORY,
    REFUSED,
    error_word,
    to_error,
    to_lookup_error,
    to_webhook_error,
    webhook_took_it,
    why_no_history,
)
from bot.notifiers.token import TokenGate
from bot.ports import Clock, Payloads

_ID = re.compile(r"[CGD][A-Z0-9]+")
_PERSON = re.compile(r"[UW][A-Z0-9]+")
_UPDATABLE = ("text", "blocks", "metadata", "parse", "link_names")  # what chat.update knows
PAGES = 5  # of history; a channel with more since the first try can't be searched to its end
PAGE = 999
LIST_PAGES = 20  # of channels, a thousand each
MARGIN = timedelta(hours=1)  # before the first try: clocks differ, and the offset is read from whole seconds

Json = dict[str, object]


class _Failed(Exception):
    """An answer with `ok: false`, and what it means for a message."""

    def __init__(self, error: NotifyError, answer: object) -> None:
        super().__init__(str(error))
        self.error = error
        self.answer = answer


class SlackNotifier:
    """Implements ports.Notifier for `slack:#name`, `slack:C…` and `slack:U…` (direct messages)."""

    def __init__(
        self, session: aiohttp.ClientSession, *, token: str, clock: Clock, api_url: str = "https://slack.com/api/"
    ) -> None:
        self._session = session
        self._api_url = api_url.rstrip("/") + "/"
        self._auth = {"Authorization": f"Bearer {token}"}
        self._clock = clock
        self._gate = TokenGate(clock)
        self._offset = timedelta(0)  # Slack's clock minus ours
        self._posts_anywhere = False  # the token may post in public channels that the bot is not in

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return slack_layout.to_payload(message, plain=plain)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        channel = destination.remote_id or _address(destination)
        if _PERSON.fullmatch(channel):
            channel = await self._before_sending(destination)
        return _receipt(await self._act("chat.postMessage", {"channel": channel, **payload}))

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        channel = await self._before_sending(destination)
        words = {name: payload[name] for name in _UPDATABLE if name in payload}
        # A plain edit must take the blocks of the rich one away.
        words.setdefault("blocks", [])
        return _receipt(await self._act("chat.update", {"channel": channel, "ts": remote_ref, **words}))

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        return (await self._found(destination, {key}, since, thread=payload.get("thread_ts"))).get(key)

    async def told(
        self, destination: Destination, keys: Set[str], payloads: Payloads, since: datetime
    ) -> Mapping[str, Receipt]:
        """Implements ports.History."""
        return await self._found(destination, keys, since)

    async def _found(
        self, destination: Destination, keys: Set[str], since: datetime, *, thread: object = None
    ) -> Mapping[str, Receipt]:
        try:
            channel = await self._id(destination)
            return await self._search(channel, keys, since, thread=thread)
        except _Failed as failed:
            raise to_lookup_error(failed.error, failed.answer) from None
        except (Deferred, OutcomeUnknown) as error:
            raise LookupUnavailable(str(error), retry_after=error.retry_after) from None
        except DestinationDown as error:
            raise LookupImpossible(str(error)) from None

    async def probe(self, destination: Destination) -> Probe:
        with _nothing_sent():
            return await self._look(destination)

    async def _before_sending(self, destination: Destination) -> str:
        with _nothing_sent():
            return await self._id(destination)

    async def _look(self, destination: Destination) -> Probe:
        address = destination.remote_id or _address(destination)
        name = _address(destination)
        if _PERSON.fullmatch(address):
            address = await self._open(address)
        elif destination.remote_id is None and not _ID.fullmatch(address):
            found, is_whole = await self._listed(address)
            if found is None:
                return await self._nameless(destination, is_whole=is_whole)
            address = found
        try:
            channel = _part(await self._call("conversations.info", channel=address), "channel")
        except _Failed as failed:
            if error_word(failed.answer) != "missing_scope":
                raise
            channel = {}  # posting needs no such right
        if channel.get("is_archived") is True:
            raise DestinationDown("the channel is archived (is_archived)")
        if channel.get("is_member") is False and not self._posts_anywhere:
            raise DestinationDown("the bot is not in the channel: invite it (not_in_channel)")
        shown = f"#{channel['name']}" if isinstance(channel.get("name"), str) and channel["name"] else name
        why_not = await self._why_no_history(address)
        return Probe(remote_id=address, can_look_up=why_not is None, why_not=why_not, name=shown)

    async def _nameless(self, destination: Destination, *, is_whole: bool) -> Probe:
        """The name is in no list that we may read. Where that is not every list, only a parked one stays so for it."""
        why = f"{_address(destination)} is not in the list of channels: it does not exist, or the bot is not invited"
        await self._call("auth.test")
        if is_whole or destination.parked is not None:
            raise DestinationDown(why)
        return Probe(why_not=why, name=_address(destination))

    async def _why_no_history(self, channel: str) -> str | None:
        try:
            await self._call("conversations.history", channel=channel, limit="1")
        except _Failed as failed:
            if error_word(failed.answer) not in NO_HISTORY:
                raise
            return why_no_history(failed.answer)
        return None

    async def _search(self, channel: str, keys: Set[str], since: datetime, *, thread: object) -> Mapping[str, Receipt]:
        found: dict[str, Receipt] = {}
        ask_for = {"channel": channel, "inclusive": "true", "include_all_metadata": "true", "limit": str(PAGE)}
        method = "conversations.history"
        if isinstance(thread, str):  # replies are in no history
            method, ask_for = "conversations.replies", {**ask_for, "ts": thread}
        cursor = ""
        for _ in range(PAGES):
            oldest = {"oldest": f"{(since - MARGIN + self._offset).timestamp():.6f}"}
            before = self._offset
            page = await self._call(method, **ask_for, **oldest, **({"cursor": cursor} if cursor else {}))
            for message in _list(page, "messages"):
                if (key := _key_of(message)) is not None and key in keys:
                    found[key] = Receipt(remote_ref=string_in(message, "ts"), remote_id=channel)
            if len(found) == len(keys):
                return found
            if self._offset < before - MARGIN / 2:
                continue  # Slack's clock is far behind ours: look again, from an earlier moment
            cursor = string_in(_part(page, "response_metadata"), "next_cursor") or ""
            if not cursor:
                return found
        raise LookupImpossible("the channel holds too many messages since the first try")

    async def _id(self, destination: Destination) -> str:
        if destination.remote_id is not None:
            return destination.remote_id  # Slack's own word, of whatever shape
        address = _address(destination)
        if _PERSON.fullmatch(address):
            return await self._open(address)
        found = address if _ID.fullmatch(address) else (await self._listed(address))[0]
        if found is None:
            raise DestinationDown(f"no list of channels that the bot may read holds {address}")
        return found

    async def _open(self, person: str) -> str:
        answer = await self._call("conversations.open", users=person)
        return string_in(_part(answer, "channel"), "id") or person

    async def _listed(self, name: str) -> tuple[str | None, bool]:
        """Return the id of the channel of this name, if a list has it, and whether all lists were read to the end."""
        is_whole = True
        for kinds in ("public_channel,private_channel", "public_channel"):
            try:
                found, is_end = await self._in_list(name.removeprefix("#"), kinds)
                return found, is_whole and is_end
            except _Failed as failed:
                if error_word(failed.answer) not in ("missing_scope", "unknown_method"):
                    raise
                is_whole = False
        return None, False

    async def _in_list(self, name: str, kinds: str) -> tuple[str | None, bool]:
        cursor = ""
        for _ in range(LIST_PAGES):
            page = await self._call("conversations.list", types=kinds, limit="1000", cursor=cursor)
            for channel in _list(page, "channels"):
                if isinstance(channel, dict) and channel.get("name") == name:
                    return string_in(channel, "id"), True
            cursor = string_in(_part(page, "response_metadata"), "next_cursor") or ""
            if not cursor:
                return None, True
        return None, False

    async def _act(self, method: str, arguments: Mapping[str, object]) -> Json:
        """Call a method that changes something, as JSON."""
        body: Payload = dict(arguments)  # type: ignore[arg-type]  # payloads and strings: JSON all through
        try:
            return await self._ask(method, payload=body)
        except _Failed as failed:
            raise failed.error from None

    async def _call(self, method: str, **arguments: str) -> Json:
        """Call a reading method, as a form: not all of them take JSON."""
        return await self._ask(method, form=arguments)

    async def _ask(self, method: str, *, payload: Payload | None = None, form: Mapping[str, str] | None = None) -> Json:
        async with self._gate.turn():
            url = self._api_url + method
            answer = await ask(
                self._session, "POST", url, service="Slack", payload=payload, form=form, headers=self._auth
            )
            return self._read(answer)

    def _read(self, answer: Answer) -> Json:
        now = self._clock.now()
        offset = clock_offset(answer, now=now)
        if offset is not None:
            self._offset = offset
        self._posts_anywhere |= "chat:write.public" in answer.headers.get("x-oauth-scopes", "")
        body = answer.json if answer.whole else None
        if answer.status == 200 and isinstance(body, dict) and body.get("ok") is True:
            self._gate.taken()
            return body
        if (word := error_word(body)) in REFUSED:
            self._gate.refused(f"Slack refuses the bot token (FEEDBELL_SLACK__BOT_TOKEN): {word}")
        raise _Failed(to_error(answer.status, body, retry_after=answer.retry_after(now=now)), body)


class SlackWebhookNotifier:
    """Implements ports.Notifier for `slack-webhook:NAME`: no id, no history, no edits. `urls` are secrets, by NAME."""

    def __init__(self, session: aiohttp.ClientSession, *, urls: Mapping[str, str], clock: Clock) -> None:
        self._session = session
        self._urls = dict(urls)
        self._clock = clock

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return slack_layout.to_payload(message, plain=plain, metadata=False)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        url = self._urls.get(_address(destination))
        if url is None:
            raise DestinationDown(f"no URL is set for {destination.uid}")
        answer = await ask(self._session, "POST", url, service="Slack's webhook", payload=payload)
        body = answer.body[:200].decode("utf-8", "replace")
        if 200 <= answer.status < 300 and (not answer.whole or webhook_took_it(body)):
            return Receipt()
        raise to_webhook_error(answer.status, body, retry_after=answer.retry_after(now=self._clock.now()))

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        raise DestinationDown("a Slack webhook can't edit")

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        raise LookupImpossible(WITHOUT_HISTORY["slack-webhook"])

    async def probe(self, destination: Destination) -> Probe:
        return Probe(why_not=WITHOUT_HISTORY["slack-webhook"])


@contextmanager
def _nothing_sent() -> Iterator[None]:
    """Whatever goes wrong inside, no message has left yet."""
    try:
        yield
    except (_Failed, OutcomeUnknown) as failed:
        error = failed.error if isinstance(failed, _Failed) else failed
        raise Deferred(str(error)) if isinstance(error, OutcomeUnknown) else error from None


def _address(destination: Destination) -> str:
    return destination.uid.partition(":")[2]


def _receipt(answer: Json) -> Receipt:
    channel = string_in(answer, "channel")
    known = channel if channel and _ID.fullmatch(channel) else None
    return Receipt(remote_ref=string_in(answer, "ts"), remote_id=known)


def _key_of(message: object) -> str | None:
    metadata = _part(message, "metadata")
    if metadata.get("event_type") != slack_layout.EVENT:
        return None
    return string_in(_part(metadata, "event_payload"), "k")


def _part(value: object, name: str) -> Json:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _list(value: Json, name: str) -> list[object]:
    found = value.get(name)
    return found if isinstance(found, list) else []
