"""A summary that broke off, or was stopped, changes nothing: not now, not after a restart (B63)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.engine.config import CompactionConfig, EngineConfig
from app.engine.events import Activity
from tests.helpers.fake_server import Reply, Seen, say
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

SAID = [f"question {n}" for n in range(5)]
FORTY = [f"word{n} " for n in range(40)]
CONFIG = without_memory(
    EngineConfig(compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0, keep_messages=1))
)


def is_summary(seen: Seen) -> bool:
    return "SESSION INTENT" in str(seen.body["messages"][-1]["content"])


def summarising(reply: Reply):
    return lambda seen: reply if is_summary(seen) else say("Fine.")


async def still_whole(desk: EngineDesk, session: str) -> None:
    desk.session = session
    items = await desk.engine.ask.transcript(session)
    assert [i.text for i in items if i.kind == "user"][:5] == SAID
    assert "compaction" not in [i.kind for i in items]
    await desk.send("and now?")
    sent = [m["content"] for m in desk.sent() if m["role"] == "user"]
    assert [text for text in sent if text in SAID] == SAID, "all of it is sent, as before"
    assert "word39" not in str(desk.sent())


@pytest.mark.case("B63")
@pytest.mark.parametrize("how", ["breaks off", "says it failed", "is stopped"])
def test_the_history_is_what_it_was_now_and_after_a_restart(tmp_path: Path, how: str) -> None:
    reply = {
        "breaks off": say(*FORTY, finish=None, cut=True),
        "says it failed": say("Error generating summary: the model is overloaded."),
        "is stopped": say(*FORTY, "the end", pause=0.3),
    }[how]

    async def main() -> None:
        async with engine_on(tmp_path, summarising(reply), config=CONFIG) as desk:
            for text in SAID:
                await desk.send(text)
            asked = asyncio.create_task(desk.engine.do.compact(desk.session))
            if how == "is stopped":
                while not is_summary(desk.server.requests[-1]):
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.5)
                asked.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked
            else:
                report = await asked
                assert report.reason
                told = [e for e in desk.events if isinstance(e, Activity) and e.state == "failed"]
                assert told
                assert told[-1].remedy, "what to do next is said"
            session = desk.session
            assert '"type":"compaction"' not in desk.log()
            await still_whole(desk, session)
            (log,) = tmp_path.glob(f"agents/*/sessions/{session}.log.jsonl")
        # A record of a summary that was written, but whose compaction was not, nor all of a next.
        with log.open("a", encoding="utf-8") as file:
            file.write('{"v":1,"seq":900,"type":"summary","id":"s-9","summary":"word39"}\n')
            file.write('{"v":1,"seq":901,"type":"compaction","id":"k-9","summaryEn')
        async with engine_on(tmp_path, say("Fine."), config=CONFIG) as desk:
            await still_whole(desk, session)

    run(main())
