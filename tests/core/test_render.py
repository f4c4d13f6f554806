"""What a reader sees of entries, before any platform's syntax."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.message import (
    Block,
    Bullets,
    Mention,
    MessageKind,
    Paragraph,
    Preformatted,
    Quote,
    Text,
)
from bot.core.model.route import OnEdit
from bot.core.render import (
    block_lines,
    card_of,
    display_date,
    display_title,
    entry_record,
    render_list,
    render_owed,
)
from tests.core.messages import BERLIN, SEEN, delivery, digest, entry, message

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize("offset", [-10, -8, -5, 0, 2, 5.5, 9, 13])
@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Berlin", "Pacific/Auckland"])
def test_a_date_without_a_time_is_a_day_in_every_zone(offset: float, zone: str) -> None:
    midnight = datetime(2026, 9, 16, tzinfo=timezone(timedelta(hours=offset)))
    for at in (midnight, midnight.astimezone(UTC)):
        shown = entry(published=at, date_only=True, first_seen_at=SEEN + timedelta(days=1))
        assert display_date(shown, timezone=ZoneInfo(zone)) == "16 Sep 2026"
        assert entry_record(shown)["published"] == "2026-09-16"


@pytest.mark.parametrize(
    ("published", "zone", "shown"),
    [
        (datetime(2026, 9, 16, 8, 5, tzinfo=UTC), BERLIN, "16 Sep 2026 10:05 CEST"),
        (datetime(2026, 9, 16, 2, 5, tzinfo=UTC), NEW_YORK, "15 Sep 2026 22:05 EDT"),
        (datetime(2026, 1, 2, 8, 5, tzinfo=UTC), BERLIN, "2 Jan 2026 09:05 CET"),
        (datetime(2026, 9, 16, 8, 5, tzinfo=UTC), ZoneInfo("UTC"), "16 Sep 2026 08:05 UTC"),
    ],
)
def test_a_date_with_a_time_is_shown_in_the_routes_zone(published: datetime, zone: ZoneInfo, shown: str) -> None:
    assert display_date(entry(published=published), timezone=zone) == shown


def test_a_date_in_the_future_prints_as_first_seen() -> None:
    late = datetime(2099, 1, 1, tzinfo=UTC)
    assert display_date(entry(published=late), timezone=ZoneInfo("UTC")) == "16 Sep 2026 09:30 UTC"
    assert display_date(entry(published=late, date_only=True), timezone=BERLIN) == "16 Sep 2026"


def test_tomorrow_is_a_day_already_where_the_author_lives() -> None:
    tomorrow = datetime(2026, 9, 17, tzinfo=UTC)
    shown = entry(published=tomorrow, date_only=True, first_seen_at=datetime(2026, 9, 16, 20, tzinfo=UTC))
    assert display_date(shown, timezone=NEW_YORK) == "17 Sep 2026"


def test_the_last_day_of_all_is_a_date_like_any_other() -> None:
    shown = entry(published=datetime(9999, 12, 31, 11, tzinfo=UTC), date_only=True)
    assert display_date(shown, timezone=BERLIN) == display_date(
        entry(published=datetime(2999, 1, 1, tzinfo=UTC), date_only=True), timezone=BERLIN
    )
    assert entry_record(shown)["published"] == "9999-12-31"


def test_without_a_date_the_update_counts_and_without_that_nothing_is_made_up() -> None:
    updated = datetime(2026, 9, 15, 8, tzinfo=UTC)
    assert display_date(entry(published=None, updated=updated), timezone=ZoneInfo("UTC")) == "15 Sep 2026 08:00 UTC"
    assert display_date(entry(published=None), timezone=BERLIN) == ""
    assert entry_record(entry(published=None))["published"] is None


@pytest.mark.parametrize(
    ("title", "text", "link", "shown"),
    [
        ("Tom & Jerry", "", None, "Tom & Jerry"),
        (" Spring\n\tfair   opens ", "", None, "Spring fair opens"),
        ("", "The kettle is finally back.", None, "The kettle is finally back."),
        ("\u200b\u2060", "Words", None, "Words"),
        ("", "word " * 60, None, "word " * 19 + "word…"),
        ("", "", "https://example.org/1", "https://example.org/1"),
        ("", "", None, "(untitled)"),
    ],
)
def test_a_title_is_one_line_and_never_empty(title: str, text: str, link: str | None, shown: str) -> None:
    assert display_title(entry(title=title, text=text, link=link)) == shown


def test_an_untitled_entry_does_not_say_its_words_twice() -> None:
    short = card_of(entry(title="", summary_html="<p>Hello.</p>", text="Hello."), timezone=BERLIN)
    assert (short.title, short.body) == ("Hello.", ())


def test_the_teaser_comes_before_the_content() -> None:
    both = card_of(entry(summary_html="teaser", content_html="<p>whole article</p>"), timezone=BERLIN)
    bare = card_of(entry(summary_html=" ", content_html="<p>whole article</p>"), timezone=BERLIN)
    assert block_lines(both.body) == ["teaser"]
    assert block_lines(bare.body) == ["whole article"]


def test_no_link_of_a_feeds_text_is_live() -> None:
    html = '<a href="https://evil.example/">https://good.example/</a><ul><li><a href="https://evil.example">x</a></ul>'
    card = card_of(entry(summary_html=html + f"<blockquote>{html}</blockquote>"), timezone=BERLIN)
    assert "href='" not in repr(card.body)
    assert "https://good.example/" in block_lines(card.body)[0]


@pytest.mark.parametrize(
    ("title", "link", "host"),
    [
        ("News from good.example", "https://evil.example/x", "evil.example"),
        ("News from evil.example", "https://www.evil.example/x", None),
        ("A title", "https://evil.example/x", None),
        (
            "good.example",
            f"https://{'a' * 60}.{'b' * 60}.evil.example/x",
            f"…{('a' * 60 + '.' + 'b' * 60 + '.evil.example')[-79:]}",
        ),
    ],
)
def test_a_title_that_names_another_host_shows_where_it_leads(title: str, link: str, host: str | None) -> None:
    assert card_of(entry(title=title, link=link), timezone=BERLIN).host == host


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "https://good@evil.example", "/x", "", None]
)
def test_only_web_addresses_become_links(link: str | None) -> None:
    assert card_of(entry(link=link), timezone=BERLIN).link is None


def test_a_blank_in_a_link_is_encoded() -> None:
    assert card_of(entry(link="https://e.example/a b"), timezone=BERLIN).link == "https://e.example/a%20b"


def test_many_tags_are_shortened_for_readers_but_not_for_programs() -> None:
    many = entry(tags=tuple(f"tag{number}" for number in range(25)))
    assert card_of(many, timezone=BERLIN).tags[-2:] == ("tag9", "+15")
    assert len(entry_record(many)["tags"]) == 25  # type: ignore[arg-type]  # a list, as the next test shows


def test_a_record_holds_what_programs_get() -> None:
    assert entry_record(entry()) == {
        "title": "A title",
        "link": "https://www.example.org/posts/1",
        "tags": ["bgp"],
        "published": "2026-09-16T08:05:00+00:00",
        "summary": "A short summary.",
        "feed": "news",
    }


def test_an_image_is_shown_only_where_the_route_asks_for_it() -> None:
    pictured = entry(image="https://www.example.org/pic one.png")
    assert message(pictured).cards[0].image is None
    shown = message(pictured, options=Options(image=True)).cards[0].image
    assert shown == "https://www.example.org/pic%20one.png"


def test_mentions_come_from_the_options_alone() -> None:
    said = message(entry(title="<!channel>"), options=Options(mentions=("<!here>",)))
    assert said.mentions == (Mention(literal="<!here>"),)


def test_a_late_message_says_so_and_so_does_a_withdrawn_entry() -> None:
    assert message(late=True).cards[0].note == "delayed"
    assert message(entry(withdrawn_at=SEEN)).cards[0].note == "withdrawn"
    assert message().cards[0].note is None


def test_an_edit_in_place_keeps_the_originals_identity() -> None:
    first = delivery(options=Options(mentions=("<!here>",)), remote_ref="1.2")
    edit = delivery(DeliveryKind.EDIT, idem="f" * 32, created_at=SEEN + timedelta(days=1))
    changed = render_owed(Owed(delivery=edit, entries=(entry(),), original=first), timezone=BERLIN)
    sent = render_owed(Owed(delivery=first, entries=(entry(),)), timezone=BERLIN)
    assert (changed.kind, changed.key, changed.reply_to) == (MessageKind.EDIT, first.idem, None)
    assert (changed.cards, changed.mentions, changed.created_at) == (sent.cards, sent.mentions, sent.created_at)


def test_an_edit_in_the_thread_is_a_message_of_its_own() -> None:
    first = delivery(options=Options(mentions=("<!here>",)), remote_ref="1.2")
    edit = delivery(DeliveryKind.EDIT, idem="f" * 32, options=Options(on_edit=OnEdit.THREAD))
    said = render_owed(Owed(delivery=edit, entries=(entry(),), original=first), timezone=BERLIN)
    assert (said.key, said.reply_to, said.mentions, said.cards[0].note) == ("f" * 32, "1.2", (), "edited")


def test_a_digest_has_a_section_for_each_tag_when_there_are_several() -> None:
    entries = (entry(tags=("bgp", "evpn")), entry(tags=()), entry(tags=("roce",)), entry(tags=("bgp",)))
    said = digest(entries)
    assert [(one.heading, len(one.cards)) for one in said.sections] == [("bgp", 2), ("roce", 1), ("other", 1)]
    assert said.sections[0].cards[0].tags == ("evpn",)
    assert said.heading == "New · 4 entries"
    assert len(said.records) == len(said.entry_ids) == 4


def test_a_digest_of_one_tag_has_no_sections_and_carries_its_heading() -> None:
    said = digest((entry(), entry()), options=Options(heading="while away"))
    assert [one.heading for one in said.sections] == [""]
    assert said.heading == "While away · 2 entries"
    assert said.feed_id == "news"


def test_a_digest_of_several_feeds_belongs_to_none() -> None:
    said = digest((entry(), entry(feed_id="other")))
    assert (said.feed_id, said.feed_title) == (None, "")


def test_a_notice_is_its_words() -> None:
    owed = Owed(delivery=delivery(DeliveryKind.NOTICE, notice="the feed is gone\n\n<!channel>"))
    said = render_owed(owed, timezone=BERLIN)
    assert block_lines(said.blocks) == ["the feed is gone", "<!channel>"]


def test_an_answer_shows_one_entry_in_full_and_many_short() -> None:
    long = entry(summary_html="word " * 400, text="word " * 400)
    one = render_list([long], timezone=BERLIN, now=SEEN)
    two = render_list([long, long], timezone=BERLIN, now=SEEN, heading="Latest", words="nothing else")
    assert len(block_lines(one.sections[0].cards[0].body)[0]) > 1_000
    assert len(block_lines(two.sections[0].cards[0].body)[0]) <= 300
    assert (two.heading, block_lines(two.blocks)) == ("Latest", ["nothing else"])
    assert render_list([], timezone=BERLIN, now=SEEN, words="none").sections == ()


def test_a_template_stands_instead_of_the_cards_own_layout() -> None:
    made = (Paragraph(spans=(Text(text="short"),)),)
    owed = Owed(delivery=delivery(), entries=(entry(),))
    assert render_owed(owed, timezone=BERLIN, template=lambda entry, card: made).cards[0].custom == made


def test_blocks_read_well_as_lines() -> None:
    spans = (Text(text="a"), Mention(literal="<@U1>"))
    blocks: list[Block] = [Paragraph(spans=spans), Quote(spans=spans), Preformatted(text="x\ny")]
    blocks += [Bullets(items=(spans, spans)), Bullets(items=(spans,), ordered=True)]
    assert block_lines(blocks) == ["a<@U1>", "> a<@U1>", "    x", "    y", "- a<@U1>", "- a<@U1>", "1. a<@U1>"]
