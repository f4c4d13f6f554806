"""What one new entry owes, and to whom, when several routes want it."""

from datetime import UTC, datetime, time, timedelta

from bot.core.model.delivery import Delivery
from bot.core.model.entry import Key
from bot.core.model.feed import Feed, FeedId
from bot.core.model.route import DestinationUid, DigestRule, OnEdit, QuietHours, Route
from bot.core.owing import Bundle, deliveries_of
from tests.core.messages import entry

NOW = datetime(2026, 9, 16, 22, 30, tzinfo=UTC)
FEED = Feed(id=FeedId("news"), url="https://www.example.org/feed.xml")
CHAT, MAIL = DestinationUid("slack:#x"), DestinationUid("email:a@example.org")
MORNING = (DigestRule(at=time(9)),)
NIGHT = QuietHours(start=time(22), end=time(7))
FLOOD = Bundle(name="flood|news|1", heading="12 new entries at once", due_at=NOW + timedelta(minutes=5))


def route(name: str = "routes[0]", *to: DestinationUid, **changes: object) -> Route:
    return Route(name=name, to=to or (CHAT,), **changes)  # type: ignore[arg-type]  # the callers name real fields


def owed(*routes: Route, bundle: Bundle | None = None, tags: tuple[str, ...] = ("bgp",)) -> list[Delivery]:
    made = deliveries_of(entry(tags=tags), FEED, routes, now=NOW, story=Key(b"s" * 16), bundle=bundle)
    assert all(each.story == b"s" * 16 for each in made)
    return [each.delivery for each in made]


def test_each_destination_of_a_route_is_owed_one_delivery() -> None:
    found = owed(route("routes[0]", CHAT, MAIL, template="compact", image=True, on_edit=OnEdit.THREAD))
    assert [one.destination for one in found] == [CHAT, MAIL]
    assert len({one.idem for one in found}) == 2
    assert all((one.due_at, one.bundle, one.options.heading) == (NOW, None, None) for one in found)
    options = found[0].options
    assert (options.template, options.image, options.on_edit, options.timezone) == (
        "compact",
        True,
        OnEdit.THREAD,
        "UTC",
    )


def test_a_route_that_does_not_want_it_owes_nothing() -> None:
    assert owed(route(tags=frozenset({"evpn"}))) == []


def test_two_routes_to_one_destination_make_one_message_with_the_mentions_of_both() -> None:
    one = route("routes[0]", mention=(("*", ("<!here>",)), ("evpn", ("<@U1>",))))
    two = route("routes[1]", mention=(("bgp", ("<@U2>", "<!here>", "@everyone")),))
    (found,) = owed(one, two)
    assert found.options.routes == ("routes[0]", "routes[1]")
    assert found.options.mentions == ("<!here>", "<@U2>")


def test_the_earliest_route_decides_how_it_is_told() -> None:
    digest = route("routes[0]", digest=MORNING, template="card")
    at_once = route("routes[1]", template="headline")
    for routes in ((digest, at_once), (at_once, digest)):
        (found,) = owed(*routes)
        assert (found.due_at, found.bundle, found.options.template) == (NOW, None, "headline")


def test_at_the_same_time_alone_goes_before_in_a_digest() -> None:
    quiet = route("routes[0]", quiet=QuietHours(start=time(22), end=time(9)))
    digest = route("routes[1]", digest=MORNING)
    for routes in ((quiet, digest), (digest, quiet)):
        (found,) = owed(*routes)
        assert (found.due_at, found.bundle) == (datetime(2026, 9, 17, 9, tzinfo=UTC), None)


def test_each_routes_digest_is_its_own_and_each_of_its_times() -> None:
    (one,) = owed(route("routes[0]", digest=MORNING))
    (two,) = owed(route("routes[1]", digest=MORNING))
    assert one.bundle is not None
    assert one.bundle != two.bundle
    assert (one.due_at, one.options.heading) == (datetime(2026, 9, 17, 9, tzinfo=UTC), "daily digest")


def test_quiet_hours_hold_and_urgent_tags_break_through() -> None:
    (held,) = owed(route(quiet=NIGHT, urgent=frozenset({"outage"})))
    assert held.due_at == datetime(2026, 9, 17, 7, tzinfo=UTC)
    (urgent,) = owed(route(quiet=NIGHT, digest=MORNING, urgent=frozenset({"outage"})), tags=("Outage",))
    assert (urgent.due_at, urgent.bundle) == (NOW, None)


def test_what_came_in_a_flood_goes_as_its_digest_unless_it_is_urgent_or_has_a_digest_anyway() -> None:
    (bundled,) = owed(route(), bundle=FLOOD)
    assert (bundled.due_at, bundled.bundle, bundled.options.heading) == (FLOOD.due_at, FLOOD.name, FLOOD.heading)
    (urgent,) = owed(route(urgent=frozenset({"bgp"})), bundle=FLOOD)
    assert (urgent.due_at, urgent.bundle) == (NOW, None)
    (daily,) = owed(route(digest=MORNING), bundle=FLOOD)
    assert daily.options.heading == "daily digest"
    (quiet,) = owed(route(quiet=NIGHT), bundle=FLOOD)
    assert (quiet.due_at, quiet.bundle) == (datetime(2026, 9, 17, 7, tzinfo=UTC), FLOOD.name)
