"""How a chat connection is, for `/readyz`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatState:
    """`why` says in words what keeps it from being connected; "" while all is well."""

    connected: bool
    why: str = ""
