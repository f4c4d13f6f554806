"""What somebody asks, and what they are answered; the platforms translate both."""

from dataclasses import dataclass

from bot.core.model.message import Message
from bot.core.model.route import DestinationUid


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Who asks, and where. Ids only: names can be taken by others (T19)."""

    platform: str  # "slack", "discord"
    user: str
    place: DestinationUid  # where it was typed, as something that can be delivered to
    dm: DestinationUid  # the person, as something that can be delivered to
    names: frozenset[DestinationUid] = frozenset()  # further spellings of the place: "slack:#news"
    is_direct: bool = False  # nobody else sees the place
    is_bot: bool = False

    @property
    def id(self) -> str:
        """As `admins` spells it."""
        return f"{self.platform}:{self.user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One command. `page` counts from 0; buttons ask for others."""

    name: str
    text: str
    who: Who
    page: int = 0
    public: bool = False  # asked by a button; the text may say so too


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """Pressing it asks `name` with `text`: in place of the answer that it stands below, or for all to see."""

    label: str
    name: str
    text: str
    page: int = 0
    posts: bool = False  # shows its answer to the channel
    is_main: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What comes back; only to the person who asked, unless it is public."""

    message: Message
    public: bool = False
    buttons: tuple[Button, ...] = ()
    hint: str = ""  # a line below the answer
