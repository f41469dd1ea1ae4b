"""Words and figures: translation, dates, sizes, counts, and cutting foreign text safely.

`tr()` wraps every sentence a person reads. Dates are by locale, today, yesterday and weekdays when
near. Foreign text (titles, previews) goes through `preview()`: one line, no control characters, no
character that reorders its neighbours, cut between grapheme clusters.
"""

from __future__ import annotations

import gettext
import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from PySide6.QtCore import QDate, QLocale, Qt, QTextBoundaryFinder, QTime
from PySide6.QtGui import QFontMetricsF

TERMINAL_CODES = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)
_catalogue: gettext.NullTranslations = gettext.NullTranslations()


def use_catalogue(catalogue: gettext.NullTranslations) -> None:
    """Translate with `catalogue` from now on."""
    global _catalogue
    _catalogue = catalogue


def tr(text: str, **values: object) -> str:
    """The sentence in the person's language, with `{name}` places filled."""
    said = _catalogue.gettext(text)
    return said.format(**values) if values else said


def plural(n: int, one: str, many: str, **values: object) -> str:
    """`one` or `many` by the language's own rule; `{n}` is the count in full."""
    return _catalogue.ngettext(one, many, n).format(n=number(n), **values)


def locale() -> QLocale:
    """The system's locale; English where it names none ("C" groups no digits)."""
    now = QLocale()
    return now if now.language() != QLocale.Language.C else QLocale(QLocale.Language.English)


# ---------------------------------------------------------------------------- figures


def number(n: int) -> str:
    """A count in full, grouped as the locale does: 26,214."""
    return locale().toString(n)


def compact(n: int) -> str:
    """A count for meters: 9,999 in full, above it 24.3k, then 1.2M."""
    if abs(n) <= 9_999:
        return number(n)
    if abs(n) < 999_950:
        return locale().toString(float(n) / 1_000, "f", 1) + "k"
    return locale().toString(float(n) / 1_000_000, "f", 1) + "M"


def thousands(n: int) -> str:
    """A count for a mark or a head: 860, 2.4k, 20k, 26.2k; no trailing .0."""
    if abs(n) < 1_000:
        return number(n)
    text = compact(n) if abs(n) >= 999_950 else locale().toString(float(n) / 1_000, "f", 1) + "k"
    zero = locale().decimalPoint() + "0"
    return text.replace(zero + "k", "k").replace(zero + "M", "M")


def size(n: int) -> str:
    """Bytes for people, decimal units: 640 B, 91 kB, 1.4 MB."""
    value = float(n)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5 or unit == "GB":
            digits = 1 if unit in ("MB", "GB") and value < 100 else 0
            return f"{locale().toString(value, 'f', digits)} {unit}"
        value /= 1_000
    return ""


def seconds(value: float) -> str:
    """A duration: 0.2 s, 8 s, 3 min 20 s, 2 h 5 min."""
    if value < 9.95:
        return locale().toString(float(value), "f", 1 if value % 1 else 0) + " s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        rest = whole % 60
        return f"{whole // 60} min" + (f" {rest} s" if rest else "")
    rest = whole % 3_600 // 60
    return f"{whole // 3_600} h" + (f" {rest} min" if rest else "")


# ---------------------------------------------------------------------------- time


def clock(when: datetime | None) -> str:
    """The local time of day, 14:06; a missing time is a dash, never invented."""
    if when is None:
        return "–"
    local = when.astimezone()
    return locale().toString(QTime(local.hour, local.minute), "HH:mm")


def day(of: date, today: date) -> str:
    """Today, Yesterday, Friday 27 November when near; else the date with its year if needed."""
    if of == today:
        return tr("Today")
    if of == today - timedelta(days=1):
        return tr("Yesterday")
    shown = QDate(of.year, of.month, of.day)
    if timedelta(0) < today - of < timedelta(days=7):
        return locale().toString(shown, "dddd, d MMMM")
    return locale().toString(shown, "d MMMM" if of.year == today.year else "d MMMM yyyy")


def short_day(of: date, today: date) -> str:
    """A day beside a row: Today, Yesterday, 27 Nov, 27 Nov 2025."""
    if today - timedelta(days=1) <= of <= today:
        return day(of, today)
    pattern = "d MMM" if of.year == today.year else "d MMM yyyy"
    return locale().toString(QDate(of.year, of.month, of.day), pattern)


def moment(when: datetime | None, now: datetime) -> str:
    """An instant beside a row: 14:06 today, else the day and the time."""
    if when is None:
        return "–"
    local, today = when.astimezone().date(), now.astimezone().date()
    if local == today:
        return clock(when)
    return f"{short_day(local, today)}, {clock(when)}"


# ---------------------------------------------------------------------------- foreign text

# Characters that reorder or hide what stands beside them: bidi embeddings, overrides, isolates and
# marks, invisible operators, byte order mark, soft hyphen, line and paragraph separators.
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_NO_BIDI = dict.fromkeys(map(ord, _BIDI))
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad"))


def without_escapes(text: str) -> str:
    """`text` as it is copied: no terminal codes."""
    return TERMINAL_CODES.sub("", text)


def neutral(text: str) -> str:
    """`text` without the controls that could reorder its neighbours; lines stay."""
    return text.translate(_NO_BIDI)


def plain_line(text: str) -> str:
    """`text` as one line: spaces for breaks, no control or invisible characters."""
    out = "".join(
        " " if ch in "\n\r\t\v\f\u2028\u2029\x85" else ch
        for ch in text.translate(_NO_BIDI).translate(_INVISIBLE)
        if ch in "\n\r\t\v\f\u2028\u2029\x85" or unicodedata.category(ch) != "Cc"
    )
    return " ".join(out.split())


def clusters(text: str) -> list[int]:
    """Offsets (code points) between which `text` may be cut, 0 and the end included."""
    wide = text.encode("utf-16-le", "surrogatepass")
    finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Grapheme, text)
    out, at, points = [0], 0, 0
    while (step := finder.toNextBoundary()) != -1:
        points += len(wide[at * 2 : step * 2].decode("utf-16-le", "surrogatepass"))
        at = step
        out.append(points)
    return out


def preview(text: str, limit: int = 80, blank: str = "") -> str:
    """One safe line of at most `limit` grapheme clusters, "…" where it was cut.

    `blank` names what would otherwise be an empty line.
    """
    line = plain_line(text[: limit * 64])
    if not line or not any(unicodedata.category(ch)[0] in "LNPS" for ch in line):
        return blank or tr("Untitled")
    cuts = clusters(line)
    whole = len(cuts) - 1 <= limit and len(text) <= limit * 64
    if whole:
        return line
    return line[: cuts[min(limit, len(cuts)) - 1]].rstrip() + "…"


def elided(
    text: str, metrics: QFontMetricsF, width: float, where: str = "right", limit: int = 600
) -> str:
    """`text` cut to `width` px at the end, or in the middle for paths."""
    mode = Qt.TextElideMode.ElideMiddle if where == "middle" else Qt.TextElideMode.ElideRight
    return metrics.elidedText(text[:limit], mode, width)


def sentence(parts: Sequence[str]) -> str:
    """Facts joined by commas, as details stand in rows; empty ones fall out."""
    return tr(", ").join(part for part in parts if part)
