"""The forms a ping takes on each platform; only the operator's configuration makes one (small print 19)."""

import re

_SLACK = re.compile(r"<@[UW][A-Z0-9]+>|<!subteam\^[A-Z0-9]+>|<!(?:here|channel|everyone)>")
_DISCORD = re.compile(r"<@[0-9]+>|<@&[0-9]+>|@here|@everyone")
_FORMS = {"slack": _SLACK, "slack-webhook": _SLACK, "discord": _DISCORD, "discord-webhook": _DISCORD}


def fits(literal: str, scheme: str) -> bool:
    """Whether `literal` pings somebody on destinations of `scheme`."""
    form = _FORMS.get(scheme)
    return form is not None and form.fullmatch(literal) is not None
