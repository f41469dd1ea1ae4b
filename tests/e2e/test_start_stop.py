"""The window as a process: it closes in time whatever runs, and loses nothing."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.helpers.fake_server import FakeServer, say
from tests.helpers.windowed import Run, surroundings, windowed

CLOSE = """
print("CLOSING", time.time(), flush=True)
show.window.close()
show.window.close()
"""

STREAMING = (
    """
await asyncio.wait_for(show.opened.wait(), 30)
heard = []
show.engine.events.subscribe(lambda e: heard.append(e) if isinstance(e, TurnEvent) else None)
session = await show.engine.do.new_session()
show.window.open_session(session)
sending = asyncio.ensure_future(show.engine.do.send(session, "Tell me of the harbour."))

async def endless(job):
    await asyncio.sleep(600)
    return "never"

queue = show.engine._rooms.queue
queue.enqueue("reindex", "manual", endless)
await until(queue.running)
await until(lambda: sum(e.kind == "text" for e in heard) >= 3)
print("SESSION", session, flush=True)
"""
    + CLOSE
)


def session_log(folder: Path, run: Run) -> list[dict[str, object]]:
    session = next(line.split()[1] for line in run.out.splitlines() if line.startswith("SESSION"))
    path = next((folder / "ws").glob(f"agents/*/sessions/{session}.log.jsonl"))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ended_well(run: Run) -> None:
    assert "DRIVE FAILED" not in run.out, run.out
    assert run.complaints() == []
    assert run.code == 0
    assert run.seconds < 5.0


def test_closed_while_a_reply_streams_and_a_job_waits(tmp_path: Path) -> None:
    slow = say(*(f"word{n} " for n in range(400)), pause=0.05)

    async def main() -> None:
        async with FakeServer(slow) as server:
            run = await windowed(tmp_path, server.base_url, STREAMING)
            assert server.requests[0].aborted, "the server goes on for nobody"
        ended_well(run)
        log = session_log(tmp_path, run)
        assert [one.get("content") for one in log if one["type"] == "message"] == [
            "Tell me of the harbour."
        ]
        assert log[-1]["type"] == "interrupted"
        assert "LEFT" in run.out, "nothing had to be left behind"

    asyncio.run(main())


SIGNALLED = """
import os, signal
await until(lambda: show.opened.is_set())
print("CLOSING", time.time(), flush=True)
os.kill(os.getpid(), signal.{name})
await asyncio.sleep(30)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_closes_the_window_as_its_button_does(tmp_path: Path, name: str) -> None:
    async def main() -> None:
        async with FakeServer(say("ok")) as server:
            ended_well(await windowed(tmp_path, server.base_url, SIGNALLED.format(name=name)))

    asyncio.run(main())


def test_closed_while_the_model_says_nothing_yet(tmp_path: Path) -> None:
    silent = say("never", pause=60.0)
    body = STREAMING.replace(
        'await until(lambda: sum(e.kind == "text" for e in heard) >= 3)', "await asyncio.sleep(1.0)"
    )

    async def main() -> None:
        async with FakeServer(silent) as server:
            run = await windowed(tmp_path, server.base_url, body)
        ended_well(run)
        assert "Tell me of the harbour." in json.dumps(session_log(tmp_path, run))

    asyncio.run(main())


HANGING = (
    """
await asyncio.wait_for(show.opened.wait(), 30)
session = await show.engine.do.new_session()
print("SESSION", session, flush=True)
await show.engine.do.send(session, "Remember: the boat is called Selkie.")

async def endless(job):
    job.progress(1, 2, "half of it")
    await asyncio.to_thread(time.sleep, 600)
    return "never"

queue = show.engine._rooms.queue
queue.enqueue("reindex", "manual", endless)
await until(lambda: any(job.done == 1 for job in queue.running()))
"""
    + CLOSE
)


def test_closed_while_a_job_hangs_in_a_thread(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("Noted.")) as server:
            run = await windowed(tmp_path, server.base_url, HANGING)
        ended_well(run)
        assert "Noted." in json.dumps(session_log(tmp_path, run))

    asyncio.run(main())


def test_closed_before_the_engine_is_open(tmp_path: Path) -> None:
    async def main() -> None:
        run = await windowed(tmp_path, "http://127.0.0.1:9/v1", CLOSE)
        ended_well(run)

    asyncio.run(main())


RINGING = (
    """
await asyncio.wait_for(show.opened.wait(), 30)
rung = []
show._doorbell.rang.connect(lambda: rung.append(show.window.isActiveWindow()))
show.window.hide()
print("READY", flush=True)
(show.folder.parent / "ready").touch()
await until(lambda: rung)
print("VISIBLE", show.window.isVisible(), flush=True)
"""
    + CLOSE
)


def test_a_second_start_raises_the_first_window(tmp_path: Path) -> None:
    async def second() -> tuple[int | None, str]:
        while not (tmp_path / "ready").exists():
            await asyncio.sleep(0.05)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app", str(tmp_path / "ws"),
            env=surroundings(tmp_path), stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, err = await child.communicate()
        return child.returncode, err.decode()

    async def main() -> None:
        run, (code, said) = await asyncio.gather(
            windowed(tmp_path, "http://127.0.0.1:9/v1", RINGING), second()
        )
        ended_well(run)
        assert "VISIBLE True" in run.out
        assert (code, said) == (
            0,
            "This workspace is open already; its window is in front now.\n",
        )

    asyncio.run(main())


FAULTY = (
    """
import threading
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPlainTextEdit, QWidget
from app.gui.widgets.dialogs import Question

await asyncio.wait_for(show.opened.wait(), 30)

def boom(where):
    raise RuntimeError(f"boom in a {where}")

class Broken(QWidget):
    broken = True
    def paintEvent(self, event):
        if self.broken:
            type(self).broken = False
            boom("override")

async def late():
    boom("task")

def forgotten():
    asyncio.ensure_future(late())

kept = []
def override():
    kept.append(Broken(show.window))
    kept[-1].resize(20, 20)
    kept[-1].show()

ways = {
    "slot": lambda: QTimer.singleShot(0, lambda: boom("slot")),
    "task": forgotten,
    "callback": lambda: asyncio.get_running_loop().call_soon(boom, "callback"),
    "thread": lambda: threading.Thread(target=boom, args=("thread",)).start(),
    "override": override,
}

def dialogs():
    return [q for q in show.window.findChildren(Question) if q.isVisible()]

for where, start in ways.items():
    start()
    await until(lambda: dialogs())
    (dialog,) = dialogs()
    text = dialog.findChild(QPlainTextEdit).toPlainText()
    assert f"boom in a {where}" in text, text
    assert "Traceback" in text
    dialog.answer("copy")
    from PySide6.QtGui import QGuiApplication
    assert f"boom in a {where}" in QGuiApplication.clipboard().text()
    await until(lambda: not dialogs())
session = await show.engine.do.new_session()
result = await show.engine.do.send(session, "Still there?")
print("REPLY", result.reply, flush=True)
"""
    + CLOSE
)


def test_a_bug_anywhere_becomes_a_dialog_and_the_program_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("Still here.")) as server:
            run = await windowed(tmp_path, server.base_url, FAULTY)
        assert "DRIVE FAILED" not in run.out, run.out
        assert "REPLY Still here." in run.out
        assert run.code == 0
        assert "Task exception was never retrieved" not in run.err

    asyncio.run(main())


def test_a_crash_below_python_is_told_at_the_next_start(tmp_path: Path) -> None:
    async def main() -> None:
        url = "http://127.0.0.1:9/v1"
        crashed = await windowed(
            tmp_path, url, "import faulthandler\nfaulthandler._sigsegv()", limit=60
        )
        assert crashed.code < 0
        told = 'print("TOLD", show.window.notices.causes(), flush=True)'
        run = await windowed(tmp_path, url, f"await show.opened.wait()\n{told}\n{CLOSE}")
        ended_well(run)
        assert "TOLD ['Palimpsest ended without warning the last time.'" in run.out

    asyncio.run(main())
    (text,) = (tmp_path / "data" / "crashes").iterdir()
    assert "Segmentation fault" in text.read_text()
