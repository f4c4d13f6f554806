"""Values from the environment and from secret files: which win, and what is wrong with them."""

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.config.load import missing_secrets, parse
from bot.config.sources import default_secret_dirs, known_names
from bot.core.errors import ConfigError
from tests.config.reading import HERE, headlines, read


def test_the_environment_wins_over_the_file_for_any_single_value() -> None:
    settings = read(
        'timezone = "Europe/Berlin"\n[http]\nlisten = "127.0.0.1:1"\n[email]\nport = 25',
        {
            "FEEDBELL_TIMEZONE": "America/New_York",
            "FEEDBELL_HTTP__LISTEN": "[::1]:2",
            "FEEDBELL_EMAIL__PORT": "2525",
            "FEEDBELL_EMAIL__FROM": "News <a@example.org>",
            "FEEDBELL_DELIVERY__GRACE": "1s",
            "FEEDBELL_LOG__LEVEL": "DEBUG",
            "FEEDBELL_STATE": "postgresql://u:p@h/d",
        },
    )
    assert settings.timezone.key == "America/New_York"
    assert settings.http.address == ("::1", 2)
    assert (settings.email.port, settings.email.sender) == (2525, '"News" <a@example.org>')
    assert settings.delivery.grace.total_seconds() == 1
    assert settings.log.level == "debug"
    assert (settings.state, settings.sqlite_path) == ("postgresql://u:p@h/d", None)


def test_no_secret_is_unknown_to_those_who_hide_it() -> None:
    names = [name for name, key in known_names().items() if key.kind is SecretStr]
    values = {
        name: f"https://value-of.example/{name}" for name in (*names, "FEEDBELL_WEBHOOKS__A", "FEEDBELL_SECRETS__B")
    }
    assert len(names) >= 7
    assert sorted(read("", values).every_secret()) == sorted(values.values())


def test_an_empty_variable_is_no_value(tmp_path: Path) -> None:
    (tmp_path / "FEEDBELL_SLACK__APP_TOKEN").write_text("\n")
    settings = read(
        'ops = "console"',
        {"FEEDBELL_OPS": "", "FEEDBELL_SLACK__BOT_TOKEN": "", "FEEDBELL_SLACK__SIGNING_SECRET_FILE": ""},
        secret_dirs=[tmp_path],
    )
    assert settings.ops == "console"
    assert settings.slack.bot_token is settings.slack.app_token is settings.slack.signing_secret is None


def test_names_that_others_set_are_left_alone() -> None:
    environ = dict.fromkeys(
        ("FEEDBELL_CONFIG", "FEEDBELL_CRASH", "FEEDBELL_CASES", "FEEDBELL_CORPUS", "FEEDBELL_RUNNER"), "x"
    )
    kubernetes = dict.fromkeys(
        ("FEEDBELL_SERVICE_HOST", "FEEDBELL_SERVICE_PORT_HTTP", "FEEDBELL_PORT", "FEEDBELL_PORT_80_TCP_ADDR"), "x"
    )
    assert headlines("", {**environ, **kubernetes, "OTHER": "x"}) == []


FAULTS = [
    ("FEEDBELL_SLACK_BOT_TOKEN", "x", 'unknown name; did you mean "FEEDBELL_SLACK__BOT_TOKEN"?'),
    ("FEEDBELL_slack__bot_token", "x", 'unknown name; did you mean "FEEDBELL_SLACK__BOT_TOKEN"?'),
    ("FEEDBELL_ZEBRA", "x", "unknown name"),
    ("FEEDBELL_ZEBRA", "", "unknown name"),
    ("FEEDBELL_ADMINS", "x", "only single values come from the environment; write admins into config.toml"),
    ("FEEDBELL_FEEDS__0__URL", "x", "only single values come from the environment; write feeds into config.toml"),
    ("FEEDBELL_WEBHOOKS__a", "x", 'allowed: FEEDBELL_WEBHOOKS__NAME, NAME of A-Z, 0-9 and "_"'),
    ("FEEDBELL_TIMEZONE_FILE", "x", "FEEDBELL_TIMEZONE is no secret and can't come from a file; set FEEDBELL_TIMEZONE "
     "itself"),
    ("FEEDBELL_SLACK__BOT_TOKEN_FILE", "/nowhere/x", "can't read /nowhere/x: no such file or directory"),
    ("FEEDBELL_SLACK__BOT_TOKEN_FILE", "/dev/zero", "/dev/zero is not a file"),
    ("FEEDBELL_SLACK__BOT_TOKEN_FILE", "/", "can't read /: is a directory"),
    ("FEEDBELL_SLACK__BOT_TOKEN", "a\nb", "holds a line break or another control character"),
    ("FEEDBELL_WEBHOOKS__TEAM", "canary", 'must be the webhook\'s whole address, "https://…"'),
    ("FEEDBELL_WEBHOOKS__TEAM", "https://u:canary@h/", 'must be the webhook\'s whole address, "https://…"'),
    *(("FEEDBELL_SECRETS__TEAM", f"whsec_{rest}", 'begins with "whsec_", and what follows is no base64; copy the key '
       "as the receiver shows it") for rest in ("", "canary!", "Y2FuYXJ5MQ", "canar\u00e9")),
    ("FEEDBELL_EMAIL__PORT", "many", "must be a whole number"),
    ("FEEDBELL_EMAIL__PORT", "99999", "must be at most 65535"),
    ("FEEDBELL_DELIVERY__GRACE", "soon", '"soon" is no duration; allowed: a whole number and a unit, "90s", "15m", '
     '"2h", "7d"'),
    ("FEEDBELL_STATE", "mysql://u:canary", 'no state that is known; allowed: "sqlite:///relative/path.db", '
     '"sqlite:////absolute/path.db", "postgresql://user@host/database"'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "message"), FAULTS)
def test_a_wrong_variable_is_told_by_name_and_never_by_a_secret_value(name: str, value: str, message: str) -> None:
    assert headlines("", {name: value}) == [f"environment: {name}: error: {message}"]


def test_a_variable_and_its_file_together_are_refused() -> None:
    environ = {"FEEDBELL_SLACK__BOT_TOKEN": "a", "FEEDBELL_SLACK__BOT_TOKEN_FILE": "/b"}
    message = "FEEDBELL_SLACK__BOT_TOKEN is set too; keep one of the two"
    assert headlines("", environ) == [f"environment: FEEDBELL_SLACK__BOT_TOKEN_FILE: error: {message}"]


def test_secrets_come_from_files_in_any_case_and_one_line_end_is_cut(tmp_path: Path) -> None:
    first, second, named = tmp_path / "systemd", tmp_path / "docker", tmp_path / "named"
    first.mkdir()
    second.mkdir()
    (first / "feedbell_slack__bot_token").write_text("from systemd\n")
    (second / "FEEDBELL_SLACK__BOT_TOKEN").write_text("from docker")
    (second / "Feedbell_Webhooks__Team").write_text("https://example.org/hook\r\n")
    (second / "FEEDBELL_SECRETS__WIKI").write_text("two lines end\n\n".replace("\n\n", "\n"))
    (second / "FEEDBELL_DISCORD__BOT_TOKEN").write_text("file")
    (second / "FEEDBELL_DISCORD__PUBLIC_KEY").write_text("0f" * 32)
    (second / "FEEDBELL_STATE").write_text("postgresql://u:p@h/d\n")
    (second / "other_program").write_text("x")
    named.write_text("by name\n")
    environ = {"FEEDBELL_EMAIL__PASSWORD_FILE": str(named), "FEEDBELL_DISCORD__BOT_TOKEN": "variable"}
    settings = read("", environ, secret_dirs=[first, second, tmp_path / "absent"])
    assert settings.slack.bot_token is not None
    assert settings.slack.bot_token.get_secret_value() == "from systemd"
    assert settings.webhooks["team"].get_secret_value() == "https://example.org/hook"
    assert settings.secret("wiki") == "two lines end"
    assert settings.email.password is not None
    assert settings.email.password.get_secret_value() == "by name"
    assert settings.discord.bot_token is not None
    assert settings.discord.bot_token.get_secret_value() == "variable"
    assert settings.discord.public_key == "0f" * 32
    assert settings.state == "postgresql://u:p@h/d"
    assert settings.warnings == ()


def test_a_secret_file_that_is_wrong_is_told_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "feedbell_email__password").write_bytes(b"\xff\xfe")
    (tmp_path / "feedbell_http__token").write_text("x" * 70_000)
    (tmp_path / "feedbell_slack__bot_token").write_text("two\nlines\n")
    os.mkfifo(tmp_path / "feedbell_secrets__pipe")
    assert headlines("", secret_dirs=[tmp_path]) == [
        f"{tmp_path}/feedbell_email__password: error: {tmp_path}/feedbell_email__password is not UTF-8 text",
        f"{tmp_path}/feedbell_http__token: error: {tmp_path}/feedbell_http__token is too large for a secret",
        f"{tmp_path}/feedbell_secrets__pipe: error: {tmp_path}/feedbell_secrets__pipe is not a file",
        f"{tmp_path}/feedbell_slack__bot_token: error: holds a line break or another control character",
    ]


def test_a_file_that_is_not_read_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "feedbell_slack_bot_token").write_text("canary")
    (tmp_path / "feedbell_http__listen").write_text("canary")
    (tmp_path / "feedbell_config").write_text("canary")
    assert [str(warning) for warning in read("", secret_dirs=[tmp_path]).warnings] == [
        f"{tmp_path}/feedbell_http__listen: warning: not read: this is no secret; set it in config.toml or in the "
        "environment",
        f"{tmp_path}/feedbell_slack_bot_token: warning: not read: unknown name; did you mean "
        '"FEEDBELL_SLACK__BOT_TOKEN"?',
    ]


def test_the_credentials_of_systemd_come_before_those_of_the_container() -> None:
    assert default_secret_dirs({}) == (Path("/run/secrets"),)
    directories = default_secret_dirs({"CREDENTIALS_DIRECTORY": "/run/credentials/x"})
    assert directories == (Path("/run/credentials/x"), Path("/run/secrets"))


def test_no_secret_shows_in_what_settings_print() -> None:
    secret_names = ("SLACK__BOT_TOKEN", "EMAIL__PASSWORD", "HTTP__TOKEN", "SECRETS__A")
    environ = {f"FEEDBELL_{name}": "canary" for name in secret_names}
    settings = read(
        "", {**environ, "FEEDBELL_STATE": "postgresql://u:canary@h/d", "FEEDBELL_WEBHOOKS__A": "https://canary/"}
    )
    assert "canary" not in repr(settings) + str(settings)


NEEDS = """\
ops = "slack:#ops"
[email]
host = "mail.example.org"
from = "a@example.org"
username = "u"
[[feeds]]
id = "a"
url = "https://example.org/"
auth = { bearer = "key" }
[[routes]]
to = ["console", "discord:1", "slack-webhook:a", "webhook:b", "email:c@example.org"]
"""


def test_missing_secrets_are_told_at_their_places_and_only_when_asked() -> None:
    problems = [problem.headline.replace("/srv/bell/", "") for problem in missing_secrets(read(NEEDS))]
    tail = "into the environment or into a secret file"
    assert problems == [
        f"config.toml:1:7: error: ops: its secret isn't set: put FEEDBELL_SLACK__BOT_TOKEN {tail}",
        f"config.toml:9:19: error: feeds[0].auth.bearer: its secret isn't set: put FEEDBELL_SECRETS__KEY {tail}",
        f"config.toml:11:18: error: routes[0].to[1]: its secret isn't set: put FEEDBELL_DISCORD__BOT_TOKEN {tail}",
        f"config.toml:11:31: error: routes[0].to[2]: its secret isn't set: put FEEDBELL_WEBHOOKS__A {tail}",
        f"config.toml:11:50: error: routes[0].to[3]: its secret isn't set: put FEEDBELL_SECRETS__B {tail}",
        f"config.toml:11:50: error: routes[0].to[3]: its secret isn't set: put FEEDBELL_WEBHOOKS__B {tail}",
        f"config.toml:11:63: error: routes[0].to[4]: its secret isn't set: put FEEDBELL_EMAIL__PASSWORD {tail}",
    ]
    environ = {
        "FEEDBELL_SLACK__BOT_TOKEN": "x",
        "FEEDBELL_DISCORD__BOT_TOKEN": "x",
        "FEEDBELL_EMAIL__PASSWORD": "x",
        "FEEDBELL_WEBHOOKS__A": "https://example.org/",
        "FEEDBELL_WEBHOOKS__B": "https://example.org/",
        "FEEDBELL_SECRETS__B": "x",
        "FEEDBELL_SECRETS__KEY": "x",
    }
    assert missing_secrets(read(NEEDS, environ)) == ()


def test_a_missing_secret_is_told_beside_other_mistakes() -> None:
    text = 'colour = 1\n[[routes]]\nto = ["discord:1", "slack:news"]\n[slack]\nbot_token = "xoxb-1"\n'
    with pytest.raises(ConfigError) as caught:
        parse(text, {}, path=HERE, secret_dirs=(), with_secrets=True)
    assert [str(problem).partition(": error: ")[2].partition(":")[0] for problem in caught.value.problems] == [
        "colour",
        "routes[0].to[0]",
        "routes[0].to[1]",
        "slack.bot_token",
    ]


@pytest.mark.parametrize(
    "environ",
    [
        {"FEEDBELL_WEBHOOKS__A": "example.org/hook"},
        {"FEEDBELL_WEBHOOKS__A": "https://example.org/\nhook"},
        {"FEEDBELL_WEBHOOKS__A_FILE": "/srv/no/such/file"},
    ],
)
def test_a_secret_that_is_wrong_is_told_once_and_not_as_missing_too(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse('[[routes]]\nto = "slack-webhook:a"\n', environ, path=HERE, secret_dirs=(), with_secrets=True)
    assert [problem.key for problem in caught.value.problems] == list(environ)


def test_the_environments_mistakes_are_told_beside_a_broken_file() -> None:
    with pytest.raises(ConfigError) as caught:
        read("a = ", {"FEEDBELL_ZEBRA": "x"})
    assert len(caught.value.problems) == 2
