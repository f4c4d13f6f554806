"""Tell Discord our commands, but only when they changed: it counts the writes."""

import hashlib
import json
import logging
from datetime import datetime, timedelta
from typing import Protocol

from bot.chat.discord.api import ChatApi, asked_wait
from bot.chat.discord.definitions import definitions
from bot.core.errors import NotifyError, StoreError
from bot.ports import Clock

log = logging.getLogger(__name__)

NAME = "discord_commands"
LEASE = "discord-commands"
HELD = timedelta(minutes=2)
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=5), timedelta(minutes=15)


class MetaStore(Protocol):
    """The part of the store that keeps facts by name."""

    async def meta(self, name: str) -> str | None: ...

    async def put_meta(self, name: str, value: str) -> None: ...


class LeaseStore(Protocol):
    """What replicas share."""

    async def take_lease(self, name: str, *, now: datetime, until: datetime) -> int | None:
        """Take or keep what only one process may do; None: another one has it."""

    async def renew_lease(self, name: str, *, epoch: int, until: datetime) -> None:
        """Raises LeaseLost."""

    async def release_lease(self, name: str, *, epoch: int) -> None: ...


async def keep_commands(api: ChatApi, store: MetaStore, leases: LeaseStore | None, clock: Clock) -> None:
    """Write the commands if they are not what was written last; try until it is done."""
    wait = FIRST_WAIT
    while (asked := await _once(api, store, leases, clock)) is not None:
        await clock.sleep(max(wait, asked))
        wait = min(wait * 2, LONGEST_WAIT)


async def _once(api: ChatApi, store: MetaStore, leases: LeaseStore | None, clock: Clock) -> timedelta | None:
    """Return None when they are written, else how long Discord wants to be left alone."""
    now = clock.now()
    try:
        epoch = await leases.take_lease(LEASE, now=now, until=now + HELD) if leases is not None else 0
        if epoch is None:
            return timedelta(0)
        try:
            await _write(api, store)
        finally:
            if leases is not None:
                await leases.release_lease(LEASE, epoch=epoch)
    except (NotifyError, StoreError) as error:
        log.warning("Discord does not know the commands yet", extra={"error": str(error)})
        return asked_wait(error)
    return None


async def _write(api: ChatApi, store: MetaStore) -> None:
    application = str((await api.get("/applications/@me")).get("id") or "")
    commands = definitions()
    fitting = _hash(application, commands)
    if await store.meta(NAME) == fitting:
        return
    await api.put_commands(application, commands)
    await store.put_meta(NAME, fitting)
    log.info("commands written to Discord")


def _hash(application: str, commands: object) -> str:
    return hashlib.sha256(json.dumps([application, commands], sort_keys=True).encode()).hexdigest()
