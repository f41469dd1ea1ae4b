"""A whole review by keyboard alone in the real window, and the same decisions by the command line.

The proposal holds a change of every kind. What both leave on the disk is the same: the file, the
proposal, the states of the daily log's sections, the refused claims, the version.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.reviewing import proposed
from tests.helpers.windowed import surroundings, windowed

KEYS = """
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

await asyncio.wait_for(show.opened.wait(), 30)
window = show.window
window.activateWindow()

def press(*keys):
    for key in keys:
        combination = QKeySequence(key)[0]
        where = QApplication.focusWidget() or window
        QTest.keyClick(where, combination.key(), combination.keyboardModifiers())

press("Ctrl+4")
await until(lambda: window._panes.get("memory") is not None)
place = window._panes["memory"]

async def rest():
    quiet = 0
    while quiet < 4:
        await asyncio.sleep(0.02)
        quiet = 0 if place.busy() else quiet + 1

def front():
    return place.review.deciding.change(place.review.deciding.focus)

def at(kind, *, words=""):
    change = front()
    assert change.kind == kind and words in "".join(change.before + change.after), change

def words(change):
    return [w for w in ("对账脚本", "Probe 9") if w in "".join(change.before)]

async def said():
    await rest()
    return {d.n: d.verdict for d in place.review.deciding.decisions()}

await until(place.waiting)
await rest()
press("G", "R")
await until(lambda: place.mode == "review")
await rest()
at("dropped")
press("J"); at("merged")
press("K"); at("dropped")
press("R"); at("merged")                       # deciding walks on
press("A"); at("split")
press("T"); await rest()                       # the split taken apart: each line by itself
at("dropped", words="every 6 minutes and uploaded")
press("R"); at("added", words="every 6 minutes")
press("A"); at("added", words="uploaded on the hour")
press("R"); at("reworded", words="Sensor 7")
press("E"); await rest()
field = QApplication.focusWidget()
press("Ctrl+A")
QTest.keyClicks(field, "- Sensor 7 reads 2.4 cm high, jar")
typed = QInputMethodEvent()
typed.setCommitString("，十一月二十八日校准")
QApplication.sendEvent(field, typed)
press("Ctrl+S"); at("reworded", words="对账脚本")
press("A"); at("reworded", words="Probe 9")
press("U"); at("reworded", words="对账脚本")       # taken back, and in front again
press("D"); press("D")                         # side by side, and inline
place.review.list.setFocus()
press("Shift+Down"); press("R")                # a selection is decided as one
at("section_renamed")
verdicts = await said()
chosen = [c.n for c in place.review.proposal.changes if {"对账脚本", "Probe 9"} & set(words(c))]
assert len(chosen) == 2 and {verdicts[n] for n in chosen} == {"reject"}, verdicts
press("Shift+A"); await rest()
assert place.review.deciding.left() == [], place.review.deciding.left()
print("DECIDED", json.dumps([
    {"n": d.n, "verdict": d.verdict, "text": d.text}
    for d in place.review.deciding.decisions()
]), flush=True)
promised = place.review.right.result.text
press("Ctrl+Return")
await until(lambda: place.mode == "file")
await rest()
assert (show.folder / "MEMORY.md").read_text(encoding="utf-8") == promised
print("CLOSING", time.time(), flush=True)
press("Ctrl+Q")
"""


def decided(out: str) -> list[dict[str, Any]]:
    line = next(line for line in out.splitlines() if line.startswith("DECIDED "))
    found: list[dict[str, Any]] = json.loads(line.removeprefix("DECIDED "))
    return found


def by_command_line(folder: Path, where: Path, proposal: str, said: list[dict[str, Any]]) -> None:
    """The same decisions, as flags; the split first taken apart."""

    def numbers(verdict: str) -> str:
        return ",".join(str(d["n"]) for d in said if d["verdict"] == verdict and not d["text"])

    def palimpsest(*flags: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "app", "review", str(folder), proposal, *flags, "--json"],
            capture_output=True, text=True, timeout=60, env=surroundings(where), check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    split = next(c["n"] for c in palimpsest()["changes"] if c["kind"] == "split")
    edits = [f"--edit={d['n']}={d['text']}" for d in said if d["text"]]
    palimpsest(
        "--apart", str(split), "--accept", numbers("accept"), "--reject", numbers("reject"), *edits
    )


TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")


def on_disk(folder: Path) -> dict[str, str]:
    """Everything a review writes, by path, with instants taken out. Git objects and the index are
    caches of it; the history is compared by `versions`."""
    found: dict[str, str] = {}
    inside = folder / ".palimpsest"
    kept = [folder / "MEMORY.md", *inside.glob("*.json*"), *inside.glob("proposals/*.json")]
    for path in [*kept, *folder.glob("memory/*.md")]:
        if not path.name.startswith(("jobs", "runs")):
            text = path.read_text(encoding="utf-8")
            if path.parent.name == "proposals":
                data = json.loads(text)
                data["decisions"].sort(key=lambda d: d["n"])  # in which order is no matter
                text = json.dumps(data, ensure_ascii=False)
            found[str(path.relative_to(folder))] = TIMES.sub("TIME", text)
    return found


def versions(folder: Path, where: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "app", "history", str(folder), "--json"],
        capture_output=True, text=True, timeout=60, env=surroundings(where), check=True,
    )  # fmt: skip
    return [{k: v for k, v in one.items() if k != "when"} for one in json.loads(done.stdout)]


@pytest.mark.timeout(180)
def test_window_and_command_line_write_the_same(tmp_path: Path) -> None:
    folder, copy = tmp_path / "ws", tmp_path / "copy"

    async def main() -> tuple[str, str]:
        proposal = await proposed(folder)
        shutil.copytree(folder, copy)
        run = await windowed(tmp_path, "", "import json\n" + KEYS)
        assert "DRIVE FAILED" not in run.out, run.out
        assert run.complaints() == []
        assert run.code == 0
        return proposal, run.out

    proposal, out = asyncio.run(main())
    said = decided(out)
    assert {d["verdict"] for d in said} == {"accept", "reject"}
    by_command_line(copy, tmp_path / "cli", proposal, said)
    one, other = on_disk(folder), on_disk(copy)
    assert one.keys() == other.keys()
    for path, text in one.items():
        assert text == other[path], path
    assert versions(folder, tmp_path / "cli") == versions(copy, tmp_path / "cli")
    text = one["MEMORY.md"]
    assert "- Sensor 7 reads 2.4 cm high, jar，十一月二十八日校准\n" in text
    assert "- Release 2.4 is frozen until 12 December\n" in text
    assert "- Prefers short answers: the command first, the reason after\n" in text
    kept = json.loads(one[f".palimpsest/proposals/{proposal}.json"])
    assert kept["state"] == "partly_applied"
