"""Markdown blocks written into a text document, token by token.

No HTML is ever made, so nothing can be loaded: images become a labelled placeholder, links keep
their target only for http, https and mailto, everything else is text. Line steps are fixed per
paragraph, so that Chinese and emoji fallback fonts do not make lines jump.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import (
    QBrush,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextTableFormat,
)

from app.gui.look.text import neutral, tr
from app.gui.look.theme import token
from app.gui.look.type import Role, code_font, font, line_step
from app.gui.widgets.highlight import runs
from app.gui.widgets.segments import Segment

SAFE_SCHEMES = ("http", "https", "mailto")
MORE = "palimpsest-more:"  # our own scheme: show what was folded
CODE = QTextFormat.Property.UserProperty + 1
WELL = 10  # px between the edge of a well and its text
QUOTE = QTextFormat.Property.UserProperty + 2
OPEN_BOX, TICKED = "☐", "☑"
TABLE_LIMIT = 50  # rows; a longer table is shown as its source
FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


@lru_cache(maxsize=1)
def parser() -> Any:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.tasklists import tasklists_plugin

    known = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return known.use(tasklists_plugin)


def _long_table(text: str) -> bool:
    """Whether parsing would only find a table that is shown as its source anyway."""
    if text.count("\n") <= TABLE_LIMIT:
        return False
    second = text.split("\n", 2)[1]
    return "|" in second and not second.strip(" |:-")


class Writer:
    """Writes segments at a cursor. One per document; `role` is the size of its text."""

    def __init__(self, role: Role = "read", color: str = "text") -> None:
        self._role: Role = role
        self._color = color
        self._lists: list[Any] = []
        self._quote = 0
        self._source = ""
        self.fresh = True

    def restart(self) -> None:
        """The document is empty again."""
        self.fresh = True

    # ------------------------------------------------------------------ blocks

    def write(self, cursor: QTextCursor, segment: Segment, more: str = "") -> None:
        """Append one segment; `more` is the target of its "show more" link."""
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        self._lists, self._quote = [], 0
        if segment.kind == "markdown":
            if _long_table(segment.text):
                self._code(cursor, segment.text, "")
                cursor.endEditBlock()
                return
            self._source = segment.text
            self._markdown(cursor, parser().parse(segment.text))
        elif segment.kind == "code":
            self._code(cursor, segment.text, segment.info)
        else:
            self._plain(cursor, segment.text)
        if segment.cut and more:
            self.link_line(cursor, tr("Show {n} kB more", n=len(segment.cut) // 1_000 + 1), more)
        cursor.endEditBlock()

    def tail(self, cursor: QTextCursor, text: str) -> None:
        """Open a plain block with unfinished text."""
        self._block(cursor, self._paragraph())
        cursor.insertText(neutral(text).replace("\n", "\u2028"), self._char())

    def char(self) -> QTextCharFormat:
        """The format of running text."""
        return self._char()

    def link_line(self, cursor: QTextCursor, words: str, target: str) -> None:
        """A line of our own that can be clicked."""
        self._block(cursor, self._paragraph())
        form = self._char()
        self._as_link(form, target)
        cursor.insertText(words, form)

    def _plain(self, cursor: QTextCursor, text: str) -> None:
        # Long plain text goes into blocks of a few kB: one huge block is what freezes layout.
        for start in range(0, len(text), 2_000):
            self._block(cursor, self._paragraph(bottom=0))
            piece = text[start : start + 2_000]
            cursor.insertText(neutral(piece).replace("\n", "\u2028"), self._char())

    def _markdown(self, cursor: QTextCursor, tokens: list[Any]) -> None:
        i = 0
        while i < len(tokens):
            kind = tokens[i].type
            if kind == "table_open":
                i = self._table(cursor, tokens, i)
                continue
            if kind in ("paragraph_open", "heading_open"):
                self._text_block(cursor, tokens[i], tokens[i + 1], self._item_of(tokens, i))
                i += 3
                continue
            if kind in ("bullet_list_open", "ordered_list_open"):
                self._lists.append([tokens[i], None])
            elif kind in ("bullet_list_close", "ordered_list_close"):
                self._lists.pop()
            elif kind == "blockquote_open":
                self._quote += 1
            elif kind == "blockquote_close":
                self._quote -= 1
            elif kind in ("fence", "code_block"):
                self._code(cursor, tokens[i].content.rstrip("\n"), tokens[i].info or "")
            elif kind == "hr":
                self._rule(cursor)
            i += 1

    @staticmethod
    def _item_of(tokens: list[Any], i: int) -> bool:
        """Whether the paragraph at `i` is the first of a list item and carries its bullet."""
        return i > 0 and tokens[i - 1].type == "list_item_open"

    def _text_block(self, cursor: QTextCursor, opened: Any, inline: Any, item: bool) -> None:
        level = int(opened.tag[1]) if opened.type == "heading_open" else 0
        form = self._paragraph(level=level, tight=bool(opened.hidden))
        depth = len(self._lists)
        if depth and not item:
            form.setIndent(depth)
        self._block(cursor, form)
        if item and depth:
            self._bullet(cursor)
        char = self._char()
        if level:
            role: Role = "title" if level == 1 else "head" if level == 2 else self._role
            char.setFont(font(role, 600))
        self._inline(cursor, inline.children or [], char)

    def _bullet(self, cursor: QTextCursor) -> None:
        opened, made = self._lists[-1]
        if made is not None:
            made.add(cursor.block())
            return
        form = QTextListFormat()
        if opened.type == "ordered_list_open":
            form.setStyle(QTextListFormat.Style.ListDecimal)
            form.setStart(int(opened.attrGet("start") or 1))
        else:
            form.setStyle(QTextListFormat.Style.ListDisc)
        form.setIndent(len(self._lists))
        self._lists[-1][1] = cursor.createList(form)

    def _block(self, cursor: QTextCursor, form: QTextBlockFormat) -> None:
        """Begin a block; the empty first block of a document is used as it is."""
        if self.fresh:
            self.fresh = False
            cursor.setBlockFormat(form)
            cursor.setBlockCharFormat(self._char())
            return
        cursor.insertBlock(form, self._char())

    def _paragraph(
        self, *, level: int = 0, tight: bool = False, bottom: int | None = None
    ) -> QTextBlockFormat:
        form = QTextBlockFormat()
        role: Role = {1: "title", 2: "head"}.get(level, self._role)  # type: ignore[assignment]
        step = line_step(self._role) if role == self._role else round(font(role).pixelSize() * 1.4)
        form.setLineHeight(step, FIXED)
        if level:
            form.setTopMargin(0 if self.fresh else 10)
            form.setHeadingLevel(level)
        form.setBottomMargin(bottom if bottom is not None else 2 if tight else 4 if level else 8)
        if self._quote:
            form.setLeftMargin(14 * self._quote)
            form.setProperty(QUOTE, self._quote)
        return form

    def _rule(self, cursor: QTextCursor) -> None:
        form = QTextBlockFormat()
        form.setLineHeight(9, FIXED)
        form.setProperty(
            QTextFormat.Property.BlockTrailingHorizontalRulerWidth,
            QTextLength(QTextLength.Type.PercentageLength, 100),
        )
        form.setBackground(token("line"))
        self._block(cursor, form)

    def _code(self, cursor: QTextCursor, code: str, info: str) -> None:
        """A well, one block for each line; its rounded ground is painted by the view."""
        used = code_font(self._role)
        char = QTextCharFormat()
        char.setFont(used)
        formats: dict[str, QTextCharFormat] = {}
        lines = code.count("\n")
        block = QTextBlockFormat()
        block.setLineHeight(line_step("code", used), FIXED)
        block.setProperty(CODE, True)
        block.setLeftMargin(WELL + 22 * len(self._lists))
        block.setRightMargin(WELL)
        follows = bool(cursor.blockFormat().property(CODE)) and not self.fresh
        block.setTopMargin(0 if follows else WELL)
        block.setBottomMargin(0 if lines else WELL + 8)
        self._block(cursor, block)
        block.setTopMargin(0)
        at = 0
        for text, color in runs(code, info):
            form = formats.get(color)
            if form is None:
                form = QTextCharFormat(char)
                form.setForeground(token(color))
                formats[color] = form
            for i, piece in enumerate(text.split("\n")):
                if i:
                    at += 1
                    if at == lines:
                        block.setBottomMargin(WELL + 8)
                    cursor.insertBlock(block, char)
                if piece:
                    cursor.insertText(neutral(piece), form)

    def _table(self, cursor: QTextCursor, tokens: list[Any], i: int) -> int:
        end = next(k for k in range(i, len(tokens)) if tokens[k].type == "table_close")
        rows: list[list[tuple[Any, bool]]] = []
        for k in range(i, end):
            if tokens[k].type == "tr_open":
                rows.append([])
            elif tokens[k].type in ("th_open", "td_open"):
                rows[-1].append((tokens[k + 1], tokens[k].type == "th_open"))
        if len(rows) > TABLE_LIMIT:
            first, last = tokens[i].map
            self._code(cursor, "\n".join(self._source.split("\n")[first:last]), "")
            return end + 1
        columns = max((len(r) for r in rows), default=1)
        form = QTextTableFormat()
        form.setBorder(1)
        form.setBorderBrush(QBrush(token("line")))
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderCollapse(True)
        form.setCellPadding(6)
        form.setTopMargin(8)
        form.setBottomMargin(10)
        self.fresh = False
        table = cursor.insertTable(len(rows), columns, form)
        for r, row in enumerate(rows):
            for c, (inline, head) in enumerate(row):
                cell = table.cellAt(r, c).firstCursorPosition()
                char = self._char()
                if head:
                    char.setFontWeight(QFont.Weight.DemiBold)
                block = QTextBlockFormat()
                block.setLineHeight(line_step(self._role), FIXED)
                cell.setBlockFormat(block)
                self._inline(cell, inline.children or [], char)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self.fresh = True
        return end + 1

    # ------------------------------------------------------------------ inline

    def _char(self) -> QTextCharFormat:
        form = QTextCharFormat()
        form.setFont(font(self._role))
        form.setForeground(token("text_soft" if self._quote else self._color))
        return form

    def _inline(self, cursor: QTextCursor, tokens: list[Any], base: QTextCharFormat) -> None:
        stack = [base]
        for one in tokens:
            form = QTextCharFormat(stack[-1])
            kind = one.type
            if kind == "text":
                cursor.insertText(neutral(one.content), form)
            elif kind in ("softbreak", "hardbreak"):
                cursor.insertText("\u2028", form)
            elif kind == "code_inline":
                form.setFont(code_font(self._role))
                form.setBackground(token("sunken"))
                cursor.insertText(neutral(one.content), form)
            elif kind == "html_inline":
                # With html off only the task list plugin makes these: the box of an item.
                cursor.insertText(TICKED if "checked=" in one.content else OPEN_BOX, form)
            elif kind == "image":
                form.setForeground(token("text_faint"))
                alt = neutral(one.content or "").strip() or tr("no description")
                cursor.insertText(tr("[picture, not loaded: {alt}]", alt=alt[:200]), form)
            elif kind == "strong_open":
                form.setFontWeight(QFont.Weight.DemiBold)
                stack.append(form)
            elif kind == "em_open":
                form.setFontItalic(True)
                stack.append(form)
            elif kind == "s_open":
                form.setFontStrikeOut(True)
                stack.append(form)
            elif kind == "link_open":
                target = str(one.attrGet("href") or "")
                if QUrl(target).scheme().lower() in SAFE_SCHEMES:
                    self._as_link(form, target)
                stack.append(form)
            elif kind.endswith("_close") and len(stack) > 1:
                stack.pop()
            elif one.content:
                cursor.insertText(neutral(one.content), form)

    def _as_link(self, form: QTextCharFormat, target: str) -> None:
        form.setAnchor(True)
        form.setAnchorHref(target)
        form.setForeground(token("accent"))
        form.setFontUnderline(not target.startswith(MORE))
