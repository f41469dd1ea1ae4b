"""A model's own counts move the thresholds and the meter, and are remembered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.engine.config import AgentConfig, CompactionConfig, EngineConfig
from app.engine.context.tokenizer import Tiktoken
from app.engine.context.tokens import Counter
from app.engine.events import Activity
from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.records import Message
from tests.helpers.fake_server import Reply, Seen, overflow, say
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on

SUMMARY = "SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None"
WORDS = "the quick brown fox jumps over the lazy dog again and again, 12 times. " * 30
BARE = AgentConfig(
    memory_hooks=False, memory_tools=False, file_tools=False, workspace_context=False
)


def at(trigger: int) -> EngineConfig:
    late = CompactionConfig(trigger_messages=0, trigger_tokens=trigger, keep_messages=2)
    return EngineConfig(agent=BARE, compaction=late)


class Model:
    """Answers, and reports `rate` times what this program counts for the same request."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.desk: EngineDesk | None = None

    def __call__(self, seen: Seen) -> Reply:
        messages = seen.body["messages"]
        asked = str(messages[-1]["content"])
        return say(
            SUMMARY if "SESSION INTENT" in asked else "Yes.",
            prompt=round(self.counted(messages) * self.rate),
        )

    def counted(self, messages: list[dict[str, Any]]) -> int:
        assert self.desk is not None
        request = [Message(id="m", role=m["role"], content=m["content"]) for m in messages]
        system = [m.content for m in request if m.role == "system"]
        counter = self.desk.engine._rooms.counter
        return counter.request("".join(system), [m for m in request if m.role != "system"], [])


async def talk(folder: Path, model: Model, config: EngineConfig, turns: int) -> EngineDesk:
    """So many turns of one session, the newest one there is if there is one; closed after it."""
    async with engine_on(folder, model, config=config, window=200_000) as desk:
        model.desk = desk
        await asyncio.to_thread(desk.engine._rooms.tokenizer.wait, 30)
        known = await desk.engine.ask.sessions()
        desk.session = known[0].id if known else ""
        for n in range(turns):
            done = await desk.send(f"{n}: {WORDS}")
            assert done.state == "finished", done.error
        desk.total = (await desk.engine.ask.context(desk.session)).total  # type: ignore[attr-defined]
    return desk


def compactions(desk: EngineDesk) -> int:
    return desk.log().count('"type":"compaction"')


def test_a_server_that_counts_more_moves_trigger_and_meter_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        plain, more = Model(1.0), Model(1.4)
        fine = await talk(tmp_path / "plain", plain, at(0), 3)
        ours = fine.total  # type: ignore[attr-defined]
        higher = await talk(tmp_path / "more", more, at(0), 3)
        assert higher.total == pytest.approx(1.4 * ours, rel=0.02)  # type: ignore[attr-defined]
        # The fourth turn has about 4/3 of it: under this threshold as we count, above as it does.
        threshold = at(round(ours * 1.55))
        assert compactions(await talk(tmp_path / "plain", plain, threshold, 1)) == 0
        again = await talk(tmp_path / "more", more, threshold, 1)
        assert compactions(again) == 1
        kept = json.loads((tmp_path / "more/.palimpsest/windows.json").read_text("utf-8"))
        (ratio,) = kept["ratios"].values()
        assert ratio == pytest.approx(1.4, abs=0.02)

    run(main())


def test_a_memory_of_ones_own_counts_as_the_model_does(tmp_path: Path) -> None:
    async def compacted(folder: Path, rate: float, memory: CompactionMemory) -> int:
        model = Model(rate)
        async with engine_on(folder, model, config=at(0), window=200_000) as desk:
            model.desk = desk
            await asyncio.to_thread(desk.engine._rooms.tokenizer.wait, 30)
            desk.session = await desk.engine.do.new_session(memory=memory)
            for n in range(5):
                assert (await desk.send(f"{n}: {WORDS}")).state == "finished"
            return compactions(desk)

    def memory(**values: Any) -> CompactionMemory:
        return CompactionMemory(CompactionMemoryConfig(token_threshold=4_000), **values)

    async def main() -> None:
        assert await compacted(tmp_path / "plain", 1.0, memory()) == 0
        assert await compacted(tmp_path / "more", 1.9, memory()) == 1
        given = memory(counter=Counter(Tiktoken()))
        assert await compacted(tmp_path / "given", 1.9, given) == 0, "it counts as it was told to"

    run(main())


def test_a_summary_is_budgeted_in_the_tokens_of_the_model_that_writes_it(tmp_path: Path) -> None:
    """Each part of the history must fit the window of the summary's model, as that one counts."""

    async def parts(folder: Path, ratio: float) -> int:
        def model(seen: Seen) -> Reply:
            return say(SUMMARY if "SESSION INTENT" in str(seen.body["messages"]) else "Yes.")

        compaction = CompactionConfig(
            trigger_messages=0, trigger_tokens=0, keep_messages=1, model="fake:other"
        )
        async with engine_on(
            folder, model, config=EngineConfig(agent=BARE, compaction=compaction), window=4_000
        ) as desk:
            await asyncio.to_thread(desk.engine._rooms.tokenizer.wait, 30)
            desk.engine.endpoints.gauge.learn("other", 1_000, round(1_000 * ratio))
            for n in range(4):
                assert (await desk.send(f"{n}: {WORDS}")).state == "finished"
            chats = len(desk.server.requests)
            assert (await desk.engine.do.compact(desk.session)).covered
            return len(desk.server.requests) - chats

    async def main() -> None:
        assert await parts(tmp_path / "same", 1.0) == 1
        assert await parts(tmp_path / "more", 2.0) > 1

    run(main())


@pytest.mark.parametrize("reported", ["cut", "nothing"])
def test_a_cut_prompt_and_a_missing_count_teach_nothing(tmp_path: Path, reported: str) -> None:
    async def main() -> None:
        plain = Model(1.0)
        fine = await talk(tmp_path / "plain", plain, at(0), 3)
        odd = await talk(
            tmp_path / "odd", Model(0.3 if reported == "cut" else 0.0), at(0).replace(
                agent=BARE.replace(compaction=False)
            ), 3
        )  # fmt: skip
        assert odd.total == fine.total  # type: ignore[attr-defined]
        assert not (tmp_path / "odd/.palimpsest/windows.json").exists()
        said = [e.step for e in odd.events if isinstance(e, Activity)]
        assert ("suspected_truncation" in said) is (reported == "cut")

    run(main())


def test_an_overflow_teaches_its_window_for_the_next_start(tmp_path: Path) -> None:
    """A server that cannot be asked for its window (0 in the settings): its error names it."""

    async def main() -> None:
        def model(seen: Seen) -> Reply:
            asked = str(seen.body["messages"][-1]["content"])
            if "SESSION INTENT" in asked:
                return say(SUMMARY)
            return say("Yes.") if len(seen.body["messages"]) < 5 else overflow(3_900, 3_000)

        async with engine_on(tmp_path, model, config=at(0), window=0) as desk:
            for n in range(3):
                assert (await desk.send(f"{n}: {WORDS}")).state == "finished"
            assert compactions(desk) == 1
            window = (await desk.engine.ask.model()).window
            assert (window.tokens, window.source) == (3_000, "learned")
        kept = json.loads((tmp_path / ".palimpsest/windows.json").read_text("utf-8"))
        assert list(kept["windows"].values()) == [3_000]

    run(main())
