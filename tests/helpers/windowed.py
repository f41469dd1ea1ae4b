"""The program with its window as a process of its own, driven by a few lines of Python.

    async with FakeServer(say("Hello")) as server:
        run = await windowed(tmp_path, server.base_url, DRIVE)
        assert run.code == 0

`DRIVE` is the body of `async def drive(show)`: `show` is the `Showing`; `until(condition)` waits.
What it prints is `run.out`. Settings, data and workspace lie in the folder given.
"""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

FRAME = """
import asyncio, sys, time
import app.program as program
from app.engine.events import TurnEvent

async def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("still not so")
        await asyncio.sleep(0.02)

async def drive(show):
{body}

paint = program.first_paint

def driven(folder):
    show = paint(folder)
    begin = show.begin

    async def begin_and_drive():
        global task
        task = asyncio.ensure_future(begin())
        task.add_done_callback(lambda t: program._told(t, show))
        show.driving = asyncio.ensure_future(guarded(show))
        await asyncio.wait([task])

    show.begin = begin_and_drive
    return show

async def guarded(show):
    try:
        await drive(show)
    except Exception as error:
        import traceback
        print("DRIVE FAILED", traceback.format_exc(), flush=True)
        show.window.close()

program.first_paint = driven
code = program.open_window(sys.argv[1:])
print("LEFT", time.time(), flush=True)
raise SystemExit(code)
"""


@dataclass
class Run:
    """How it ended. `seconds` is the time from the driver's word CLOSING to the end."""

    code: int
    out: str
    err: str
    seconds: float

    def complaints(self) -> list[str]:
        """Lines on stderr, without Qt's word about the offscreen platform."""
        return [line for line in self.err.splitlines() if "This plugin does not" not in line]


def surroundings(folder: Path, url: str = "") -> dict[str, str]:
    """The environment of a person who has chosen the server at `url`."""
    config = folder / "config"
    config.mkdir(parents=True, exist_ok=True)
    if url:
        (config / "settings.toml").write_text(
            f'[endpoints.fake]\nurl = "{url}"\nmodel = "fake-model"\nwindow = 32000\n'
            'trust_with_memory = true\n\n[models]\nchat = "fake"\n',
            encoding="utf-8",
        )
    return {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "PALIMPSEST_CONFIG": str(config),
        "PALIMPSEST_DATA": str(folder / "data"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PYTHONWARNINGS": "error",
    }


async def windowed(folder: Path, url: str, body: str, *, limit: float = 90.0) -> Run:
    """Run the program on `folder / "ws"` (made when missing) until it ends by itself."""
    workspace = folder / "ws"
    workspace.mkdir(parents=True, exist_ok=True)
    code = FRAME.format(body=textwrap.indent(textwrap.dedent(body), "    "))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(workspace),
        env=surroundings(folder, url),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(child.communicate(), limit)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    ended = time.time()
    text = out.decode()
    said = [line.split()[1] for line in text.splitlines() if line.startswith("CLOSING ")]
    seconds = ended - float(said[0]) if said else 0.0
    return Run(child.returncode or 0, text, err.decode(), seconds)
