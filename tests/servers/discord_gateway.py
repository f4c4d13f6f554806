"""Discord's gateway: hello, identify, ready, heartbeats, resume, and the ways it ends a connection.

Sources: Discord's documentation, Gateway, Gateway Events, Opcodes and Status Codes.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from tests.servers.discord_state import APPLICATION, BOT, GUILD, iso, user_json
from tests.servers.faults import Json
from tests.servers.loopback import reset

if TYPE_CHECKING:
    from tests.servers.discord import DiscordServer

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 3, 6, 7, 9, 10, 11
SESSION_LIFE = 180.0  # seconds a lost session waits for its resume
MAX_COMMANDS = 120  # a minute
HEARTBEAT_SLACK = 1.0  # seconds; Discord tolerates some, it does not say how much


@dataclass(slots=True, kw_only=True)
class Session:
    """What outlives a connection: the events of one identify, by number."""

    id: str
    intents: int
    link: Link | None = None
    sequence: int = 0
    events: list[Json] = field(default_factory=list)
    lost_at: float | None = None


class Link:
    """One connection, with or without transport compression."""

    def __init__(self, socket: web.WebSocketResponse, compression: str) -> None:
        self.socket = socket
        self.session: Session | None = None
        self.commands: list[float] = []
        self._compress = compressor(compression)

    async def send(self, op: int, d: object = None, *, s: int | None = None, t: str | None = None) -> None:
        if self.socket.closed:
            return
        text = json.dumps({"op": op, "d": d, "s": s, "t": t})
        if self._compress is None:
            await self.socket.send_str(text)
        else:
            await self.socket.send_bytes(self._compress(text.encode()))


def compressor(name: str) -> Callable[[bytes], bytes] | None:
    """Return what turns a packet into its share of the connection's one stream; None without compression."""
    if name == "zlib-stream":
        zipper = zlib.compressobj()
        return lambda data: zipper.compress(data) + zipper.flush(zlib.Z_SYNC_FLUSH)
    if name == "zstd-stream":
        # Only Python 3.14 has it, and only there do clients ask for it.
        zstd = importlib.import_module("compression.zstd")

        packer = zstd.ZstdCompressor()
        return lambda data: bytes(packer.compress(data, mode=packer.FLUSH_BLOCK))
    return None


class Gateway:
    """The gateway of one bot. Counts what a careless client would spend: identifies, of 1,000 a day."""

    def __init__(self, discord: DiscordServer) -> None:
        self.sessions: dict[str, Session] = {}
        self.sessions_left = 1000
        self.identifies = 0
        self.resumes = 0
        self.heartbeat_interval = 41.25  # seconds
        self.heartbeats: list[float] = []
        self._discord = discord
        self._links: list[Link] = []
        self._count = itertools.count(1)
        self._change = asyncio.Event()
        self._frozen: set[Link] = set()

    @property
    def live(self) -> list[Session]:
        """All sessions that hear events now."""
        return [session for session in self.sessions.values() if session.link is not None]

    @property
    def url(self) -> str:
        return f"ws{self._discord.url.removeprefix('http')}/gateway"

    async def address(self, request: web.Request) -> Json:
        return {"url": self.url}

    async def address_for_bots(self, request: web.Request) -> Json:
        limit = {"total": 1000, "remaining": self.sessions_left, "reset_after": 14_400_000, "max_concurrency": 1}
        return {"url": self.url, "shards": 1, "session_start_limit": limit}

    async def wait_ready(self, sessions: int = 1) -> None:
        """Wait until this many sessions hear events."""
        while len(self.live) < sessions:
            self._change.clear()
            await self._change.wait()

    async def dispatch(self, event: str, payload: Json) -> int:
        """Send an event to every session, or keep it for those that may resume; return how many live ones got it."""
        heard = 0
        for session in tuple(self.sessions.values()):
            if self._is_over(session):
                del self.sessions[session.id]
                continue
            heard += session.link is not None
            await self._event(session, event, payload)
        return heard

    async def reconnect(self) -> None:
        """Send op 7: the client shall come back and resume."""
        await self._to_all(RECONNECT)

    async def invalidate(self, resumable: bool = False) -> None:
        """Send op 9. Without `resumable` every session ends, and clients must identify anew."""
        if not resumable:
            self.sessions.clear()
        await self._to_all(INVALID, resumable)

    async def drop(self, code: int = 0) -> None:
        """Close every connection with a close code; 0 resets it without a word."""
        for link in tuple(self._links):
            if code:
                await link.socket.close(code=code)
            else:
                reset(link.socket._req.transport if link.socket._req else None)

    def freeze(self) -> int:
        """Leave the present connections open but deaf: no heartbeat is acknowledged. New ones are well."""
        self._frozen.update(self._links)
        return len(self._frozen)

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection for as long as it lives."""
        socket = web.WebSocketResponse(max_msg_size=4096)  # above 4 KiB Discord closes with 4002
        await socket.prepare(request)
        link = Link(socket, request.query.get("compress", ""))
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            await socket.close(code=4012)
            return socket
        self._links.append(link)
        await link.send(HELLO, {"heartbeat_interval": int(self.heartbeat_interval * 1000)})
        try:
            await self._listen(link)
        finally:
            self._links.remove(link)
            self._frozen.discard(link)
            self._lose(link)
        return socket

    async def _listen(self, link: Link) -> None:
        """Take commands until one ends the connection, or no heartbeat comes in time."""
        loop = asyncio.get_running_loop()
        beat_at = loop.time()
        while not link.socket.closed:
            left = beat_at + self.heartbeat_interval + HEARTBEAT_SLACK - loop.time()
            try:
                message = await link.socket.receive(timeout=max(left, 0.01))
            except TimeoutError:
                self._discord.violate("a heartbeat was late")
                await link.socket.close(code=4009)
                return
            if message.type != WSMsgType.TEXT:
                return
            code = await self._take(link, message.data)
            if code:
                await link.socket.close(code=code)
                return
            if is_heartbeat(message.data):
                beat_at = loop.time()
                self.heartbeats.append(self._discord.clock())
                self._discord.note("heartbeat")

    async def _take(self, link: Link, text: str) -> int:
        """Act on one command; return the close code it earns, or 0."""
        try:
            packet = json.loads(text)
            op, d = packet["op"], packet.get("d")
        except (ValueError, KeyError, TypeError):
            return 4002
        if self._too_many(link):
            return 4008
        if link in self._frozen:
            return 0
        if op == HEARTBEAT:
            await link.send(ACK)
            return 0
        if op == IDENTIFY:
            return await self._identify(link, d or {})
        if op == RESUME:
            return await self._resume(link, d or {})
        if link.session is None:
            return 4003
        return 0 if op in (PRESENCE, 4, 8) else 4001

    async def _identify(self, link: Link, d: Json) -> int:
        self.identifies += 1
        self._discord.note("identify", count=self.identifies, intents=d.get("intents"))
        if link.session is not None:
            return 4005
        if d.get("token") != self._discord.bot_token or self._discord.token_revoked:
            return 4004
        if not isinstance(d.get("intents"), int):
            return 4013
        if self.sessions_left <= 0:
            self._discord.violate("more than 1,000 identifies: the token was reset")
            self._discord.token_revoked = True
            return 4004
        self.sessions_left -= 1
        session = Session(id=f"session-{next(self._count)}", intents=d["intents"], link=link)
        self.sessions[session.id] = session
        link.session = session
        await self._event(session, "READY", self._ready(session))
        if session.intents & 1:
            await self._event(session, "GUILD_CREATE", self._guild())
        self._change.set()
        return 0

    async def _resume(self, link: Link, d: Json) -> int:
        self.resumes += 1
        session = self.sessions.get(str(d.get("session_id")))
        self._discord.note("resume", session=d.get("session_id"), known=session is not None)
        if d.get("token") != self._discord.bot_token:
            return 4004
        if session is None or self._is_over(session):
            await link.send(INVALID, False)
            return 0
        missed = [event for event in session.events if event["s"] > int(d.get("seq") or 0)]
        session.link, session.lost_at, link.session = link, None, session
        for event in missed:
            await link.send(**event)
        await self._event(session, "RESUMED", {})
        self._change.set()
        return 0

    async def _event(self, session: Session, name: str, payload: Json) -> None:
        session.sequence += 1
        packet: Json = {"op": DISPATCH, "d": payload, "s": session.sequence, "t": name}
        session.events.append(packet)
        if session.link is not None:
            await session.link.send(**packet)

    def _lose(self, link: Link) -> None:
        """Keep the session for a resume, unless the client said that it leaves for good."""
        session = link.session
        if session is None or session.link is not link:
            return
        session.link = None
        session.lost_at = self._discord.clock()
        if link.socket.close_code in (1000, 1001):
            self.sessions.pop(session.id, None)
        self._discord.note("gateway closed", code=link.socket.close_code, session=session.id)
        self._change.set()

    def _is_over(self, session: Session) -> bool:
        return session.lost_at is not None and self._discord.clock() - session.lost_at > SESSION_LIFE

    def _too_many(self, link: Link) -> bool:
        now = asyncio.get_running_loop().time()
        link.commands = [at for at in link.commands if now - at < 60] + [now]
        return len(link.commands) > MAX_COMMANDS

    async def _to_all(self, op: int, d: object = None) -> None:
        for link in tuple(self._links):
            await link.send(op, d)

    def _ready(self, session: Session) -> Json:
        return {
            "v": 10,
            "user": user_json(BOT),
            "guilds": [{"id": GUILD, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "session_type": "normal",
            "shard": [0, 1],
            "application": {"id": APPLICATION, "flags": 0},
        }

    def _guild(self) -> Json:
        channels = [channel.to_json() for channel in self._discord.guild.channels.values() if channel.guild]
        plain: Json = {"emojis": [], "stickers": [], "features": [], "members": [], "threads": [], "presences": []}
        plain |= {"voice_states": [], "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": []}
        return plain | {
            "id": GUILD,
            "name": "Test Guild",
            "owner_id": "501",
            "roles": self._discord.role_rows(),
            "channels": channels,
            "joined_at": iso(self._discord.clock()),
            "member_count": 3,
            "large": False,
            "unavailable": False,
        }


def is_heartbeat(text: str) -> bool:
    try:
        return bool(json.loads(text).get("op") == HEARTBEAT)
    except (ValueError, AttributeError):
        return False
