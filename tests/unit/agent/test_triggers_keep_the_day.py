"""Whatever sets a flush off, and however new a workspace is: the day's file only grows (B04), and a
first run or a clock that was wrong neither pays twice nor switches memory off (B24)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from app.engine.config import CompactionConfig, EngineConfig, FlushTrigger, MemoryConfig
from app.engine.workspace.layout import Layout, ensure
from tests.helpers.fake_server import Reply, Seen, overflow, say
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, fixed

MORNING = "# Notes\n\n- one\n- two\r\n- three"
SUMMARY = "SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None"
CLOCK = fixed(2026, 6, 2)


def site(seen: Seen) -> str:
    messages = seen.body["messages"]
    if "NO_REPLY" in str(messages[0]["content"]):
        return "flush"
    if "sole owner" in str(messages[0]["content"]):
        return "consolidation"
    return "summary" if "SESSION INTENT" in str(messages[-1]["content"]) else "chat"


class Model:
    """Extracts one fact; refuses the chat request with that text once, as too long."""

    def __init__(self, too_long: str = "") -> None:
        self.too_long = too_long
        self.asked: list[str] = []

    def __call__(self, seen: Seen) -> Reply:
        what = site(seen)
        self.asked.append(what)
        if what == "chat" and str(seen.body["messages"][-1]["content"]) == self.too_long:
            self.too_long = ""
            return overflow(17_500, 16_000)
        return say({"flush": "- new entry", "summary": SUMMARY}.get(what, "Fine."))


async def turned(desk: EngineDesk, *texts: str) -> None:
    for text in texts:
        assert (await desk.send(text)).state == "finished"


@pytest.mark.case("B04")
@pytest.mark.parametrize("trigger", ["reply", "by hand", "overflow", "new session", "close"])
def test_each_trigger_leaves_the_mornings_entries_as_they_are(tmp_path: Path, trigger: str) -> None:
    layout = Layout.at(tmp_path)
    ensure(layout)
    day = layout.daily(CLOCK().date())
    day.write_bytes(MORNING.encode())
    by_itself = trigger in ("reply", "new session", "close")
    config = EngineConfig(
        memory=MemoryConfig(
            policy="review",
            flush_trigger=FlushTrigger.always() if by_itself else FlushTrigger.never(),
        ),
        compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0, keep_messages=1),
    )

    async def main() -> None:
        model = Model("third" if trigger == "overflow" else "")
        async with engine_on(tmp_path, model, config=config, clock=CLOCK) as desk:
            await turned(desk, "first " * 400)
            match trigger:
                case "by hand":
                    await desk.engine.do.flush(desk.session)
                case "overflow":
                    await turned(desk, "second " * 400, "third")
                    assert "summary" in model.asked
                case "new session":
                    desk.session = await desk.engine.do.new_session()
                    await turned(desk, "elsewhere")
            if trigger != "close":
                assert await desk.engine.drain(20)
        async with engine_on(tmp_path, model, config=config, clock=CLOCK) as desk:
            assert await desk.engine.drain(20)  # what closing left to do is done now
        raw = day.read_bytes()
        assert raw.startswith(MORNING.encode())
        assert raw.count(b"- new entry") == (2 if trigger == "new session" else 1)
        assert sorted(p.name for p in layout.memory_dir.glob("*.md")) == [day.name]

    run(main())


@pytest.mark.case("B24")
@pytest.mark.parametrize("ahead", [None, timedelta(days=365)])
def test_the_first_messages_pay_for_one_consolidation_whatever_the_clock_said(
    tmp_path: Path, ahead: timedelta | None
) -> None:
    """The stated rule: nothing on record lets the first request through, and the gap counts from
    there; a run noted a year ahead is no record."""
    layout = Layout.at(tmp_path)
    ensure(layout)
    if ahead is not None:
        noted = (CLOCK() + ahead).isoformat()
        layout.gates.write_text(json.dumps({"maintenance": noted}), "utf-8")
    config = EngineConfig(
        memory=MemoryConfig(policy="review", consolidation_min_gap=timedelta(hours=6))
    )

    async def main() -> None:
        model = Model()
        async with engine_on(tmp_path, model, config=config, clock=CLOCK) as desk:
            for n in range(3):
                await turned(desk, f"message {n}")
                assert await desk.engine.drain(20)
                assert model.asked.count("consolidation") == 1
            assert model.asked.count("flush") == 3
        noted = json.loads(layout.gates.read_text("utf-8"))["maintenance"]
        assert noted.startswith("2026-06-02")

    run(main())
