"""`health`: for the container's HEALTHCHECK."""

import http.client
import json
import os

import click

from bot.cli.loading import config_option, config_path
from bot.cli.output import say
from bot.config.load import listening_address

PATIENCE = 5  # seconds; a bot that takes longer is not well


@click.command()
@click.option("--ready", is_flag=True, help="Ask /readyz: is a feed overdue, a delivery stuck, a chat connection down?")
@config_option
def health(ready: bool, config: str | None) -> int:
    """Ask the running bot whether it is well; exit 0 or 1."""
    (host, port), is_right = listening_address(config_path(config), os.environ)
    if not is_right:
        say("the configuration has mistakes; see `feedbell check`", err=True)
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - what to ask, not what to listen on
    connection = http.client.HTTPConnection(target, port, timeout=PATIENCE)
    try:
        connection.request("GET", "/readyz" if ready else "/healthz")
        answer = connection.getresponse()
        body = answer.read(10_000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        why = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
        say(f"no answer from {target}:{port}: {why}; is `feedbell run` running?", err=True)
        return 1
    finally:
        connection.close()
    say(_reasons(body) or ("well" if answer.status == 200 else f"status {answer.status}"))
    return 0 if answer.status == 200 else 1


def _reasons(body: str) -> str:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    reasons = told.get("reasons") if isinstance(told, dict) else None
    return "; ".join(str(reason) for reason in reasons) if isinstance(reasons, list) else ""
