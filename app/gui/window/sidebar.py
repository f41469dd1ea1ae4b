"""The sidebar: workspace, places, recent sessions, settings; folded it is a rail of icons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.gui.look.icons import SIGN, paint_icon
from app.gui.look.text import elided, plain_line, plural, preview, tr
from app.gui.look.theme import soft_outline, token
from app.gui.look.type import font, row_height
from app.gui.widgets.buttons import IconButton, Pressable
from app.gui.widgets.labels import T, plain_tip
from app.gui.widgets.paint import draw_text, focus_ring, rounded, smooth
from app.gui.widgets.pane import PLACES
from app.gui.widgets.rows import Row, RowList
from app.gui.window.actions import PLACE_LOOK, place_key, place_title

WIDE, RAIL = 204, 53
SHOWN_SESSIONS = 30


class Listed(Protocol):
    """What the list needs of a session; the first ones are read before the engine is there."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...


class PlaceButton(Pressable):
    """One place: icon, name, badge; in the rail an icon with a dot."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place
        self._icon = PLACE_LOOK[place][1]
        self._badge = 0
        self._rail = False
        self.setText(place_title(place))
        self.setCheckable(True)
        self.setAutoExclusive(False)
        self._name()

    def set_badge(self, count: int) -> None:
        self._badge = count
        self._name()
        self.update()

    def set_rail(self, on: bool) -> None:
        self._rail = on
        self._name()
        if on:
            self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        else:
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.updateGeometry()

    def _name(self) -> None:
        waiting = plural(self._badge, "{n} waiting", "{n} waiting") if self._badge else ""
        self.setAccessibleName(", ".join(p for p in (self.text(), waiting) if p))
        self.setToolTip(f"{self.accessibleName()} ({place_key(self.place)})")

    def sizeHint(self) -> QSize:
        return QSize(36, 34) if self._rail else QSize(WIDE - 17, row_height(32))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        on = self.isChecked()
        if on:
            outline = token("accent") if soft_outline() else None
            rounded(painter, box, 6, token("accent_soft"), outline, 2.0)
        elif self.underMouse():
            rounded(painter, box, 6, token("press" if self.isDown() else "hover"))
        middle = box.center().y()
        x = 9.0
        paint_icon(painter, self._icon, x, middle - 9, 18, "accent" if on else "text_soft")
        if self._rail:
            if self._badge:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(token("accent_fill"))
                painter.drawEllipse(QRectF(box.right() - 11, 4, 7, 7))
        else:
            painter.setFont(font("body", 600 if on else 400))
            draw_text(painter, box.adjusted(37, 0, 0, 0), self.text(), token("text"))
            if self._badge:
                self._paint_badge(painter, box, middle)
        if self.hasFocus():
            focus_ring(painter, box, 6)
        painter.end()

    def _paint_badge(self, painter: object, box: QRectF, middle: float) -> None:
        text = str(self._badge) if self._badge < 100 else "99+"
        used = font("tiny", 600)
        width = max(17.0, QFontMetricsF(used).horizontalAdvance(text) + 10)
        badge = QRectF(box.right() - 8 - width, middle - 8.5, width, 17)
        rounded(painter, badge, 8.5, token("accent_fill"))  # type: ignore[arg-type]
        painter.setFont(used)  # type: ignore[attr-defined]
        draw_text(painter, badge, text, token("on_fill"), Qt.AlignmentFlag.AlignHCenter)  # type: ignore[arg-type]


class WorkspaceHead(Pressable):
    """Sign, name and path of the workspace; a click opens the menu."""

    def __init__(self) -> None:
        super().__init__()
        self._name_text, self._path = "Palimpsest", ""
        self._rail = False
        self.set_workspace("Palimpsest", "")

    def set_workspace(self, name: str, path: str) -> None:
        self._name_text, self._path = plain_line(name), plain_line(path)
        self.setText(self._name_text)
        self.setAccessibleName(tr("Workspace {name}, menu", name=self._name_text))
        self.setToolTip(plain_tip(f"{name}\n{path}".strip()))
        self.update()

    def set_rail(self, on: bool) -> None:
        self._rail = on
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Fixed if on else policy.Expanding, policy.Fixed)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(36, 44) if self._rail else QSize(WIDE - 17, row_height(44, 2))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        if self.underMouse():
            rounded(painter, box, 6, token("press" if self.isDown() else "hover"))
        middle = box.center().y()
        paint_icon(painter, SIGN, 9, middle - 9, 18, "accent")
        if not self._rail:
            width = box.width() - 37 - 30
            used = font("body", 600)
            upper, lower = QFontMetricsF(used), QFontMetricsF(font("small"))
            both = upper.height() + (lower.height() if self._path else 0)
            top = middle - both / 2
            painter.setFont(used)
            name = elided(self._name_text, upper, width)
            draw_text(painter, QRectF(37, top, width, upper.height()), name, token("text"))
            painter.setFont(font("small"))
            path = elided(self._path, lower, width, "middle")
            below = QRectF(37, top + upper.height(), width, lower.height())
            draw_text(painter, below, path, token("text_soft"))
            paint_icon(painter, "chevrons-up-down", box.right() - 23, middle - 7, 14, "text_soft")
        if self.hasFocus():
            focus_ring(painter, box, 6)
        painter.end()


class Sidebar(QWidget):
    """`place_wanted(str)`, `session_wanted(str)`, `new_wanted()`, `menu_wanted()`."""

    place_wanted = Signal(str)
    session_wanted = Signal(str)
    new_wanted = Signal()
    menu_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rail = False
        self._sessions_wanted = True
        self._running: frozenset[str] = frozenset()
        self._infos: list[Listed] = []
        self._current = ""
        self.head = WorkspaceHead()
        self.head.clicked.connect(self.menu_wanted)
        self.buttons: dict[str, PlaceButton] = {}
        group = QButtonGroup(self)
        group.setExclusive(True)
        for place in PLACES:
            button = PlaceButton(place)
            button.clicked.connect(lambda _=False, p=place: self.place_wanted.emit(p))
            group.addButton(button)
            self.buttons[place] = button
        self.recent = QWidget()
        self.sessions = RowList(
            tr("Recent sessions"), height=27, margin=0, ground="side", role="small",
            open_on_click=True,
        )  # fmt: skip
        self.sessions.delegate.side = 10
        self.sessions.opened.connect(lambda row: self.session_wanted.emit(row.id))
        self.new = IconButton("plus", tr("New session"), key="Ctrl+N", size=14, side=24)
        self.new.clicked.connect(self.new_wanted)
        self._lay_out()
        self.set_rail(False)

    def _lay_out(self) -> None:
        self._box = QVBoxLayout(self)
        self._box.setSpacing(2)
        self._box.addWidget(self.head)
        self._box.addSpacing(7)
        for place in PLACES[:-1]:
            self._box.addWidget(self.buttons[place])
        self._box.addSpacing(14)
        head = QHBoxLayout()
        head.setContentsMargins(10, 0, 4, 0)
        head.addWidget(T(tr("Recent"), "small", "text_soft", weight=600), 1)
        head.addWidget(self.new)
        inner = QVBoxLayout(self.recent)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(4)
        inner.addLayout(head)
        inner.addWidget(self.sessions, 1)
        self._box.addWidget(self.recent, 10)
        self._box.addStretch(1)
        self._box.addWidget(self.buttons["settings"])

    # ------------------------------------------------------------------ what is shown

    def set_place(self, place: str) -> None:
        self.buttons[place].setChecked(True)
        self._sessions_wanted = place == "chat"
        self._settle()

    def set_badge(self, place: str, count: int) -> None:
        self.buttons[place].set_badge(count)

    def set_sessions(self, infos: Sequence[Listed]) -> None:
        self._infos = list(infos[:SHOWN_SESSIONS])
        self._fill()

    def set_running(self, ids: frozenset[str]) -> None:
        if ids != self._running:
            self._running = ids
            self._fill()

    def set_session(self, session_id: str) -> None:
        self._current = session_id
        if not self.sessions.select(session_id, quiet=True):
            self.sessions.clear_choice()

    def set_rail(self, on: bool) -> None:
        self._rail = on
        self.setFixedWidth(RAIL if on else WIDE)
        self._box.setContentsMargins(8, 8, 9, 10)
        self.head.set_rail(on)
        for button in self.buttons.values():
            button.set_rail(on)
        self._settle()

    def is_rail(self) -> bool:
        return self._rail

    def _fill(self) -> None:
        rows = [
            Row(
                info.id,
                preview(info.title, 80, tr("New session")),
                tone="soft",
                dot=info.id in self._running,
                spoken=preview(info.title, 80, tr("New session"))
                + (", " + tr("a reply is running") if info.id in self._running else ""),
            )
            for info in self._infos
        ]
        self.sessions.set_rows(rows)
        self.set_session(self._current)
        self._settle()

    def _settle(self) -> None:
        self.recent.setVisible(self._sessions_wanted and not self._rail and bool(self._infos))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.fillRect(self.rect(), token("side"))
        painter.fillRect(self.width() - 1, 0, 1, self.height(), token("line"))
        painter.end()
