"""A certificate authority of the tests' own, and server certificates good and bad."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

HOSTS = ("localhost", "127.0.0.1", "mail.example.org", "feeds.example.org")


class Certificates:
    """One authority; clients that are given its file trust what it signs."""

    def __init__(self) -> None:
        self._authority = trustme.CA()
        self._stranger = trustme.CA()

    def write_ca(self, path: Path) -> Path:
        """Write the authority's own certificate for clients to trust."""
        self._authority.cert_pem.write_to_path(str(path))
        return path

    def client_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self._authority.configure_trust(context)
        return context

    def server_context(self, kind: str = "good") -> ssl.SSLContext:
        """Return a server's side: `good`, `expired`, `other-name`, or `unknown` (signed by a stranger)."""
        now = datetime.now(UTC)
        signer = self._stranger if kind == "unknown" else self._authority
        names = ("other.example.net",) if kind == "other-name" else HOSTS
        last = now - timedelta(days=1) if kind == "expired" else now + timedelta(days=30)
        certificate = signer.issue_cert(*names, not_before=now - timedelta(days=90), not_after=last)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(context)
        return context
