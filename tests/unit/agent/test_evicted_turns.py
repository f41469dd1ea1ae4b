"""Results that were put aside, read back by the model; and writes that go through another name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.engine.agent.tools import tool
from app.engine.config import CompactionConfig, EngineConfig
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

LONG = json.dumps({"rows": ["你好, 世界 😀 and a line of a table"] * 9_000}, ensure_ascii=False)


def roomy() -> EngineConfig:
    return without_memory(
        EngineConfig(compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0))
    )


def giving(output: str) -> Any:
    async def work(_arguments: dict[str, Any]) -> str:
        return output

    return tool("execute", "Run a command.", work)


def evicted_path(desk: EngineDesk) -> str:
    rows = [json.loads(line) for line in desk.log().splitlines()]
    return next(row["file"] for row in rows if row["type"] == "eviction")


class Reader:
    """A model that puts a long result aside and then pages through it, as it is told to go on."""

    def __init__(self, first: dict[str, Any]) -> None:
        self.first = first
        self.placeholder = ""
        self.pages: list[str] = []

    def __call__(self, seen: Seen) -> Reply:
        last = seen.body["messages"][-1]
        if last["role"] == "user":
            return use(call("execute", {}, id="c0"))
        content = last["content"]
        if not self.placeholder:
            self.placeholder = content
            path = re.search(r'path "([^"]+)"', content)
            assert path is not None
            self.first["path"] = path.group(1)
            if not self.first.keys() - {"path"}:  # nothing chosen: what the placeholder advises
                for name in ("charOffset", "charLimit"):
                    self.first[name] = advised(content, name)
            return use(call("read_file", self.first, id="c1"))
        page, _, hint = content.partition("\n\n[Characters ")
        self.pages.append(page)
        onward = re.search(r"charOffset=(\d+)", hint)
        if onward is None:
            return say("All read.")
        more = {"path": self.first["path"], "charOffset": int(onward.group(1))}
        return use(call("read_file", more, id=f"c{len(self.pages) + 1}"))


def advised(placeholder: str, name: str) -> int:
    found = re.search(rf"{name} (\d+)", placeholder)
    assert found is not None
    return int(found.group(1))


@pytest.mark.case("B71")
@pytest.mark.parametrize("by", ["lines", "advice"])
def test_an_evicted_line_is_read_back_in_pages(tmp_path: Path, by: str) -> None:
    async def main() -> None:
        # The placeholder shows the first 2,000 characters and says to go on from there.
        model = Reader({"offset": 1, "limit": 1} if by == "lines" else {})
        async with engine_on(
            tmp_path, model, config=roomy(), tools=[giving(LONG)], window=400_000
        ) as desk:
            done = await desk.send("Read it all")
            assert done.reply == "All read.", done.error
            assert len(LONG.encode()) > 400_000
            assert "\n" not in LONG
            assert advised(model.placeholder, "charOffset") == 2_000
            start = "" if by == "lines" else LONG[:2_000]
            assert start + "".join(model.pages) == LONG
            assert start in model.placeholder
            limit = EngineConfig().eviction.max_result_chars
            sent = [m["content"] for m in desk.sent() if m["role"] == "tool"]
            assert max(map(len, sent)) <= limit
            assert desk.log().count('"type":"eviction"') == 1

    run(main())


@pytest.mark.case("B72")
def test_the_tool_the_placeholder_names_is_there_and_a_missing_file_is_told(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        home, elsewhere, changed = (tmp_path / name for name in ("home", "elsewhere", "changed"))
        model = Reader({"charOffset": 0, "charLimit": 100})
        async with engine_on(
            home, model, config=roomy(), tools=[giving(LONG)], window=400_000
        ) as desk:
            await desk.send("Go")
            offered = [t["function"]["name"] for t in desk.server.requests[1].body["tools"]]
            assert "read_file" in offered
            assert model.pages[0] == LONG[:100]
            session, path = desk.session, evicted_path(desk)

        async def read_again(folder: Path) -> str:
            shutil.copytree(home / "agents", folder / "agents")
            again = use(call("read_file", {"path": path, "charLimit": 50}, id="d1"))
            async with engine_on(folder, again, say("Hm."), config=roomy(), window=400_000) as desk:
                await desk.engine.do.send(session, "Once more")
                return str(desk.sent()[-1]["content"])

        # On another machine: the log came along, the file did not. What the log holds is enough.
        assert (await read_again(elsewhere)).startswith(LONG[:50])
        assert (elsewhere / path).read_text(encoding="utf-8") == LONG
        # A log that no longer holds that text: an honest answer, nothing invented.
        for log in home.glob("agents/*/sessions/*.log.jsonl"):
            log.write_text(log.read_text(encoding="utf-8").replace("table", "fable"), "utf-8")
        told = await read_again(changed)
        assert "table" not in told
        assert "fable" not in told
        assert "no" in told.lower()
        assert not (changed / path).exists()

    run(main())
