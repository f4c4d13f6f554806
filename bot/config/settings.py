"""The settings, frozen: what each key of config.toml means and what it is when nobody sets it.

pydantic checks the shape; where the values come from (file, environment, secret files) is `sources.py`, a hundred
lines of our own instead of pydantic-settings: that library passes over a missing file, nested secret files and
unknown environment names in silence, takes an empty variable for a value, knows no `_FILE` and no places in the
file, and costs another 80 ms of import on each cold `feedbell latest`.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, StrictBool, field_validator, model_validator

from bot.config import fields as f
from bot.config import nouns
from bot.config.errors import Problem
from bot.core.model.feed import Feed
from bot.core.model.route import DestinationUid, Route

DEFAULT_STATE = "sqlite:///data/feedbell.db"

_SMTP_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class Section(BaseModel):
    """A table of the file: no unknown key, no conversion of types, no change afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


class HttpSettings(Section):
    """The one port that the bot listens on."""

    listen: f.Listen = "127.0.0.1:8080"
    public_url: f.Url | None = None
    token: SecretStr | None = None
    poke_token: SecretStr | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host (without brackets) and port."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class SlackSettings(Section):
    """Slack; with an app token commands come by Socket Mode, else with a signing secret over HTTP."""

    api_url: f.Url = "https://slack.com/api/"
    bot_token: SecretStr | None = None
    app_token: SecretStr | None = None
    signing_secret: SecretStr | None = None


class DiscordSettings(Section):
    """Discord; with a public key interactions come over HTTP, else by the gateway."""

    api_url: f.Url = "https://discord.com/api/v10"
    bot_token: SecretStr | None = None
    public_key: str | None = None

    @field_validator("public_key")
    @classmethod
    def _is_hex(cls, value: str | None) -> str | None:
        if value is not None and (len(value) != 64 or not set(value.lower()) <= set("0123456789abcdef")):
            raise ValueError("must be the 64 hexadecimal digits that Discord shows as the application's public key")
        return value


class EmailSettings(Section):
    """The mail server."""

    host: f.Host | None = None
    port: f.Port = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: f.Words | None = None
    password: SecretStr | None = None
    sender: Annotated[f.MailFrom | None, Field(alias="from")] = None
    ca_file: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _usual_port(cls, table: object) -> object:
        if isinstance(table, dict) and "port" not in table:
            security = table.get("security")
            return {**table, "port": _SMTP_PORTS.get(security, 587) if isinstance(security, str) else 587}
        return table


class DeliverySettings(Section):
    """Waiting, retrying and giving up (delivery.md)."""

    grace: f.Duration = timedelta(seconds=30)
    look_again: f.Duration = timedelta(seconds=15)
    on_unknown: Literal["resend", "hold", "drop"] = "resend"
    retry_base: f.Positive = timedelta(seconds=2)
    retry_cap: f.Positive = timedelta(minutes=15)
    retry_after_cap: f.Positive = timedelta(hours=24)
    give_up: f.Positive = timedelta(hours=72)
    park_keep: f.Positive = timedelta(days=7)
    park_keep_rows: f.AtLeastOne = 1_000
    breaker_failures: f.AtLeastOne = 5
    breaker_base: f.Positive = timedelta(seconds=30)
    breaker_cap: f.Positive = timedelta(minutes=15)
    probe_every: f.Positive = timedelta(hours=1)
    head_of_line: f.Duration = timedelta(minutes=15)
    max_new_single: f.Count = 10
    concurrency: f.AtLeastOne = 20
    per_service: f.AtLeastOne = 5
    slack_per_minute: f.Count = 100
    channel_gap: f.Duration = timedelta(seconds=1)
    timeout: f.Positive = timedelta(seconds=30)
    drain: f.Duration = timedelta(seconds=7)


class PollingSettings(Section):
    """Asking feed servers, and what one document may cost."""

    floor: f.Duration = timedelta(minutes=5)
    floor_without_validators: f.Duration = timedelta(minutes=60)
    backoff_cap: f.Positive = timedelta(hours=24)
    host_gap: f.Duration = timedelta(seconds=1)
    concurrency: f.AtLeastOne = 50
    connect_timeout: f.Positive = timedelta(seconds=10)
    header_timeout: f.Positive = timedelta(seconds=20)
    idle_timeout: f.Positive = timedelta(seconds=15)
    total_timeout: f.Positive = timedelta(seconds=60)
    max_bytes: f.AtLeastOne = 10_000_000
    max_decoded_bytes: f.AtLeastOne = 20_000_000
    max_redirects: f.Count = 5
    parse_cpu: f.Positive = timedelta(seconds=10)
    parse_memory_mb: f.AtLeastOne = 512


class LogSettings(Section):
    """What is logged, and how."""

    level: Annotated[Literal["debug", "info", "warning", "error"], f.ANY_CASE] = "info"
    format: Annotated[Literal["text", "json"], f.ANY_CASE] = "text"


class AuthSettings(Section):
    """Credentials of one feed, by the NAMEs of secrets."""

    username: f.User | None = None
    password: f.SecretName | None = None
    bearer: f.SecretName | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        is_basic = self.username is not None and self.password is not None and self.bearer is None
        is_bearer = self.bearer is not None and self.username is None and self.password is None
        if not (is_basic or is_bearer):
            raise ValueError('wants either username = "…" and password = "NAME", or bearer = "NAME"')
        return self


class FeedSettings(Section):
    """One [[feeds]] table."""

    id: f.FeedName
    url: f.FeedUrl
    interval: f.Positive = timedelta(minutes=15)
    own: StrictBool = False
    initial: f.Initial = 0
    section: f.Words | None = None
    tags: f.WordList = ()
    withdrawn: StrictBool = False
    allow_private: f.Networks = ()
    headers: f.Headers = {}
    auth: AuthSettings | None = None


class RouteSettings(Section):
    """One [[routes]] table."""

    to: f.Targets
    feeds: Annotated[tuple[str, ...] | None, f.IN_ORDER] = None
    tags: f.WordList = ()
    not_tags: f.WordList = ()
    match: str | None = None
    mention: dict[str, f.Mentions] = {}
    digest: f.Digest = ()
    quiet: f.Quiet | None = None
    urgent: f.WordList = ()
    timezone: f.Zone | None = None
    max_age: f.Positive | None = None
    on_edit: Literal["update", "ignore", "thread"] | None = None
    template: f.Words | None = None
    image: StrictBool = False


class Settings(Section):
    """Everything that the operator decided."""

    state: Annotated[str, Field(repr=False)] = DEFAULT_STATE
    timezone: f.Zone = ZoneInfo("UTC")
    contact: f.Contact | None = None
    ops: f.Target | None = None
    admins: f.Admins = ()
    http: HttpSettings = HttpSettings()
    slack: SlackSettings = SlackSettings()
    discord: DiscordSettings = DiscordSettings()
    email: EmailSettings = EmailSettings()
    delivery: DeliverySettings = DeliverySettings()
    polling: PollingSettings = PollingSettings()
    log: LogSettings = LogSettings()
    feeds: Annotated[tuple[FeedSettings, ...], f.IN_ORDER] = ()
    routes: Annotated[tuple[RouteSettings, ...], f.IN_ORDER] = ()
    webhooks: dict[str, SecretStr] = {}
    secrets: dict[str, SecretStr] = {}

    _folder: Path = PrivateAttr(default=Path())  # where we are, which may be gone; nothing asks before it must
    _warnings: tuple[Problem, ...] = PrivateAttr(default=())
    _missing: tuple[Problem, ...] = PrivateAttr(default=())

    @field_validator("state")
    @classmethod
    def _is_known_engine(cls, value: str) -> str:
        scheme, _, rest = value.partition("://")
        is_file = scheme == "sqlite" and rest.startswith("/") and not rest.endswith("/")
        if value.isprintable() and (is_file or (scheme == "postgresql" and rest)):
            return value
        # The value may hold a password in any form: it is never shown.
        hint = '; did you mean "postgresql://…"?' if scheme == "postgres" else ""
        raise ValueError(
            'no state that is known; allowed: "sqlite:///relative/path.db", "sqlite:////absolute/path.db", '
            f'"postgresql://user@host/database"{hint}'
        )

    @property
    def folder(self) -> Path:
        """Where config.toml lies; relative paths start there."""
        return self._folder

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is allowed but not as written; `check` prints these."""
        return self._warnings

    @property
    def ops_uid(self) -> DestinationUid | None:
        """Where the operator is told; None: in log and status site alone."""
        return DestinationUid(self.ops) if self.ops is not None else None

    @property
    def sqlite_path(self) -> Path | None:
        """The absolute path of the state's file, or None where the state is a PostgreSQL."""
        scheme, _, rest = self.state.partition(":///")
        return (self._folder / rest).absolute() if scheme == "sqlite" else None

    @property
    def ca_path(self) -> Path | None:
        """The absolute path of the extra certificates for mail."""
        return (self._folder / self.email.ca_file).absolute() if self.email.ca_file else None

    def to_feeds(self) -> tuple[Feed, ...]:
        """Return the feeds of the file, their intervals raised to the floor and their secrets looked up."""
        return tuple(nouns.to_feed(feed, self) for feed in self.feeds)

    def to_routes(self) -> tuple[Route, ...]:
        """Return the routes of the file, named routes[0], routes[1] …"""
        return tuple(nouns.to_route(route, self, number) for number, route in enumerate(self.routes))

    def every_secret(self) -> tuple[str, ...]:
        """Return the text of each secret that is set, wherever it stands; not the password in `state`."""
        return tuple(secret.get_secret_value() for secret in _secrets_in(self))

    def secret(self, name: str | None) -> str | None:
        """Return what FEEDBELL_SECRETS__NAME holds."""
        return reveal(self.secrets.get(name)) if name else None


def reveal(secret: SecretStr | None) -> str | None:
    """Return the text of a secret, for whoever sends it; nobody outside this package needs pydantic."""
    return secret.get_secret_value() if secret else None


def _secrets_in(value: object) -> Iterator[SecretStr]:
    if isinstance(value, SecretStr):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _secrets_in(getattr(value, name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _secrets_in(item)
