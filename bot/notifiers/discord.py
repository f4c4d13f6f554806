"""Discord by bot token and by webhook, over plain aiohttp.

discord.py's own client retries behind our back, webhooks even without a nonce (R-7); it serves the gateway alone.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Set
from contextlib import contextmanager
from datetime import datetime, timedelta
from urllib.parse import quote

import aiohttp

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    OutcomeUnknown,
)
from bot.core.model.delivery import WITHOUT_HISTORY, Destination, Probe, Receipt
from bot.core.model.message import Message, Payload
from bot.notifiers import discord_layout
from bot.notifiers.discord_api import DiscordApi, Refused, Strikes
from bot.notifiers.discord_errors import UNKNOWN_MESSAGE, code_of, to_lookup_error
from bot.notifiers.discord_permissions import BITS, is_direct, is_forum, is_thread, missing, permissions_of
from bot.notifiers.http import Answer, string_in
from bot.ports import Clock, Payloads

EPOCH_MS = 1_420_070_400_000  # where Discord's ids begin to count
MARGIN = timedelta(minutes=10)  # before the first try: clocks differ
PAGES = 5
PAGE = 100

_SNOWFLAKE = re.compile(r"[0-9]{1,20}")

Json = dict[str, object]


def user_agent(contact: str, version: str) -> str:
    """Return the header in the only form that Discord takes."""
    return f"DiscordBot ({contact.replace(' ', '')}, {version})"


class DiscordNotifier:
    """Implements ports.Notifier for `discord:CHANNEL_ID` and `discord-user:ID` (direct messages)."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        token: str,
        clock: Clock,
        agent: str,
        strikes: Strikes,
        api_url: str = "https://discord.com/api/v10",
    ) -> None:
        self._base = api_url.rstrip("/")
        self._api = DiscordApi(session, clock, {"Authorization": f"Bot {token}", "User-Agent": agent}, strikes)
        self._me: str | None = None

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return discord_layout.to_payload(message, plain=plain)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        channel = await self._before_sending(destination)
        try:
            answer = await self._api.post(f"{self._channel(channel)}/messages", payload, bucket=channel)
        except Refused as refused:
            if code_of(refused.answer) == UNKNOWN_MESSAGE:  # the nonce's message was stored, and deleted since
                return Receipt(remote_id=channel)
            raise refused.error from None
        return _receipt(answer, channel)

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        channel = await self._before_sending(destination)
        url = f"{self._channel(channel)}/messages/{quote(remote_ref, safe='')}"
        try:
            return _receipt(await self._api.ask("PATCH", url, payload=_changed(payload)), channel)
        except Refused as refused:
            raise refused.error from None

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        async def payloads() -> Mapping[str, Payload]:
            return {key: payload}

        return (await self.told(destination, {key}, payloads, since)).get(key)

    async def told(
        self, destination: Destination, keys: Set[str], payloads: Payloads, since: datetime
    ) -> Mapping[str, Receipt]:
        """Implements ports.History."""
        try:
            channel = await self._id(destination)
            return await self._search(channel, await payloads(), snowflake(since - MARGIN))
        except Refused as refused:
            raise to_lookup_error(refused.error, refused.answer) from None
        except (Deferred, OutcomeUnknown) as error:
            raise LookupUnavailable(str(error), retry_after=error.retry_after) from None

    async def probe(self, destination: Destination) -> Probe:
        with _nothing_sent():
            return await self._look(destination)

    async def _look(self, destination: Destination) -> Probe:
        id = await self._id(destination)
        channel = await self._get(self._channel(id))
        name = f"#{channel['name']}" if isinstance(channel.get("name"), str) else destination.uid
        if is_forum(channel):
            raise DestinationDown("a forum channel takes no messages: name one of its threads")
        if is_direct(channel):
            return Probe(remote_id=id, can_look_up=True, name=name)
        rights = await self._permissions(channel)
        if rights is None:
            return Probe(remote_id=id, why_not="it can't be told whether the bot may read the history", name=name)
        lacks = missing(rights, thread=is_thread(channel))
        words = f"the bot lacks {', '.join(lacks)}" if lacks else None
        if set(lacks) - {"EMBED_LINKS", "READ_MESSAGE_HISTORY"}:
            raise DestinationDown(words or "")
        return Probe(remote_id=id, can_look_up="READ_MESSAGE_HISTORY" not in lacks, why_not=words, name=name)

    async def _search(self, channel: str, wanted: Mapping[str, Payload], after: int) -> Mapping[str, Receipt]:
        sought = _Sought(wanted, me=await self._own_id())
        start, found = after, dict[str, Receipt]()
        for _ in range(PAGES):
            params = {"after": str(after), "limit": str(PAGE)}
            page = (await self._api.ask("GET", f"{self._channel(channel)}/messages", params=params)).json
            messages = [item for item in page if isinstance(item, dict)] if isinstance(page, list) else None
            if messages is None:
                raise LookupUnavailable("Discord's history can't be read")
            for message in messages:
                if (key := sought.key_of(message, found)) is not None:
                    found[key] = Receipt(remote_ref=string_in(message, "id"), remote_id=channel)
            if len(found) == len(wanted):
                return found
            if len(messages) < PAGE:
                await self._trust_absence(channel, start, empty=not messages and after == start)
                return found
            after = max(_number(message, "id") for message in messages)
        raise LookupImpossible("the channel holds too many messages since the first try")

    async def _trust_absence(self, channel_id: str, after: int, *, empty: bool) -> None:
        """An empty list is also what a bot without READ_MESSAGE_HISTORY gets: raises LookupImpossible then."""
        if not empty:
            return
        channel = await self._get(self._channel(channel_id))
        if is_direct(channel):
            return
        rights = await self._permissions(channel)
        if rights is None:
            readable = _number(channel, "last_message_id") <= after  # nothing there to be hidden
        else:
            readable = bool(rights & BITS["READ_MESSAGE_HISTORY"])
        if not readable:
            raise LookupImpossible("the bot may not read the channel's history (READ_MESSAGE_HISTORY)")

    async def _permissions(self, channel: Json) -> int | None:
        """Compute what the bot may do there; None where Discord does not tell enough."""
        guild = string_in(channel, "guild_id")
        if guild is None:
            return None
        try:
            me = await self._own_id()
            roles = (await self._api.ask("GET", f"{self._base}/guilds/{guild}/roles")).json
            member = (await self._api.ask("GET", f"{self._base}/guilds/{guild}/members/{me}")).json
            if is_thread(channel) and (parent := string_in(channel, "parent_id")):
                channel = await self._get(self._channel(parent))
        except Refused as refused:
            if refused.answer.status in (403, 404):
                return None
            raise
        return permissions_of(me=me, guild=guild, roles=roles, member=member, channel=channel)

    async def _own_id(self) -> str:
        if self._me is None:
            self._me = string_in(await self._get(f"{self._base}/users/@me"), "id")
        return self._me or ""

    async def _before_sending(self, destination: Destination) -> str:
        with _nothing_sent():
            return await self._id(destination)

    async def _id(self, destination: Destination) -> str:
        scheme, _, address = destination.uid.partition(":")
        if destination.remote_id or scheme != "discord-user":
            return destination.remote_id or address
        opened = await self._api.ask("POST", f"{self._base}/users/@me/channels", payload={"recipient_id": address})
        return string_in(opened.json, "id") or address

    async def _get(self, url: str) -> Json:
        found = (await self._api.ask("GET", url)).json
        return found if isinstance(found, dict) else {}

    def _channel(self, id: str) -> str:
        return f"{self._base}/channels/{quote(id, safe='')}"


class DiscordWebhookNotifier:
    """Implements ports.Notifier for `discord-webhook:NAME`: it edits, but has no look-up. `urls` are secrets."""

    def __init__(
        self, session: aiohttp.ClientSession, *, urls: Mapping[str, str], clock: Clock, agent: str, strikes: Strikes
    ) -> None:
        self._urls = dict(urls)
        self._api = DiscordApi(session, clock, {"User-Agent": agent}, strikes)

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return discord_layout.to_payload(message, plain=plain, webhook=True)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        url = self._url(destination)
        try:
            # Without `wait` there is no id in the answer, and so no edit later.
            answer = await self._api.post(url, payload, bucket=url, params={"wait": "true"})
        except Refused as refused:
            raise refused.error from None
        return Receipt(remote_ref=string_in(answer.json, "id"))

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        url = f"{self._url(destination)}/messages/{quote(remote_ref, safe='')}"
        try:
            return Receipt(remote_ref=string_in((await self._api.ask("PATCH", url, payload=payload)).json, "id"))
        except Refused as refused:
            raise refused.error from None

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        raise LookupImpossible(WITHOUT_HISTORY["discord-webhook"])

    async def probe(self, destination: Destination) -> Probe:
        with _nothing_sent():
            shown = (await self._api.ask("GET", self._url(destination))).json
        return Probe(why_not=WITHOUT_HISTORY["discord-webhook"], name=string_in(shown, "name"))

    def _url(self, destination: Destination) -> str:
        url = self._urls.get(destination.uid.partition(":")[2])
        if url is None:
            raise DestinationDown(f"no URL is set for {destination.uid}")
        return url.rstrip("/")


def snowflake(at: datetime) -> int:
    """Return the id that a message made at `at` would have at least."""
    return max(0, int(at.timestamp() * 1000) - EPOCH_MS) << 22


class _Sought:
    """What is looked for in a history, by what a message there can be known by: a thousand at once after an outage."""

    def __init__(self, wanted: Mapping[str, Payload], *, me: str) -> None:
        self._me = me
        nonces = ((key, payload.get("nonce")) for key, payload in wanted.items())
        self._by_nonce = {str(nonce): key for key, nonce in nonces if nonce is not None}
        self._named = frozenset(self._by_nonce.values())
        self._by_words: dict[tuple[str, ...], list[str]] = {}
        for key, payload in wanted.items():
            self._by_words.setdefault(_words(payload), []).append(key)

    def key_of(self, message: Json, found: Collection[str]) -> str | None:
        """Return the key of what made `message`, unless that is `found`; None: nothing that is looked for."""
        author = message.get("author")
        if not isinstance(author, dict) or author.get("id") != self._me:
            return None
        nonce, alike = message.get("nonce"), self._by_words.get(_words(message), [])
        if nonce is not None:
            named = self._by_nonce.get(str(nonce))
            alike = [named] if named is not None else [key for key in alike if key not in self._named]
        return next((key for key in alike if key not in found), None)


def _words(message: Mapping[str, object]) -> tuple[str, ...]:
    """What survives storing unchanged: content; each embed's URL, title and, where it has no URL, its text."""
    embeds = message.get("embeds")
    words = [str(message.get("content") or "").strip()]
    for embed in embeds if isinstance(embeds, list) else []:
        if isinstance(embed, dict):
            url = str(embed.get("url") or "")
            words += [
                url,
                *(str(embed.get(name) or "").strip() for name in ("title", *(() if url else ("description",)))),
            ]
    return tuple(words)


def _changed(payload: Payload) -> Payload:
    """Return what an edit may carry; a plain one takes the embeds of the rich one away."""
    kept = {name: payload[name] for name in ("content", "embeds", "allowed_mentions") if name in payload}
    return {"embeds": [], **kept}


def _receipt(answer: Answer, channel: str) -> Receipt:
    ref = string_in(answer.json, "id")
    if ref is None:
        raise OutcomeUnknown("Discord's answer can't be read")
    return Receipt(remote_ref=ref, remote_id=channel)


@contextmanager
def _nothing_sent() -> Iterator[None]:
    """Whatever goes wrong inside, no message has left yet."""
    try:
        yield
    except (Refused, OutcomeUnknown) as failed:
        error = failed.error if isinstance(failed, Refused) else failed
        raise Deferred(str(error)) if isinstance(error, OutcomeUnknown | MessageRejected) else error from None


def _number(value: object, name: str) -> int:
    """Return an id; 0 for what is none."""
    text = string_in(value, name) or ""
    return int(text) if _SNOWFLAKE.fullmatch(text) else 0
