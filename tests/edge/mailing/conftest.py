"""The local mail server."""

from collections.abc import AsyncIterator

import pytest

from tests.servers.smtp import SmtpServer


@pytest.fixture
async def server() -> AsyncIterator[SmtpServer]:
    async with SmtpServer() as running:
        yield running
        assert running.violations == []
