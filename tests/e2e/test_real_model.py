"""The whole path on a real server: the built-in model behind its port, with a window of 512."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.engine.events import Activity, TurnEvent
from app.engine.llm.catalogue import BUILTIN
from app.engine.llm.embedded import EmbeddedModel
from app.engine.llm.roles import Endpoints
from app.engine.llm.weights import present
from app.engine.records import Query
from app.places import models_dir
from app.startup import default_config, open_engine

needs_model = pytest.mark.skipif(
    present(BUILTIN, models_dir()) is None,
    reason="the built-in model is not there: python3 packaging/run.py --setup",
)
pytestmark = pytest.mark.model

# Its tokenizer takes Korean apart much further than ours: only the server sees what is too long.
SAID = (
    "My name is Ines and I prefer tea. 밤에는 온실 북쪽 창문을 꼭 닫아야 하고 바람을 막아야 해요.",
    "파란 상자에는 예비 퓨즈가 들어 있어요. 열쇠는 문 뒤에 걸려 있고 금요일까지 그대로 두세요.",
    "마라는 매일 아침 여섯 시에 확인해요. 물은 이틀에 한 번만 주면 됩니다. "
    "토마토 모종은 아직 작아요. 바람이 불면 모종이 상할 수 있으니 조심하세요. "
    "내일 다시 이야기해요.",
    "What is my name?",
)


@needs_model
def test_a_real_overflow_recovers_and_the_talk_becomes_memory(tmp_path: Path) -> None:
    async def main() -> None:
        model = EmbeddedModel(models_dir(), window=512)
        config = default_config()
        late = config.compaction.replace(trigger_messages=0, trigger_tokens=400)
        short = config.replace(agent=config.agent.replace(max_output=24), compaction=late)
        engine = await open_engine(tmp_path, endpoints=Endpoints.only(model), config=short)
        events: list[object] = []
        engine.events.subscribe(events.append)
        try:
            await engine.index_ready()
            session = await engine.do.new_session()
            for text in SAID:
                done = await engine.do.send(session, text)
                assert done.state == "finished", f"{done.error} {done.remedy}"
                assert done.reply.strip()
                assert done.usage.prompt <= 512
            steps = [e for e in events if isinstance(e, Activity)]
            overflows = [e.state for e in steps if e.step == "overflow"]
            assert overflows[:2] == ["started", "finished"]
            (log,) = tmp_path.glob("agents/*/sessions/*.log.jsonl")
            rows = [json.loads(row) for row in log.read_text("utf-8").splitlines()]
            refused = [r for r in rows if r["type"] == "overflow" and r.get("requested")]
            assert refused, "the server itself has refused one"
            assert all(r["requested"] > 512 == r["window"] for r in refused)
            assert [r["type"] for r in rows].count("compaction") >= 1
            said = [r["content"] for r in rows if r.get("role") == "USER"]
            assert len(said) == 4, "each was sent once"
            kinds = [e.kind for e in events if isinstance(e, TurnEvent)]
            assert kinds.count("finished") == 4
            # It has taught how this model counts, and what was said became memory.
            kept = json.loads((tmp_path / ".palimpsest/windows.json").read_text("utf-8"))
            assert 1.1 < next(iter(kept["ratios"].values())) < 4
            assert await engine.drain(60)
            (day,) = await engine.ask.days()
            assert "tea" in (tmp_path / day.path).read_text("utf-8")
            found = await engine.ask.search(Query("tea"))
            assert {hit.layer for hit in found.hits} >= {"daily"}
        finally:
            await engine.close()

    asyncio.run(asyncio.wait_for(main(), 300))
