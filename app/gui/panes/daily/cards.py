"""A day as cards: one per flush or save, its lines with number and state, reasons unfolded.

Rows are laid out only where they are seen (`widgets/uneven.py`); a card is the ground that its
rows share.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.gui.look.icons import paint_icon
from app.gui.look.text import clock, elided, number, plain_line, preview, sentence, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import code_font, font, line_step
from app.gui.panes.daily.days import STATE_LOOK, CardRow, bullet, reason_of
from app.gui.widgets.marks import mark_word, paint_mark
from app.gui.widgets.paint import draw_text, focus_ring, rounded
from app.gui.widgets.prose import Prose, inline, lay, plain, units
from app.gui.widgets.uneven import Hot, UnevenRows

WIDEST = 900
TEXT_AT = 42  # px from a card's edge to its text
STATE_WIDTH = 98  # px of the state column with its icon
HEADS, GAP, EDGE = 42, 10, 8  # px: a card's head, between cards, below a card's last line
KEPT = 600
MOST_LINES = 12  # of one line of the log; the rest is read by itself
RIGHT = Qt.AlignmentFlag.AlignRight


@dataclass
class Laid:
    """One row for one width."""

    height: int
    prose: Prose | None = None
    reason: Prose | None = None
    hots: list[Hot] = field(default_factory=list)
    line_height: float = 0.0


class Cards(UnevenRows):
    """The cards of a day. `unfolded` are ids of lines whose reason is shown."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        self.unfolded: set[str] = set()
        self.titles: dict[str, str] = {}  # session id -> title
        self.ranges: dict[str, str] = {}  # row id of a head -> "messages 3 to 43"
        self.needle = ""
        self.lit = ""  # id of the row that somebody was led to
        self._laid: OrderedDict[tuple[object, ...], Laid] = OrderedDict()
        super().__init__(name, WIDEST, parent)

    def toggle(self, row: CardRow) -> None:
        """Show or hide the reason of a line."""
        at = self.row_of(row.id)
        if row.form == "line" and at >= 0:
            self.unfolded ^= {row.id}
            self.remeasure(range(at, at + 1))

    def find(self, needle: str) -> list[int]:
        """Rows whose text holds `needle`; it is marked in them."""
        self.needle = needle.strip().casefold()
        self.viewport().update()
        if not self.needle:
            return []
        return [i for i, row in enumerate(self.rows)
                if row.line is not None and self.needle in row.line.text.casefold()]  # fmt: skip

    # ------------------------------------------------------------------ layout

    def estimate(self, at: int) -> int:
        row: CardRow = self.rows[at]
        if row.form != "line" or row.line is None:
            return HEADS + (EDGE + GAP if row.ends else 0)
        lines = 1 + int(len(row.line.text[:4_000]) * 7.4 / max(self.column() - 160, 100))
        return min(lines, MOST_LINES) * line_step("read") + 6 + (EDGE + GAP if row.ends else 0)

    def laid(self, at: int) -> Laid:
        row: CardRow = self.rows[at]
        wide = self.column()
        key = (row.id, id(row), round(wide), row.id in self.unfolded, theme().zoom,
               self.titles.get(row.section.session_id if row.section else ""),
               self.ranges.get(row.id))  # fmt: skip
        known = self._laid.get(key)
        if known is None:
            known = self._line(row, wide) if row.form == "line" else self._head(row, wide)
            self._laid[key] = known
            while len(self._laid) > KEPT:
                self._laid.popitem(last=False)
        return known

    def _head(self, row: CardRow, wide: float) -> Laid:
        least = max(HEADS, round(QFontMetricsF(font("body")).height() + 16))
        if row.form == "file":
            return Laid(least - 4)
        out = Laid(least + (EDGE + GAP if row.ends else 0), line_height=float(least))
        section = row.section
        if section is not None and section.session_id:
            title = self.title_of(row)
            used = QFontMetricsF(font("body", 500))
            left = TEXT_AT + QFontMetricsF(font("body", 600, tabular=True)).horizontalAdvance(
                clock(section.when)
            )
            room = min(used.horizontalAdvance(title), wide - left - 40)
            out.hots.append(Hot(QRectF(left + 10, 0, room + 4, least), "session", title))
        return out

    def title_of(self, row: CardRow) -> str:
        section = row.section
        if section is None:
            return ""
        known = self.titles.get(section.session_id, "")
        return preview(known, 90) if known else tr("session {id}", id=section.session_id[:24])

    def _line(self, row: CardRow, wide: float) -> Laid:
        line = row.line
        assert line is not None
        text, spans = inline(plain(bullet(line.text[:8_000])))
        step = line_step("read")
        room = max(wide - TEXT_AT - STATE_WIDTH - 14, 80)
        prose = lay(text, font("read"), room, step, spans=spans, most_lines=MOST_LINES)
        high = prose.height + 6
        out = Laid(0, prose, line_height=high)
        out.hots.append(Hot(QRectF(wide - STATE_WIDTH, 0, STATE_WIDTH, high), "why",
                            tr("Why is this here"), "state"))  # fmt: skip
        if prose.cut or len(line.text) > 8_000:
            label = tr("Show all of it")
            used = QFontMetricsF(font("small", 500))
            out.hots.append(
                Hot(QRectF(TEXT_AT, high, used.horizontalAdvance(label), 22), "read", label)
            )
            high += 24
        if row.id in self.unfolded:
            small = font("small")
            out.reason = lay(reason_of(line), small, room - 18, line_step("small", small))
            top = high
            high += out.reason.height + 6
            if line.proposal:
                label = tr("Show the review")
                x = TEXT_AT + 18 + (out.reason.broad + 12 if out.reason.lines == 1 else 0)
                y = top if out.reason.lines == 1 else high - 6
                used = QFontMetricsF(font("small", 500))
                wide_label = used.horizontalAdvance(label)
                high_label = out.reason.height if out.reason.lines == 1 else 20.0
                out.hots.append(Hot(QRectF(x, y, wide_label, high_label), "proposal", label))
                if out.reason.lines > 1:
                    high += 20
        out.height = round(high) + (EDGE + GAP if row.ends else 0)
        return out

    def height_for(self, at: int) -> int:
        return self.laid(at).height

    def hots(self, at: int) -> Sequence[Hot]:
        return self.laid(at).hots

    def forget(self) -> None:
        self._laid.clear()

    def prose_at(self, at: int, point: QPointF) -> tuple[int, Prose, QPointF] | None:
        prose = self.laid(at).prose
        if prose is None or not QRectF(TEXT_AT, 0, self.column() - TEXT_AT - STATE_WIDTH,
                                       prose.height + 4).contains(point):  # fmt: skip
            return None
        return 0, prose, QPointF(point.x() - TEXT_AT, point.y() - 3)

    def text_of(self, at: int, part: int) -> str:
        prose = self.laid(at).prose if at >= 0 else None
        return prose.text if prose is not None else ""

    def spoken(self, at: int) -> str:
        row: CardRow = self.rows[at]
        if row.line is not None:
            word = tr(STATE_LOOK[row.line.state][2]) if row.line.state in STATE_LOOK else ""
            said = preview(bullet(row.line.text), 400)
            where = tr("Line {n}", n=number(row.line.line))
            reason = f" {reason_of(row.line)}" if row.id in self.unfolded else ""
            return f"{where}: {said}. {word}.{reason}" if word else f"{where}: {said}."
        if row.section is not None:
            kind = mark_word(_mark(row))
            title = self.title_of(row) if row.section.session_id else ""
            return sentence([kind, clock(row.section.when), title])
        return row.name or row.problem

    # ------------------------------------------------------------------ painting

    def paint_row(self, painter: QPainter, at: int, y: int, clip: QRectF) -> None:
        row: CardRow = self.rows[at]
        laid = self.laid(at)
        painter.save()
        painter.translate(self.left(), y)
        wide = self.column()
        if row.form == "file":
            painter.setFont(font("small", 600))
            draw_text(painter, QRectF(0, 4, wide, laid.height - 6), plain_line(row.name),
                      token("text_soft"))  # fmt: skip
        elif row.form == "problem":
            paint_icon(painter, "circle-x", 0, laid.line_height / 2 - 7, 14, "lost")
            painter.setFont(font("body"))
            draw_text(painter, QRectF(22, 0, wide - 22, laid.line_height), row.problem,
                      token("lost"))  # fmt: skip
        else:
            self._ground(painter, row, laid, wide)
            if row.form == "head":
                self._paint_head(painter, at, row, laid, wide)
            else:
                self._paint_line(painter, at, row, laid, wide, clip.translated(-self.left(), -y))
        painter.restore()

    def _ground(self, painter: QPainter, row: CardRow, laid: Laid, wide: float) -> None:
        """The stretch of the card that this row covers."""
        top, high = 0.0, laid.height - (GAP if row.ends else 0)
        box = QRectF(0, top, wide, high)
        painter.save()
        painter.setClipRect(box)
        whole = box.adjusted(0, 0 if row.form == "head" else -20, 0, 0 if row.ends else 20)
        rounded(painter, whole, 8, token("raised"), token("line_strong"))
        painter.restore()

    def _row_ground(self, painter: QPainter, at: int, row: CardRow, box: QRectF) -> None:
        focus = self.hasFocus()
        if row.id == self.lit or (at in self.chosen_range() and row.form == "line"):
            shade = "accent_softer" if focus or row.id == self.lit else "hover"
            rounded(painter, box, 4, token(shade))
        if focus and at == self.current_at():
            focus_ring(painter, box, 5)

    def _paint_head(
        self, painter: QPainter, at: int, row: CardRow, laid: Laid, wide: float
    ) -> None:
        section = row.section
        if section is None:
            return
        high = laid.line_height
        self._row_ground(painter, at, row, QRectF(4, 4, wide - 8, high - 6))
        paint_mark(painter, _mark(row), QPointF(24, high / 2))
        used = font("body", 600, tabular=True)
        painter.setFont(used)
        time = clock(section.when)
        x = TEXT_AT + QFontMetricsF(used).horizontalAdvance(time)
        draw_text(painter, QRectF(TEXT_AT, 0, x - TEXT_AT + 4, high), time, token("text"))
        x += 10
        if laid.hots:
            link = font("body", 500)
            link.setUnderline(self.hover == (at, "session"))
            painter.setFont(link)
            box = laid.hots[0].box
            shown = elided(laid.hots[0].name, QFontMetricsF(link), box.width())
            draw_text(painter, box.adjusted(0, 0, 8, 0), shown, token("accent"))
            x = box.right() + 8
        elif section.kind != "flush":
            painter.setFont(font("body", 500))
            said = _kind_words(row)
            shown = elided(said, QFontMetricsF(painter.font()), wide - x - 20)
            draw_text(painter, QRectF(x, 0, wide - x - 12, high), shown, token("text_soft"))
            x += QFontMetricsF(painter.font()).horizontalAdvance(shown) + 10
        details = self._details(row)
        small = font("small", tabular=True)
        painter.setFont(small)
        shown = elided(details, QFontMetricsF(small), wide - x - 16)
        draw_text(painter, QRectF(x, 0, wide - x - 8, high), shown, token("text_faint"))

    def _details(self, row: CardRow) -> str:
        section = row.section
        if section is None:
            return ""
        said = [self.ranges.get(row.id, "")]
        if section.kind == "save" and section.session_id:
            said.insert(0, tr("saved on request"))
        if section.origin and section.origin != "user":
            said.append(preview(section.origin, 30))
        return sentence(said)

    def _paint_line(
        self, painter: QPainter, at: int, row: CardRow, laid: Laid, wide: float, clip: QRectF
    ) -> None:
        line, prose = row.line, laid.prose
        if line is None or prose is None:
            return
        self._row_ground(painter, at, row, QRectF(4, 0, wide - 8, laid.line_height))
        step = line_step("read")
        figure = code_font("small")
        painter.setFont(figure)
        painter.setPen(token("text_faint"))
        draw_text(painter, QRectF(0, 3, TEXT_AT - 10, step), number(line.line),
                  token("text_faint"), RIGHT)  # fmt: skip
        soft = line.state in ("left_out", "rejected")
        prose.draw(painter, TEXT_AT, 3, token("text_soft" if soft else "text"),
                   self._marks(row, prose), clip)  # fmt: skip
        if line.state in STATE_LOOK:
            icon, color, word = STATE_LOOK[line.state]
            x = wide - STATE_WIDTH
            paint_icon(painter, icon, x, 3 + step / 2 - 7, 14, color)
            used = font("small", 500)
            used.setUnderline(self.hover == (at, "why"))
            painter.setFont(used)
            ink = "lost" if line.state == "rejected" else "text_soft"
            draw_text(painter, QRectF(x + 19, 3, STATE_WIDTH - 19, step), tr(word), token(ink))
        if laid.reason is not None:
            y = laid.line_height + (24 if any(h.act == "read" for h in laid.hots) else 0)
            painter.setPen(QPen(token("text_faint"), 1.2))
            paint_icon(painter, "corner-down-right", TEXT_AT, y + 1, 12, "text_faint")
            laid.reason.draw(painter, TEXT_AT + 18, y, token("text_soft"))
        for hot in laid.hots:
            if hot.kind == "link":
                used = font("small", 500)
                used.setUnderline(self.hover == (at, hot.act))
                painter.setFont(used)
                draw_text(painter, hot.box.adjusted(0, 0, 4, 0), hot.name, token("accent"))

    def _marks(self, row: CardRow, prose: Prose) -> list[tuple[int, int, QColor]]:
        out: list[tuple[int, int, QColor]] = []
        if self.needle:
            low = prose.text.casefold()
            low = low if len(low) == len(prose.text) else prose.text.lower()
            at = low.find(self.needle)
            while at >= 0 and len(out) < 200:
                start = units(prose.text[:at])
                end = at + len(self.needle)
                out.append((start, start + units(prose.text[at:end]), token("hit")))
                at = low.find(self.needle, end)
        if self.marked is not None and self.marked.row == row.id:
            out.append((self.marked.start, self.marked.end, token("added_mark")))
        return out


def _mark(row: CardRow) -> str:
    kind = row.section.kind if row.section is not None else ""
    return {"flush": "flush", "save": "saved"}.get(kind, "hand")


def _kind_words(row: CardRow) -> str:
    section = row.section
    if section is None:
        return ""
    if section.kind == "save":
        return tr("Saved on request")
    heading = preview(section.heading, 80) if section.heading.strip() else ""
    return heading or tr("Written by hand")
