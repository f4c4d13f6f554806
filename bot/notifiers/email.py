"""Mail by SMTP: one recipient a transaction, and a sharp line at the final dot.

Before the dot the server must throw away what it got (RFC 5321, 4.1.1.4), so a lost connection means: not sent. After
it only the answer tells, and the wait for that is long (4.5.3.2.6: a hasty timeout makes second copies).
"""

import ipaddress
import re
import ssl
from datetime import datetime, timedelta
from email.utils import parseaddr

import aiosmtplib

from bot.core.errors import (
    Deferred,
    DestinationDown,
    MessageRejected,
    NotifyError,
    OutcomeUnknown,
    Scope,
)
from bot.core.model.delivery import WITHOUT_HISTORY, Destination, Probe, Receipt
from bot.core.model.message import Message, Payload
from bot.crash import point
from bot.notifiers.email_layout import domain_of, to_payload
from bot.notifiers.email_wire import ascii_address, message_id_of, to_bytes
from bot.ports import Clock

COMMAND_WAIT = timedelta(minutes=2)
FINAL_WAIT = timedelta(minutes=10)  # RFC 5321, 4.5.3.2.6
GREYLIST_WAIT = timedelta(minutes=5)  # a greylisting server refuses whoever comes back earlier
_UNFLUSHED = timedelta(milliseconds=20)  # between looks at a send buffer that is not empty yet
_ADDRESS = re.compile(r"[^\s<>@,;:\x00-\x1f\x7f]+@[^\s<>@,;\x00-\x1f\x7f]+")


class EmailNotifier:
    """Implements ports.Notifier for `email:ADDRESS`."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        sender: str,
        clock: Clock,
        security: str = "starttls",
        username: str | None = None,
        password: str | None = None,
        ca_file: str | None = None,
        command_wait: timedelta = COMMAND_WAIT,
        final_wait: timedelta = FINAL_WAIT,
    ) -> None:
        """`security` is starttls, tls or none; `sender` may carry a display name; `ca_file` adds to the system's."""
        self._host = host
        self._port = port
        self._sender = sender
        self._domain = domain_of(sender)
        self._clock = clock
        self._security = security
        self._login = (username, password or "") if username else None
        self._ca_file = ca_file
        self._command_wait = command_wait.total_seconds()
        self._final_wait = final_wait.total_seconds()
        self._tls: ssl.SSLContext | None = None

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return to_payload(message, sender=self._sender, plain=plain)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        recipient = ascii_address(destination.uid.partition(":")[2])
        if not _ADDRESS.fullmatch(recipient) or not recipient.isascii():
            raise DestinationDown("its address is no mail address")
        message_id = message_id_of(key, destination.uid, self._domain)
        data = to_bytes(payload, recipient=recipient, message_id=message_id)
        client = await self._connect()
        try:
            await self._envelope(client, recipient)
            await self._transmit(client, data)
        finally:
            client.close()
        return Receipt(remote_ref=message_id)

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        raise MessageRejected("a mail can't be changed")

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        """Nothing to look at: it is sent again under the same Message-ID."""
        return None

    async def probe(self, destination: Destination) -> Probe:
        client = await self._connect()
        try:
            await client.noop()
        except (aiosmtplib.SMTPException, OSError) as error:
            raise to_error("connect", error) from None
        finally:
            client.close()
        return Probe(why_not=WITHOUT_HISTORY["email"], name=self._host)

    async def _connect(self) -> aiosmtplib.SMTP:
        if self._login and self._security == "none" and not is_loopback(self._host):
            raise DestinationDown("a password is not sent without TLS", scope=Scope.ACCOUNT)
        client = aiosmtplib.SMTP(
            hostname=self._host,
            port=self._port,
            local_hostname=self._domain,
            timeout=self._command_wait,
            use_tls=self._security == "tls",
            start_tls=False,
            tls_context=self._context(),
        )
        point("send.before_connect")
        try:
            await client.connect()
            if self._security == "starttls":
                await client.starttls()
            if self._login:
                await client.login(*self._login)
        except (aiosmtplib.SMTPException, OSError) as error:
            client.close()
            raise to_error("connect", error) from None
        except ValueError:  # of the host's name; nothing of the message was looked at
            client.close()
            raise Deferred("the mail server's name is none that can be looked up") from None
        point("send.connected")
        return client

    async def _envelope(self, client: aiosmtplib.SMTP, recipient: str) -> None:
        stage = "mail"
        try:
            await client.mail(ascii_address(parseaddr(self._sender)[1]))
            stage = "rcpt"
            await client.rcpt(recipient)
            stage = "data"
            answer = await client.execute_command(b"DATA")
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise to_error(stage, error) from None
        if answer.code != 354:
            raise by_code("data", answer.code, answer.message)

    async def _transmit(self, client: aiosmtplib.SMTP, data: bytes) -> None:
        try:
            await self._flush(client, re.sub(rb"(?m)^\.", b"..", data))
        except OSError as error:
            raise to_error("data", error) from None
        point("send.body_written")
        try:
            answer = await client.execute_command(b".", timeout=self._final_wait)
        except (aiosmtplib.SMTPException, OSError) as error:
            raise to_error("dot", error) from None
        point("send.headers")
        if answer.code != 250:
            raise by_code("dot", answer.code, answer.message)
        # The server has it now; whatever becomes of QUIT changes nothing.
        try:
            await client.execute_command(b"QUIT", timeout=1.0)
        except (aiosmtplib.SMTPException, OSError):
            return
        point("send.body_read")

    async def _flush(self, client: aiosmtplib.SMTP, data: bytes) -> None:
        """Hand everything but the dot to the network, so that a connection lost until here is known as such."""
        transport = client.transport
        half = len(data) // 2
        for part in (data[:half], data[half:]):
            if not client.is_connected or transport is None:
                raise ConnectionResetError
            transport.write(part)  # type: ignore[attr-defined]  # typed as BaseTransport; it is the stream's
            point("send.mid_body")
        waited = 0.0
        while client.is_connected and transport is not None and transport.get_write_buffer_size():  # type: ignore[attr-defined]
            await self._clock.sleep(_UNFLUSHED)
            waited += _UNFLUSHED.total_seconds()
            if waited > self._command_wait:
                raise ConnectionAbortedError
        if not client.is_connected:
            raise ConnectionResetError

    def _context(self) -> ssl.SSLContext | None:
        """Raises Deferred where `ca_file` can't be used: it may be written anew this very moment."""
        if self._security == "none":
            return None
        if self._tls is None:
            context = ssl.create_default_context()
            try:
                if self._ca_file:
                    context.load_verify_locations(cafile=self._ca_file)
            except OSError:
                raise Deferred("the certificates in email.ca_file can't be read") from None
            self._tls = context
        return self._tls


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name alone."""
    if host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def to_error(stage: str, error: Exception) -> NotifyError:
    """Say what a failure means. `stage`: connect, mail, rcpt, data (until the final dot), dot (after it)."""
    if isinstance(error, aiosmtplib.SMTPResponseException):
        wrong_login = isinstance(error, aiosmtplib.SMTPAuthenticationError)
        return by_code("login" if wrong_login else stage, error.code, error.message)
    if stage == "dot":
        return OutcomeUnknown("the mail server did not say whether it took the mail")
    if isinstance(error, ssl.SSLCertVerificationError) or isinstance(error.__cause__, ssl.SSLCertVerificationError):
        return Deferred("the mail server's certificate is not trusted")
    if isinstance(error, aiosmtplib.SMTPConnectError):
        return Deferred("can't connect to the mail server; are host, port and security right?")
    if isinstance(error, aiosmtplib.SMTPTimeoutError | TimeoutError):
        return Deferred(f"the mail server is too slow ({stage})")
    if isinstance(error, OSError):
        return Deferred(f"the connection to the mail server broke ({stage})")
    if isinstance(error, ValueError):
        return MessageRejected("the address is no mail address")
    # What is left is the library's own word that the server offers no STARTTLS, no AUTH or no method that we know.
    words = f"the mail server offers no STARTTLS or no login; are port and security right? ({stage})"
    return DestinationDown(words, scope=Scope.ACCOUNT)


def by_code(stage: str, code: int, message: str) -> NotifyError:
    """Say what a reply code means at a stage (RFC 5321, 4.2; the enhanced code, if any, is in the words)."""
    words = f"the mail server said {code} {_shown(message)} ({stage})"
    if code < 400 or code >= 600:
        return OutcomeUnknown(words) if stage == "dot" else Deferred(words)
    if code < 500:
        return Deferred(words, retry_after=GREYLIST_WAIT if code in (450, 451) else None)
    if stage == "login" or code in (530, 534, 535, 538):
        return DestinationDown(words, scope=Scope.ACCOUNT)
    if stage == "connect":
        return Deferred(words)
    if stage == "mail":
        return MessageRejected(words) if code == 552 else DestinationDown(words, scope=Scope.ACCOUNT)
    if stage == "rcpt":
        # Nothing of the message was seen yet: "no such mailbox", and as Postfix words it all, who we are and whence.
        return Deferred(words) if code == 552 else DestinationDown(words)  # 552: the mailbox is full
    return MessageRejected(words)


def _shown(message: str) -> str:
    """Return a server's words in one line, without addresses."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", message).split())
    return re.sub(r"\S+@\S+", "<address>", line)[:150]
