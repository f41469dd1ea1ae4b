"""The search field: chips first, then the words, then what can be done with them.

Idea: a `Field` with room at its left for chips and at its right for two buttons; a filter typed to
its end becomes a chip, Backspace at the start takes the last one back into the line. What is being
composed by an input method is left alone until it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from app.gui.look.icons import icon
from app.gui.look.text import preview, tr
from app.gui.panes.search.filters import Filter, joined, split, without_unfinished
from app.gui.widgets.buttons import Chip, IconButton
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import plain_tip

LONGEST = 20_000  # characters of a query that the line keeps
BEGIN = 40  # px to the first chip
END = 70  # px for the buttons
WORDS = 160  # px that chips leave to words; a third where the field is narrow
GAP = 6  # px behind a chip


class SearchField(Field):
    """`changed()` when the query is another one; `stepped(by)`, `entered()`, `left()` by keys.

    `keys` may take a key first (the list of completions does): it returns True when it did.
    """

    changed = Signal()
    stepped = Signal(int)
    entered = Signal()
    left = Signal()
    filter_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self._chips: list[Chip] = []
        self._filters: list[Filter] = []
        self._wide = 0
        self._rest: tuple[Filter, ...] = ()  # filters whose chips have no room
        self._whole = False  # chips and words are selected as one
        super().__init__(
            tr("Search"), tr("Search memory, daily logs and sessions"), icon="search", tall=True,
            parent=parent,
        )  # fmt: skip
        self.setMaxLength(LONGEST)
        self._busy = False
        self._names: dict[str, str] = {}
        self.keys: Callable[[QEvent], bool] = lambda _: False
        self.add = IconButton("list-filter", tr("Add a filter"), key="Ctrl+Space", parent=self)
        self.clear_button = IconButton("x", tr("Clear the search"), key="Esc", parent=self)
        self.more = Chip("", parent=self)
        self.more.setCheckable(True)
        self.more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more.clicked.connect(self._show_rest)
        for button in (self.more, self.add, self.clear_button):
            button.setCursor(Qt.CursorShape.ArrowCursor)
        self.add.clicked.connect(self.filter_wanted)
        self.clear_button.clicked.connect(self.wipe)
        self._make_chips()
        self.textChanged.connect(self._on_text)
        self.selectionChanged.connect(self._on_selected)

    # ------------------------------------------------------------------ the query

    def query(self) -> str:
        """The whole query as text, filters first."""
        return joined(self._filters, self.text())

    def query_to_ask(self) -> str:
        """The query without a filter that is still being typed at its end."""
        return joined(self._filters, without_unfinished(self.text()))

    def words(self) -> str:
        """What is typed besides filters."""
        return without_unfinished(self.text()).strip()

    def filters(self) -> list[Filter]:
        return list(self._filters)

    def set_query(self, text: str, *, quiet: bool = False) -> None:
        """Show `text`: its filters as chips, the rest as words."""
        filters, rest = split(text[:LONGEST].replace("\n", " "), finished=True)
        before = self.query()
        self._busy = True
        self._filters = _unique(filters)
        self.setText(rest)
        self._busy = False
        self._make_chips()
        if not quiet and self.query() != before:
            self.changed.emit()

    def set_filters(self, filters: Sequence[Filter]) -> None:
        """Other chips, the same words."""
        self._filters = _unique(filters)
        self._make_chips()
        self.changed.emit()

    def name_sessions(self, titles: dict[str, str]) -> None:
        """Session filters show their title."""
        self._names = titles
        self._make_chips()

    def select_query(self) -> None:
        """All of it, chips too: what is typed next takes its place."""
        self.selectAll()
        self._set_whole(bool(self._filters))

    def _set_whole(self, on: bool) -> None:
        self._whole = on
        for chip in (*self._chips, self.more):
            chip.setChecked(on)

    def _on_selected(self) -> None:
        if self.selectedText() != self.text():
            self._set_whole(False)

    def wipe(self) -> None:
        """Nothing to search for any more."""
        self.set_query("")
        self.setFocus()

    def _on_text(self, text: str) -> None:
        self.clear_button.setVisible(bool(text or self._filters))
        if self._busy:
            return
        filters, rest = split(text)
        kept = [] if self._whole else self._filters
        if filters or kept != self._filters:
            self._busy = True
            self._filters = _unique([*kept, *filters])
            self.setText(rest)
            self._busy = False
            self._make_chips()
        self.changed.emit()

    def _drop(self, chip: Filter) -> None:
        self.set_filters([f for f in self._filters if f != chip])
        self.setFocus()

    # ------------------------------------------------------------------ chips

    def _make_chips(self) -> None:
        for old in self._chips:
            old.hide()
            old.deleteLater()
        self._chips = []
        for one in self._filters:
            words = self._chip_words(one)
            chip = Chip(words, closable=True, parent=self)
            chip.setAccessibleName(tr("Filter {what}, remove it", what=words))
            chip.setToolTip(plain_tip(tr("Remove {what}", what=one.text)))
            chip.setCursor(Qt.CursorShape.ArrowCursor)
            chip.setCheckable(True)  # checked while it is selected along with the words
            chip.clicked.connect(lambda _=False, f=one: self._drop(f))
            chip.show()
            self._chips.append(chip)
        self._whole = False
        before: QWidget = self
        for button in (*self._chips, self.more, self.clear_button, self.add):
            QWidget.setTabOrder(before, button)
            before = button
        self.clear_button.setVisible(bool(self.text() or self._filters))
        words = tr("Search memory, daily logs and sessions")
        self.setPlaceholderText(tr("Any words") if self._filters else words)
        self._place()

    def _chip_words(self, one: Filter) -> str:
        if one.field == "session" and one.value in self._names:
            return tr("session: {title}", title=preview(self._names[one.value], 24))
        return one.words

    def _place(self) -> None:
        """Chips from the left as far as they leave room for words; the last one counts the rest."""
        inner = self.width() - BEGIN - END
        room = max(inner - min(WORDS, inner // 3), 0)
        wide = [chip.sizeHint().width() + GAP for chip in self._chips]
        shown = len(wide)
        while shown and sum(wide[:shown]) + (self._rest_wide(shown) if wide[shown:] else 0) > room:
            shown -= 1
        self._name_rest(shown)
        x, middle = BEGIN, self.height() // 2
        for n, chip in enumerate((*self._chips, self.more)):
            there = n < shown or (chip is self.more and bool(self._rest))
            chip.setVisible(there)
            if there:
                size = chip.sizeHint()
                chip.setGeometry(x, middle - size.height() // 2, size.width(), size.height())
                x += size.width() + GAP
        self._wide = x - BEGIN
        self._dress()
        right = self.width() - 8
        for button in (self.add, self.clear_button):
            right -= button.width()
            button.move(right, middle - button.height() // 2)

    def _rest_wide(self, shown: int) -> int:
        self._name_rest(shown)
        return self.more.sizeHint().width()

    def _name_rest(self, shown: int) -> None:
        """The last chip stands for all filters but the first `shown`."""
        self._rest = tuple(self._filters[shown:])
        said = "\n".join(self._chip_words(one) for one in self._rest)
        self.more.setText(f"+{len(self._rest)}")
        self.more.setToolTip(plain_tip(said))
        self.more.setAccessibleName(tr("More filters: {what}", what=said.replace("\n", ", ")))

    def _show_rest(self) -> None:
        """What else filters, each to be removed."""
        self.more.setChecked(False)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for one in self._rest:
            words = tr("Remove {what}", what=self._chip_words(one)).replace("&", "&&")
            menu.addAction(icon("x"), words, lambda f=one: self._drop(f))
        menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height() + 4)))

    def _dress(self) -> None:
        super()._dress()
        self.setTextMargins(BEGIN + self._wide, 0, END, 0)

    # ------------------------------------------------------------------ Qt's side

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and self.keys(event):
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Down, Qt.Key.Key_Up) and not event.modifiers() & _MODIFIERS:
            self.stepped.emit(1 if key == Qt.Key.Key_Down else -1)
            return
        if key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp) and not event.modifiers() & _MODIFIERS:
            self.stepped.emit(8 if key == Qt.Key.Key_PageDown else -8)
            return
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers() & _MODIFIERS:
            self.entered.emit()
            return
        if key == Qt.Key.Key_Escape:
            if self.query():
                self.wipe()
            else:
                self.left.emit()
            return
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_query()
            return
        at_start = not self.cursorPosition() and not self.hasSelectedText()
        if key in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete) and at_start and self._whole:
            self.set_filters([])
            return
        if key == Qt.Key.Key_Backspace and at_start and self._filters:
            self.set_filters(self._filters[:-1])
            return
        if key in _MOVES:
            self._set_whole(False)
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._set_whole(False)
        super().mousePressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._set_whole(False)
        super().focusOutEvent(event)


_MOVES = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End)
_MODIFIERS = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)


def _unique(filters: Sequence[Filter]) -> list[Filter]:
    return list(dict.fromkeys(filters))
