"""MEMORY.md under another name.

The rule: a tool of the model never writes to it under any name; its own writer follows a link to a
file of the workspace and keeps the link; a link that leads out of the workspace is refused, and
said.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.errors import UserError
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

FACT = "Ines prefers answers in Portuguese"
BEFORE = "# Boats\n\n- The boat is called Selkie\n"


def tree(folder: Path) -> dict[str, bytes | str]:
    """Every file below `folder` but the engine's own, a link as where it leads."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith((".palimpsest", "agents/", "memory/")):
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


async def allowed(desk: EngineDesk, text: str, *calls: str) -> None:
    """One turn in which a person allows each of `calls`."""
    turn = asyncio.create_task(desk.send(text))
    for call_id in calls:
        while call_id not in desk.said("approval"):
            assert not turn.done()
            await asyncio.sleep(0.01)
        await desk.engine.do.answer_approval(desk.session, call_id, True)
    await turn


@pytest.mark.case("B84")
@pytest.mark.parametrize("kind", ["link", "hard link", "the file behind MEMORY.md"])
def test_an_alias_of_memory_md_is_no_way_around_its_writer(tmp_path: Path, kind: str) -> None:
    async def main() -> None:
        memory, alias = tmp_path / "MEMORY.md", tmp_path / "notes.md"
        (alias if kind.startswith("the file") else memory).write_text(BEFORE, encoding="utf-8")
        if kind == "link":
            alias.symlink_to("MEMORY.md")
        elif kind == "hard link":
            os.link(memory, alias)
        else:
            memory.symlink_to("notes.md")
        edit = {"path": "notes.md", "old": "Selkie", "new": "Otter"}
        write = {"path": "notes.md", "content": "gone"}
        scripts = (
            use(call("edit_file", edit, id="w1"), call("write_file", write, id="w2", index=1)),
            say("I could not."),
        )
        async with engine_on(tmp_path, *scripts, config=without_memory()) as desk:
            before = tree(tmp_path)
            await allowed(desk, "Change it", "w1", "w2")
            results = [m["content"] for m in desk.sent() if m["role"] == "tool"]
            assert len(results) == 2
            assert all("MEMORY.md has a writer of its own" in text for text in results)
            assert tree(tmp_path) == before

    run(main())


def remembering(seen: Seen) -> Reply:
    system = str(seen.body["messages"][0]["content"])
    if "NO_REPLY" in system:
        return say(f"- {FACT}")
    if "sole owner" in system:
        return say(f"# Memory\n\n- {FACT}")
    return say("Claro.")


@pytest.mark.case("B84")
@pytest.mark.parametrize("target", ["there", "missing"])
def test_a_consolidation_writes_through_a_link_and_keeps_it(tmp_path: Path, target: str) -> None:
    async def main() -> None:
        real = tmp_path / "knowledge" / "memory.md"
        real.parent.mkdir()
        if target == "there":
            real.write_text("# Memory\n", encoding="utf-8")
        (tmp_path / "MEMORY.md").symlink_to("knowledge/memory.md")
        config = EngineConfig(memory=MemoryConfig(policy="auto"))
        async with engine_on(tmp_path, remembering, config=config) as desk:
            await desk.send(f"{FACT}.")
            await desk.engine.drain()
            await desk.engine.do.remember("The boat is blue")
        assert os.readlink(tmp_path / "MEMORY.md") == "knowledge/memory.md"
        assert not real.is_symlink()
        text = real.read_text(encoding="utf-8")
        assert FACT in text
        assert "The boat is blue" in text
        assert sorted(tree(tmp_path)) == ["MEMORY.md", "knowledge/memory.md"], "nothing left over"

    run(main())


@pytest.mark.case("B84")
def test_a_link_that_leaves_the_workspace_is_refused_and_said(tmp_path: Path) -> None:
    async def main() -> None:
        folder, outside = tmp_path / "ws", tmp_path / "elsewhere" / "private.md"
        folder.mkdir()
        outside.parent.mkdir()
        outside.write_text(BEFORE, encoding="utf-8")
        (folder / "MEMORY.md").symlink_to(outside)
        config = EngineConfig(memory=MemoryConfig(policy="auto"))
        async with engine_on(folder, remembering, config=config) as desk:
            assert (await desk.send(f"{FACT}.")).state == "finished"
            assert "Selkie" not in str(desk.sent()), "it is not read, either"
            await desk.engine.drain()
            (job,) = [j for j in await desk.engine.ask.jobs() if j.kind == "maintain"]
            assert job.state == "failed"
            with pytest.raises(UserError) as refused:
                await desk.engine.do.remember("The boat is blue")
            for said in (job.reason, str(refused.value)):
                assert "MEMORY.md is a link that leaves the workspace" in said
                assert "elsewhere" not in said
        assert outside.read_text(encoding="utf-8") == BEFORE
        assert os.readlink(folder / "MEMORY.md") == str(outside)
        assert [p.name for p in outside.parent.iterdir()] == ["private.md"]

    run(main())
