"""Files of other editors and systems: BOM, CRLF, a mix of line ends, UTF-16, GBK (B55)."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.engine.errors import UserError
from app.gui.panes.chat.rows import UserRow
from app.gui.panes.memory.change_rows import ChangeRow
from app.gui.widgets.notices import Notices
from app.startup import default_config
from tests.helpers.fake_server import say
from tests.helpers.waiting import until
from tests.helpers.whole_window import window_on
from tests.helpers.workspaces import engine_on

HEAD = "\ufeff# Memory of the boat\r\n\r\n"
BODY = "- The boat is called Selkie\r\n- 潮位以海图基准面为准\r\n- Sails are red\r\n"
MEMORY = "# 记忆\n\n- 我的船叫塞尔基，数据库迁移定在六月\n"
DAY = "- 潮位以海图基准面为准，水獭\n"
TODAY = datetime.now().astimezone()


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def session(folder: Path) -> Path:
    """A log with BOM and CRLF, as an editor on Windows leaves it."""
    said = [("USER", "First words"), ("ASSISTANT", "Second words")]
    lines = [
        {"v": 1, "seq": n, "type": "message", "id": f"m-{n}", "role": role, "content": text,
         "timestamp": f"2026-06-02T01:00:{n:02}+00:00"}
        for n, (role, text) in enumerate(said, 1)
    ]  # fmt: skip
    data = "\ufeff" + "".join(json.dumps(line) + "\r\n" for line in lines)
    return written(folder, "agents/palimpsest/sessions/s-bom.log.jsonl", data.encode())


@pytest.mark.case("B55")
def test_bom_and_line_ends_stay_and_only_what_changed_is_shown(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None
) -> None:
    """Heading and first record are seen; a run shows its own change and keeps the bytes."""
    folder = tmp_path / "work"
    memory = written(folder, "MEMORY.md", (HEAD + BODY).encode())
    log = session(folder)
    mixed = b"- kept by CR\r- and on one line\n- by LF\n- by CRLF\r\n- The mast is new\n"
    day = written(folder, f"memory/{TODAY:%Y-%m-%d}.md", mixed)
    answer = (HEAD + BODY).replace("\r\n", "\n").lstrip("\ufeff") + "- The mast is new\n"

    async def main() -> None:
        before = log.read_bytes()
        async with (
            engine_on(folder, say(answer), config=default_config()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            chat = await room.go("chat", session_id="s-bom")
            first = next(r for r in chat.view.rows() if isinstance(r, UserRow))
            assert first.text.toPlainText() == "First words"
            assert log.read_bytes() == before
            daily = await room.go("daily", path=f"memory/{day.name}")
            shown = [row.line.text for row in daily.cards.rows if row.line is not None]
            assert shown[1:] == ["- by LF", "- by CRLF", "- The mast is new"]
            assert "kept by CR" in shown[0]
            assert "on one line" in shown[0], "only a line feed ends a line"

            pane = await room.go("memory")
            rows = pane.file.lines.rows_model.rows()
            assert rows[0].shown.text == "Memory of the boat"
            assert rows[0].shown.level == 1
            assert not any("\r" in row.title or "\ufeff" in row.title for row in rows)
            room.act("memory.consolidate")
            await until(lambda: pane.waiting() and not pane.busy())
            pane.show_waiting()
            await room.rest(pane)
            changes = [r for r in pane.review.list.rows_model.rows() if isinstance(r, ChangeRow)]
            assert [row.word for row in changes] == ["Added"]
            assert list(changes[0].data.after) == ["- The mast is new"]
            room.act("memory.accept")
            await room.rest(pane)
            room.act("memory.apply")
            await until(lambda: pane.mode == "file" and not pane.busy())
            assert memory.read_bytes() == (HEAD + BODY + "- The mast is new\r\n").encode()
            assert day.read_bytes() == mixed

    qloop.run_until_complete(main())


@pytest.mark.case("B55")
@pytest.mark.parametrize("code", ["utf-16", "gbk"])
def test_other_encodings_are_refused_by_name_and_never_rewritten(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None, code: str
) -> None:
    """Named in the memory place and at the day; runs and edits leave every byte."""
    folder = tmp_path / "work"
    memory = written(folder, "MEMORY.md", MEMORY.encode(code))
    day = written(folder, f"memory/{TODAY:%Y-%m-%d}.md", DAY.encode(code))

    async def main() -> None:
        kept = memory.read_bytes(), day.read_bytes()
        async with (
            engine_on(folder, say("# Memory\n\n- A fact\n"), config=default_config()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            pane = await room.go("memory")
            assert code.upper() in told(pane)
            await desk.send("The mast is new.")
            base = (await desk.engine.ask.memory()).sha256
            for act in (
                lambda: desk.engine.do.remember("The mast is new."),
                lambda: desk.engine.do.write_memory("# Memory\n", base),
            ):
                with pytest.raises(UserError):
                    await act()
            await desk.engine.do.flush(desk.session)
            await desk.engine.do.consolidate()
            while any(j.state in ("waiting", "running") for j in await desk.engine.ask.jobs()):
                await asyncio.sleep(0.02)
            daily = await room.go("daily", path=f"memory/{day.name}")
            rows = daily.cards.rows
            assert any(code.upper() in daily.cards.spoken(n) for n in range(len(rows)))
            assert (memory.read_bytes(), day.read_bytes()) == kept

    qloop.run_until_complete(main())


def told(pane: QWidget) -> str:
    """The notices of a place and what its empty states say."""
    notices = [cause for one in pane.findChildren(Notices) for cause in one.causes()]
    return " ".join([*notices, *(x.text() for x in pane.findChildren(QLabel) if x.isVisible())])
