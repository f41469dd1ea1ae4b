"""The command palette: every action and session, by a few letters (Ctrl+K).

A scrim and a child widget, no dialog: Esc closes, a running reply goes on. Last used first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QWidget,
)

from app.gui.look.icons import paint_icon
from app.gui.look.text import plural, preview, tr
from app.gui.look.theme import token
from app.gui.look.type import font, row_height
from app.gui.widgets.action import key_caps
from app.gui.widgets.delegate import Index, paint_ground
from app.gui.widgets.dialogs import Overlay
from app.gui.widgets.labels import IconLabel, KeyCaps, T
from app.gui.widgets.paint import draw_caps, draw_text
from app.gui.widgets.surfaces import Hairline
from app.gui.window.scoring import score

ROWS = 9


@dataclass(frozen=True)
class Entry:
    """One thing to run. `place` is the word at the right, `off` a reason why not now."""

    name: str
    title: str
    icon: str
    run: Callable[[], object]
    place: str = ""
    key: str = ""
    off: str = ""


def ranked(
    typed: str, entries: Sequence[Entry], used: Sequence[str]
) -> list[tuple[Entry, tuple[int, ...]]]:
    """Entries that fit `typed`, best first; without letters, last used first."""
    recent = {name: i for i, name in enumerate(used)}
    out: list[tuple[float, int, Entry, tuple[int, ...]]] = []
    for i, entry in enumerate(entries):
        found = score(typed, entry.title)
        if found is None:
            continue
        bonus = 30 - recent[entry.name] if entry.name in recent else 0
        out.append((-(found[0] + bonus), i, entry, found[1]))
    out.sort(key=lambda item: item[:2])
    return [(entry, places) for _, _, entry, places in out]


class _Model(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.found: list[tuple[Entry, tuple[int, ...]]] = []

    def show(self, found: list[tuple[Entry, tuple[int, ...]]]) -> None:
        self.beginResetModel()
        self.found = found
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.found)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not 0 <= index.row() < len(self.found):
            return None
        entry, places = self.found[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return entry, places
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return ", ".join(p for p in (entry.title, entry.place, entry.key, entry.off) if p)
        return None


class _Delegate(QStyledItemDelegate):
    def sizeHint(self, option: object, index: Index) -> QSize:
        return QSize(200, row_height(38) + 1)

    def paint(self, painter: QPainter, option: object, index: Index) -> None:
        found = index.data(Qt.ItemDataRole.UserRole)
        if found is None:
            return
        entry, places = found
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(option.rect).adjusted(8, 0, -8, -1)  # type: ignore[attr-defined]
        state = option.state  # type: ignore[attr-defined]
        on = bool(state & QStyle.StateFlag.State_Selected)
        hover = bool(state & QStyle.StateFlag.State_MouseOver)
        paint_ground(painter, box, hover=hover, selected=on, focus=True, ring=False)
        middle = box.center().y()
        color = "accent" if on else "text_soft"
        paint_icon(painter, entry.icon, box.left() + 12, middle - 8, 16, color)
        right = box.right() - 10
        caps = key_caps(entry.key)
        if caps:
            right = draw_caps(painter, right, middle, caps) - 12
        painter.setFont(font("small"))
        place = entry.off or entry.place
        width = QFontMetricsF(font("small")).horizontalAdvance(place)
        room = QRectF(right - width, box.top(), width + 1, box.height())
        draw_text(painter, room, place, token("text_soft"))
        title = QRectF(box.left() + 40, box.top(), room.left() - box.left() - 52, box.height())
        self._title(painter, title, entry, places)
        painter.restore()

    def _title(self, painter: QPainter, box: QRectF, entry: Entry, places: tuple[int, ...]) -> None:
        used = font("body", 500)
        metrics = QFontMetricsF(used)
        painter.setFont(used)
        shown = metrics.elidedText(entry.title, Qt.TextElideMode.ElideRight, box.width())
        matched = set(places)
        x, run, hit = box.left(), "", False
        ink = "text_off" if entry.off else "text"
        for i, letter in enumerate(shown + "\0"):
            now = i in matched and i < len(shown)
            if run and (now != hit or letter == "\0"):
                wide = metrics.horizontalAdvance(run)
                spot = QRectF(x, box.top(), wide + 2, box.height())
                draw_text(painter, spot, run, token("accent" if hit else ink))
                x, run = x + wide, ""
            run, hit = run + letter, now


class _List(QListView):
    def sizeHint(self) -> QSize:
        return QSize(400, self.high())

    def high(self) -> int:
        rows = min(max(self.model().rowCount() if self.model() else 0, 1), ROWS)
        return rows * (row_height(38) + 1)


class Palette(Overlay):
    """`entries` are what can be run now; `sessions` come after "@"."""

    def __init__(
        self,
        window: QWidget,
        entries: Sequence[Entry],
        sessions: Sequence[Entry],
        used: Sequence[str],
        run: Callable[[Entry], None],
    ) -> None:
        super().__init__(window, 600, 92)
        self.setAccessibleName(tr("Command palette"))
        self._entries, self._sessions, self._used, self._run = entries, sessions, used, run
        self.box.setContentsMargins(1, 1, 1, 1)  # the sheet's border stays free
        self.box.setSpacing(0)
        self.field = QLineEdit()
        self.field.setFrame(False)
        self.field.setAccessibleName(tr("Find an action"))
        self.field.setPlaceholderText(tr("Find an action"))
        self.field.setFont(font("title", 400))
        self.field.installEventFilter(self)
        self.count = T("", "small", "text_faint", tabular=True)
        head = QHBoxLayout()
        head.setContentsMargins(17, 0, 17, 0)
        head.setSpacing(11)
        head.addWidget(IconLabel("search", 16))
        head.addWidget(self.field, 1)
        head.addWidget(self.count)
        self.box.addLayout(head)
        self.field.setMinimumHeight(52)
        self.box.addWidget(Hairline())
        self.box.addSpacing(7)
        self.list = _List()
        self.box.addWidget(self.list)
        self.box.addSpacing(7)
        self.box.addWidget(Hairline())
        self.box.addLayout(self._foot())
        self._model = _Model(self)
        self._dress_list()
        self.field.textChanged.connect(self._on_typed)
        self._on_typed("")

    def _dress_list(self) -> None:
        view = self.list
        view.setAccessibleName(tr("Actions found"))
        view.setModel(self._model)
        view.setItemDelegate(_Delegate(view))
        view.setFrameShape(QListView.Shape.NoFrame)
        view.setUniformItemSizes(True)
        view.setMouseTracking(True)
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.clicked.connect(self._on_clicked)
        for widget in (view, self.field):
            palette = QPalette(widget.palette())
            palette.setColor(QPalette.ColorRole.Base, token("raised"))
            if widget is view:
                palette.setColor(QPalette.ColorRole.Highlight, token("raised"))
            widget.setPalette(palette)

    def _foot(self) -> QHBoxLayout:
        foot = QHBoxLayout()
        foot.setContentsMargins(16, 8, 17, 9)
        foot.setSpacing(6)
        for keys, word in (("Up, Down", tr("choose")), ("Enter", tr("run")), ("Esc", tr("close"))):
            foot.addWidget(KeyCaps(keys.replace("Up", "↑").replace("Down", "↓")))
            foot.addWidget(T(word, "small", "text_soft"))
            foot.addSpacing(8)
        foot.addStretch(1)
        foot.addWidget(T(tr("Type @ for sessions"), "small", "text_soft"))
        return foot

    def start(self) -> None:
        self.open(self.field)

    def _on_typed(self, text: str) -> None:
        among = self._sessions if text.startswith("@") else self._entries
        found = ranked(text.lstrip("@"), among, self._used)
        self._model.show(found)
        self.list.setFixedHeight(self.list.high())
        word = (
            plural(len(among), "{f} of {n} session", "{f} of {n} sessions", f=len(found))
            if among is self._sessions
            else plural(len(among), "{f} of {n} action", "{f} of {n} actions", f=len(found))
        )
        self.count.setText(word if found else tr("Nothing fits"))
        if found:
            self.list.setCurrentIndex(self._model.index(0))
        if self.isVisible():
            self.refit()

    def _on_clicked(self, index: Index) -> None:
        self._take(index.row())

    def _take(self, at: int) -> None:
        if not 0 <= at < len(self._model.found):
            return
        entry = self._model.found[at][0]
        if entry.off:
            self.count.setText(entry.off)
            return
        self.close_sheet()
        self._run(entry)

    def _step(self, by: int) -> None:
        count = len(self._model.found)
        if count:
            at = (self.list.currentIndex().row() + by) % count
            self.list.setCurrentIndex(self._model.index(at))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and event.type() == QEvent.Type.KeyPress:
            assert isinstance(event, QKeyEvent)
            steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: ROWS,
                     Qt.Key.Key_PageUp: -ROWS}  # fmt: skip
            by = steps.get(Qt.Key(event.key()))
            if by is not None:
                self._step(by)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._take(self.list.currentIndex().row())
                return True
            return False
        return super().eventFilter(watched, event)


def session_entries(
    titles: Sequence[tuple[str, str]], open_session: Callable[[str], object]
) -> list[Entry]:
    """Palette entries of sessions, given (id, title)."""
    return [
        Entry(f"session:{sid}", preview(title, 90, tr("New session")), "message-square",
              lambda sid=sid: open_session(sid), tr("Session"))
        for sid, title in titles
    ]  # fmt: skip
