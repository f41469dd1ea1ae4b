"""From talk to memory through the facade: flush, proposal, decision, injection, search, undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.records import Decision, Query
from tests.helpers.fake_server import Seen, call, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on

FACT = "Ines prefers answers in Portuguese"
REVIEW = EngineConfig(memory=MemoryConfig(policy="review"))


def model(seen: Seen):
    """A model that answers chats, flushes and consolidations, told apart by their prompts."""
    system = str(seen.body["messages"][0]["content"])
    if "NO_REPLY" in system:
        return say(f"- {FACT}\n- Release 4.2 is frozen until 2026-06-10")
    if "sole owner" in system:
        return say(f"# Memory\n\n- {FACT}\n- Release 4.2 is frozen until 2026-06-10")
    return say("Claro.")


async def talked(desk: EngineDesk) -> str:
    """One turn, its flush and consolidation; the waiting proposal's id."""
    await desk.send(f"{FACT}. Release 4.2 is frozen until 2026-06-10.")
    await desk.engine.drain()
    waiting = await desk.engine.ask.proposals(waiting=True)
    assert len(waiting) == 1, [job.reason for job in await desk.engine.ask.jobs()]
    return waiting[0].id


@pytest.mark.case("IDX-6")
def test_talk_becomes_memory_only_when_decided(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, model, config=REVIEW) as desk:
            proposal_id = await talked(desk)
            days = await desk.engine.ask.days()
            log = (tmp_path / days[0].path).read_text(encoding="utf-8")
            assert f"- {FACT}" in log
            assert f"session={desk.session}" in log
            assert (await desk.engine.ask.search(Query("Portuguese"))).counts["daily"] == 1
            assert not (tmp_path / "MEMORY.md").exists()

            proposal = await desk.engine.ask.proposal(proposal_id)
            chosen = [
                Decision(c.n, "reject" if "Release" in str(c.after) else "accept")
                for c in proposal.changes
            ]
            preview = await desk.engine.ask.preview(proposal_id, chosen)
            applied = await desk.engine.do.apply(proposal_id, chosen)
            text = (tmp_path / "MEMORY.md").read_text(encoding="utf-8")
            assert FACT in text
            assert "Release" not in text
            assert text == preview.text
            assert applied.version == 1
            assert [v.cause for v in await desk.engine.ask.versions()] == ["consolidation"]
            assert (await desk.engine.ask.search(Query("Portuguese"))).counts["memory"] == 1

            await desk.send("Olá")
            assert FACT in desk.sent()[0]["content"]
            line = text.split("\n").index(f"- {FACT}") + 1
            found = await desk.engine.ask.why(line)
            assert found.sources[0].session_id == desk.session
            assert found.since is not None

    run(main())


def test_undo_and_restore_make_new_versions(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, model, config=REVIEW) as desk:
            proposal_id = await talked(desk)
            proposal = await desk.engine.ask.proposal(proposal_id)
            everything = [Decision(c.n, "accept") for c in proposal.changes]
            await desk.engine.do.apply(proposal_id, everything)
            full = (await desk.engine.ask.memory()).text
            view = await desk.engine.ask.memory()
            await desk.engine.do.write_memory(full + "- by hand\n", view.sha256)
            assert "- by hand" in (await desk.engine.ask.memory()).text
            await desk.engine.do.undo()
            assert (await desk.engine.ask.memory()).text == full
            await desk.engine.do.restore_version(2)
            assert "- by hand" in (await desk.engine.ask.memory()).text
            causes = [v.cause for v in await desk.engine.ask.versions()]
            assert causes == ["restored", "undo", "hand", "consolidation"]

    run(main())


@pytest.mark.case("TOL-4")
@pytest.mark.parametrize(
    ("policy", "by_person", "in_file"),
    [("auto", False, True), ("review", True, True), ("review", False, False)],
)
def test_saving_facts(tmp_path: Path, policy: str, by_person: bool, in_file: bool) -> None:
    content = "- one\n- two\n- three"

    async def main() -> None:
        config = EngineConfig(memory=MemoryConfig(policy=policy))
        scripts = (use(call("memory_save", {"content": content}, id="m1")), say("Saved."))
        async with engine_on(tmp_path, *scripts, config=config) as desk:
            if by_person:
                applied = await desk.engine.do.remember(content)
                assert applied.added == 3
            else:
                config = config.replace(agent=config.agent.replace(memory_hooks=False))
                await desk.engine.do.configure(config)
                await desk.send("Keep these")
                result = next(m for m in desk.sent() if m["role"] == "tool")["content"]
                assert "3 facts" in result
            memory = (await desk.engine.ask.memory()).text
            assert ("- two" in memory) is in_file
            day = (await desk.engine.ask.days())[0]
            assert "- two" in (tmp_path / day.path).read_text(encoding="utf-8")
            waiting = await desk.engine.ask.proposals(waiting=True)
            assert bool(waiting) is not in_file
            if in_file:
                line = memory.split("\n").index("- two") + 1
                found = await desk.engine.ask.why(line)
                assert [(s.path, s.text) for s in found.sources] == [(day.path, "- two")]

    run(main())


@pytest.mark.case("INJ-9")
def test_an_edit_between_two_requests_is_seen(tmp_path: Path) -> None:
    async def main() -> None:
        quiet = EngineConfig().replace(agent=EngineConfig().agent.replace(memory_hooks=False))
        async with engine_on(tmp_path, say("ok"), config=quiet) as desk:
            (tmp_path / "MEMORY.md").write_text("- The cat is called Nox\n", encoding="utf-8")
            await desk.send("one")
            assert "Nox" in desk.sent()[0]["content"]
            (tmp_path / "MEMORY.md").write_text("- The cat is called Vela\n", encoding="utf-8")
            await desk.send("two")
            assert "Vela" in desk.sent()[0]["content"]
            assert "Nox" not in desk.sent()[0]["content"]

    run(main())


def test_policy_is_stored_with_the_workspace_and_comments_stay(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / ".palimpsest").mkdir()
        place = tmp_path / ".palimpsest/config.toml"
        place.write_text("# mine\n[compaction]\ntrigger_messages = 30 # often\n", encoding="utf-8")
        async with engine_on(tmp_path, say("ok")) as desk:
            config = await desk.engine.ask.config()
            assert config.compaction.trigger_messages == 30
            changed = config.replace(memory=config.memory.replace(policy="review"))
            await desk.engine.do.configure(changed)
        text = place.read_text(encoding="utf-8")
        assert "# mine" in text
        assert "# often" in text
        async with engine_on(tmp_path, say("ok")) as desk:
            config = await desk.engine.ask.config()
            assert (config.compaction.trigger_messages, config.memory.policy) == (30, "review")

    run(main())


def test_a_bad_policy_file_is_told_and_left_alone(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / ".palimpsest").mkdir()
        place = tmp_path / ".palimpsest/config.toml"
        place.write_text("[memory]\nloss_limit = 7\n", encoding="utf-8")
        async with engine_on(tmp_path, say("ok")) as desk:
            assert "loss_limit" in desk.engine.problem
            assert (await desk.send("hi")).state == "finished"
        assert place.read_text(encoding="utf-8") == "[memory]\nloss_limit = 7\n"

    run(main())


def test_the_trash_takes_a_session_with_its_results_and_gives_it_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, say("ok")) as desk:
            await desk.send("The blue kite")
            await desk.engine.drain()
            await desk.engine.do.trash_session(desk.session)
            assert await desk.engine.ask.sessions() == []
            assert (await desk.engine.ask.search(Query("kite"))).counts.get("sessions", 0) == 0
            trashed = await desk.engine.ask.sessions(trashed=True)
            assert [s.id for s in trashed] == [desk.session]
            await desk.engine.do.restore_session(desk.session)
            assert [s.id for s in await desk.engine.ask.sessions()] == [desk.session]
            assert (await desk.engine.ask.search(Query("kite"))).counts["sessions"] == 1

    run(main())
