"""The types of configuration values, as pydantic reads them: strict, and with messages of our own."""

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, PlainValidator, StrictInt

from bot.config import addresses, values
from bot.core.model.route import DigestRule, QuietHours

T = TypeVar("T")

_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a decimal number",
    str: "text in quotes",
    list: "a list",
    tuple: "a list",
    dict: "a table",
}


def kind_of(value: object) -> str:
    """Return what a TOML value is, in words."""
    return _KINDS.get(type(value), "a date or time")


def _text(value: object, wanted: str = "text in quotes") -> str:
    if not isinstance(value, str):
        raise ValueError(f"{wanted} is wanted, not {kind_of(value)}")
    return value


def _reads(parse: Callable[[str], T], wanted: str = "text in quotes") -> PlainValidator:
    return PlainValidator(lambda value: parse(_text(value, wanted)))


def _positive(text: str) -> timedelta:
    length = values.parse_duration(text)
    if not length:
        raise ValueError("must be longer than nothing")
    return length


def _in_order(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _one_or_many(value: object) -> object:
    if isinstance(value, list):
        if not value:
            raise ValueError("is empty; name at least one")
        return tuple(value)
    return (_text(value),)


def _words(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be text of one line, and not empty")
    return text.strip()


def _user(text: str) -> str:
    if ":" in text:
        raise ValueError('must hold no ":"; a server takes what follows for the password (RFC 7617)')
    return _words(text)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


_A_DURATION = 'a duration in quotes, such as "90s" or "15m",'
IN_ORDER = BeforeValidator(_in_order)
ONE_OR_MANY = BeforeValidator(_one_or_many)
ANY_CASE = BeforeValidator(_lower)

Words = Annotated[str, _reads(_words)]
User = Annotated[str, _reads(_user)]
WordList = Annotated[tuple[Words, ...], IN_ORDER]
Duration = Annotated[timedelta, _reads(values.parse_duration, _A_DURATION)]
Positive = Annotated[timedelta, _reads(_positive, _A_DURATION)]
Zone = Annotated[ZoneInfo, _reads(values.parse_zone)]
Count = Annotated[StrictInt, Field(ge=0, le=1_000_000_000)]
AtLeastOne = Annotated[StrictInt, Field(ge=1, le=1_000_000_000)]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]

Url = Annotated[str, _reads(values.parse_base_url)]
FeedUrl = Annotated[str, _reads(values.parse_feed_url)]
FeedName = Annotated[str, _reads(values.parse_feed_id)]
SecretName = Annotated[str, _reads(values.parse_secret_name)]
Initial = Annotated[int, _reads(values.parse_initial)]
Listen = Annotated[str, _reads(values.parse_listen)]
Contact = Annotated[str, _reads(values.parse_contact)]
Host = Annotated[str, _reads(values.parse_host)]
MailFrom = Annotated[str, _reads(values.parse_mail_from)]
Headers = dict[Annotated[str, _reads(values.parse_header_name)], Annotated[str, _reads(values.parse_header_value)]]
Networks = Annotated[tuple[Annotated[str, _reads(values.parse_network)], ...], IN_ORDER]
Digest = Annotated[tuple[DigestRule, ...], _reads(values.parse_digest)]
Quiet = Annotated[QuietHours, _reads(values.parse_quiet)]

Target = Annotated[str, _reads(addresses.parse_destination)]
Targets = Annotated[tuple[Target, ...], ONE_OR_MANY]
Admins = Annotated[tuple[Annotated[str, _reads(addresses.parse_admin)], ...], IN_ORDER]
Mentions = Annotated[tuple[Annotated[str, _reads(addresses.parse_mention)], ...], ONE_OR_MANY]
