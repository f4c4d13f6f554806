"""The state over the years: backups, other versions, other bots, other databases; and where secrets come from."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.process.station import Station
from tests.store.conftest import postgres_url, server  # noqa: F401 - fixtures

SECRET = "xoxb-test-bot"


def restored(here: Station, backup: Path) -> None:
    """What docs/deploy.md says: the copy in place of the state, and none of the files beside it."""
    for suffix in ("-wal", "-shm"):
        here.bot.state.with_name(here.bot.state.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(backup, here.bot.state)


async def test_a_restored_backup_finds_what_was_sent_after_it_was_made(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.publish("blog", "1", "2")
        await here.poll_again()
        await here.told("2")
        copy = tmp_path / "copy.db"
        done = await here.bot.call("backup", str(copy))
        assert done.code == 0, done.err
        here.publish("blog", "1", "2", "3", "4")
        await here.poll_again()
        await here.told("2", "3", "4")
        await here.bot.kill()
        restored(here, copy)
        await here.start()
        await here.poll_again()
        here.publish("blog", "1", "2", "3", "4", "5")
        await here.poll_again()
        await here.told("2", "3", "4", "5")
        assert (await here.bot.call("doctor")).code == 0


async def test_a_backup_of_a_running_bot_is_whole_and_overwrites_no_state(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        copy = tmp_path / "copy.db"
        assert (await here.bot.call("backup", str(copy))).code == 0
        with closing(sqlite3.connect(copy)) as opened:
            assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        itself = await here.bot.call("backup", str(here.bot.state))
        assert itself.code != 0
        assert "the state itself" in itself.err
        nowhere = await here.bot.call("backup", str(tmp_path / "no" / "such" / "folder.db"))
        assert nowhere.code != 0
        assert "Traceback" not in nowhere.err


async def test_an_older_version_refuses_a_newer_state_in_words(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.once()
        with closing(sqlite3.connect(here.bot.state)) as opened, opened:
            opened.execute("UPDATE meta SET value = '9999' WHERE name = 'schema'")
        for command in (["run"], ["once"], ["latest"], ["doctor"], ["backup", str(tmp_path / "copy.db")]):
            done = await here.bot.call(*command)
            assert done.code == 78, (command, done.out, done.err)
            [line] = done.err.strip().splitlines()
            assert "9999" in line
            assert "newer version" in line


async def test_a_file_that_is_no_state_is_refused_in_words(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        here.bot.state.parent.mkdir()
        here.bot.state.write_bytes(b"this is no database at all, not even a small one" * 100)
        here.configure()
        done = await here.bot.call("run")
        assert done.code == 78, done.err
        assert "Traceback" not in done.err
        assert here.bot.state.read_bytes().startswith(b"this is no")


# --- other bots ------------------------------------------------------------------------------------------------------


async def switched(here: Station, bot: str, folder: Path) -> None:
    """Import, append what it prints, add a route, and run: only what the other bot had not told comes."""
    here.configure()
    done = await here.bot.call("import", bot, str(folder))
    assert done.code == 0, done.err
    blocks = done.out.replace("[[feeds]]", '[[feeds]]\nown = true\nallow_private = ["127.0.0.0/8"]')
    text = (here.folder / "config.toml").read_text()
    here.bot.configure(f'{text}\n{blocks}\n[[routes]]\nto = "slack:#news"\n')
    await here.bot.once()
    assert here.titles() == ["3"]
    await here.bot.once()
    assert here.titles() == ["3"]


async def test_switching_from_rss2email_tells_nothing_twice(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        url = here.here(here.publish("blog", "1", "2", "3"))
        other = tmp_path / "rss2email"
        other.mkdir()
        (other / "rss2email.cfg").write_text(f"[DEFAULT]\nto = a@example.org\n\n[feed.blog]\nurl = {url}\n")
        seen = {f"https://blog.example.org/{number}": {"id": f"<{number}@x>"} for number in (1, 2)}
        (other / "rss2email.json").write_text(json.dumps({"version": 2, "feeds": [{"name": "blog", "seen": seen}]}))
        await switched(here, "rss2email", other)


async def test_switching_from_feedforbot_tells_nothing_twice(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        url = here.here(here.publish("blog", "1", "2", "3"))
        other = tmp_path / "feedforbot"
        (other / "cache").mkdir(parents=True)
        (other / "config.yml").write_text(
            f"schedulers:\n  - listener:\n      type: rss\n      params:\n        url: {url}\n"
        )
        told = [{"id": f"https://blog.example.org/{number}", "grabbed_at": "2026-01-01"} for number in (1, 2)]
        cache = other / "cache" / f"{hashlib.sha256(url.encode()).hexdigest()}.json"
        cache.write_text(json.dumps(told))
        await switched(here, "feedforbot", other)


# --- where secrets come from -----------------------------------------------------------------------------------------


async def one_message(here: Station) -> None:
    here.follow("blog", "1")
    await here.once()
    here.publish("blog", "1", "2")
    await here.once()
    assert here.titles() == ["2"]


async def test_what_two_other_bots_have_told_of_one_feed_is_told_by_neither_again(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        url = here.here(here.publish("blog", "1", "2", "3"))
        for number, name in enumerate(("first", "second"), start=1):
            (other := tmp_path / name).mkdir()
            (other / "rss2email.cfg").write_text(f"[feed.blog]\nurl = {url}\n")
            seen = {f"https://blog.example.org/{number}": {}}
            (other / "rss2email.json").write_text(json.dumps({"version": 2, "feeds": [{"name": "blog", "seen": seen}]}))
        here.configure()
        assert (await here.bot.call("import", "rss2email", str(tmp_path / "first"))).code == 0
        await switched(here, "rss2email", tmp_path / "second")


async def test_a_secret_may_be_a_file_that_a_variable_names(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        file = tmp_path / "secret"
        file.write_text(f"{SECRET}\n")
        here.secrets = {"FEEDBELL_SLACK__BOT_TOKEN_FILE": str(file)}
        await one_message(here)


async def test_a_secret_may_be_a_file_of_its_name_as_systemd_and_containers_give_it(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        folder = tmp_path / "credentials"
        folder.mkdir()
        (folder / "feedbell_slack__bot_token").write_text(SECRET)
        here.secrets = {"CREDENTIALS_DIRECTORY": str(folder)}
        await one_message(here)


async def test_a_secret_in_the_file_or_nowhere_is_an_error_that_does_not_show_it(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets = {}
        here.follow("blog", "1")
        here.configure()
        for command in ("run", "once", "check"):
            done = await here.bot.call(command)
            assert done.code == 78
            assert "FEEDBELL_SLACK__BOT_TOKEN" in done.err + done.out
        for command in ("latest", "status", "doctor"):
            assert (await here.bot.call(command)).code in (0, 1)
        here.sections["slack"]["bot_token"] = "xoxb-1111-canary"
        here.configure()
        done = await here.bot.call("check")
        assert done.code == 78
        assert "canary" not in done.err + done.out


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


async def test_the_state_may_be_a_postgresql(tmp_path: Path, postgres_url: str) -> None:  # noqa: F811
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_STATE"] = postgres_url
        here.follow("blog", "1")
        await here.started()
        here.publish("blog", "1", "2")
        await here.poll_again()
        await here.told("2")
        assert not here.bot.state.exists()
        latest = await here.bot.call("latest", "--json")
        assert [entry["title"] for entry in json.loads(latest.out)] == ["2"]
        backup = await here.bot.call("backup", str(tmp_path / "copy.db"))
        assert backup.code != 0
        assert "pg_dump" in backup.err
        assert await here.bot.stop() == 0


async def test_a_postgresql_that_is_away_is_temporary(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_STATE"] = "postgresql://bell:canary@127.0.0.1:9/bell"
        here.follow("blog", "1")
        here.configure()
        here.bot.environ |= here.secrets
        done = await here.bot.call("run")
        assert done.code == 75, done.err
        assert "canary" not in done.err
        assert "Traceback" not in done.err


async def test_a_feed_that_brought_nothing_new_since_its_first_poll_says_so(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.once()
        assert "none yet" in (await here.bot.call("feeds")).out
        here.publish("blog", "1", "2")
        await here.once()
        assert "none yet" not in (await here.bot.call("feeds")).out


async def test_a_replay_since_the_end_of_time_is_refused_in_words(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        here.configure()
        done = await here.bot.call("replay", "--since", "9999-12-31T23:59-05:00", "--dry-run")
        assert done.code == 1
        assert "is no date" in done.err
        assert "Traceback" not in done.err
