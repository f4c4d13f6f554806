"""Each mistake in config.toml is told with its place, its key and what would be right."""

from pathlib import Path

import pytest

from bot.config.load import load, parse
from bot.core.errors import ConfigError
from tests.config.reading import HERE, headlines, read

FEED = '[[feeds]]\nid = "a"\nurl = "https://example.org/a.xml"\n'

ONE_MISTAKE = [
    # the whole
    ('state = "data/x.db"', '1:9: error: state: no state that is known; allowed: "sqlite:///relative/path.db", '
     '"sqlite:////absolute/path.db", "postgresql://user@host/database"'),
    ('state = "postgres://h/d"', '1:9: error: state: no state that is known; allowed: "sqlite:///relative/path.db", '
     '"sqlite:////absolute/path.db", "postgresql://user@host/database"; did you mean "postgresql://…"?'),
    ('timezone = "Europe/Berln"', '1:12: error: timezone: "Europe/Berln" is no time zone; allowed: a name such as '
     '"Europe/Berlin" or "UTC"; did you mean "Europe/Berlin"?'),
    ('timezone = "../etc/passwd"', '1:12: error: timezone: "../etc/passwd" is no time zone; allowed: a name such as '
     '"Europe/Berlin" or "UTC"'),
    ('contact = "a (b)"', "1:11: error: contact: \"a (b)\" can't go into the User-Agent; allowed: an address of a page "
     "or a mailbox"),
    ('ops = "slak:#ops"', '1:7: error: ops: "slak:#ops" is no destination; it begins with one of: console, email, '
     'slack, slack-webhook, discord, discord-user, discord-webhook, webhook; did you mean "slack"?'),
    ('admins = "slack:U1"', "1:10: error: admins: a list is wanted, not text in quotes"),
    ('admins = ["slack:@bob"]', '1:11: error: admins[0]: "slack:@bob" is nobody; allowed: "slack:U0123ABCD" or '
     '"discord:USER_ID", never a name'),
    ("timezone = 3", "1:12: error: timezone: text in quotes is wanted, not a number"),
    ("timezone = 1979-05-27", "1:12: error: timezone: text in quotes is wanted, not a date or time"),
    ("feeds = 3", "1:9: error: feeds: a list is wanted, not a number"),
    ("feeds = [3]", "1:10: error: feeds[0]: a table is wanted, not a number"),
    ('[feeds]\nid = "a"', "1:1: error: feeds: a list is wanted, not a table; write [[feeds]]"),
    ("[[http]]", "1:1: error: http: a table is wanted, not a list; write [http]"),
    (FEED + '[[feeds.auth]]\nbearer = "x"', "4:1: error: feeds[0].auth: a table is wanted, not a list; "
     "write [feeds.auth]"),
    (FEED + 'ops = "console"', "4:1: error: feeds[0].ops: unknown key here; it belongs to the top of the file, before "
     "the first table"),
    ('ops = "email"', '1:7: error: ops: "email" is no destination; allowed: "email:name@example.org"'),
    ('ops = "slack:#a\\u001bb"', '1:7: error: ops: "slack:#a\ufffdb" is no destination; it holds what can\'t be shown'),
    ("http = true", "1:8: error: http: a table is wanted, not true or false"),
    ("zebra = 1", "1:1: error: zebra: unknown key; known here: state, timezone, contact, ops, admins, http, slack, "
     "discord, email, delivery, polling, log, feeds, routes"),
    ("[htp]\nlisten = 1", '1:1: error: htp: unknown key; did you mean "http"?'),
    # sections
    ('[http]\nlisten = "8080"', '2:10: error: http.listen: "8080" is no listening address; allowed: "HOST:PORT", such '
     'as "127.0.0.1:8080"'),
    ('[http]\nlisten = "::1:8080"', '2:10: error: http.listen: "::1:8080" is no listening address; an IPv6 host stands '
     'in brackets: "[::1]:8080"'),
    ('[http]\nlisten = "h:70000"', '2:10: error: http.listen: "h:70000" is no listening address; allowed: "HOST:PORT", '
     'such as "127.0.0.1:8080"'),
    ('[slack]\napi_url = "slack.com"', '2:11: error: slack.api_url: "slack.com" is no address; allowed: "https://…" or '
     '"http://…"; did you mean "https://slack.com"?'),
    ('[http]\npublic_url = "https://a.example/?b"', '2:14: error: http.public_url: "https://a.example/?b" has paths '
     'added to it; leave out what begins with "?" or "#"'),
    ('[discord]\npublic_key = "abc"', "2:14: error: discord.public_key: must be the 64 hexadecimal digits that Discord "
     "shows as the application's public key"),
    ('[email]\nport = "587"', "2:8: error: email.port: a whole number is wanted, not text in quotes"),
    *((f'[email]\nhost = "{host}"', f'2:8: error: email.host: "{host}" is no host; allowed: a name such as '
       '"smtp.example.org"; its port has its own key') for host in ("mail.example.org:25", "smtp://mail", "a b", "")),
    ("[email]\nport = 0", "2:8: error: email.port: must be at least 1"),
    ("[email]\nport = 99999", "2:8: error: email.port: must be at most 65535"),
    ('[email]\nsecurity = "tsl"', '2:12: error: email.security: "tsl" is not allowed; allowed: "starttls", "tls", '
     '"none"; did you mean "tls"?'),
    ("[email]\nsecurity = 1", "2:12: error: email.security: text in quotes is wanted, not a number"),
    ('[email]\nhost = "mail.example.org"\nusername = "u"\nsecurity = "none"', "4:12: error: email.security: a password "
     'would travel in clear; "none" with a username is for a loopback host only'),
    ('[email]\nfrom = "news"', '2:8: error: email.from: "news" is no mail address; allowed: "name@example.org"'),
    ('[email]\nfrom = "jörg@example.org"', '2:8: error: email.from: "jörg@example.org": many mail servers refuse such '
     "a mailbox; before the @ only ASCII is allowed"),
    ('[email]\nfrom = "a@b..example"', '2:8: error: email.from: "a@b..example" is no mail address; "b..example" is no '
     "domain"),
    ('[email]\nfrom = "A <b@example.org> C"', '2:8: error: email.from: "A <b@example.org> C" is no sender; allowed: '
     '"name@example.org" or "Name <name@example.org>"'),
    ('[email]\nca_file = "nope.pem"', '2:11: error: email.ca_file: no such file: "nope.pem"'),
    ('[delivery]\ngrace = "30"', '2:9: error: delivery.grace: "30" is no duration; allowed: a whole number and a unit, '
     '"90s", "15m", "2h", "7d"'),
    ("[delivery]\ngrace = 30", '2:9: error: delivery.grace: a duration in quotes, such as "90s" or "15m", is wanted, '
     "not a number"),
    ("[delivery]\nconcurrency = 2.0", "2:15: error: delivery.concurrency: a whole number is wanted, not a decimal "
     "number"),
    ('[delivery]\ngive_up = "99999d"', '2:11: error: delivery.give_up: "99999d" is too long; at most 3650d'),
    ('[delivery]\nretry_cap = "0s"', "2:13: error: delivery.retry_cap: must be longer than nothing"),
    ('[log]\nlevel = "verbose"', '2:9: error: log.level: "verbose" is not allowed; allowed: "debug", "info", '
     '"warning", "error"'),
    # feeds
    ('[[feeds]]\nid = "a"', "1:1: error: feeds[0].url: missing; each [[feeds]] needs it"),
    (FEED + 'intervall = "15m"', '4:1: error: feeds[0].intervall: unknown key; did you mean "interval"?'),
    (FEED + FEED, '5:6: error: feeds[1].id: "a" is the id of feeds[0] already'),
    *((FEED.replace('"a"', f'"{name}"'), f'2:6: error: feeds[0].id: "{name}" is no id; allowed: letters, digits, ".", '
       '"_" and "-", at most 64 of them, the first a letter or a digit') for name in ("a b", "-a", "..")),
    (FEED.replace("https:", "ftp:"), '3:7: error: feeds[0].url: "ftp://example.org/a.xml" is no feed address; allowed: '
     '"https://…" or "http://…"'),
    (FEED.replace("example", "u:hunter2@example"), "3:7: error: feeds[0].url: a user name or password must not be part "
     'of the address; write [feeds.auth] with username = "…" and password = "NAME", and set FEEDBELL_SECRETS__NAME'),
    (FEED + 'initial = "latest:6"', '4:11: error: feeds[0].initial: "latest:6" is not allowed; allowed: "none", or '
     '"latest:N" with N from 1 to 5'),
    (FEED + 'own = "yes"', "4:7: error: feeds[0].own: true or false is wanted, not text in quotes"),
    (FEED + "tags = [1]", "4:9: error: feeds[0].tags[0]: text in quotes is wanted, not a number"),
    (FEED + 'tags = [" "]', "4:9: error: feeds[0].tags[0]: must be text of one line, and not empty"),
    (FEED + 'allow_private = ["10.1.0.0/8"]', '4:18: error: feeds[0].allow_private[0]: "10.1.0.0/8" is no network; '
     'allowed: CIDR form, such as "10.0.0.0/8"; did you mean "10.0.0.0/8"?'),
    (FEED + 'headers = { Authorization = "x" }', '4:13: error: feeds[0].headers.Authorization: carries a secret; '
     "use [feeds.auth] instead"),
    (FEED + 'headers = { Host = "x" }', "4:13: error: feeds[0].headers.Host: is set by feedbell itself"),
    (FEED + 'headers = { "X-A" = "a\\nb" }', "4:21: error: feeds[0].headers.X-A: must be printable ASCII"),
    (FEED + 'headers = { "X A" = "a" }', '4:13: error: feeds[0].headers."X A": is no name of a header; allowed: '
     'letters, digits, "-" and "_"'),
    (FEED + "headers = { X = 1 }", "4:17: error: feeds[0].headers.X: text in quotes is wanted, not a number"),
    (FEED + '[feeds.auth]\nusername = "u"', '4:1: error: feeds[0].auth: wants either username = "…" and password = '
     '"NAME", or bearer = "NAME"'),
    (FEED + 'auth = { username = "u:v", password = "n" }', '4:21: error: feeds[0].auth.username: must hold no ":"; a '
     "server takes what follows for the password (RFC 7617)"),
    (FEED + '[feeds.auth]\nusername = "u"\npassword = "Hunter2!"', "6:12: error: feeds[0].auth.password: the NAME of a "
     'secret is wanted here, never the secret; allowed: a-z, 0-9 and "_", not ending in "_file"; its value goes into '
     "FEEDBELL_SECRETS__NAME"),
    # routes
    ('[[routes]]\ntags = ["a"]', "1:1: error: routes[0].to: missing; each [[routes]] needs it"),
    ("[[routes]]\nto = []", "2:6: error: routes[0].to: is empty; name at least one"),
    ('[[routes]]\nto = "slack:general"', '2:6: error: routes[0].to: "slack:general" is no destination; allowed: '
     '"slack:#name", "slack:C0123" or "slack:U0123"; did you mean "slack:#general"?'),
    ('[[routes]]\nto = ["console", "discord:#x"]', '2:18: error: routes[0].to[1]: "discord:#x" is no destination; '
     'allowed: "discord:CHANNEL_ID", a number: in Discord\'s Developer Mode, right-click and copy the id'),
    ('[[routes]]\nto = "webhook:My-Hook"', '2:6: error: routes[0].to: "webhook:My-Hook" is no destination; allowed: '
     '"webhook:NAME", NAME of a-z, 0-9 and "_"; did you mean "webhook:my_hook"?'),
    ('[[routes]]\nto = "discord-webhook:https://example.org/x"', "2:6: error: routes[0].to: a webhook's address is a "
     'secret: write "discord-webhook:NAME" here, and put the address into FEEDBELL_WEBHOOKS__NAME'),
    ('[[routes]]\nto = "email:team"', '2:6: error: routes[0].to: "team" is no mail address; allowed: '
     '"name@example.org"'),
    ('[[routes]]\nto = "email:team@example.org"', "2:6: error: routes[0].to: mail needs host and from in [email]"),
    ('[[routes]]\nto = "consol"', '2:6: error: routes[0].to: "consol" is no destination; it begins with one of: '
     "console, email, slack, slack-webhook, discord, discord-user, discord-webhook, webhook; did you mean "
     '"console"?'),
    (FEED + '[[routes]]\nto = "console"\nfeeds = ["aa"]', '6:10: error: routes[0].feeds[0]: no feed has the id "aa"; '
     'did you mean "a"?'),
    (FEED + '[[routes]]\nto = "console"\nfeeds = ["zebra"]', '6:10: error: routes[0].feeds[0]: no feed has the id '
     '"zebra"; known: a'),
    ('[[routes]]\nto = "console"\nfeeds = []', "3:9: error: routes[0].feeds: is empty; leave the key out for all feeds "
     "of this file"),
    ('[[routes]]\nto = "slack:#a"\nmention = { "*" = "<@&1>" }', '3:19: error: routes[0].mention."*": "<@&1>" is for '
     "Discord, and no destination of this route is there"),
    ('[[routes]]\nto = "discord:1"\nmention.a = ["<@1>", "<!here>"]', '3:22: error: routes[0].mention.a[1]: "<!here>" '
     "is for Slack, and no destination of this route is there"),
    ('[[routes]]\nto = "slack:#a"\nmention = { a = "@bob" }', '3:17: error: routes[0].mention.a: "@bob" is no mention; '
     'allowed: Slack "<@U…>", "<!subteam^S…>", "<!here>", "<!channel>", Discord "<@ID>", "<@&ID>", "@here", '
     '"@everyone"'),
    ('[[routes]]\nto = "console"\ndigest = "daily"', '3:10: error: routes[0].digest: "daily" is no digest time; '
     'allowed: "hourly", "daily HH:MM", "weekdays HH:MM", "mon,thu HH:MM", several times by comma'),
    ('[[routes]]\nto = "console"\nquiet = "22:00"', '3:9: error: routes[0].quiet: "22:00" are no quiet hours; allowed: '
     '"HH:MM-HH:MM", such as "22:00-07:00"'),
    ('[[routes]]\nto = "console"\nquiet = "7:00-07:00"', '3:9: error: routes[0].quiet: "7:00-07:00" begins and ends at '
     "the same time; leave the key out for no quiet hours"),
    ('[[routes]]\nto = "console"\non_edit = "updaet"', '3:11: error: routes[0].on_edit: "updaet" is not allowed; '
     'allowed: "update", "ignore", "thread"; did you mean "update"?'),
    ('[[routes]]\nto = "console"\ntemplate = "nope.j2"', '3:12: error: routes[0].template: no such file: "nope.j2", '
     'sought beside the configuration; ready-made: "card", "compact", "headline"'),
    ('[[routes]]\nto = "console"\ntemplate = "compat"', '3:12: error: routes[0].template: no such file: "compat", '
     'sought beside the configuration; ready-made: "card", "compact", "headline"; did you mean "compact"?'),
    ("[[routes]]\nto = \"console\"\nmatch = 'a and'", "3:15: error: routes[0].match: a word is missing before the end; "
     "an operator in quotes is a word"),
    ('[[routes]]\nto = "console"\nmatch = "\\"a b\\" (c"', '3:18: error: routes[0].match: this "(" is never closed'),
    ('[[routes]]\nto = "console"\nmatch = """\na or\nb* """', '5:2: error: routes[0].match: "*" means nothing here: no '
     "wildcards and no regular expressions, only words"),
    # secrets
    ('[slack]\nbot_token = "s3cret"', "2:1: error: slack.bot_token: a secret does not belong in this file; put it into "
     "the environment as FEEDBELL_SLACK__BOT_TOKEN, or into a secret file of that name"),
    ('state = "postgresql://u:hunter2@h/d"', "1:1: error: state: a secret does not belong in this file; put it into "
     "the environment as FEEDBELL_STATE, or into a secret file of that name"),
    ('[webhooks]\nteam = "https://example.org"', "1:1: error: webhooks: a secret does not belong in this file; put it "
     "into the environment as FEEDBELL_WEBHOOKS__NAME, or into a secret file of that name"),
    ('contact = "xoxb-123-abc"', "1:11: error: contact: this looks like a secret; a secret does not belong in this "
     "file"),
    # the language
    ("a = ", "1:5: error: not valid TOML: Invalid value"),
    ('ops = "console"\nops = "console"', "2:1: error: not valid TOML: ops is there twice"),
    ("[http]\n[log]\n[http]", "3:1: error: not valid TOML: http is there twice"),
    ('ops = """x', "1:11: error: not valid TOML: Unterminated string"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "headline"), ONE_MISTAKE)
def test_a_mistake_is_told_in_one_exact_line(text: str, headline: str) -> None:
    assert headlines(text) == [f"config.toml:{headline}"]


def test_each_header_has_its_own_mistake() -> None:
    text = FEED + 'headers = { Cookie = "x", "a b" = "y", X = 1, Y = "é", Z = "fine" }'
    assert [line.partition(": error")[0] for line in headlines(text)] == [
        f"config.toml:4:{column}" for column in (13, 27, 44, 51)
    ]


def test_every_mistake_is_told_at_once_in_file_order_and_shown() -> None:
    text = 'ops = 1\n\n[[feeds]]\nid = "a"\nintervall = "15m"\n[[routes]]\n\tto = "console"\nfeeds = ["b"]\n'
    with pytest.raises(ConfigError) as caught:
        read(text, {"FEEDBELL_LOG__LEVEL": "loud", "FEEDBELL_STAT": "x"})
    assert str(caught.value).replace("/srv/bell/", "").split("\n") == [
        "config.toml:1:7: error: ops: text in quotes is wanted, not a number",
        "    ops = 1",
        "          ^",
        "config.toml:3:1: error: feeds[0].url: missing; each [[feeds]] needs it",
        "    [[feeds]]",
        "    ^",
        'config.toml:5:1: error: feeds[0].intervall: unknown key; did you mean "interval"?',
        '    intervall = "15m"',
        "    ^",
        'config.toml:8:10: error: routes[0].feeds[0]: no feed has the id "b"; known: a',
        '    feeds = ["b"]',
        "             ^",
        'environment: FEEDBELL_LOG__LEVEL: error: "loud" is not allowed; allowed: "debug", "info", "warning", "error"',
        'environment: FEEDBELL_STAT: error: unknown name; did you mean "FEEDBELL_STATE"?',
    ]


@pytest.mark.parametrize(
    "text",
    [
        '[slack]\nbot_token = "xoxb-canary-1"',
        '[slack]\nbot_tokn = "canary"',
        '[slack]\ntoken = "canary',
        'ops = "xapp-1-canary"',
        'ops = "slack:xoxb-1-canary"',
        'state = "postgresql://u:canary@h/d"',
        'state = "mysql://u:canary@h/d"',
        '[[feeds]]\nid = "a"\nurl = "https://u:canary@example.org/"',
        '[[feeds]]\nid = "a"\nurl = "https://e.org/"\nauth = { username = "u", password = "Canary canary" }',
        '[[routes]]\nto = "slack-webhook:https://hooks.slack.com/services/T0/B0/canary"',
        '[[routes]]\nto = "discord-webhook:https://discord.com/api/webhooks/123/canary"',
        'ops = "MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.canarycanarycanarycanarycanary"',
        '[webhooks]\nx = "xoxb-canary"',
        "xoxb-1-canary = 1",
        "[slack]\nxapp-1-canary = 1",
        "xoxb-1-canary = 1\nxoxb-1-canary = 1",
        FEED + 'headers = { xoxb-1-canary = "é" }',
        FEED.replace('"a"', '"xoxb-1-canary"') + '[[routes]]\nto = "console"\nfeeds = ["b", "xoxb-1-canari"]',
        'ops = "webhook:https://example.org/hook?key=canary"',
        '[[feeds]]\nid = "a"\nurl = "https://e.org/"\nauth = { bearer = "Canary.canary" }',
        '[[feeds]]\nid = "a"\nurl = "https://e.org/"\npasswort = "canary"',
        '[[feeds]]\nid = "a"\nurl = "https://e.org/"\nauth = { usr = "u", passwort = "canary" }',
        '[[feeds]]\nid = "a"\nurl = "https://e.org/"\nauth.pasword = "canary"',
        '[[feeds]]\nid = "a"\nurl = "https://e.org/"\nheaders = { X-Api-Key = "canary", Cookie = "canary" }',
    ],
)
@pytest.mark.parametrize("with_secrets", [False, True])
def test_a_secret_in_the_file_is_refused_and_never_repeated(text: str, with_secrets: bool) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, {}, path=HERE, secret_dirs=(), with_secrets=with_secrets)
    assert "canary" not in str(caught.value).lower()


def test_a_caret_stands_under_its_place_behind_tabs_and_wide_letters() -> None:
    with pytest.raises(ConfigError) as caught:
        read('\tmention = { "日本" = 1 }')
    assert str(caught.value).split("\n")[1:] == ['    \tmention = { "日本" = 1 }', "    \t^"]
    with pytest.raises(ConfigError) as caught:
        read('[[routes]]\nto = "slack:#a"\nmention = { "日本" = 1 }')
    line, caret = str(caught.value).split("\n")[1:]
    assert len(caret) - 1 == line.index("1 }") + 2  # two letters of double width stand before it


def test_a_line_cannot_write_to_the_terminal() -> None:
    with pytest.raises(ConfigError) as caught:
        read("ops = 1 #\x9b31mred")
    assert "\x9b" not in str(caught.value)


FILES = [
    (b"\xef\xbb\xbfops = 1", "1:1: error: begins with a byte order mark (BOM); save it as UTF-8 without BOM"),
    ("ops = 1".encode("utf-16"), "1:1: error: is UTF-16 or UTF-32; save it as UTF-8 without BOM"),
    ("ops = 1".encode("utf-16-be"), "1:1: error: is UTF-16 or UTF-32; save it as UTF-8 without BOM"),
    ('a = 1\nops = "bä'.encode("latin-1"), "2:9: error: not UTF-8 (byte 0xE4); save the file as UTF-8"),
]


@pytest.mark.parametrize(("content", "headline"), FILES)
def test_a_file_in_another_encoding_is_told_as_such(content: bytes, headline: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert str(caught.value).split("\n")[0] == f"{path}:{headline}"


def test_a_file_that_is_not_there_or_no_file_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "config.toml", {})
    hint = "copy config.example.toml, or name another file with --config or FEEDBELL_CONFIG"
    assert str(caught.value) == f"{tmp_path}/config.toml: error: no such file; {hint}"
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {})
    assert str(caught.value) == f"{tmp_path}: error: this is a directory; name the file in it"


def test_windows_line_ends_change_no_place() -> None:
    assert headlines("\r\n\r\nops = 1\r\n") == ["config.toml:3:7: error: ops: text in quotes is wanted, not a number"]


def test_nesting_without_end_is_a_problem_and_no_crash() -> None:
    for text in ("a = " + "[" * 100_000, "a" + ".a" * 3_000 + " = 1", "[a" + ".a" * 3_000 + "]"):
        assert headlines(text) == ["config.toml: error: lists or tables are nested too deep"]
