"""Keys in user text, tool output and answers never reach daily log, MEMORY.md or index."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from app.engine.agent.tools import tool
from app.engine.config import EngineConfig, MemoryConfig
from app.engine.records import Decision, Query
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.workspaces import engine_on

# Shaped like keys, and made of nothing; in halves, so that no scanner takes them for real ones.
SECRETS = {
    "openai": "sk-" + "proj" + "A1b2C3d4" * 5,
    "github": "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8",
    "aws": "AKIA" + "QWERTYUIOPASDFGH",
    "url": "postgres://" + "ines:" + "hunter2pass" + "@db.example/ledger",
}
PEM = (
    "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIBVgIBADANBgkqhkiG9w0BAQ" * 4 + "\n"
    "-----END " + "PRIVATE KEY-----"
)
CONTROLS = {
    "hash": "3f786850e387550fdab836ed7e6dc881de23001b",
    "uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "library": "sk-learn",
    "image": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "signature": '"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"',
}
BULLETS = "\n".join(
    f"- The {name} value is {text}" for name, text in {**SECRETS, **CONTROLS}.items()
)
NAKED = {
    "openai": SECRETS["openai"], "github": SECRETS["github"], "aws": SECRETS["aws"],
    "url": "hunter2pass", "pem": "MIIBVgIBADANBgkqhkiG9w0BAQ",
}  # fmt: skip


def run(main: Any) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


def model(seen: Seen) -> Reply:
    messages = seen.body["messages"]
    system, last = str(messages[0]["content"]), messages[-1]
    if "NO_REPLY" in system:
        return say(f"{BULLETS}\n- The key of the server is {PEM}")
    if "sole owner" in system:
        return say(f"# Memory\n\n{BULLETS}")
    if last["role"] == "user":
        return use(call("execute", {}, id="c1"))
    half = len(SECRETS["openai"]) // 2
    return say(f"It is {SECRETS['openai'][:half]}", f"{SECRETS['openai'][half:]}, I think.")


def test_keys_are_masked_before_they_are_kept(tmp_path: Path) -> None:
    async def main() -> None:
        async def output(_arguments: dict[str, Any]) -> str:
            return f"{BULLETS}\n{PEM}"

        config = EngineConfig(memory=MemoryConfig(policy="review"))
        tools = [tool("execute", "Run a command.", output)]
        async with engine_on(tmp_path, model, config=config, tools=tools) as desk:
            await desk.engine.index_ready()
            await desk.send(f"Our key is {SECRETS['github']}; the commit is {CONTROLS['hash']}.")
            await desk.engine.drain()
            (day,) = await desk.engine.ask.days()
            daily = (tmp_path / day.path).read_text(encoding="utf-8")
            (waiting,) = await desk.engine.ask.proposals(waiting=True)
            proposal = await desk.engine.ask.proposal(waiting.id)
            await desk.engine.do.apply(
                waiting.id, [Decision(c.n, "accept") for c in proposal.changes]
            )
            memory = (tmp_path / "MEMORY.md").read_text(encoding="utf-8")
            for name, naked in NAKED.items():
                assert naked not in daily, name
                assert naked not in memory, name
                found = await desk.engine.ask.search(Query(f'"{naked}"'))
                assert [hit.path for hit in found.hits] == [], name
            for name, text in CONTROLS.items():
                assert f"- The {name} value is {text}\n" in daily, name
                assert text in memory, name
            found = await desk.engine.ask.search(Query(CONTROLS["hash"]))
            assert {hit.layer for hit in found.hits} >= {"memory", "daily", "sessions"}
            # A person can see that something was masked, and where.
            log = await desk.engine.ask.day(day.path)
            shown = [line for section in log.sections for line in section.lines]
            masked = [line for line in shown if "masked" in line.text.lower()]
            assert len(masked) >= len(SECRETS)
            assert all(line.line for line in masked)

    run(main())
