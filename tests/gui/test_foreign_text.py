"""Text of others that would load things: shown in every place, it asks and reads nothing (B87)."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QPlainTextEdit,
    QTextBrowser,
    QTextEdit,
    QToolTip,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.engine.agent.tools import tool
from app.gui.panes.chat.rows import AnswerRow, UserRow
from app.gui.widgets.dialogs import Question
from app.gui.widgets.markdown import MarkdownView
from app.gui.widgets.rows import RowList
from tests.helpers.consolidating import START, Desk
from tests.helpers.fake_server import call, say, use
from tests.helpers.waiting import quiet, until
from tests.helpers.watched import Trap, trap
from tests.helpers.whole_window import Room, window_on
from tests.helpers.workspaces import engine_on, without_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the watch is Linux's")

HUGE = 40_000_000  # characters of a picture within the text


def nasty(trap: Trap, data: int = 400) -> list[str]:
    """Lines that a careless view would follow, `data` characters of picture among them."""
    http, file = trap.url, trap.picture.as_uri()
    return [
        f"Heron ![a picture]({http}/a.png) and ![on disk]({file}) end",
        f"Heron ![inline](data:image/png;base64,{'iVBO' * (data // 4)}) end",
        "Heron ![by reference][pic] end",
        f'Heron <img src="{http}/b.png"><img src="{file}"> end',
        f'Heron <table width=99999 background="{http}/t.png"><tr><td>cell</td></tr></table> end',
        f"Heron <style>* {{ background: url({http}/s.png) }}</style> end",
        f"Heron [a file]({file}) [a script](javascript:alert(1)) [a share](smb://host/x) end",
        "Heron [good](https://example.org/a) [post](mailto:a@example.org) end",
    ]


def message(trap: Trap, data: int = 400) -> str:
    """All of them as paragraphs, and again within a fence."""
    lines = nasty(trap, data)
    reference = f"[pic]: {trap.url}/c.png"
    return "\n\n".join(lines) + f"\n\n{reference}\n\n```html\n" + "\n".join(nasty(trap)) + "\n```\n"


# ---------------------------------------------------------------------------- looking everywhere


def tips(top: QWidget) -> list[str]:
    """Every tooltip there is: of the widgets and of the rows of lists."""
    out = [w.toolTip() for w in top.findChildren(QWidget)]
    for view in top.findChildren(QAbstractItemView):
        model = view.model()
        if model is not None:
            out += [str(model.index(n, 0, QModelIndex()).data(Qt.ItemDataRole.ToolTipRole) or "")
                    for n in range(rows_of(model))]  # fmt: skip
    return [tip for tip in out if tip]


def rows_of(model: QAbstractItemModel) -> int:
    return min(model.rowCount(QModelIndex()), 200)


async def look(room: Room) -> list[str]:
    """Paint what is shown, and show every tooltip there is; the tooltips."""
    window = room.window
    window.grab()
    found = list(dict.fromkeys(tips(window)))
    for tip in set(found) - room.seen:
        QToolTip.showText(QPoint(40, 40), tip, window)
        for label in QApplication.topLevelWidgets():
            if label.inherits("QTipLabel"):
                label.grab()
    room.seen.update(found)
    QToolTip.hideText()
    await asyncio.sleep(0)
    return found


def silent(trap: Trap) -> None:
    assert trap.asked == []
    assert trap.opened == 0


def texts(top: QWidget) -> str:
    """What the visible text widgets hold."""
    out = [
        w.toPlainText()
        for w in top.findChildren(QWidget)
        if isinstance(w, QTextEdit | QPlainTextEdit) and w.isVisible()
    ]
    return "\n".join(out)


def painted(rows: RowList) -> str:
    """The rows of a list, as one text."""
    return "\n".join(f"{row.title}\n{row.detail}" for row in rows.rows_model.rows())


# ---------------------------------------------------------------------------- the trap itself


def test_the_trap_would_catch_a_careless_view(qtbot: QtBot, tmp_path: Path) -> None:
    """A plain browser reads the file, and so does a tooltip that is taken for markup."""
    with trap(tmp_path) as watched:
        view = QTextBrowser()
        qtbot.addWidget(view)
        view.setHtml(f'<img src="{watched.picture.as_uri()}">')
        view.grab()
        assert watched.opened > 0
        QToolTip.showText(QPoint(40, 40), f'x <img src="{watched.picture.as_uri()}">', view)
        for label in QApplication.topLevelWidgets():
            if label.inherits("QTipLabel"):
                label.grab()
        QToolTip.hideText()
        assert watched.opened > 0


# ---------------------------------------------------------------------------- B87


@pytest.mark.case("B87")
def test_a_message_loads_nothing_and_its_links_ask_first(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Chat, timeline, sidebar, title: 40 MB of picture, pictures by all ways, all links."""
    opened: list[str] = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: opened.append(QUrl(url).toString()) or True
    )

    async def main(watched: Trap) -> None:
        asked = message(watched)
        folder = tmp_path / "<img src=x.png> work"
        logged(folder, "s-huge", nasty(watched)[3], nasty(watched, HUGE)[1])
        async with (
            engine_on(folder, say(asked), config=without_memory()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            chat = await room.go("chat", session_id="s-huge")
            await until(lambda: any(isinstance(r, AnswerRow) for r in chat.view.rows()))
            answer = next(r.view for r in chat.view.rows() if isinstance(r, AnswerRow))
            await quiet(lambda: not answer.busy())
            assert len(answer.toPlainText()) < 20_000, "40 MB are folded"
            await look(room)
            chat = await room.go("chat", section="new")
            await desk.engine.do.rename_session(chat.session_id, nasty(watched)[3])
            chat.foot.composer.set_text(asked)
            chat.foot.composer.send()
            await until(lambda: chat.talk.busy(chat.session_id))
            await until(lambda: not chat.talk.busy(chat.session_id))
            await room.rest(chat)
            await until(lambda: any(isinstance(r, AnswerRow) for r in chat.view.rows()))
            rows = chat.view.rows()
            answer = next(r.view for r in rows if isinstance(r, AnswerRow))
            user = next(r for r in rows if isinstance(r, UserRow))
            await quiet(lambda: not answer.busy())
            shown = answer.toPlainText()
            assert "\ufffc" not in shown, "no picture has a place"
            assert "[picture, not loaded: a picture]" in shown
            assert "![on disk](file:" in shown
            assert "by reference" in shown
            assert f'<img src="{watched.url}/b.png">' in shown
            assert "<table width=99999" in shown
            assert "<style>* { background" in shown
            assert "[a script](javascript:alert(1))" in shown
            for line in nasty(watched):  # the fence: letter by letter
                assert line in shown
            assert asked.split("\n", 1)[0] in texts(user)
            assert answer.width() <= chat.width(), "a width in the text widens nothing"
            assert "<img src=x.png> work" in room.window.windowTitle()
            await look(room)
            await asks_first(room, answer, opened)
            timeline = await room.go("timeline", session_id=chat.session_id)
            sheet = timeline.page.sheet
            assert any(f'<img src="{watched.url}/b.png">' in sheet.text_of(n, 0)
                       for n in range(len(sheet.rows)))  # fmt: skip
            found = await look(room)
            assert any("&lt;img" in tip for tip in found), "the sidebar has it as a title"
            silent(watched)

    with trap(tmp_path) as watched:
        qloop.run_until_complete(main(watched))


def logged(folder: Path, name: str, *texts: str) -> None:
    """A session on disk: the person and the model in turn."""
    path = folder / "agents" / "palimpsest" / "sessions" / f"{name}.log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "v": 1, "seq": n, "type": "message", "id": f"{name}-{n}", "content": text,
            "role": "USER" if n % 2 else "ASSISTANT", "timestamp": f"2026-06-02T01:00:{n:02}+00:00",
        }
        for n, text in enumerate(texts, 1)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def links_in(view: MarkdownView) -> dict[str, int]:
    """Each target that can be clicked, with a place in its words."""
    found: dict[str, int] = {}
    block = view.document().begin()
    while block.isValid():
        for fragment in (f.fragment() for f in block):  # type: ignore[reportGeneralTypeIssues]
            if target := fragment.charFormat().anchorHref():
                found.setdefault(target, fragment.position() + 2)
        block = block.next()
    return found


def click(view: MarkdownView, at: int) -> None:
    cursor = view.textCursor()
    cursor.setPosition(at)
    where = view.cursorRect(cursor).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)


async def asks_first(room: Room, view: MarkdownView, opened: list[str]) -> None:
    """A click on a link shows the target; only the button in that question opens it."""
    links = links_in(view)
    assert list(links) == ["https://example.org/a", "mailto:a@example.org"]
    for target, at in links.items():
        for answer, leads in (("", []), ("open", [target])):
            click(view, at)
            await until(lambda: room.window.findChildren(Question))
            question = room.window.findChildren(Question)[-1]
            assert target in texts(question)
            assert opened == []
            question.answer(answer)
            await until(lambda q=question: q not in room.window.findChildren(Question))
            assert opened == leads
            opened.clear()


@pytest.mark.case("B87")
@pytest.mark.timeout(300)  # 40 MB, also on a busy machine
def test_memory_diff_days_search_and_results_load_nothing(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None
) -> None:
    """The file with 40 MB in one line, the review of its change, and every other place of text."""

    async def main(watched: Trap) -> None:
        lines = [f"- {line}" for line in nasty(watched)]
        fence = ["```html", *nasty(watched), "```"]
        base = "\n".join(["# Memory", "", *lines, "", *fence]) + "\n"
        other = base.replace(" end", " at last")
        folder = tmp_path / "work"
        work = Desk(folder, other, prepare=base, policy="review")
        work.writer.notice_external(when=START)
        work.flush(*(line.replace("end", "now") for line in lines), at=START)
        await work.run(START + timedelta(hours=1), manual=True)

        async def dump(_: dict) -> str:
            return message(watched) + "filler " * 20_000

        scripts = (use(call("dump", {}, id="c1")), say("Done."))
        tools = [tool("dump", "Dump.", dump)]
        async with (
            engine_on(folder, *scripts, tools=tools, config=without_memory()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            await desk.send("Heron, dump it")
            await desk.engine.index_ready()
            await in_memory(room, base.split("\n")[:-1])
            days = (await desk.engine.ask.days())[0]
            daily = await room.go("daily", path=days.path)
            spoken = "\n".join(daily.cards.text_of(n, 0) for n in range(len(daily.cards.rows)))
            assert "<style>" in spoken
            await look(room)
            await in_search(room)
            evicted = await room.go("evicted")
            await until(lambda: f'<img src="{watched.url}/b.png">' in texts(evicted))
            await look(room)
            await room.go("activity")
            await look(room)
            silent(watched)
            huge = base + f"\n- {nasty(watched, HUGE)[1]}\n"
            (folder / "MEMORY.md").write_text(huge, "utf-8")
            pane = await room.go("memory")
            pane.show_mode("file")
            lines_shown = pane.file.lines.rows_model
            await until(lambda: str(lines_shown.rows()[-1].data)[:12] == "- Heron ![in", 90)
            pane.file.go_to(len(lines_shown.rows()))
            assert len(lines_shown.rows()[-1].shown.text) < 20_000, "40 MB are folded"
            await look(room)
            silent(watched)

    with trap(tmp_path) as watched:
        qloop.run_until_complete(main(watched))


async def in_memory(room: Room, raw: list[str]) -> None:
    """The file line by line with why it is there, an earlier version, and the review."""
    pane = await room.go("memory")
    pane.show_mode("file")
    pane.show_why()
    await room.rest(pane)
    assert [str(row.data) for row in pane.file.lines.rows_model.rows()] == raw
    shown = painted(pane.file.lines)
    assert "![by reference][pic]" in shown, "lines of the file stand as they are"
    for n in range(1, len(raw) + 1):
        pane.file.go_to(n)
        await until(lambda: not pane.tasks.running("why"))
        if n % 3 == 0:
            await look(room)
    pane.show_waiting()
    await room.rest(pane)
    assert pane.mode == "review"
    changed = pane.review.list.rows_model.rows()
    assert len(changed) > 4
    for n in range(len(changed)):
        pane.review.step(1)
        if n % 3 == 0:
            await look(room)


async def in_search(room: Room) -> None:
    """Hits of all places, and every hit in MEMORY.md, with snippet, tooltip and preview."""
    pane = await room.go("search")
    for text, shows in (("Heron", "Heron"), ("Heron in:memory", "<img")):
        pane.field.set_query(text)
        await until(lambda shows=shows: shows in hit_texts(pane))
        await room.rest(pane)
        entries = pane.list.hits.entries()
        assert len(entries) >= 8
        for n in range(len(entries)):
            pane.list.choose(n)
            await until(lambda: not pane.tasks.running("preview"))
            if n % 3 == 0:
                await look(room)


def hit_texts(pane: Any) -> str:
    return "\n".join(getattr(hit, "text", "") for hit in pane.list.hits.entries())
