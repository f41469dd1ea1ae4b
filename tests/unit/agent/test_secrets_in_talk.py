"""Keys in user text, tool output and answers never reach daily log, MEMORY.md or index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.engine.agent.tools import tool
from app.engine.config import EngineConfig, MemoryConfig
from app.engine.events import Activity
from app.engine.records import Decision, Query
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on

# Shaped like keys, and made of nothing; in halves, so that no scanner takes them for real ones.
BODY = "MIIBVgIBADANBgkqhkiG9w0BAQ"
SECRETS = {
    "openai": ("API key", "sk-" + "proj" + "A1b2C3d4" * 5),
    "github": ("token", "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"),
    "aws": ("access key", "AKIA" + "QWERTYUIOPASDFGH"),
    "pem": (
        "private key",
        "-----BEGIN " + f"PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n-----END " + "PRIVATE KEY-----",
    ),
    "url": ("password", "postgres://" + "ines:" + "hunter2pass" + "@db.example/ledger"),
}
NAKED = {name: secret for name, (_, secret) in SECRETS.items()} | {
    "pem": BODY, "pem, next line": BODY[::-1], "url": "hunter2pass",
}  # fmt: skip
MASKED = {name: f"[masked: {kind}]" for name, (kind, _) in SECRETS.items()} | {
    "url": "postgres://ines:[masked: password]@db.example/ledger"
}
CONTROLS = {
    "hash": "3f786850e387550fdab836ed7e6dc881de23001b",
    "uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "library": "sk-learn",
    "image": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "signature": '"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"',
}
PLACES = ("person", "tool", "model")


def told(place: str) -> str:
    """Everything, said at one place: a person's message, a tool's result, a model's answer."""
    values = {name: secret for name, (_, secret) in SECRETS.items()} | CONTROLS
    return "\n".join(f"{place} {name} is {value} |" for name, value in values.items())


def halves(text: str) -> list[str]:
    """The text as a stream that breaks in the middle of each secret."""
    cuts = [text.index(s) + len(s) // 2 for _, s in SECRETS.values()]
    ends = [*cuts, len(text)]
    return [text[a:b] for a, b in zip([0, *cuts], ends, strict=True)]


def model(seen: Seen) -> Reply:
    """Repeats to the memory every value it is shown, word for word."""
    messages = seen.body["messages"]
    system, last = str(messages[0]["content"]), messages[-1]
    if "NO_REPLY" in system:
        facts = re.findall(rf"((?:{'|'.join(PLACES)}) \w+ is .*?) \|", last["content"], re.DOTALL)
        return say("\n".join(f"- {fact}" for fact in facts) or "NO_REPLY")
    if "sole owner" in system:
        bullets = [f"- {one} {name} is {v}" for one in PLACES for name, v in everything().items()]
        return say("# Memory\n\n" + "\n".join(bullets))
    if last["role"] == "user":
        return use(call("execute", {}, id="c1"))
    return say(*halves(told("model")))


def everything() -> dict[str, str]:
    return {name: secret for name, (_, secret) in SECRETS.items()} | CONTROLS


async def decided(desk: EngineDesk) -> None:
    (waiting,) = await desk.engine.ask.proposals(waiting=True)
    changes = (await desk.engine.ask.proposal(waiting.id)).changes
    await desk.engine.do.apply(waiting.id, [Decision(c.n, "accept") for c in changes])


def running(output: str) -> Any:
    async def work(_arguments: dict[str, Any]) -> str:
        return output

    return tool("execute", "Run a command.", work)


@pytest.mark.case("B85")
def test_keys_are_masked_before_they_are_kept_and_the_mask_is_seen(tmp_path: Path) -> None:
    async def main() -> None:
        config = EngineConfig(memory=MemoryConfig(policy="review"))
        tools = [running(told("tool"))]
        async with engine_on(tmp_path, model, config=config, tools=tools) as desk:
            await desk.engine.index_ready()
            await desk.send(told("person"))
            await desk.engine.drain()
            await decided(desk)
            await desk.engine.do.remember(told("saved"))
            (day,) = await desk.engine.ask.days()
            daily = (tmp_path / day.path).read_text(encoding="utf-8")
            memory = (tmp_path / "MEMORY.md").read_text(encoding="utf-8")
            for text in (daily, memory):
                for name, naked in NAKED.items():
                    assert naked not in text, name
                for place in (*PLACES, "saved"):
                    for name, mask in MASKED.items():
                        assert f"{place} {name} is {mask}" in text
                    for name, control in CONTROLS.items():
                        assert f"{place} {name} is {control}" in text
            await not_found(desk)
            for name, control in CONTROLS.items():
                found = await desk.engine.ask.search(Query(f'"{control}"', limit=100))
                assert {hit.layer for hit in found.hits} >= {"memory", "daily", "sessions"}, name
            await shown(desk, day.path)

    run(main())


async def not_found(desk: EngineDesk) -> None:
    """No secret, and no part of one, leads anywhere; and no hit shows one."""
    for name, naked in NAKED.items():
        word = max(re.findall(r"[A-Za-z0-9]+", naked), key=len)
        for text in (f'"{naked}"', f'"{naked[-9:]}"', f"{word[:9]}*"):
            found = await desk.engine.ask.search(Query(text))
            assert [hit.path for hit in found.hits] == [], (name, text)
    for place in PLACES:
        found = await desk.engine.ask.search(Query(f"{place} is", limit=200))
        assert found.hits
        for naked in NAKED.values():
            assert naked not in str([hit.text for hit in found.hits])


async def shown(desk: EngineDesk, day: str) -> None:
    """A person sees that something was masked, and where: in the log, in MEMORY.md, in a search,
    and in what is said of the flush."""
    log = await desk.engine.ask.day(day)
    lines = [line for section in log.sections for line in section.lines]
    raw = (desk.folder / day).read_text(encoding="utf-8").split("\n")
    masks = [line for line in lines if "[masked: " in line.text]
    assert len(masks) == len(MASKED) * (len(PLACES) + 1)
    assert all("[masked: " in raw[line.line - 1] for line in masks)
    found = await desk.engine.ask.search(Query('"masked: access key"', limit=100))
    memory = (await desk.engine.ask.memory()).text.split("\n")
    hits = [hit for hit in found.hits if hit.layer == "memory"]
    assert len(hits) == len(PLACES) + 1
    assert all("aws is [masked: access key]" in memory[hit.line - 1] for hit in hits)
    said = [e.detail["masked"] for e in desk.events if isinstance(e, Activity) and
            e.step == "flush" and e.state == "finished"]  # fmt: skip
    kinds = [kind for kind, _ in SECRETS.values()]
    assert sorted(said[0]) == sorted(kinds * len(PLACES))


@pytest.mark.case("B85")
def test_keys_in_texts_of_others_are_not_in_the_index(tmp_path: Path) -> None:
    """A person's MEMORY.md and its versions, another program's log, and the file of a long result
    stay as they are; what can be searched of them is masked, also where a key goes over several
    lines or over the edge between two pieces of a long one."""

    async def main() -> None:
        openai, github = SECRETS["openai"][1], SECRETS["github"][1]
        one_line = "".join(f"{'x' * (1_990 - n)} {openai} {github} " for n in range(40))
        output = f"{told('tool')}\n{one_line}\n{CONTROLS['hash']}\n" + "and so on\n" * 9_000
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory" / "2026-06-02.md").write_text(told("person"), encoding="utf-8")
        (tmp_path / "MEMORY.md").write_text(told("model"), encoding="utf-8")
        scripts = (use(call("execute", {}, id="c1")), say("Long."))
        tools = [running(output)]
        config = EngineConfig(memory=MemoryConfig(policy="review"))
        async with engine_on(tmp_path, *scripts, config=config, tools=tools) as desk:
            await desk.engine.index_ready()
            now = await desk.engine.ask.memory()
            assert now.text == told("model")
            await desk.engine.do.write_memory("- All gone\n", now.sha256)
            await desk.send("Go")
            await desk.engine.drain()
            (kept,) = await desk.engine.ask.evicted()
            await desk.engine.do.reindex()
            await desk.engine.drain()
            assert (tmp_path / kept.path).read_text(encoding="utf-8") == output
            await not_found(desk)
            found = await desk.engine.ask.search(Query(CONTROLS["hash"], limit=100))
            layers = {place.layer for hit in found.hits for place in (hit, *hit.places)}
            assert layers >= {"evicted", "daily", "history"}
        for index in (tmp_path / ".palimpsest").glob("index.db*"):
            for name, naked in NAKED.items():
                assert naked.encode() not in index.read_bytes(), name

    run(main())
