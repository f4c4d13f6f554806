"""Which addresses may be connected to: asked at the moment of connecting, about that very address (T1, T2)."""

import errno
import ipaddress
import re
import socket
from dataclasses import dataclass
from functools import lru_cache

from aiohttp import AddrInfoType
from yarl import URL

from bot.core.errors import AddressRefused

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SAFE_PORTS = frozenset({80, 443, 8080, 8443})  # for addresses that the operator did not write himself

# One text for every address, so that nobody can map a network by asking (T4).
REFUSED = "this address is not allowed: only http and https to public hosts, unless allow_private names the network"

# Not for everybody, though the flags of `ipaddress` say otherwise in some version of Python.
_DENIED = tuple(
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24",
        "168.63.129.16/32",  # Azure's own services, on a public address
        "192.88.99.0/24",
        "64:ff9b:1::/48",
        "3fff::/20",
        "5f00::/16",
        "fec0::/10",
        "2001::/32",  # Teredo and
        "2002::/16",  # 6to4 carry an IPv4 address of their author's choice
    )
)
# The last 32 bits of these are an IPv4 address, which is what counts.
_WRAPPERS = tuple(ipaddress.IPv6Network(text) for text in ("::ffff:0:0/96", "64:ff9b::/96", "::/96"))

# By the URL standard a host whose last label is a number is an IPv4 address, however oddly it is spelled.
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+", re.IGNORECASE)  # a name, or IPv6; no zone: those are links of ours
_NUMERIC_HOST = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$")


class ConnectionRefusedByGuard(OSError):
    """Raised inside the connector, which tries a host's next address after an OSError and leaves others alone."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, REFUSED)


@lru_cache(maxsize=1024)
def to_networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)


def unwrap(address: Address) -> Address:
    """Return the IPv4 address inside a mapped, NAT64 or v4-compatible one, else the address."""
    if address.version == 6 and any(address in wrapper for wrapper in _WRAPPERS):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_public(address: Address) -> bool:
    """Tell whether an address belongs to the public internet; `is_global` alone says yes to metadata servers."""
    bare = unwrap(address)
    if any(bare in network for network in _DENIED):
        return False
    return bare.is_global and not (
        bare.is_private
        or bare.is_loopback
        or bare.is_link_local
        or bare.is_multicast
        or bare.is_reserved
        or bare.is_unspecified
    )


@lru_cache(maxsize=4096)
def _is_public(host: str) -> bool:
    try:
        return is_public(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def _is_within(host: str, networks: tuple[Network, ...]) -> bool:
    if not networks:
        return False
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return any(spelling in network for spelling in (address, unwrap(address)) for network in networks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What the connections of one pool may lead to. A pool never serves two guards."""

    allowed: tuple[Network, ...] = ()
    any_port: bool = False

    def admits(self, host: str, port: int) -> bool:
        """Judge a numeric address; whatever can't be read as one is refused."""
        return _is_within(host, self.allowed) or (_is_public(host) and (self.any_port or port in SAFE_PORTS))

    def open_socket(self, info: AddrInfoType) -> socket.socket:
        """Make the socket for an address, or none: nothing is connected before this was asked."""
        family, kind, protocol, _, where = info
        if not self.admits(str(where[0]), int(where[1])):
            raise ConnectionRefusedByGuard
        return socket.socket(family, kind, protocol)


def check_url(url: URL) -> None:
    """Refuse what is no plain web address, before anything is looked up.

    Raises AddressRefused for another scheme, a user name or password, and a number that only some readers take
    for an IPv4 address ("2130706433", "0x7f.1", "127.1").
    """
    if (reason := _objection(url)) is not None:
        raise AddressRefused(reason)


@lru_cache(maxsize=4096)
def _objection(url: URL) -> str | None:
    if url.scheme not in ("http", "https") or not url.raw_host:
        return "only addresses that begin with http:// or https:// are fetched"
    if url.raw_user is not None or url.raw_password is not None:
        return "an address with a user name or password in it is not fetched"
    if not _HOST.fullmatch(url.raw_host):
        return REFUSED
    if _NUMERIC_HOST.search(url.raw_host) and not _is_plain_ipv4(url.raw_host):
        return REFUSED
    return None


def _is_plain_ipv4(host: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False
