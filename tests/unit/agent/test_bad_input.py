"""What people, models, disks and other programs put in the way, met by a whole engine."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from app.engine.agent.tools import tool
from app.engine.config import AgentConfig, CompactionConfig, EngineConfig, MemoryConfig
from app.engine.records import Decision, Query
from tests.helpers.fake_server import Reply, Seen, call, chunk, error, say, use
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

PAGE = "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>"
REVIEW = EngineConfig(memory=MemoryConfig(policy="review"))


def run(main) -> None:
    asyncio.run(asyncio.wait_for(main, 90))


def site(seen: Seen) -> str:
    """What a request is for: flush, consolidation, summary or chat."""
    messages = seen.body["messages"]
    first, last = str(messages[0]["content"]), str(messages[-1]["content"])
    if "NO_REPLY" in first:
        return "flush"
    if "sole owner" in first:
        return "consolidation"
    return "summary" if "SESSION INTENT" in last else "chat"


def asked_for(desk: EngineDesk, what: str) -> int:
    return sum(site(seen) == what for seen in desk.server.requests)


# ---------------------------------------------------------------------------- B11


@pytest.mark.case("B11")
def test_an_error_page_is_neither_memory_nor_a_summary(tmp_path: Path) -> None:
    def model(seen: Seen) -> Reply:
        what = site(seen)
        if what == "flush":
            return say("- The boat is called Selkie")
        return say(PAGE) if what in ("consolidation", "summary") else say("Fine.")

    async def main() -> None:
        compaction = CompactionConfig(trigger_messages=4, trigger_tokens=0, keep_messages=1)
        config = REVIEW.replace(compaction=compaction)
        async with engine_on(tmp_path, model, config=config) as desk:
            for n in range(6):
                result = await desk.send(f"The boat is called Selkie, {n}.")
                assert (result.state, result.reply) == ("finished", "Fine.")
                await desk.engine.drain()
            assert not (tmp_path / "MEMORY.md").exists()
            assert await desk.engine.ask.proposals(waiting=True) == []
            assert asked_for(desk, "consolidation") == 1, "six turns, not six calls"
            assert 1 <= asked_for(desk, "summary") <= 4
            items = await desk.engine.ask.transcript(desk.session)
            assert [i.kind for i in items].count("compaction") == 0
            assert [i.text for i in items if i.kind == "user"] == [
                f"The boat is called Selkie, {n}." for n in range(6)
            ]
            assert PAGE in str([i.detail for i in items if i.kind == "failure"])
            sent = [m["content"] for m in desk.server.requests[-1].body["messages"]]
            assert PAGE not in str(sent)
            jobs = await desk.engine.ask.jobs()
            (failed,) = [job for job in jobs if job.kind == "maintain"]
            assert (failed.state, "error page" in failed.reason) == ("failed", True)
            calls = await desk.engine.ask.model_calls(failed.target)
            assert calls[0].answer == PAGE

    run(main())


# ---------------------------------------------------------------------------- B25


@pytest.mark.case("B25")
@pytest.mark.parametrize("other", ["different", "hard link", "link", "folder"])
def test_only_memory_md_counts(tmp_path: Path, other: str) -> None:
    async def main() -> None:
        (tmp_path / "MEMORY.md").write_text("- The boat is called Selkie\n", encoding="utf-8")
        beside = tmp_path / "memory.md"
        if other == "different":
            beside.write_text("- The boat is called Otter\n", encoding="utf-8")
        elif other == "hard link":
            os.link(tmp_path / "MEMORY.md", beside)
        elif other == "link":
            beside.symlink_to("MEMORY.md")
        else:
            (tmp_path / "Memory").mkdir()
            (tmp_path / "Memory" / "2026-06-02.md").write_text("- Otter, too\n", encoding="utf-8")
        async with engine_on(tmp_path, say("Yes."), config=without_memory()) as desk:
            await desk.engine.index_ready()
            await desk.send("What is it called?")
            prompt = str(desk.sent()[0]["content"])
            assert prompt.count("The boat is called Selkie") == 1
            assert "Otter" not in prompt
            found = await desk.engine.ask.search(Query("Selkie", layers=frozenset({"memory"})))
            assert [hit.path for hit in found.hits] == ["MEMORY.md"]
            assert not (await desk.engine.ask.search(Query("Otter"))).hits
            told = [f for f in await desk.engine.ask.doctor() if "emory" in f.where]
            if other == "different":
                assert any(f.where == "memory.md" and f.severity == "warning" for f in told)
            await desk.engine.do.remember("The boat is blue")
            assert "blue" in (tmp_path / "MEMORY.md").read_text(encoding="utf-8")
            if other == "different":
                assert beside.read_text(encoding="utf-8") == "- The boat is called Otter\n"

    run(main())


# ---------------------------------------------------------------------------- B70, B71, B72


def giving(output: str):
    async def work(_arguments: dict) -> str:
        return output

    return tool("execute", "Run a command.", work)


def test_a_result_larger_than_any_window_is_put_aside_and_the_session_opens_again(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        huge = "0123456789abcdef" * 1_000_000
        scripts = (use(call("execute", {}, id="c1")), say("Long, indeed."))
        tools = [giving(huge)]
        async with engine_on(tmp_path, *scripts, config=without_memory(), tools=tools) as desk:
            result = await desk.send("Go")
            assert result.reply == "Long, indeed."
            assert max(len(json.dumps(seen.body)) for seen in desk.server.requests) < 100_000
            session = desk.session
        async with engine_on(tmp_path, say("Still here."), config=without_memory()) as desk:
            desk.session = session
            assert (await desk.send("And now?")).reply == "Still here."
            assert len(json.dumps(desk.sent())) < 100_000
            (one,) = await desk.engine.ask.evicted()
            assert one.chars == len(huge)

    run(main())


def test_a_text_of_ones_own_that_is_too_large_is_said_to_be_so(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = [say("Hello."), error(400, {"error": {"message": "prompt is too long"}})]
        async with engine_on(tmp_path, *scripts, config=without_memory(), window=8_000) as desk:
            await desk.send("Hi")
            result = await desk.send("all the words of the world " * 4_000)
            assert result.state == "failed"
            assert "too long for this model" in result.error
            assert "kept in the input field" in result.remedy
            assert len(desk.server.requests) <= 2

    run(main())


@pytest.mark.case("B71")
def test_an_evicted_line_is_read_back_page_by_page(tmp_path: Path) -> None:
    async def main() -> None:
        rows = [{"n": n, "wo": "你在这里" if n % 3 else "🚢⚓️👨‍👩‍👧"} for n in range(12_000)]
        text = json.dumps(rows, ensure_ascii=False)
        assert len(text.encode()) > 400_000
        assert "\n" not in text
        pages: list[str] = []

        def reading(seen: Seen) -> Reply:
            messages = seen.body["messages"]
            last = str(messages[-1]["content"])
            if messages[-1]["role"] == "user":
                return use(call("execute", {}, id="c0"))
            place = re.search(r"large_tool_results/\S+?-[0-9a-f]{16}", str(messages))
            assert place is not None
            path = place.group()
            number = len(pages)
            if messages[-1]["tool_call_id"] == "c0":
                return use(call("read_file", {"path": path, "offset": 1, "limit": 1}, id="r0"))
            hint = re.search(r"\n\n\[[^\[\]{}]*\]\Z", last)
            pages.append(last[: hint.start()] if hint else last)
            following = re.search(r"charOffset[^0-9]{0,4}(\d+)", hint.group() if hint else "")
            if not following:
                return say("All of it.")
            arguments = {"path": path, "charOffset": int(following.group(1))}
            return use(call("read_file", arguments, id=f"r{number + 1}"))

        config = without_memory(
            EngineConfig(
                agent=AgentConfig(max_steps=60),
                compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0),
            )
        )
        tools = [giving(text)]
        async with engine_on(tmp_path, reading, config=config, tools=tools, window=900_000) as desk:
            result = await desk.send("Go")
            assert (result.state, result.reply) == ("finished", "All of it."), result.error
            limit = config.eviction.max_result_chars
            assert len(pages) > 2
            assert all(len(page) < limit for page in pages)
            assert "".join(pages) == text
            assert len(await desk.engine.ask.evicted()) == 1, "pages are never put aside again"

    run(main())


@pytest.mark.case("B72")
@pytest.mark.parametrize("log", ["whole", "altered"])
def test_what_the_placeholder_promises_is_there(tmp_path: Path, log: str) -> None:
    async def main() -> None:
        text = "nothing new under the sun\n" * 8_000
        scripts = (use(call("execute", {}, id="c1")), say("Put aside."))
        here, there = tmp_path / "here", tmp_path / "there"
        async with engine_on(here, *scripts, config=without_memory(), tools=[giving(text)]) as desk:
            await desk.send("Go")
            second = desk.server.requests[1].body
            placed = next(m for m in second["messages"] if m["role"] == "tool")["content"]
            path = re.search(r"large_tool_results/\S+?-[0-9a-f]{16}", placed).group()
            assert "read_file" in placed
            assert "read_file" in [t["function"]["name"] for t in second["tools"]]
            assert (here / path).read_text(encoding="utf-8") == text
            session, kept = desk.session, next(here.glob("agents/*/sessions/*.log.jsonl"))
        moved = there / kept.relative_to(here)
        moved.parent.mkdir(parents=True)
        data = kept.read_bytes()
        moved.write_bytes(data if log == "whole" else data.replace(b"under the sun", b"on earth"))
        scripts = (use(call("read_file", {"path": path}, id="c2")), say("I see."))
        async with engine_on(there, *scripts, config=without_memory()) as desk:
            desk.session = session
            assert (await desk.send("Read it")).state == "finished"
            answer = next(m for m in desk.sent() if m.get("tool_call_id") == "c2")["content"]
            if log == "whole":
                assert answer.startswith("nothing new under the sun\n")
                assert (there / path).read_text(encoding="utf-8") == text
            else:
                assert "nothing new" not in answer
                assert "on earth" not in answer
                assert not (there / path).exists()
                items = await desk.engine.ask.transcript(session)
                told = next(i for i in items if i.arguments and "large_tool" in i.arguments)
                assert told.is_error

    run(main())


# ---------------------------------------------------------------------------- B84


def consolidating(seen: Seen) -> Reply:
    what = site(seen)
    if what == "flush":
        return say("- The boat is called Selkie")
    if what == "consolidation":
        return say("# Boats\n\n- The boat is called Selkie")
    return say("Noted.")


async def merged(desk: EngineDesk) -> None:
    await desk.send("The boat is called Selkie.")
    await desk.engine.drain()
    (info,) = await desk.engine.ask.proposals(waiting=True)
    proposal = await desk.engine.ask.proposal(info.id)
    decisions = [Decision(change.n, "accept") for change in proposal.changes]
    await desk.engine.do.apply(info.id, decisions)


def test_memory_md_as_a_link_is_written_through_and_stays_a_link(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "notes").mkdir()
        target = tmp_path / "notes" / "real.md"
        target.write_text("# Boats\n", encoding="utf-8")
        (tmp_path / "MEMORY.md").symlink_to("notes/real.md")
        async with engine_on(tmp_path, consolidating, config=REVIEW) as desk:
            await merged(desk)
            assert (tmp_path / "MEMORY.md").is_symlink()
            assert os.readlink(tmp_path / "MEMORY.md") == "notes/real.md"
            assert not target.is_symlink()
            assert "Selkie" in target.read_text(encoding="utf-8")

    run(main())


@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_an_alias_of_memory_md_is_no_way_around_its_writer(tmp_path: Path, kind: str) -> None:
    async def main() -> None:
        before = "# Boats\n\n- The boat is called Selkie\n"
        memory, alias = tmp_path / "MEMORY.md", tmp_path / "notes.md"
        memory.write_text(before, encoding="utf-8")
        if kind == "link":
            alias.symlink_to("MEMORY.md")
        else:
            os.link(memory, alias)
        edit = {"path": "notes.md", "old": "Selkie", "new": "Otter"}
        scripts = (
            use(
                call("edit_file", edit, id="w1"),
                call("write_file", {"path": "notes.md", "content": "x"}, id="w2", index=1),
            ),
            say("Ok."),
        )
        async with engine_on(tmp_path, *scripts, config=without_memory()) as desk:
            turn = asyncio.create_task(desk.send("Change it"))
            for call_id in ("w1", "w2"):
                for _ in range(500):
                    if call_id in desk.said("approval"):
                        await desk.engine.do.answer_approval(desk.session, call_id, True)
                        break
                    if turn.done():
                        break
                    await asyncio.sleep(0.01)
            await turn
            results = {m["tool_call_id"]: m["content"] for m in desk.sent() if m["role"] == "tool"}
            assert "MEMORY.md" in results["w1"]
            assert memory.read_text(encoding="utf-8") == before
            assert alias.is_symlink() == (kind == "link")
            assert alias.read_text(encoding="utf-8") == before

    run(main())


# ---------------------------------------------------------------------------- B85

SECRETS = [
    "sk-proj-9fK2mQ7xT4vB8nR1sW6y",
    "ghp_9fK2mQ7xT4vB8nR1sW6yZ3cD5eF7gH9jK2mQ",
    "AKIA9FK2MQ7XT4VB8NR1",
    "swordfish77",
]
CONTROLS = [
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "123e4567-e89b-12d3-a456-426614174000",
    "sk-learn",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
]


def test_secrets_never_reach_log_memory_and_index(tmp_path: Path) -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PRIVATE KEY-----"
    told = (
        f"The key is {SECRETS[0]}, the token {SECRETS[1]}, the commit {CONTROLS[0]}, "
        f"the id {CONTROLS[1]}, the library {CONTROLS[2]}, the picture {CONTROLS[3]}."
    )
    result = f"aws {SECRETS[2]} at https://ines:{SECRETS[3]}@example.com/x\n{pem}"

    def model(seen: Seen) -> Reply:
        what = site(seen)
        if what == "flush":
            text = "\n".join(str(m["content"]) for m in seen.body["messages"])
            found = [s for s in (*SECRETS, *CONTROLS) if s in text]
            return say("\n".join(f"- Noted: {one}" for one in (*found, *SECRETS, *CONTROLS)))
        if what == "consolidation":
            return say("# Keys\n\n" + "\n".join(f"- Noted: {s}" for s in (*SECRETS, *CONTROLS)))
        if seen.body["messages"][-1]["role"] == "user":
            return use(call("execute", {}, id="c1"))
        half = len(SECRETS[1]) // 2
        parts = ["It is ", SECRETS[1][:half], SECRETS[1][half:], "."]
        return Reply(events=[*[chunk({"content": p}) for p in parts], chunk(finish="stop")])

    async def main() -> None:
        async with engine_on(tmp_path, model, config=REVIEW, tools=[giving(result)]) as desk:
            await desk.engine.index_ready()
            await desk.send(told)
            await desk.engine.drain()
            for info in await desk.engine.ask.proposals(waiting=True):
                proposal = await desk.engine.ask.proposal(info.id)
                chosen = [Decision(change.n, "accept") for change in proposal.changes]
                await desk.engine.do.apply(info.id, chosen)
            await desk.engine.do.remember(f"The key is {SECRETS[0]}")
            (day,) = await desk.engine.ask.days()
            daily = (tmp_path / day.path).read_text(encoding="utf-8")
            memory = (tmp_path / "MEMORY.md").read_text(encoding="utf-8")
            index = b"".join(p.read_bytes() for p in tmp_path.glob(".palimpsest/index.db*"))
            for secret in SECRETS[:3]:
                assert secret not in daily
                assert secret not in memory
                assert secret.encode() not in index
                found = await desk.engine.ask.search(Query(f'"{secret}"'))
                assert not any(secret in hit.text for hit in found.hits), secret
            for control in CONTROLS:
                assert control in daily
            assert "[masked: API key]" in daily
            assert "[masked: API key]" in memory

    run(main())


# ---------------------------------------------------------------------------- B47

SEPARATORS = "\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    async def main() -> None:
        spoken = f"one{'|'.join(SEPARATORS)}two"
        lines = ["# Boats", f"- Selkie{''.join(SEPARATORS)}lies at pier three", "- Otter is blue"]
        (tmp_path / "MEMORY.md").write_bytes("\n".join(lines).encode() + b"\n")
        async with engine_on(tmp_path, say("Yes."), config=without_memory()) as desk:
            await desk.engine.index_ready()
            await desk.send(spoken)
            raw = next(tmp_path.glob("agents/*/sessions/*.log.jsonl")).read_bytes()
            rows = [json.loads(row) for row in raw.split(b"\n") if row]
            assert [r["content"] for r in rows if r.get("role") == "USER"] == [spoken]
            for mark in SEPARATORS[:3]:
                assert mark.encode() in raw, "stored as itself"
            session = desk.session
        async with engine_on(tmp_path, say("Yes."), config=without_memory()) as desk:
            await desk.engine.index_ready()
            (item,) = [i for i in await desk.engine.ask.transcript(session) if i.kind == "user"]
            assert item.text == spoken
            found = await desk.engine.ask.search(Query("Otter", layers=frozenset({"memory"})))
            assert [hit.line for hit in found.hits] == [3]
            text = (await desk.engine.ask.memory()).text
            assert text.split("\n")[2] == lines[2]
            assert len(await desk.engine.ask.origins()) == text.count("\n") + 1
            before = await desk.engine.ask.memory()
            changed = text.replace("Otter is blue", "Otter is green")
            await desk.engine.do.write_memory(changed, before.sha256)
            (change,) = await desk.engine.ask.compare(1, 2)
            assert (change.base_line, change.result_line) == (3, 3)
            assert change.after == ("- Otter is green",)

    run(main())
