"""What no single value shows: secrets in the file, names that lead nowhere, keys that need one another.

These read the raw tables, not the validated settings, so that every mistake is told at once.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from bot.config import addresses
from bot.config.errors import has_secret_shape, mask, quoted
from bot.config.nouns import READY_TEMPLATES
from bot.config.places import Fault
from bot.config.settings import PollingSettings
from bot.config.sources import Key, known_names
from bot.config.toml_positions import KeyPath
from bot.config.values import did_you_mean, is_loopback, parse_duration, show_duration, split_url
from bot.core.filters import MatchError, parse_match
from bot.core.mentions import fits

Raw = Mapping[str, object]


def secrets_in_file(raw: Raw) -> Iterator[Fault]:
    """Find the keys of secrets in config.toml, and say where each belongs."""
    for name, key in known_names().items():
        value = _at(raw, key.path)
        if value is not None and _is_secret_here(key, value):
            yield Fault(path=key.path, message=f"{_NOT_HERE}; {_where(name)}", at="key", hide=True)
    for table in ("webhooks", "secrets"):
        if table in raw:
            where = _where(f"FEEDBELL_{table.upper()}__NAME")
            yield Fault(path=(table,), message=f"{_NOT_HERE}; {where}", at="key", hide=True)


def likely_secrets(raw: Raw) -> Iterator[Fault]:
    """Find values that look like a token or a webhook's address, wherever they stand."""
    for path, text in _texts(raw):
        if has_secret_shape(text):
            yield Fault(path=path, message=f"this looks like a secret; {_NOT_HERE}")


_NOT_HERE = "a secret does not belong in this file"


def _where(name: str) -> str:
    return f"put it into the environment as {name}, or into a secret file of that name"


def _is_secret_here(key: Key, value: object) -> bool:
    if key.path != ("state",):
        return key.from_file and key.path != ("discord", "public_key")
    parts = split_url(value) if isinstance(value, str) else None
    return parts is not None and (parts.password is not None or "password=" in parts.query)


def cross_checks(raw: Raw, *, folder: Path) -> Iterator[Fault]:
    """Find faults between keys; values of the wrong type are passed over, for they are told already."""
    yield from _repeated_ids(raw)
    yield from _short_intervals(raw)
    yield from _mail_settings(raw, folder)
    ids = [str(feed["id"]) for _, feed in _tables(raw, "feeds") if isinstance(feed.get("id"), str)]
    known = dict.fromkeys(ids)
    for path, route in _tables(raw, "routes"):
        yield from _unknown_feeds(known, path, route)
        yield from _homeless_mentions(path, route)
        yield from _match_faults(path, route)
        yield from _missing_template(path, route, folder)


def _repeated_ids(raw: Raw) -> Iterator[Fault]:
    first: dict[str, KeyPath] = {}
    for path, feed in _tables(raw, "feeds"):
        feed_id = feed.get("id")
        if not isinstance(feed_id, str):
            continue
        if feed_id in first:
            other = first[feed_id]
            yield Fault(path=(*path, "id"), message=f"{quoted(feed_id)} is the id of feeds[{other[1]}] already")
        first.setdefault(feed_id, path)


def _short_intervals(raw: Raw) -> Iterator[Fault]:
    floor = _duration(_at(raw, ("polling", "floor"))) or PollingSettings().floor
    for path, feed in _tables(raw, "feeds"):
        interval = _duration(feed.get("interval"))
        if interval and interval < floor and feed.get("own") is not True:
            raised = f"{show_duration(interval)} is below the floor and is raised to {show_duration(floor)}"
            yield Fault(
                path=(*path, "interval"),
                message=f"{raised}; own = true, for a server of your own, has no floor",
                severity="warning",
            )


def _unknown_feeds(known: Mapping[str, None], path: KeyPath, route: Raw) -> Iterator[Fault]:
    if route.get("feeds") == []:
        yield Fault(path=(*path, "feeds"), message="is empty; leave the key out for all feeds of this file")
    for number, name in enumerate(_list(route.get("feeds"))):
        if isinstance(name, str) and name not in known:
            names = mask(", ".join(known)) if len(known) <= 10 else f"{len(known)} others"
            hint = did_you_mean(name, list(known)) or f"; known: {names or 'none'}"
            yield Fault(path=(*path, "feeds", number), message=f"no feed has the id {quoted(name)}{hint}")


def _homeless_mentions(path: KeyPath, route: Raw) -> Iterator[Fault]:
    targets = [uid for uid in _one_or_many(route.get("to")) if isinstance(uid, str)]
    schemes = [addresses.split_destination(uid)[0] for uid in targets]
    mentions = route.get("mention")
    for tag, literals in mentions.items() if isinstance(mentions, dict) else ():
        for number, literal in enumerate(_one_or_many(literals)):
            platform = addresses.mention_platform(literal) if isinstance(literal, str) else None
            if platform is not None and not any(fits(str(literal), scheme) for scheme in schemes):
                message = f"{quoted(literal)} is for {platform}, and no destination of this route is there"
                yield Fault(path=(*path, "mention", tag, number), message=message)


def _match_faults(path: KeyPath, route: Raw) -> Iterator[Fault]:
    expression = route.get("match")
    if not isinstance(expression, str):
        return
    try:
        parse_match(expression)
    except MatchError as error:
        yield Fault(path=(*path, "match"), message=error.words, offset=error.position)


def _missing_template(path: KeyPath, route: Raw, folder: Path) -> Iterator[Fault]:
    name = route.get("template")
    if isinstance(name, str) and name.isprintable() and name not in READY_TEMPLATES and not (folder / name).is_file():
        known = sorted(READY_TEMPLATES)
        ready = ", ".join(f'"{ready}"' for ready in known) + did_you_mean(name, known)
        message = f"no such file: {quoted(name)}, sought beside the configuration; ready-made: {ready}"
        yield Fault(path=(*path, "template"), message=message)


def _mail_settings(raw: Raw, folder: Path) -> Iterator[Fault]:
    email = _at(raw, ("email",))
    table: Raw = email if isinstance(email, dict) else {}
    lacking = [key for key in ("host", "from") if key not in table]
    for path, uid in destinations_in(raw):
        if uid.startswith("email:") and lacking:
            yield Fault(path=path, message=f"mail needs {' and '.join(lacking)} in [email]")
    host = table.get("host")
    is_far = isinstance(host, str) and not is_loopback(host.strip("[]"))
    if table.get("security") == "none" and "username" in table and is_far:
        message = 'a password would travel in clear; "none" with a username is for a loopback host only'
        yield Fault(path=("email", "security"), message=message)
    for port, security, wanted in ((465, "starttls", "tls"), (587, "tls", "starttls")):
        if table.get("port") == port and table.get("security", "starttls") == security:
            message = f'port {port} mostly wants security = "{wanted}"'
            yield Fault(path=("email", "port"), message=message, severity="warning")
    ca_file = table.get("ca_file")
    if isinstance(ca_file, str) and ca_file.isprintable() and not (folder / ca_file).is_file():
        yield Fault(path=("email", "ca_file"), message=f"no such file: {quoted(ca_file)}")


def destinations_in(raw: Raw) -> Iterator[tuple[KeyPath, str]]:
    """Return every destination that the file names, with its place."""
    for path, route in _tables(raw, "routes"):
        for number, uid in enumerate(_one_or_many(route.get("to"))):
            if isinstance(uid, str):
                yield (*path, "to", number), uid
    ops = raw.get("ops")
    if isinstance(ops, str):
        yield ("ops",), ops


def auth_names_in(raw: Raw) -> Iterator[tuple[KeyPath, str]]:
    """Return every NAME of a secret that a feed's [feeds.auth] refers to, with its place."""
    for path, feed in _tables(raw, "feeds"):
        auth = feed.get("auth")
        for key in ("password", "bearer"):
            name = auth.get(key) if isinstance(auth, dict) else None
            if isinstance(name, str):
                yield (*path, "auth", key), name


def _texts(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, (*path, number))


def _tables(raw: Raw, name: str) -> Iterator[tuple[KeyPath, Raw]]:
    for number, table in enumerate(_list(raw.get(name))):
        if isinstance(table, dict):
            yield (name, number), table


def _at(raw: Raw, path: KeyPath) -> object:
    value: object = raw
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _one_or_many(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _duration(value: object) -> timedelta | None:
    try:
        return parse_duration(value) if isinstance(value, str) else None
    except ValueError:
        return None
