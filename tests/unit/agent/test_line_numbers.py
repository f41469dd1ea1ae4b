"""A line ends at a line feed, wherever one asks: search, diff, provenance, tools, command line."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.records import Decision, Query
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

ODD = "one\u2028two\u2029three\u0085four\vfive\fsix\x1cseven\x1deight\x1enine"
BEFORE = (
    f"# Memory\n\n- odd {ODD}\n- The boat is called Selkie\n\n## More {ODD}\n\n- Otter is blue\n"
)
AFTER = BEFORE.replace("called Selkie", "called Kelpie now")
TOLD = f"- An aside {ODD}\n- The boat is called Kelpie now\n- Mara keeps the key"


def at(text: str, phrase: str) -> int:
    """The number of the only line that holds a phrase; lines end at line feeds."""
    (found,) = [n for n, line in enumerate(text.split("\n"), 1) if phrase in line]
    return found


def model(seen: Seen) -> Reply:
    messages = seen.body["messages"]
    system, last = str(messages[0]["content"]), messages[-1]
    if "NO_REPLY" in system:
        return say("NO_REPLY" if "An aside" in str(last["content"]) else TOLD)
    if "sole owner" in system:
        return say(AFTER)
    if str(last["content"]).startswith("Read "):
        _, path, line = last["content"].split()
        asked = {"path": path, "startLine": int(line), "endLine": int(line)}
        return use(call("memory_get", asked, id=f"c-{path}-{line}"))
    return say("Ok.")


async def hits(desk: EngineDesk, word: str, layer: str) -> list[tuple[str, int, str]]:
    found = await desk.engine.ask.search(Query(word, layers=frozenset({layer})))
    return [(hit.path, hit.line, hit.text) for hit in found.hits]


async def read(desk: EngineDesk, path: str, line: int) -> str:
    await desk.send(f"Read {path} {line}")
    return next(str(m["content"]) for m in reversed(desk.sent()) if m["role"] == "tool")


@pytest.mark.case("B47")
def test_search_diff_provenance_and_tools_agree_on_line_n(tmp_path: Path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        folder.mkdir()
        (folder / "MEMORY.md").write_bytes(BEFORE.encode())
        config = EngineConfig(memory=MemoryConfig(policy="review"))
        async with engine_on(folder, model, config=config) as desk:
            await desk.engine.index_ready()
            await desk.send("The boat is called Kelpie now.")
            await desk.engine.drain()
            (waiting,) = await desk.engine.ask.proposals(waiting=True)
            (change,) = (await desk.engine.ask.proposal(waiting.id)).changes
            assert (change.base_line, change.result_line) == (4, 4)
            await desk.engine.do.apply(waiting.id, [Decision(change.n, "accept")])
            memory = (folder / "MEMORY.md").read_bytes().decode()
            assert memory == AFTER, "nothing but the one line changed"
            boat, otter = at(memory, "Kelpie"), at(memory, "Otter")
            assert (boat, otter) == (4, 8)
            # The diff, the search, where it came from, and the model's own tool.
            (change,) = await desk.engine.ask.compare(1, 2)
            assert (change.base_line, change.result_line) == (boat, boat)
            assert await hits(desk, "Kelpie", "memory") == [
                ("MEMORY.md", boat, "- The boat is called Kelpie now")
            ]
            assert [hit[1] for hit in await hits(desk, "Otter", "memory")] == [otter]
            assert sorted(hit[1] for hit in await hits(desk, "seven", "memory")) == [3, 6]
            why = await desk.engine.ask.why(boat)
            assert why.text == "- The boat is called Kelpie now"
            assert len(await desk.engine.ask.origins()) == len(memory.split("\n"))
            assert await read(desk, "MEMORY.md", boat) == "4|- The boat is called Kelpie now"
            assert await read(desk, "MEMORY.md", 3) == f"3|- odd {ODD}"
            # The same for the daily log.
            (day,) = await desk.engine.ask.days()
            log = (folder / day.path).read_bytes().decode()
            line = at(log, "Kelpie")
            assert f"- An aside {ODD}\n" in log
            assert [(one.path, one.line) for one in why.sources] == [(day.path, line)]
            assert await hits(desk, "Kelpie", "daily") == [
                (day.path, line, "- The boat is called Kelpie now")
            ]
            shown = [one for s in (await desk.engine.ask.day(day.path)).sections for one in s.lines]
            assert [(one.line, one.text) for one in shown if one.text] == [
                (line - 1, f"- An aside {ODD}"), (line, "- The boat is called Kelpie now"),
                (line + 1, "- Mara keeps the key"),
            ]  # fmt: skip
            assert await read(desk, day.path, line) == f"{line}|- The boat is called Kelpie now"
            await desk.engine.drain()
        await asyncio.to_thread(the_command_line_agrees, folder, boat, day.path, line)

    run(main())


def the_command_line_agrees(folder: Path, boat: int, log: str, line: int) -> None:
    def said(*arguments: str) -> Any:
        own = {f"PALIMPSEST_{n}": str(folder.parent / n.lower()) for n in ("DATA", "CONFIG")}
        done = subprocess.run(
            [sys.executable, "-m", "app", arguments[0], str(folder), *arguments[1:], "--json"],
            capture_output=True, env={**os.environ, **own}, timeout=60, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    (change,) = said("diff", "1", "2")
    assert change["after"] == ["- The boat is called Kelpie now"]
    why = said("why", str(boat))
    assert why["text"] == "- The boat is called Kelpie now"
    assert [(one["path"], one["line"]) for one in why["sources"]] == [(log, line)]
    found = said("search", "Kelpie", "--in", "memory,daily")["hits"]
    assert {(hit["path"], hit["line"]) for hit in found} == {("MEMORY.md", boat), (log, line)}


@pytest.mark.case("B47")
@pytest.mark.parametrize("written", ["by us", "by another program"])
def test_a_text_with_other_line_separators_is_one_record(tmp_path: Path, written: str) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, say("Yes."), config=without_memory()) as desk:
            await desk.send(ODD)
            session = desk.session
        (log,) = tmp_path.glob("agents/*/sessions/*.log.jsonl")
        raw = log.read_bytes()
        for mark in "\u2028\u2029\u0085":
            assert mark.encode() in raw, "stored as itself"
        if written != "by us":  # everything as itself or escaped, as JSON has it
            raw = raw.replace(rb"\f", rb"\u000c").replace(rb"\u001c", rb"\u001C")
            log.write_bytes(raw)
        rows = [json.loads(row) for row in raw.split(b"\n") if row]
        assert [row["content"] for row in rows if row.get("role") == "USER"] == [ODD]
        async with engine_on(tmp_path, say("Yes."), config=without_memory()) as desk:
            await desk.engine.index_ready()
            desk.session = session
            items = await desk.engine.ask.transcript(session)
            assert [item.text for item in items if item.kind == "user"] == [ODD]
            assert not [item for item in items if item.kind == "gap"]
            ((_, line, text),) = await hits(desk, "seven", "sessions")
            assert text == " ".join(ODD.split()), "shown on one line"
            assert json.loads(raw.split(b"\n")[line - 1])["content"] == ODD
            await desk.send("And now?")
            assert [m["content"] for m in desk.sent() if m["role"] == "user"] == [ODD, "And now?"]

    run(main())
