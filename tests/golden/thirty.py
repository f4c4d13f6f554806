"""Thirty entries as feeds really bring them, each in the manner of one that was met; every word is made up."""

from datetime import UTC, datetime

from bot.core.model.entry import Entry, Key
from bot.core.text.markup import plain_text
from tests.core.messages import entry

FAMILY = "👨‍👩‍👧‍👦"


def thirty() -> list[Entry]:
    """Return them, numbered from 1."""
    return [_entry(number, **fields) for number, fields in enumerate(_ENTRIES, 1)]


def _entry(number: int, *, html: str = "", **fields: object) -> Entry:
    at = datetime(2026, 9, 1 + number % 15, 7, 5, tzinfo=UTC)
    shown: dict[str, object] = {
        "id": number,
        "key": Key(number.to_bytes(16, "big")),
        "guid": f"g{number}",
        "link": f"https://www.example.org/posts/{number}",
        "summary_html": html,
        "text": plain_text(html),
        "tags": (),
        "published": at,
        "sort_at": at,
        "feed_title": "Example News",
        **fields,
    }
    return entry(**shown)


_CODE = """<p>The fix is one line. Before:</p><pre><code>for i in range(len(names)):
    if names[i] == "*":   # a star &amp; nothing else
        print(i, names[i])
</code></pre><p>After, <code>enumerate()</code> does it, and <code>names[i]</code> is gone.</p>"""

_TABLE = """<p>Throughput by frame size:</p><table><tr><th>Frame</th><th>10G</th><th>100G</th></tr>
<tr><td>64 B</td><td>14.9 Mpps</td><td>148.8 Mpps</td></tr><tr><td>1518 B</td><td>0.8 Mpps</td><td>8.1 Mpps</td></tr>
</table><p>Measured twice.</p>"""

_LISTS = """<p>In this release:</p><ul><li>Faster start, by <b>half</b></li><li>Fewer surprises:
<ul><li>no hidden retry</li><li>no silent drop</li></ul></li><li>A new <a href="https://docs.example.org/">manual</a></li></ul>
<p>To upgrade:</p><ol><li>Stop the service</li><li>Run <code>upgrade --yes</code></li><li>Start it again</li></ol>"""

_ARTICLE = "".join(
    f"<h2>Chapter {n}</h2><p>{'The river was low that year, and the ferry did not run. ' * 12}</p>" for n in range(1, 9)
)

_ENTRIES: tuple[dict[str, object], ...] = (
    {"title": "The kettle is back", "html": "<p>It boils again, and nobody knows why.</p>", "tags": ("kitchen",)},
    {
        "title": "数据中心网络为什么不再需要生成树协议",
        "html": "<p>本文从一次真实的故障讲起：一个环路，三分钟，两千台服务器。然后说明叶脊结构怎样避免它。</p>",
        "tags": ("网络", "数据中心"),
        "feed_title": "示例技术周刊",
    },
    {
        "title": "「静かな」データセンターの作り方、第2回:冷却と騒音",
        "html": "<p>前回は電源の話でした。今回は温度が上がらなかった理由を説明します。</p>",
        "tags": ("冷却",),
        "feed_title": "例えばニュース",
    },
    {
        "title": "서버실 온도를 3도 올렸더니 생긴 일",
        "html": "<p>전기 요금은 8% 줄었고, 고장률은 그대로였습니다. 다음 달에는 2도를 더 올려 보겠습니다.</p>",
        "tags": ("운영",),
    },
    {
        "title": "لماذا تتوقف الشبكة عن العمل كل يوم ثلاثاء؟",
        "html": "<p>بعد أسبوعين من البحث وجدنا أن السبب هو جهاز BGP قديم يعيد التشغيل في الساعة 03:00.</p>",
        "tags": ("شبكات", "BGP"),
        "feed_title": "أخبار المثال",
    },
    {
        "title": "מדריך קצר ל-IPv6: מה השתנה בגרסה 2.0?",
        "html": "<p>המדריך עודכן. הפרק על DHCPv6 נכתב מחדש, ונוספו 12 תרגילים (עם פתרונות).</p>",
        "tags": ("רשתות",),
        "feed_title": "חדשות לדוגמה",
    },
    {
        "title": "नेटवर्क की गति दोगुनी कैसे हुई",
        "html": "<p>एक छोटे शहर के क्षेत्रीय केंद्र में स्विच बदले गए, और विलंबता आधी रह गई।</p>",
        "tags": ("नेटवर्क",),
    },
    {
        "title": f"{FAMILY} Family day: bring the kids! 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🇺🇳 1️⃣2️⃣",
        "html": f"<p>Cake 🍰, balloons 🎈 and a tour of the machine room {FAMILY * 3}. Wear 🧤; it is cold ❄️.</p>",
        "tags": ("party 🎉",),
    },
    {"title": "Replace the loop", "html": _CODE, "tags": ("python",)},
    {"title": "Version 4.2: what is new", "html": _LISTS, "tags": ("releases",)},
    {"title": "How fast is it really?", "html": _TABLE, "tags": ("benchmarks",)},
    {
        "title": "A title without an end " + "that goes on and on, because nobody cut it, " * 222,
        "html": "<p>Short text below a title of ten thousand characters.</p>",
    },
    {"title": "Long read: the ferry", "html": _ARTICLE, "tags": ("essays",)},
    {"title": "字" * 1_000, "html": f"<p>{'長い文章。' * 2_000}</p>"},
    {
        "title": "",
        "html": "<p>Just a note to say that the shop is closed on Monday. Nothing else has changed.</p>",
        "tags": ("notes",),
    },
    {"title": "", "html": "", "link": "https://www.example.org/photos/0417"},
    {
        "title": "What <blink> did & why `it` *had* to [go](https://evil.example/) _away_",
        "html": "<p>Write &lt;b&gt; to get bold, 2 * 3 * 4 to get 24, and ~~nothing~~ to get nothing. # no heading</p>",
        "tags": ("html", "c++", "a_b_c"),
    },
    {
        "title": "@everyone: please read <!channel> this, @here",
        "html": "<p>Ask &lt;@U0READER&gt; or &lt;@&amp;700&gt;; write to team@example.org; see #general.</p>",
    },
    {
        "title": "Sign in at mybank.example today",
        "link": "https://mybank.example.evil.example/login",
        "html": '<p>Go to <a href="https://evil.example/">https://mybank.example/</a> and type your password.</p>',
    },
    {
        "title": "Quoted, and answered",
        "html": "<blockquote><p>Nobody needs more than one switch.</p><p>Or two.</p></blockquote><p>We have nine.</p>",
        "author": "R. Answer",
    },
    {
        "title": "Many tags, few words",
        "html": "<p>…</p>",
        "tags": ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    },
    {
        "title": "English first, then עברית, then العربية, then English (2.0)",
        "html": "<p>Mixed text: the word שלום means hello; مرحبا means hello too. 1 + 1 = 2.</p>",
        "tags": ("mixed", "עברית"),
    },
    {
        "title": "A picture, a script and a tracker",
        "html": '<script>alert(1)</script><p>Before.<img src="https://t.example/1.gif" width="1"></p>'
        "<style>p{color:red}</style><p>After.</p><iframe src='https://evil.example/'></iframe>",
        "image": "https://www.example.org/pic.png",
    },
    {
        "title": "Entities: caf&eacute;, &lt;3, AT&T and 5 &gt; 4",
        "html": "<p>caf&eacute; costs 3&nbsp;&euro;; AT&amp;T says &quot;&amp;lt;&quot; is &lt;. 5 &gt; 4.</p>",
    },
    {
        "title": "Breaking: outage in zone 3 is over",
        "html": "<p><b>Resolved.</b> All links are up since <i>06:58 UTC</i>.<br>Cause: a <s>squirrel</s> fuse.</p>",
        "tags": ("outage", "status"),
        "published": datetime(2026, 9, 16, tzinfo=UTC),
        "date_only": True,
    },
    {
        "title": "One-word-that-is-far-too-long-" + "x" * 400,
        "html": f"<p>https://www.example.org/{'very/long/path/' * 40}end</p>",
        "link": f"https://www.example.org/{'deep/' * 100}page?q=(a)&b=[c]",
    },
    {
        "title": "$ rm -rf /tmp/* && echo 'done' | tee log; # don't",
        "html": "<pre>$ ls -la\ntotal 0\n```\nnot a fence\n```\n\ttab\tand `ticks`</pre>",
        "tags": ("shell",),
    },
    {
        "title": "Zażółć gęślą jaźń: Ćwiczenia dla początkujących – część I",
        "html": "<p>Üben macht den Meister. Naïve façade, coöperate; ﬁne ligatures, ½ cup, 10 µm, Ωhm.</p>",
        "feed_title": "Über Österreich „Nachrichten“",
    },
    {
        "title": "Z̸a̸l̸g̸o̸ ̸c̸o̸m̸e̸s̸" + "\u0301" * 40 + " \u202egnp.exe\u202c and 0\u200bhidden",
        "html": "<p>Marks " + "a" + "\u0300" * 60 + " and overrides \u202ereversed\u202c end.</p>",
    },
    {
        "title": "Weekly round-up: 12 links",
        "html": "<ul>"
        + "".join(
            f'<li><a href="https://www.example.org/{n}">Link number {n}</a>: why it is worth it</li>'
            for n in range(1, 13)
        )
        + "</ul>",
        "tags": ("weekly",),
        "link": None,
    },
)
