"""The help pages say what is so: their examples run, their links lead somewhere."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from app.resources import read_resource
from tests.helpers.fake_server import FakeServer, Reply, Seen, call, say, use
from tests.helpers.waiting import run

ROOT = Path(__file__).parents[2]
SERVER = "http://127.0.0.1:8080/v1"


def _answer(seen: Seen) -> Reply:
    """A model that says yes, and asks for the weather once when somebody wants to know it."""
    last = seen.body["messages"][-1]
    if last["role"] == "user" and "weather" in str(last["content"]):
        return use(call("weather", {"city": "Oslo"}))
    return say("Yes, ", "noted.")


def test_the_examples_of_the_embedding_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = read_resource("help/embed.md")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6

    async def main() -> None:
        async with FakeServer(_answer) as server:
            names: dict[str, object] = {"__name__": "embedding"}
            for number, block in enumerate(blocks, 1):
                assert block.count("http://") == block.count(SERVER)
                code = compile(
                    block.replace(SERVER, server.base_url),
                    f"embed.md, block {number}",
                    "exec",
                    flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                )
                running = eval(code, names)
                if running is not None:
                    await running

    run(main())
    assert "5 December" in (tmp_path / "my-workspace" / "MEMORY.md").read_text("utf-8")


@pytest.mark.parametrize("page", ["README.md", "app/gui/README.md", "packaging/README.md"])
def test_what_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    links = re.findall(r"\]\(((?!https?:)[^)#]+)\)", text)
    places = re.findall(r"`((?:app|resources|packaging|tests)/[\w./]*)`", text)
    gone = [name for name in (*links, *places) if not os.path.exists(ROOT / name)]
    assert gone == []
