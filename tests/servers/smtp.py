"""A strict mail server with TLS, AUTH, and faults at every stage of the conversation.

Stages that a fault's `match` may name: CONNECT, EHLO host, MAIL address, RCPT address, BODY (before the last dot),
END (after it: the only place where `store` has a meaning), QUIT.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.servers.faults import Fault, FaultPlan, Json
from tests.servers.journal import Clock, Journal, wall_clock
from tests.servers.loopback import reset
from tests.servers.mail import Mail, mail_faults


class SmtpServer:
    """One mail server on loopback. `security` is starttls (and then required before MAIL), tls, or none."""

    name = "smtp"

    def __init__(
        self,
        *,
        port: int = 0,
        journal: Journal | None = None,
        clock: Clock = wall_clock,
        security: str = "none",
        tls: ssl.SSLContext | None = None,
        username: str | None = None,
        password: str = "",
        max_size: int = 10 * 1024 * 1024,
        smtputf8: bool = True,
    ) -> None:
        if (security == "none") != (tls is None):
            raise ValueError("security and a TLS context come together")
        self.clock = clock
        self.security = security
        self.tls = tls
        self.username = username
        self.password = password
        self.max_size = max_size
        self.smtputf8 = smtputf8
        self.faults = FaultPlan()
        self.messages: list[Mail] = []
        self.violations: list[str] = []
        self.lines: list[str] = []  # the stages of every conversation, in order
        self.refused: dict[str, str] = {}  # recipient -> reply, such as "550 5.1.1 no such user"
        self.greylist: float | None = None  # seconds a new sender and recipient must wait
        self._greyed: dict[tuple[str, str], float] = {}
        self._journal = journal or Journal()
        self._port = port
        self._server: asyncio.Server | None = None
        self._links: set[_Conversation] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def host(self) -> str:
        return "127.0.0.1"

    @property
    def port(self) -> int:
        return self._port

    def to(self, address: str) -> list[Mail]:
        """Return what an address received, oldest first."""
        return [mail for mail in self.messages if address in mail.recipients]

    def messages_json(self) -> list[Json]:
        return [mail.to_json() for mail in self.messages]

    def set(self, *, refused: dict[str, str] | None = None, greylist: float | None = None) -> None:
        """Set all knobs at once; what is left out goes back to normal."""
        self.refused, self.greylist = dict(refused or {}), greylist

    def actions(self) -> dict[str, Callable[..., object]]:
        return {"set": self.set}

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        context = self.tls if self.security == "tls" else None
        self._server = await loop.create_server(lambda: _Conversation(self), self.host, self._port, ssl=context)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for link in tuple(self._links):
            link.abandon()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.sleep(0)
        await self._server.wait_closed()

    def note(self, what: str, **facts: object) -> None:
        self._journal.write(self.name, what, self.clock(), facts)

    def violate(self, text: str) -> None:
        self.violations.append(text)
        self.note("violation", text=text)

    def store(self, mail: Mail) -> None:
        self.messages.append(mail)
        self.note("stored", message=mail.to_json())

    def store_late(self, seconds: float, mail: Mail) -> None:
        async def later() -> None:
            await asyncio.sleep(seconds)
            self.store(mail)

        task = asyncio.ensure_future(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def judge_recipient(self, sender: str, recipient: str) -> str | None:
        """Return the reply that refuses a recipient, if any."""
        if recipient in self.refused:
            return self.refused[recipient]
        if self.greylist is None:
            return None
        now = self.clock()  # once: a clock that goes on by itself would make of the first try a second one
        waited = now - self._greyed.setdefault((sender, recipient), now)
        if waited >= self.greylist:
            return None
        if waited > 0:
            self.violate(f"{recipient} was tried again after {waited:.0f} s of {self.greylist:.0f}")
        return "450 4.7.1 greylisted, try again later"


class _Conversation(SMTP):
    """One connection; the hooks of aiosmtpd with our faults in front of them."""

    def __init__(self, server: SmtpServer) -> None:
        self.owner = server
        plain = server.security == "none"
        super().__init__(
            _Hooks(server),
            data_size_limit=server.max_size,
            enable_SMTPUTF8=server.smtputf8,
            hostname="mail.example.org",
            ident="ESMTP",
            tls_context=server.tls if server.security == "starttls" else None,
            require_starttls=server.security == "starttls",
            # Under implicit TLS aiosmtpd does not see that the line is safe.
            auth_require_tls=not plain and server.security != "tls",
            auth_required=False,  # judged at MAIL: aiosmtpd warns about it where there is no STARTTLS
            auth_exclude_mechanism=[] if server.username else ["PLAIN", "LOGIN"],
            authenticator=self._login,
            loop=asyncio.get_running_loop(),
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.owner._links.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.owner._links.discard(self)
        super().connection_lost(error)

    def abandon(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    async def push(self, status: Any) -> None:
        """Send a reply, unless a fault strikes in its place."""
        text = status if isinstance(status, str) else status.decode()
        greeting = self.session is not None and self.session.host_name is None
        if text.startswith("220") and greeting and "TLS" not in text:
            refusal = await self.strike("CONNECT")
            if refusal:
                await self.leave(refusal)
        await super().push(status)
        if text.startswith("354"):
            await self._strike_body()

    async def _strike_body(self) -> None:
        self.owner.lines.append("BODY")
        fault = self.owner.faults.take("BODY")
        if fault is None:
            return
        await self._reader.read(fault.at or 1)
        await self.cut(fault)

    async def strike(self, line: str) -> str | None:
        """Let a due fault act at this stage; return the reply it wants sent instead."""
        self.owner.lines.append(line)
        self.owner.note("stage", line=line)
        fault = self.owner.faults.take(line)
        if fault is None:
            return None
        self.owner.note("fault", line=line, fault=fault.to_json())
        return await self.perform(fault)

    async def perform(self, fault: Fault) -> str | None:
        if fault.kind in ("delay", "slow"):
            await asyncio.sleep(fault.seconds)
            return None
        if fault.kind in ("rst", "fin", "hang"):
            await self.cut(fault)
        reply = f"{fault.status} {fault.body or '4.3.0 made up by a test'}"
        if fault.status == 421:
            await self.leave(reply)
        return reply

    async def leave(self, reply: str) -> None:
        """Say a last word and close, as 421 promises."""
        await super().push(reply)
        await self.cut(Fault(kind="fin"))

    async def cut(self, fault: Fault) -> None:
        """End the connection, or fall silent; what ran on it is cancelled with it."""
        if fault.kind == "hang":
            await asyncio.sleep(fault.seconds or 3600)
        if fault.kind == "rst":
            reset(self.transport)
        elif self.transport is not None:
            self.transport.close()
        await asyncio.Event().wait()

    def _login(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object) -> AuthResult:
        given = (data.login, data.password) if isinstance(data, LoginPassword) else (b"", b"")
        good = given == ((self.owner.username or "").encode(), self.owner.password.encode())
        self.owner.note("login", mechanism=mechanism, good=good)
        return AuthResult(success=good, handled=False)


class _Hooks:
    """What aiosmtpd asks at each stage."""

    def __init__(self, server: SmtpServer) -> None:
        self._owner = server

    async def handle_EHLO(
        self, link: _Conversation, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        refusal = await link.strike(f"EHLO {hostname}")
        session.host_name = hostname
        return [refusal] if refusal else responses

    async def handle_MAIL(
        self, link: _Conversation, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self._owner.username and not session.authenticated:
            return "530 5.7.0 Authentication required"
        refusal = await link.strike(f"MAIL {address}")
        if refusal:
            return refusal
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(
        self, link: _Conversation, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        refusal = await link.strike(f"RCPT {address}") or self._owner.judge_recipient(envelope.mail_from or "", address)
        if refusal:
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, link: _Conversation, session: Session, envelope: Envelope) -> str:
        mail = Mail(
            at=self._owner.clock(),
            sender=envelope.mail_from or "",
            recipients=tuple(envelope.rcpt_tos),
            raw=envelope.original_content or b"",
            options=tuple(option.upper() for option in envelope.mail_options),
            tls=session.ssl is not None or self._owner.security == "tls",
        )
        faults = mail_faults(mail)
        for text in faults:
            self._owner.violate(text)
        if faults:
            return f"554 5.6.0 {faults[0]}"
        return await self._end(link, mail)

    async def _end(self, link: _Conversation, mail: Mail) -> str:
        line = f"END {mail.message_id}"
        self._owner.lines.append(line)
        fault = self._owner.faults.take(line)
        if fault is None or fault.kind in ("delay", "slow"):
            await asyncio.sleep(fault.seconds if fault else 0)
            self._owner.store(mail)
            return "250 2.0.0 OK: queued"
        self._owner.note("fault", line=line, fault=fault.to_json())
        if fault.store and fault.late:
            self._owner.store_late(fault.late, mail)
        elif fault.store:
            self._owner.store(mail)
        return await link.perform(fault) or "250 2.0.0 OK: queued"

    async def handle_QUIT(self, link: _Conversation, session: Session, envelope: Envelope) -> str:
        return await link.strike("QUIT") or "221 2.0.0 Bye"
