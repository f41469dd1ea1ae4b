"""Answers that are no memory, carried through the whole engine: nothing is lost, the next works."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.engine import Engine
from app.engine.events import Activity
from app.engine.llm.endpoint import Answer, Request
from app.engine.llm.roles import Endpoints, RoleSettings
from app.engine.records import Window
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout, ensure

BASE = "# Memory\n\n- Ines prefers green tea\n- Tom owns the search index\n"
GOOD = BASE + "- Release 4.2 is frozen until 2026-06-10\n- Zoë works on the importer\n"
HTML = "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"

# The rule: JSON with exactly one text (or list of texts) is unwrapped, one outer fence too;
# everything else is refused. None: refused or empty, so nothing is written.
ODD: list[tuple[str, str | None]] = [
    ('{"memory":{"facts":["a","b"]}}', "- a\n- b"),
    ('["a"]', "- a"),
    ("null", None),
    ('""', None),
    ('"{\\"memory\\":\\"x\\"}"', "x"),
    ('{"history_entry": "h", "reason": "the field memory is missing"}', None),
    ("```markdown\n- a\n```", "- a"),
    ("```markdown\n- a", "- a"),
    ("Here it is:\n```\n- a\n```\nAnything else?", "- a"),
    (HTML, None),
]


class Model:
    """Answers flush and consolidation with `answer`; chat goes on."""

    name, host, fit_for_memory, supports_tools = "scripted", "127.0.0.1", True, True

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def stream(self, request: Request):
        flush = request.system.startswith("You extract facts")
        memory = flush or request.system.startswith("You keep the long-term memory")
        self.asked.append("flush" if flush else "consolidation" if memory else "chat")
        yield Answer(self.answer if memory else "Hello.")

    async def window(self) -> Window:
        return Window(32_000)

    async def close(self) -> None:
        return None


async def opened(root: Path, model: Model) -> tuple[Engine, list[Activity]]:
    def refuse(*_args):
        raise AssertionError("no other model is asked")

    endpoints = Endpoints({}, RoleSettings(chat="scripted"), refuse, refuse)
    endpoints.use("scripted", model)
    config = EngineConfig(memory=MemoryConfig(policy="auto"))
    engine = await Engine.open(root, endpoints, config=config, watch=False)
    heard: list[Activity] = []
    engine.events.subscribe(lambda e: heard.append(e) if isinstance(e, Activity) else None)
    return engine, heard


def workspace(root: Path) -> Layout:
    layout = Layout.at(root)
    ensure(layout)
    layout.memory_md.write_text(BASE, "utf-8")
    say(layout, "- Release 4.2 is frozen until 2026-06-10")
    return layout


def say(layout: Layout, text: str) -> None:
    now = datetime.now().astimezone()
    append_section(layout, kind="flush", text=text, now=now, origin="user")


@pytest.mark.case("B10")
@pytest.mark.parametrize(("answer", "parsed"), ODD)
def test_a_consolidation_answer_is_parsed_by_a_rule_or_refused(
    tmp_path: Path, answer: str, parsed: str | None
):
    async def main():
        layout = workspace(tmp_path)
        model = Model(answer)
        engine, heard = await opened(tmp_path, model)
        await engine.do.consolidate()
        assert await engine.drain(20)
        assert model.asked == ["consolidation"]
        assert layout.memory_md.read_text("utf-8") == BASE  # what was there is kept
        failed = [a for a in heard if a.step == "consolidation" and a.state == "failed"]
        assert len(failed) == (1 if parsed is None else 0)  # said once
        (run,) = await engine.ask.proposals()
        proposal = await engine.ask.proposal(run.id)
        assert proposal.raw == answer  # at hand, as it came
        if parsed is not None:
            assert proposal.candidate.strip() == parsed
            assert any(not check.ok for check in proposal.checks)  # it would lose what is there
        model.answer = GOOD
        say(layout, "- Zoë works on the importer")
        await engine.do.consolidate()  # the next round works
        assert await engine.drain(20)
        newest = (await engine.ask.proposals())[0]
        assert newest.id != run.id
        now = (await engine.ask.memory()).text
        made = (await engine.ask.proposal(newest.id)).candidate
        assert GOOD.strip() in (now.strip(), made.strip())
        await engine.close()

    asyncio.run(main())


@pytest.mark.case("B10")
@pytest.mark.parametrize(("answer", "parsed"), ODD)
def test_a_flush_answer_is_parsed_by_a_rule_or_refused(
    tmp_path: Path, answer: str, parsed: str | None
):
    async def main():
        model = Model(answer)
        engine, _ = await opened(tmp_path, model)
        await engine.do.configure(EngineConfig(memory=MemoryConfig(policy="review")))
        session = await engine.do.new_session()
        result = await engine.do.send(session, "Hi")
        assert result.reply == "Hello."
        assert await engine.drain(20)
        days = await engine.ask.days()
        if parsed is None:
            assert days == []
        else:
            (section,) = (await engine.ask.day(days[0].path)).sections
            assert "\n".join(line.text for line in section.lines) == parsed
        jobs = [job for job in await engine.ask.jobs() if job.kind == "flush"]
        calls = await engine.ask.model_calls(jobs[0].id)
        assert [call.answer for call in calls] == [answer]  # at hand, as it came
        model.answer = "- a good line"
        await engine.do.send(session, "Again")
        await engine.do.flush(session)
        assert await engine.drain(20)
        (day,) = await engine.ask.days()
        last = (await engine.ask.day(day.path)).sections[-1]
        assert [line.text for line in last.lines] == ["- a good line"]
        await engine.close()

    asyncio.run(main())


def test_an_error_page_is_not_paid_for_at_every_turn(tmp_path: Path):
    async def main():
        layout = workspace(tmp_path)
        model = Model(HTML)
        engine, _ = await opened(tmp_path, model)
        session = await engine.do.new_session()
        for _ in range(5):
            assert (await engine.do.send(session, "Hi")).reply == "Hello."
            assert await engine.drain(20)
        assert model.asked.count("flush") == 1
        assert model.asked.count("consolidation") <= 1
        assert layout.memory_md.read_text("utf-8") == BASE
        await engine.close()

    asyncio.run(main())
