"""A run made once more by another model: a second proposal beside the first, to be compared.

And what people decided about the proposals of each model.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pygit2
import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.errors import ConfigError
from app.engine.memory.acceptance import acceptance
from app.engine.memory.proposals import ProposalClosed, ProposalNotFound
from app.engine.memory.review import accept_all
from app.engine.records import Acceptance, Decision, JobInfo, ProposalInfo
from tests.helpers.consolidating import START, Desk
from tests.helpers.fake_server import error, say
from tests.helpers.workspaces import EngineDesk, engine_on, to_the_end

REVIEW = EngineConfig(memory=MemoryConfig(policy="review"))
ONE = "- Ines likes green tea\n- Bo lives in Porto"
OTHER = "- Ines likes green tea\n- Bo Lima lives in Porto since 2020"


async def ended(desk: EngineDesk, job_id: str) -> JobInfo:
    while True:
        job = next(j for j in await desk.engine.ask.jobs() if j.id == job_id)
        if job.state not in ("waiting", "running"):
            return job
        await asyncio.sleep(0.01)


async def first_proposal(desk: EngineDesk) -> ProposalInfo:
    """A proposal made from one section of today's log."""
    await desk.engine.do.remember("Ines likes green tea\n- Bo Lima lives in Porto since 2020")
    (Path(desk.folder) / "MEMORY.md").write_text("- Ines likes green tea\n", encoding="utf-8")
    log = next((desk.folder / "memory").glob("*.md"))
    log.write_text(log.read_text().replace("Memory Save", "Memory Flush"), encoding="utf-8")
    log.write_text(log.read_text() + "\n- one more line\n", encoding="utf-8")
    await ended(desk, await desk.engine.do.consolidate())
    return (await desk.engine.ask.proposals())[0]


@to_the_end
async def test_another_model_makes_a_second_proposal_from_the_same(tmp_path: Path) -> None:
    async with engine_on(tmp_path, say(ONE), say(OTHER), config=REVIEW) as desk:
        first = await first_proposal(desk)
        job = await ended(desk, await desk.engine.do.consolidate_again(first.id, "fake:second"))
        assert job.state == "done", job.reason
        again, kept = await desk.engine.ask.proposals(waiting=True)
        assert (again.id, again.again_of, kept.id) == (job.target, first.id, first.id)
        assert again.inputs == first.inputs
        assert again.model != first.model
        assert desk.server.requests[1].body["model"] == "second"
        assert desk.sent(0) == desk.sent(1)  # the same file, the same sections, word for word
        (change,) = await desk.engine.ask.compare_proposals(first.id, again.id)
        assert (change.kind, change.before, change.after) == (
            "reworded", ("- Bo lives in Porto",), ("- Bo Lima lives in Porto since 2020",),
        )  # fmt: skip
        shown = await desk.engine.ask.proposal(again.id)
        await desk.engine.do.apply(again.id, accept_all(shown.changes))
        states = {one.id: one.state for one in await desk.engine.ask.proposals()}
        assert states == {again.id: "applied", first.id: "superseded"}
        assert (await desk.engine.ask.memory()).text == f"{OTHER}\n"


@to_the_end
async def test_a_file_changed_since_is_met_as_by_any_proposal(tmp_path: Path) -> None:
    async with engine_on(tmp_path, say(ONE), say(OTHER), config=REVIEW) as desk:
        first = await first_proposal(desk)
        now = await desk.engine.ask.memory()
        await desk.engine.do.write_memory("- by hand\n" + now.text, now.sha256)
        await ended(desk, await desk.engine.do.consolidate_again(first.id, "fake:second"))
        again = (await desk.engine.ask.proposals(waiting=True))[0]
        assert again.again_of == first.id
        shown = await desk.engine.ask.proposal(again.id)
        assert [c.kind for c in shown.changes] == ["added"]
        await desk.engine.do.apply(again.id, accept_all(shown.changes))
        assert (await desk.engine.ask.memory()).text.startswith("- by hand\n- Ines")


@to_the_end
async def test_what_cannot_be_made_again_says_why(tmp_path: Path) -> None:
    async with engine_on(tmp_path, say(ONE), error(500, {"error": "x"}), config=REVIEW) as desk:
        first = await first_proposal(desk)
        with pytest.raises(ConfigError):
            await desk.engine.do.consolidate_again(first.id, "nobody:knows")
        with pytest.raises(ProposalNotFound):
            await desk.engine.do.consolidate_again("r-none", "fake:second")
        job = await ended(desk, await desk.engine.do.consolidate_again(first.id, "fake:second"))
        assert job.state == "failed"
        assert [p.id for p in await desk.engine.ask.proposals(waiting=True)] == [first.id]
        log = next((desk.folder / "memory").glob("*.md"))
        kept = log.read_text()
        log.write_text(kept.replace("one more line", "another line"))
        job = await ended(desk, await desk.engine.do.consolidate_again(first.id, "extractive"))
        assert "are gone" in job.reason
        log.write_text(kept)
        await desk.engine.do.apply(first.id, [Decision(1, "accept")])
        with pytest.raises(ProposalClosed):
            await desk.engine.do.consolidate_again(first.id, "fake:second")


def test_the_same_again_settles_nothing_and_a_failure_delays_no_automatic_run(
    tmp_path: Path,
) -> None:
    base = "- Ines likes green tea\n"
    desk = Desk(tmp_path, ONE, base, "", prepare=base, policy="review")
    desk.flush("- Bo lives in Porto")
    first = asyncio.run(desk.run()).run
    outcome = asyncio.run(desk.consolidator.again(first, desk.model, START))
    assert outcome.state == "unchanged"
    assert outcome.reason == "scripted would keep the file as it was."
    assert desk.fates() == ["waiting"]
    later = START + timedelta(minutes=1)
    assert asyncio.run(desk.consolidator.again(first, desk.model, later)).state == "failed"
    desk.flush("- Kim plays chess", at=later)
    desk.model.replies = [ONE + "\n- Kim plays chess"]
    assert asyncio.run(desk.run(later + timedelta(minutes=1))).state == "proposed"


def test_no_policy_applies_it_and_none_is_made_of_what_was_applied_meanwhile(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, ONE, prepare="- Ines likes green tea\n", policy="review")
    desk.flush("- Bo lives in Porto")
    first = asyncio.run(desk.run()).run
    desk.consolidator.config = MemoryConfig(policy="auto")
    outcome = asyncio.run(desk.consolidator.again(first, desk.model, START))
    assert outcome.state == "proposed"
    assert "beside the first one" in outcome.reason
    desk.review.apply(first, accept_all(desk.review.show(first).changes), when=START)
    outcome = asyncio.run(desk.consolidator.again(first, desk.model, START))
    assert outcome.reason == "The proposal is applied already."
    desk.flush("- Bo lives in Porto now", at=START)
    desk.model.replies = [ONE.replace("Porto", "Porto now")]
    assert asyncio.run(desk.run(START + timedelta(hours=1))).state == "applied"  # else it would


def test_acceptance_counts_what_people_decided_per_model_and_prompt(tmp_path: Path) -> None:
    facts = [f"- fact{n} about thing{n} and place{n}" for n in range(4)]
    desk = Desk(tmp_path, "\n".join(facts), policy="review")
    desk.flush(*facts)
    run = asyncio.run(desk.run()).run
    desk.review.show(run)
    own = Decision(2, "accept", "- own words for thing1")
    part = [Decision(1, "accept"), own, Decision(3, "reject")]
    desk.review.apply(run, part, when=START)
    git = pygit2.Repository(str(desk.layout.history))
    message: str = git.head.peel(pygit2.Commit).message
    assert "Decisions: 1 accepted, 2 edited, 3 rejected" in message.split("\n")
    (row,) = rows(desk)
    assert (row.model, row.curator, row.proposals) == ("scripted", "llm", 1)
    assert row.prompt_hash
    assert (row.accepted, row.rejected, row.edited) == (2, 1, 1)
    desk.review.show(run)
    desk.review.apply(run, [Decision(1, "reject")], when=START)
    assert [(r.accepted, r.rejected, r.edited) for r in rows(desk)] == [(2, 2, 1)]
    desk.open()
    assert [(r.accepted, r.rejected, r.edited) for r in rows(desk)] == [(2, 2, 1)]


def test_acceptance_of_rejected_automatic_failed_and_undecided_ones(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "- a1 b1 c1\n- a2 b2 c2", policy="review")
    desk.flush("- a1 b1 c1", "- a2 b2 c2")
    run = asyncio.run(desk.run()).run
    assert [(r.proposals, r.accepted, r.rejected) for r in rows(desk)] == [(1, 0, 0)]
    desk.review.keep(run, [Decision(1, "accept")])
    assert [(r.accepted, r.rejected) for r in rows(desk)] == [(0, 0)]  # kept, not carried out
    desk.review.reject(run, "no", when=START)
    assert [(r.accepted, r.rejected) for r in rows(desk)] == [(0, 2)]
    desk.consolidator.config = MemoryConfig(policy="auto")
    desk.flush("- d3 e3 f3")
    desk.model.replies = ["- d3 e3 f3"]
    assert asyncio.run(desk.run(START + timedelta(hours=1))).state == "applied"
    desk.flush("- g4 h4 i4")
    desk.model.replies = [""]
    assert asyncio.run(desk.run(START + timedelta(hours=2))).state == "failed"
    assert [(r.proposals, r.accepted, r.rejected) for r in rows(desk)] == [(2, 0, 2)]


def rows(desk: Desk) -> list[Acceptance]:
    return acceptance(desk.store.all())
