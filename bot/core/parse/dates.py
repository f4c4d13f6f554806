"""Dates as feeds write them -> aware datetimes; None where a date is wrong or ambiguous, never a guess."""
# ruff: noqa: RUF001 - months are spelled in their own scripts

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

_MONTHS = (
    "jan januar january janvier janv enero ene gennaio gen janeiro januari sty stycznia янв января януари tammikuuta"
    " oca ocak ledna leden січ січня ιαν ιανουαριου ian ianuarie",
    "feb februar february fevrier fevr fev febrero febbraio fevereiro februari lutego lut фев февр февраля helmikuuta"
    " февруари sub subat unora unor лют лютого φεβ φεβρουαριου februarie febr",
    "mar mars march marz maerz mrz mär marzo março marco maart marts marca мар марта март maaliskuuta mrt"
    " mart brezna brezen бер березня μαρ μαρτιου martie maret",
    "apr april avril avr abril abr aprile kwietnia kwi апр апреля април huhtikuuta"
    " nis nisan dubna duben кві квіт квітня απρ απριλιου aprilie",
    "may mai mayo mag maggio maio mei maj maja май мая toukokuuta mayis kvetna kveten тра трав травня μαι μαιου",
    "jun june juin juni junio giu giugno junho czerwca cze июн июня юни kesakuuta"
    " haz haziran cervna cerven чер черв червня ιουν ιουνιου iun iunie",
    "jul july juil juillet juli julio lug luglio julho lipca lip июл июля юли heinakuuta"
    " tem temmuz cervence cervenec лип липня ιουλ ιουλιου iul iulie",
    "aug august aout agosto ago augusti augustus sierpnia sie авг августа август elokuuta"
    " agustos srpna srpen сер серп серпня αυγ αυγουστου agu agustus",
    "sep sept september septembre septiembre settembre set setembro wrzesnia wrz сен сент сентября септември syyskuuta"
    " eyl eylul zari вер верес вересня σεπ σεπτεμβριου septembrie",
    "oct october octobre octubre ottobre ott outubro out okt oktober pazdziernika paz окт октября октомври lokakuuta"
    " eki ekim rijna rijen жов жовт жовтня οκτ οκτωβριου octombrie",
    "nov november novembre noviembre novembro listopada lis ноя нояб ноября ноември marraskuuta"
    " kas kasim listopadu лис лист листопада νοε νοεμβριου noi noiembrie",
    "dec december decembre diciembre dicembre dic dezembro dez dezember des desember grudnia gru дек декабря"
    " декември joulukuuta ara aralik prosince prosinec гру груд грудня δεκ δεκεμβριου decembrie",
)
_MONTH = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_ACCENTS = str.maketrans("éèêěûúůüäáñńśşźżžóčříýğıάέίόύϊΐ", "eeeeuuuuaannsszzzocriygiαειουιι")

# Hours from UTC of the names that senders use (RFC 822 and the common ones of the rest of the world).
_ZONES = {
    **dict.fromkeys("utc gmt ut z wet".split(), 0.0),
    **dict.fromkeys("bst west cet met mez".split(), 1.0),
    **dict.fromkeys("cest mest mesz eet sast".split(), 2.0),
    **dict.fromkeys("eest msk trt".split(), 3.0),
    "msd": 4.0, "ist": 5.5, "npt": 5.75, "wib": 7.0, "ict": 7.0, "hkt": 8.0, "sgt": 8.0, "awst": 8.0, "pht": 8.0,
    "jst": 9.0, "kst": 9.0, "acst": 9.5, "acdt": 10.5, "aest": 10.0, "aedt": 11.0, "nzst": 12.0, "nzdt": 13.0,
    "est": -5.0, "edt": -4.0, "cst": -6.0, "cdt": -5.0, "mst": -7.0, "mdt": -6.0, "pst": -8.0, "pdt": -7.0,
    "akst": -9.0, "akdt": -8.0, "hst": -10.0, "ast": -4.0, "adt": -3.0, "nst": -3.5, "ndt": -2.5, "brt": -3.0,
    "art": -3.0, "clt": -4.0, "et": -5.0, "ct": -6.0, "mt": -7.0, "pt": -8.0,
}  # fmt: skip

_TIME = r"(?P<h>\d{1,2})[:.h](?P<mi>\d{2})(?:[:.](?P<s>\d{1,2})(?:[.,]\d+)?)?\s*(?P<ap>[ap]\.?m\.?)?"
_ZONE = (
    r"\s*(?P<z>[A-Za-z]{1,5}\b(?:\s*[+-]\d{2}:?\d{2})?|(?:GMT|UTC)?\s*[+-]\d{1,2}(?::?\d{2})?)?"
    # A name beside the offset says nothing new: "+0000 UTC" of Go, "(CEST)", "[Europe/Berlin]" of Java.
    r"(?:(?<=\d)\s+[A-Za-z]{1,5})?(?:\s*[(\[][^)\]]*[)\]])?"
)
_CLOCK = _TIME + _ZONE
_WEEKDAY = r"(?:[^\W\d_]{2,12}\.?(?:[\s,]+|(?=\d)))?"
_NAME = r"(?P<mon>[^\W\d_]{3,13})\.?"


def _form(day: str, clock: str) -> re.Pattern[str]:
    """A pattern for a day that a time of day may follow."""
    return re.compile(f"{day}(?:{clock})?\\Z", re.IGNORECASE)


_ISO = _form(_WEEKDAY + r"(?P<y>\d{4})-(?P<m>\d{1,2})(?:-(?P<d>\d{1,2}))?", r"[T ]\s*" + _CLOCK)
_COMPACT = _form(r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})", r"T?(?P<h>\d{2}):?(?P<mi>\d{2}):?(?P<s>\d{2})" + _ZONE)
_RFC822 = _form(
    _WEEKDAY + r"(?P<d>\d{1,2})(?:st|nd|rd|th|º)?[.\s-]+(?:de\s+)?" + _NAME + r",?[\s-]+(?:de\s+)?(?P<y>\d{4}|\d{2})",
    r",?[\sT]+(?:at\s+|à\s+|-\s+)?" + _CLOCK,
)
_MONTH_FIRST = _form(
    _WEEKDAY + _NAME + r"\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y>\d{4})", r",?\s+(?:-\s+|at\s+)?" + _CLOCK
)
_ASCTIME = _form(
    _WEEKDAY + _NAME + r"\s+(?P<d>\d{1,2})\s+" + _TIME + r"\s+(?:(?P<z>[A-Z]{1,5}|[+-]\d{4})\s+)?(?P<y>\d{4})", ""
)
_YEAR_FIRST = _form(r"(?P<y>\d{4})[/.](?P<m>\d{1,2})[/.](?P<d>\d{1,2})", r"[\sT]+" + _CLOCK)
_DAY_FIRST = _form(r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})", r"[\s,T]+" + _CLOCK)
_SLASHED = _form(_WEEKDAY + r"(?P<a>\d{1,2})[/-](?P<b>\d{1,2})[/-](?P<y>\d{4})", r"[\s,-]+" + _CLOCK)
_CJK = _form(
    r"(?P<y>\d{4})\s*[年년]\s*(?P<m>\d{1,2})\s*[月월]\s*(?P<d>\d{1,2})\s*[日일](?:\s*\([^)]*\))?", r"\s*" + _CLOCK
)
_FORMS = (_RFC822, _ISO, _COMPACT, _MONTH_FIRST, _ASCTIME, _YEAR_FIRST, _SLASHED, _DAY_FIRST, _CJK)
_OFFSET = re.compile(r"(?:GMT|UTC|[A-Za-z]{1,5})?\s*([+-])(\d{1,2})(?::?(\d{2}))?\Z", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_DATE = 100  # characters; longer ones are no dates


class When(NamedTuple):
    """A date, and whether it names a time of day: midnight in its own offset counts as none."""

    at: datetime
    has_time: bool


def parse_date(raw: str) -> When | None:
    """Return the moment that `raw` means, in UTC; without a zone it is taken as UTC."""
    text = " ".join(raw.replace("\u2212", "-").split())
    if not 6 <= len(text) <= MAX_DATE:
        return None
    for form in _FORMS:
        if match := form.match(text):
            return _moment(match.groupdict())
    return None


def has_time(published: When | None, updated: When | None) -> bool:
    """Whether an entry with these dates shows a time of day; without a date there is none to leave out."""
    shown = published or updated
    return shown.has_time if shown else True


def _moment(parts: dict[str, str | None]) -> When | None:
    day = _day(parts)
    zone = _zone(parts.get("z"))
    if day is None or zone is None:
        return None
    year, month, date = day
    try:
        midnight = datetime(year, month, date, tzinfo=timezone(zone))
        clock = _clock(parts)
        at = (midnight + clock).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if at.year == 1 or at == _EPOCH:  # the zero dates of Go and .NET, and of Unix: a generator's word for "none"
        return None
    return When(at, has_time=bool(clock))


def _day(parts: dict[str, str | None]) -> tuple[int, int, int] | None:
    year = int(parts["y"] or 0)
    if len(parts["y"] or "") == 2:
        year += 2000 if year < 70 else 1900
    if parts.get("a"):
        first, second = int(parts["a"] or 0), int(parts["b"] or 0)
        # 3/4/2026 is April in one half of the world and March in the other.
        if first <= 12 and second <= 12 and first != second:
            return None
        return (year, first, second) if second > 12 else (year, second, first)
    number = parts.get("m")
    month = int(number) if number else _MONTH.get(_plain(parts.get("mon") or ""), 0)
    return (year, month, int(parts.get("d") or 1)) if month else None


def _plain(month: str) -> str:
    lower = month.lower().rstrip(".")
    return lower if lower in _MONTH else lower.translate(_ACCENTS)


def _clock(parts: dict[str, str | None]) -> timedelta:
    """The time of day; 24:00 is the next midnight, a leap second the second before; raises ValueError."""
    hour, minute, second = (int(parts.get(key) or 0) for key in ("h", "mi", "s"))
    half = (parts.get("ap") or "").lower()[:1]
    if half:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if half == "p" else 0)
    if minute > 59 or second > 60 or hour > 24 or (hour == 24 and (minute or second)):
        raise ValueError
    return timedelta(hours=hour, minutes=minute, seconds=min(second, 59))


def _zone(name: str | None) -> timedelta | None:
    """The offset a zone name or number means; None where nobody can know."""
    name = (name or "").strip()
    if not name:
        return timedelta()
    if match := _OFFSET.match(name):
        hours, minutes = int(match.group(2)), int(match.group(3) or 0)
        if hours > 14 or minutes > 59:
            return None
        offset = timedelta(hours=hours, minutes=minutes)
        return -offset if match.group(1) == "-" else offset
    hours_east = _ZONES.get(name.lower())
    return timedelta(hours=hours_east) if hours_east is not None else None
