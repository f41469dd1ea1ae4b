"""Topics never to be remembered: told to every prompt, and held by code at every way in."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.errors import ConfigError, UserError
from app.engine.memory.saving import NeverRemember
from app.engine.memory.topics import Topics
from app.engine.records import Decision
from tests.helpers.consolidating import Desk
from tests.helpers.fake_server import call, say, use
from tests.helpers.workspaces import EngineDesk, engine_on, to_the_end

NEVER = ("salary", "health insurance", "工资", "Café Müller")


def settings(policy: str = "auto") -> EngineConfig:
    return EngineConfig(memory=MemoryConfig(policy=policy, never_remember=NEVER))


async def flushed(desk: EngineDesk) -> str:
    """What the first flush says: one comes by itself after the turn, at any time."""
    await desk.engine.do.flush(desk.session)
    await desk.engine.drain()
    first = [job for job in await desk.engine.ask.jobs() if job.kind == "flush"][-1]
    return first.result or first.reason


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("- Ines asked about her SALARY.", "salary"),
        ("- The user's salary rose", "salary"),
        ("- SALARY_2026 is a column", "salary"),
        ("- ｓａｌａｒｙ in full width", "salary"),
        ("- health-insurance: Acme", "health insurance"),
        ("- health\n  insurance in two lines", "health insurance"),
        ("- 用户的工资是秘密", "工资"),
        ("- 我的salary很低", "salary"),
        ("- lunch at CAFE MULLER", "Café Müller"),
        ("- salaryman is a word of its own", ""),
        ("- presalary too", ""),
        ("- health of the insurance company", ""),
        ("- 工 资", ""),
        ("", ""),
    ],
)
def test_a_topic_is_found_as_whole_words_whatever_their_case_width_and_accents(
    text: str, topic: str
) -> None:
    assert Topics(NEVER).of(text) == topic


def test_topics_without_a_letter_and_twice_the_same_are_none() -> None:
    assert Topics(["  ", "…", "tea", " tea "]).words == ("tea",)
    assert not Topics([])
    with pytest.raises(ConfigError, match="words or phrases"):
        MemoryConfig(never_remember="salary")  # type: ignore[arg-type]


@to_the_end
async def test_a_flush_leaves_such_lines_out_and_says_how_many(tmp_path: Path) -> None:
    facts = say("- Ines likes tea\n- Her salary is 100\n  a month\n- 用户的工资很高")
    async with engine_on(tmp_path, say("Noted."), facts, config=settings("review")) as desk:
        await desk.send("I like tea, and my salary is 100.")
        said = await flushed(desk)
        assert "2 lines on topics never to be remembered left out." in said
        day = (await desk.engine.ask.days())[0]
        text = (tmp_path / day.path).read_text(encoding="utf-8")
        assert "- Ines likes tea" in text
        assert "100" not in text
        assert "工资" not in text
        flushes = [json.loads(line) for line in desk.log().splitlines() if '"flush"' in line]
        assert flushes[-1]["bullets"] == 1
        assert "2 lines on topics" in flushes[-1]["reason"]
        flush = next(r for r in desk.server.requests if "## The conversation" in str(r.body))
        asked = flush.body["messages"][1]["content"]
        assert "## Topics never to be remembered" in asked
        assert "- health insurance" in asked


@to_the_end
async def test_a_flush_of_nothing_else_writes_nothing(tmp_path: Path) -> None:
    async with engine_on(tmp_path, say("Noted."), say("- salary: 100"), config=settings()) as desk:
        await desk.send("my salary is 100")
        said = await flushed(desk)
        assert said.startswith("Nothing was worth keeping. 1 line on topics")
        assert await desk.engine.ask.days() == []


@to_the_end
async def test_a_save_is_refused_with_a_sentence_by_tool_and_by_hand(tmp_path: Path) -> None:
    save = use(call("memory_save", {"content": "- the salary is 100"}))
    async with engine_on(tmp_path, save, say("Sorry."), say("NO_REPLY"), config=settings()) as desk:
        await desk.send("remember my salary")
        told = next(m["content"] for m in desk.sent(1) if m["role"] == "tool")
        assert "“salary”, which is never to be remembered" in told
        with pytest.raises(NeverRemember) as caught:
            await desk.engine.do.remember("我的工资是一百")
        assert "Settings" in caught.value.remedy
        assert await desk.engine.ask.days() == []
        assert (await desk.engine.ask.memory()).text == ""


def test_a_proposal_on_such_a_topic_fails_its_check_and_no_policy_applies_it(
    tmp_path: Path,
) -> None:
    desk = Desk(
        tmp_path, "- salary of Bo: 7\n- Ines likes tea\n- The salary of Ines is 100",
        prepare="- salary of Bo: 7\n", policy="auto", never_remember=NEVER, source_min_overlap=0.0,
    )  # fmt: skip
    desk.flush("- Ines likes tea")
    outcome = asyncio.run(desk.run())
    assert outcome.state == "proposed"
    assert "“salary”" in outcome.reason
    check = next(c for c in desk.review.show(outcome.run).checks if c.name == "never_remember")
    assert not check.ok
    assert check.detail == (
        "A line is about “salary”, which is never to be remembered: - The salary of Ines is 100"
    )
    assert "<never_remember>\nsalary\n" in desk.model.asked


def test_what_the_file_holds_already_stays_and_does_not_fail(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path, "- The salary of Bo: 7\n- Ines likes tea", prepare="- salary of Bo: 7\n",
        policy="auto", never_remember=NEVER,
    )  # fmt: skip
    desk.flush("- Ines likes tea")
    outcome = asyncio.run(desk.run())
    assert outcome.state == "applied", outcome.reason
    assert "- The salary of Bo: 7" in desk.memory


def test_lines_of_older_logs_on_such_a_topic_are_shown_to_no_curator(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "- Ines likes tea", policy="review", never_remember=NEVER)
    desk.flush("- the salary is 100\n  each month", "- Ines likes tea", "- 工资一百")
    run = asyncio.run(desk.run()).run
    assert "100" not in desk.model.asked
    assert "each month" not in desk.model.asked
    assert "一百" not in desk.model.asked
    (source,) = desk.review.show(run).changes[0].sources
    day = next(desk.layout.memory_dir.glob("*.md")).read_text().split("\n")
    assert day[source.line - 1] == "- Ines likes tea"  # hidden lines shift no place


def test_without_a_model_such_lines_are_not_taken_either(tmp_path: Path) -> None:
    desk = Desk(tmp_path, curator="extractive", policy="auto_additions", never_remember=NEVER)
    desk.flush("- the salary is 100", "- Ines likes tea")
    outcome = asyncio.run(desk.run())
    assert outcome.state == "applied", outcome.reason
    assert "tea" in desk.memory
    assert "100" not in desk.memory


@to_the_end
async def test_the_list_is_kept_in_the_workspace_and_read_again(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        config = await desk.engine.ask.config()
        memory = config.memory.replace(never_remember=["salary", "工资"])
        await desk.engine.do.configure(config.replace(memory=memory))
        stored = (tmp_path / ".palimpsest" / "config.toml").read_text(encoding="utf-8")
        assert 'never_remember = ["salary", "工资"]' in stored
        with pytest.raises(UserError):
            await desk.engine.do.remember("a salary")


@to_the_end
async def test_a_person_may_still_accept_such_a_line_in_review(tmp_path: Path) -> None:
    async with engine_on(
        tmp_path, say("- Ines likes tea\n- the salary is 100"), config=settings("review")
    ) as desk:
        await desk.engine.do.remember("Ines likes tea")
        (tmp_path / "MEMORY.md").unlink()
        await desk.engine.do.consolidate()
        await desk.engine.drain()
        (info,) = await desk.engine.ask.proposals(waiting=True)
        shown = await desk.engine.ask.proposal(info.id)
        await desk.engine.do.apply(info.id, [Decision(c.n, "accept") for c in shown.changes])
        assert "salary" in (await desk.engine.ask.memory()).text
