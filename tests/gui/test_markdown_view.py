"""Foreign text on screen: it loads nothing, opens nothing, and never freezes the window."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QApplication

from app.gui.look.text import without_escapes
from app.gui.widgets.markdown import MarkdownView
from app.gui.widgets.paged import PagedText
from app.gui.widgets.segments import Segmenter, segments

NASTY = """![a picture](http://127.0.0.1:{port}/a.png) and ![local](file:///etc/hostname)
<img src="http://127.0.0.1:{port}/b.png"> <style>* {{ color: red }}</style> <table width=99999>

![by reference][ref]

[ref]: http://127.0.0.1:{port}/c.png

[file](file:///etc/passwd) [script](javascript:alert(1)) [share](smb://host/x) \
[good](https://example.org/a) [mail](mailto:a@example.org)

```html
<img src="http://127.0.0.1:{port}/d.png">
```
"""


@pytest.fixture
def listener():
    """A local port, and the list of connections made to it."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.1)
    calls: list[object] = []
    ended = threading.Event()

    def listen() -> None:
        while not ended.is_set():
            try:
                one, _ = server.accept()
            except OSError:
                continue
            calls.append(one)
            one.close()

    thread = threading.Thread(target=listen)
    thread.start()
    yield server.getsockname()[1], calls
    ended.set()
    thread.join()
    server.close()


def view_of(qtbot, text: str = "", **options) -> MarkdownView:
    view = MarkdownView(text, **options)
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show()
    settle(view)
    return view


def settle(view: MarkdownView) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        QApplication.processEvents()
        if not view.busy():
            return
    raise AssertionError("still rendering")


def anchors(view: MarkdownView) -> list[str]:
    found: list[str] = []
    block = view.document().begin()
    while block.isValid():
        for fragment in (f.fragment() for f in block):
            target = fragment.charFormat().anchorHref()
            if target and target not in found:
                found.append(target)
        block = block.next()
    return found


def test_nothing_is_loaded_and_markup_is_text(qtbot, listener):
    port, calls = listener
    view = view_of(qtbot, NASTY.format(port=port))
    view.grab()
    qtbot.wait(250)
    shown = view.toPlainText()
    assert calls == []
    assert "\ufffc" not in shown
    assert "[picture, not loaded: a picture]" in shown
    assert "![local](file:///etc/hostname)" in shown
    assert f'<img src="http://127.0.0.1:{port}/b.png">' in shown
    assert "<style>* { color: red }</style>" in shown
    assert f'<img src="http://127.0.0.1:{port}/d.png">' in shown
    assert view.loadResource(2, QUrl("file:///etc/hostname")) is None


def test_task_lists_show_their_boxes_and_markup_stays_text(qtbot):
    text = '- [ ] water the lemon\n- [x] order seeds\n- <input checked="checked"> plain'
    shown = view_of(qtbot, text).toPlainText()
    assert "☐ water the lemon" in shown
    assert "☑ order seeds" in shown
    assert '<input checked="checked"> plain' in shown


def test_only_safe_links_are_links_and_a_click_only_tells(qtbot):
    view = view_of(qtbot, NASTY.format(port=1))
    assert anchors(view) == ["https://example.org/a", "mailto:a@example.org"]
    heard: list[str] = []
    view.link_clicked.connect(heard.append)
    view.anchorClicked.emit(QUrl("https://example.org/a"))
    assert heard == ["https://example.org/a"]
    assert not view.openExternalLinks()
    assert "reference" in view.toPlainText()


def test_reordering_characters_are_neutral(qtbot):
    view = view_of(qtbot, "abc\u202edef `\u2066code\u2069`")
    assert view.toPlainText() == "abcdef code"


def test_streaming_ends_like_the_whole(qtbot):
    text = (
        "# Head\n\nSome *text*, 中文，`code`.\n\n- one\n- two\n\n  more of two\n\n"
        "```python\nx = 1\n\ny = 2\n```\nAfter it.\n\n> quoted\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd"
    )
    whole = view_of(qtbot, text)
    stream = view_of(qtbot)
    for i in range(0, len(text), 3):
        stream.append(text[i : i + 3])
        if i % 30 == 0:
            stream._timer.stop()
            stream._work()
    stream.finish()
    settle(stream)
    assert stream.toPlainText() == whole.toPlainText()
    assert stream.markdown() == text
    assert "x = 1" in stream.toPlainText()


def test_unfinished_text_is_seen_while_it_streams(qtbot):
    view = view_of(qtbot)
    view.append("The first words")
    settle(view)
    assert view.toPlainText() == "The first words"
    view.append(" and **more")
    settle(view)
    assert view.toPlainText() == "The first words and **more"
    view.append("**\n\nNext")
    settle(view)
    assert view.toPlainText() == "The first words and more\nNext"


def test_a_giant_line_is_cut_and_can_be_unfolded(qtbot):
    view = view_of(qtbot, "before\n\n" + "x" * 400_000 + "\n\nafter", fit=False)
    shown = view.toPlainText()
    assert len(shown) < 5_000
    assert "Show 399 kB more" in shown
    view.anchorClicked.emit(QUrl(anchors(view)[0]))
    settle(view)
    assert 100_000 < view.toPlainText().count("x") < 110_000
    assert view.toPlainText().endswith("after")


def test_a_very_long_text_is_folded_behind_a_link(qtbot):
    view = view_of(qtbot, "A paragraph of some words.\n\n" * 3_000, fit=False)
    assert view.toPlainText().endswith("kB more")
    before = len(view.toPlainText())
    view.anchorClicked.emit(QUrl("palimpsest-more:rest"))
    settle(view)
    assert len(view.toPlainText()) > before * 1.2


def test_a_change_of_theme_renders_again(qtbot):
    from app.gui.look.theme import theme, token

    view = view_of(qtbot, "words `code`")
    theme().choose("dark")
    settle(view)
    fragment = next(iter(view.document().begin())).fragment()
    assert fragment.charFormat().foreground().color() == token("text")
    assert view.toPlainText() == "words code"


def test_code_copies_as_it_is(qtbot):
    view = view_of(qtbot, "```python\ndef f():\n    return '中'\n```")
    assert view.toPlainText() == "def f():\n    return '中'"
    view.selectAll()
    assert view.createMimeDataFromSelection().text() == "def f():\n    return '中'"


def test_find_marks_and_walks(qtbot):
    view = view_of(qtbot, "upload one\n\nUpload two 对账 upload")
    assert view.finding.find("upload") == 3
    view.finding.walk(-1)
    assert view.finding.count() == (3, 3)
    assert view.finding.find("对账") == 1
    assert view.finding.find("") == 0


# ---------------------------------------------------------------------------- segments


@pytest.mark.parametrize("step", [1, 7, 1_000])
def test_segments_do_not_depend_on_the_pieces(step):
    text = "a\nb\n\n- x\n\n- y\n\nz\n```py\n\ncode\n```\n~~~\nlast"
    cutter, out = Segmenter(), []
    for i in range(0, len(text), step):
        out += cutter.feed(text[i : i + step])
    out += cutter.close()
    assert out == segments(text)
    assert [(s.kind, s.text) for s in out] == [
        ("markdown", "a\nb"), ("markdown", "- x\n\n- y"), ("markdown", "z"),
        ("code", "\ncode"), ("code", "last"),
    ]  # fmt: skip


def test_the_unfinished_rest_stays_small():
    cutter = Segmenter()
    for _ in range(1_000):
        cutter.feed("word " * 200)
        assert len(cutter.rest) <= 20_000
    assert sum(len(s.text) + len(s.cut) for s in cutter.close()) == 1_000_000


# ---------------------------------------------------------------------------- paged text


def paged(qtbot, text: str) -> PagedText:
    view = PagedText("Result")
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    view.set_text(text)
    QApplication.processEvents()
    return view


def test_a_line_of_400_kb_is_cut_unfolded_and_copied_whole(qtbot):
    line = "0123456789" * 40_000
    view = paged(qtbot, "head\n" + line + "\ntail")
    assert view.toPlainText().count("\n") < 10
    assert "Show 399 kB more" in view.toPlainText()
    for _ in range(4):
        block = next(b for b in blocks(view) if b.userState() == 2)
        cursor = view.textCursor()
        cursor.setPosition(block.position())
        view.setTextCursor(cursor)
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert not [b for b in blocks(view) if b.userState() == 2]
    view.selectAll()
    assert view.createMimeDataFromSelection().text() == "head\n" + line + "\ntail"
    assert view.text() == "head\n" + line + "\ntail"


def blocks(view: PagedText):
    block = view.document().begin()
    while block.isValid():
        yield block
        block = block.next()


def test_terminal_colours_are_ink_not_text(qtbot):
    view = paged(qtbot, "\x1b[1;31mfailed\x1b[0m sensor=7 \x1b[38;5;200modd\x1b[2K")
    assert view.toPlainText() == "failed sensor=7 odd"
    first = next(iter(view.document().begin())).fragment()
    from app.gui.look.theme import token

    assert first.charFormat().foreground().color() == token("ansi_red")
    assert without_escapes("\x1b]0;title\x07x\x1b[1my") == "xy"


def test_pages_are_asked_for_and_added(qtbot):
    view = PagedText("Result")
    qtbot.addWidget(view)
    view.resize(400, 200)
    view.show()
    asked: list[int] = []
    view.page_wanted.connect(asked.append)
    view.set_page("line\n" * 200, 0, 1_000, 1_500)
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    assert asked == [1_000]
    view.set_page("end", 1_000, 1_003, 1_003)
    assert view.text().endswith("line\nend")
    assert view.shown_range() == (1_003, 1_003)
