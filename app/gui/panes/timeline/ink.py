"""How a block of the transcript is laid out and painted.

`Inker.lay` gives a block its height, its texts and its hot spots for one width; `paint` draws it.
Both know nothing of scrolling. Colours are tokens at the time of painting.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import date

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from app.gui.look.icons import paint_icon
from app.gui.look.text import elided, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import code_font, font, line_step
from app.gui.panes.timeline.blocks import Block
from app.gui.panes.timeline.words import Part, Shown, words
from app.gui.widgets.marks import paint_mark
from app.gui.widgets.paint import draw_text, focus_ring, rounded
from app.gui.widgets.prose import Prose, inline, lay, plain
from app.gui.widgets.uneven import Hot

KEPT = 400  # laid-out blocks that are remembered
PAD = 12  # px inside cards and wells
RIGHT = Qt.AlignmentFlag.AlignRight
LEAST = {"tool": 42, "card": 62, "rule": 38, "line": 30, "fold": 30, "calls": 30, "more": 30,
         "day": 40, "older": 40, "newer": 40}  # fmt: skip


@dataclass
class Text:
    """One laid-out part of a body; `source` is its place in `Shown.body`."""

    prose: Prose
    x: float
    y: float
    color: str
    source: int
    well: QRectF | None = None


@dataclass
class Laid:
    """A block for one width."""

    shown: Shown
    width: float
    height: int
    texts: list[Text] = field(default_factory=list)
    hots: list[Hot] = field(default_factory=list)
    labels: list[tuple[QRectF, str]] = field(default_factory=list)
    open: bool = False
    head: float = 0.0  # px of the head row


@dataclass
class State:
    """How a block stands now. `marks` by part: (start, end, ground)."""

    current: bool = False
    focus: bool = False
    chosen: bool = False
    dim: bool = False
    hover: str = ""
    marks: dict[int, list[tuple[int, int, QColor]]] = field(default_factory=dict)


class Inker:
    """Lays out and paints blocks; remembers the last ones by id, width, font and openness."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Laid] = OrderedDict()
        self.today = date.max
        self._step = line_step("read")

    def forget(self) -> None:
        self._kept.clear()
        self._step = line_step("read")

    def estimate(self, block: Block, width: float) -> int:
        """A quick guess of a block's height in px."""
        if block.form != "say" or block.item is None:
            return LEAST.get(block.form, 30)
        per_line = max(width / 7.2, 20)
        text = block.item.text
        lines = 1 + text.count("\n", 0, 4_000) + int(len(text) / per_line)
        return 34 + min(lines, 31) * self._step

    def lay(self, block: Block, width: float, is_open: bool) -> Laid:
        item = block.item
        key = (block.id, block.form, block.count, id(item), round(width), is_open,
               theme().zoom, self.today)  # fmt: skip
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        made = self._lay(block, width, is_open)
        self._kept[key] = made
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return made

    # ------------------------------------------------------------------ layout

    def _lay(self, block: Block, width: float, is_open: bool) -> Laid:
        shown = words(block, self.today)
        least = max(LEAST.get(block.form, 30), round(QFontMetricsF(font("body")).height() + 12))
        out = Laid(shown, width, least, open=is_open or not shown.folds)
        if block.form == "say":
            self._say(out)
        elif block.form == "card":
            self._card(out)
        else:
            out.head = float(least)
            self._links(out, block)
            if is_open and shown.body:
                self._body(out, block)
        return out

    def _say(self, out: Laid) -> None:
        y = 8.0 + line_step("small")
        y = self._parts(out, y + 1, 0.0, out.width)
        out.head = 8.0 + line_step("small")
        out.height = round(y + 7)

    def _card(self, out: Laid) -> None:
        two = QFontMetricsF(font("body", 600)).height() + QFontMetricsF(font("small")).height()
        out.height = max(out.height, round(two + 27))
        metrics = QFontMetricsF(font("body", 500))
        wide = metrics.horizontalAdvance(out.shown.button) + 44
        high = max(26.0, metrics.height() + 10)
        box = QRectF(out.width - wide - PAD, (out.height - high) / 2, wide, high)
        out.hots.append(Hot(box, out.shown.act, out.shown.button, "button"))

    def _links(self, out: Laid, block: Block) -> None:
        shown = out.shown
        if shown.act and (shown.folds or block.form in ("tool", "calls")):
            out.hots.append(Hot(QRectF(0, 0, out.width, out.head), shown.act, shown.spoken, "head"))
        if not shown.link:
            return
        wide = _wide(shown.link, font("small", 500))
        x = 0.0
        if block.form == "rule":
            x = 45 + _wide(shown.title, font("small", 600)) + 10
        elif block.form == "line":
            x = 22 + _wide(shown.title, font("small", 500)) + 8
            if shown.words:  # in the digits it is painted with
                x += _wide(shown.words, font("small", tabular=True)) + 14
        x = min(x, max(out.width - wide, 0))
        out.hots.append(Hot(QRectF(x, 0, wide, out.head), shown.act, shown.link))

    def _body(self, out: Laid, block: Block) -> None:
        inset = PAD if block.form in ("tool", "rule") else 18.0
        y = self._parts(out, out.head + 2, inset, out.width - inset)
        out.height = round(y + (12 if block.form in ("tool", "rule") else 6))

    def _parts(self, out: Laid, y: float, left: float, right: float) -> float:
        for i, part in enumerate(out.shown.body):
            if part.label:
                out.labels.append((QRectF(left, y, right - left, 20), part.label))
                y += 22
            y = self._part(out, i, part, y, left, right) + 4
        return y

    def _part(self, out: Laid, i: int, part: Part, y: float, left: float, right: float) -> float:
        well = part.style == "code"
        pad = 10.0 if well else 0.0
        used = code_font("body") if well else font("read" if part.style == "read" else "body")
        step = line_step("code" if well else "read", used)
        text, spans = (plain(part.text[:8_000]), None)
        if part.style == "read":
            text, spans = inline(text)
        prose = lay(text, used, max(right - left - 2 * pad, 40), step, spans=spans)
        prose.cut = prose.cut or len(part.text) > 8_000
        box = QRectF(left, y, right - left, prose.height + 2 * pad) if well else None
        color = "text_soft" if part.style == "soft" else "text"
        out.texts.append(Text(prose, left + pad, y + pad, color, i, box))
        y += prose.height + 2 * pad
        if prose.cut:
            wide = QFontMetricsF(font("small", 500)).horizontalAdvance(tr("Show all of it"))
            out.hots.append(Hot(QRectF(left, y + 2, wide, 22), f"read:{i}", tr("Show all of it")))
            y += 24
        return y

    # ------------------------------------------------------------------ painting

    def paint(self, painter: QPainter, block: Block, laid: Laid, x: float, y: float, state: State,
              clip: QRectF) -> None:  # fmt: skip
        """Draw `laid` with its upper left corner at (x, y)."""
        painter.save()
        painter.translate(x, y)
        box = QRectF(0, 0, laid.width, laid.height)
        self._ground(painter, block, box, state)
        form = {"say": _head_say, "tool": _head_tool, "card": _head_card, "rule": _head_rule,
                "line": _head_line, "fold": _head_fold, "calls": _head_fold, "day": _head_day,
                }.get(block.form)  # fmt: skip
        if block.form in ("tool",) or (block.form == "rule" and laid.texts):
            top = 3 if block.form == "tool" else laid.head
            frame = QRectF(0, top, laid.width, laid.height - top - 3)
            edge = "line" if state.dim else "line_strong"
            rounded(painter, frame, 8, token("raised"), token(edge))
        if form is not None:
            form(painter, laid, state)
        for hot in laid.hots:
            if hot.kind == "link":
                used = font("small", 500)
                used.setUnderline(state.hover == hot.act)
                painter.setFont(used)
                draw_text(painter, hot.box.adjusted(0, 0, 4, 0), hot.name, token("accent"))
        painter.setFont(font("tiny", 600))
        for area, label in laid.labels:
            draw_text(painter, area, label, token("text_faint"))
        for text in laid.texts:
            if text.well is not None:
                rounded(painter, text.well, 6, token("sunken"))
            ink = "text_faint" if state.dim else text.color
            text.prose.draw(painter, text.x, text.y, token(ink), state.marks.get(text.source),
                            clip.translated(-x, -y))  # fmt: skip
        painter.restore()

    def _ground(self, painter: QPainter, block: Block, box: QRectF, state: State) -> None:
        ground = box.adjusted(-10, 1, 4 if block.group else 10, -1)
        if block.form in ("tool", "card"):
            ground = box.adjusted(-4, 0, 4, 0)
        if state.chosen:
            rounded(painter, ground, 6, token("accent_softer" if state.focus else "hover"))
        if state.current and state.focus:
            focus_ring(painter, ground, 6)


def _wide(text: str, used: QFont) -> float:
    return QFontMetricsF(used).horizontalAdvance(text)


def _line(painter: QPainter, x: float, y: float, high: float, most: float, text: str,
          used: QFont, color: str, where: str = "right") -> float:  # fmt: skip
    """One elided line; where it ends."""
    if not text or most < 8:
        return x
    shown = elided(text, QFontMetricsF(used), most, where)
    painter.setFont(used)
    draw_text(painter, QRectF(x, y, most + 4, high), shown, token(color))
    return x + _wide(shown, used)


def _head_say(painter: QPainter, laid: Laid, state: State) -> None:
    shown = laid.shown
    high = float(line_step("small"))
    soft = "text_faint" if state.dim else "text_soft"
    x = _line(painter, 0, 7, high, laid.width, shown.title, font("small", 600), soft)
    _line(painter, x + 9, 7, high, laid.width - x - 9, shown.words,
          font("small", tabular=True), "text_faint")  # fmt: skip


def _head_tool(painter: QPainter, laid: Laid, state: State) -> None:
    shown = laid.shown
    top, high = 3.0, laid.head - 6
    middle = top + high / 2
    chevron = "chevron-down" if laid.open else "chevron-right"
    paint_icon(painter, chevron, 11, middle - 7, 14, "text_soft")
    faint = "text_faint" if state.dim else ""
    paint_icon(painter, shown.icon, 33, middle - 8, 16, faint or shown.color)
    small = font("small", tabular=True)
    right = laid.width - PAD - _wide(shown.right, small)
    painter.setFont(small)
    failed = shown.right_color == "lost"
    draw_text(painter, QRectF(right, top, laid.width - right, high), shown.right,
              token("lost" if failed else faint or "text_soft"))  # fmt: skip
    paint_icon(painter, shown.right_icon, right - 20, middle - 7, 14, faint or shown.right_color)
    x = _line(painter, 56, top, high, max(right - 90, 30), shown.title, font("body", 600),
              faint or "text")  # fmt: skip
    _line(painter, x + 10, top, high, right - 34 - x - 10, shown.code, code_font("small"),
          faint or "text_soft", "middle")  # fmt: skip


def _head_card(painter: QPainter, laid: Laid, state: State) -> None:
    shown = laid.shown
    box = QRectF(0, 3, laid.width, laid.height - 6)
    rounded(painter, box, 8, token("raised"), token("line_strong"))
    paint_mark(painter, shown.mark, QPointF(22, box.center().y()))
    button = laid.hots[0].box
    room = button.left() - 42 - PAD
    body, small = font("body", 600), font("small")
    upper, lower = QFontMetricsF(body).height(), QFontMetricsF(small).height()
    y = box.center().y() - (upper + lower + 3) / 2
    ink = "text_faint" if state.dim else "text"
    _line(painter, 42, y, upper, room, shown.title, body, ink)
    soft = "text_faint" if state.dim else "text_soft"
    _line(painter, 42, y + upper + 3, lower, room, shown.words, small, soft)
    edge = "text_faint" if state.hover == laid.hots[0].act else "line_strong"
    rounded(painter, button, 6, token("raised"), token(edge))
    paint_icon(painter, "external-link", button.left() + 10, button.center().y() - 8, 16,
               "text_soft")  # fmt: skip
    painter.setFont(font("body", 500))
    draw_text(painter, button.adjusted(32, 0, 0, 0), shown.button, token("text"))


def _head_rule(painter: QPainter, laid: Laid, state: State) -> None:
    shown = laid.shown
    middle = laid.head / 2
    painter.fillRect(QRectF(0, middle, 16, 1), token("line_strong"))
    if shown.mark:
        paint_mark(painter, shown.mark, QPointF(30, middle))
    else:
        paint_icon(painter, shown.icon, 23, middle - 7, 14, shown.color)
    soft = "text_faint" if state.dim else "text_soft"
    links = [h for h in laid.hots if h.kind == "link"]
    room = (links[0].box.left() if links else laid.width) - 45 - 8
    end = _line(painter, 45, 0, laid.head, room, shown.title, font("small", 600), soft)
    if links:
        end = links[0].box.right()
    if laid.width - end > 24:
        painter.fillRect(QRectF(end + 12, middle, laid.width - end - 12, 1), token("line_strong"))


def _head_line(painter: QPainter, laid: Laid, state: State) -> None:
    shown = laid.shown
    middle = laid.head / 2
    if shown.mark:
        paint_mark(painter, shown.mark, QPointF(6, middle))
    elif shown.icon:
        paint_icon(painter, shown.icon, 0, middle - 7, 14, shown.color)
    x = 22.0 if shown.mark or shown.icon else 0.0
    links = [h for h in laid.hots if h.kind == "link"]
    room = (links[0].box.left() - 8 if links else laid.width) - x
    soft = "text_faint" if state.dim else "text_soft"
    color = shown.color if shown.color in ("lost", "warn") else soft
    end = _line(painter, x, 0, laid.head, room, shown.title, font("small", 500), color)
    used = font("small", tabular=True)
    start = end + 8 if shown.title else x
    _line(painter, start, 0, laid.head, room + x - start, shown.words, used, "text_faint")


def _head_fold(painter: QPainter, laid: Laid, state: State) -> None:
    middle = laid.head / 2
    chevron = "chevron-down" if laid.open else "chevron-right"
    paint_icon(painter, chevron, 0, middle - 6, 12, "text_soft")
    soft = "text_faint" if state.dim else "text_soft"
    _line(painter, 18, 0, laid.head, laid.width - 18, laid.shown.words, font("small"), soft)


def _head_day(painter: QPainter, laid: Laid, state: State) -> None:
    end = _line(painter, 0, 8, laid.head - 8, laid.width, laid.shown.title, font("small", 600),
                "text_soft")  # fmt: skip
    rest = laid.width - end - 12
    painter.fillRect(QRectF(end + 12, laid.head / 2 + 4, rest, 1), token("line"))
