"""Other servers and roles while the engine is open; what comes next and what was moved."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.engine import Engine
from app.engine.events import Changed
from app.engine.llm.keys import Keys
from app.engine.llm.roles import EndpointSettings, RoleSettings
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout
from app.settings import UserSettings
from app.startup import make_endpoints
from tests.helpers.fake_server import FakeServer, say

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.engine.llm.keys._from_keyring", lambda _origin: "")
    monkeypatch.setattr("app.engine.llm.keys._to_keyring", lambda _origin, _text: False)


async def opened(folder: Path, keys: Keys, *servers: FakeServer, **more: Any) -> Engine:
    settings = UserSettings(
        servers={f"s{n}": EndpointSettings(url=one.base_url) for n, one in enumerate(servers)},
        roles=RoleSettings(chat="s0" if servers else "builtin"),
    )
    config = EngineConfig(memory=MemoryConfig(policy="review"))
    return await Engine.open(
        folder, make_endpoints(settings, keys), config=config, watch=False, **more
    )


def test_another_server_answers_the_next_turn_and_a_running_reply_keeps_its_own(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        slow, other = FakeServer(say("one ", "two", pause=0.3)), FakeServer(say("three"))
        async with slow, other:
            engine = await opened(tmp_path, Keys({}), slow)
            told: list[Changed] = []
            engine.events.subscribe(lambda e: told.append(e) if isinstance(e, Changed) else None)
            session = await engine.do.new_session()
            turn = asyncio.create_task(engine.do.send(session, "Hello"))
            while not slow.requests:
                await asyncio.sleep(0.01)
            old = engine.endpoints.role("chat")
            servers = {"new": EndpointSettings(url=other.base_url)}
            await engine.do.use_models(servers, RoleSettings(chat="new"), initiator="me")
            assert any("settings" in e.kinds and e.initiator == "me" for e in told)
            assert engine.endpoints.role("chat") is not old
            first = await turn
            assert (first.state, first.reply) == ("finished", "one two")
            assert not slow.requests[0].aborted
            second = await engine.do.send(session, "And now?")
            assert second.reply == "three"
            assert len(slow.requests) == 1
            await engine.close(0.5)

    asyncio.run(main())


def test_a_new_key_is_sent_from_the_next_request_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("yes")) as server:
            keys = Keys({})
            engine = await opened(tmp_path, keys, server)
            session = await engine.do.new_session()
            await engine.do.send(session, "Hello")
            assert await keys.store(server.base_url, "sk-new") == "for this run only"
            roles, servers = engine.endpoints.roles, engine.endpoints.servers
            await engine.do.use_models(servers, roles)
            await engine.do.send(session, "Again")
            assert server.requests[-1].headers["authorization"] == "Bearer sk-new"
            assert (await engine.ask.model()).key_source == "for this run only"
            await engine.close(0.5)

    asyncio.run(main())


def test_models_put_by_a_program_stay(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeServer() as server:
            engine = await opened(tmp_path, Keys({}), server)
            own = engine.endpoints.resolve("s0")
            engine.endpoints.use("scripted", own)
            await engine.do.use_models({}, RoleSettings(chat="scripted"))
            assert engine.endpoints.role("chat") is own
            await engine.close(0.5)

    asyncio.run(main())


def test_what_comes_next_is_the_waiting_lines_and_the_next_round(tmp_path: Path) -> None:
    async def main() -> None:
        engine = await opened(tmp_path, Keys({}), clock=lambda: NOW)
        await asyncio.sleep(0)
        due = await engine.ask.upcoming()
        assert [(one.kind, one.when) for one in due] == [("maintain", NOW + timedelta(hours=6))]
        layout = Layout.at(tmp_path)
        append_section(layout, kind="flush", text="- one\n- two\n", now=NOW)
        first, second = await engine.ask.upcoming()
        assert (first.kind, first.when) == ("consolidate", None)
        assert "2 lines waiting" in first.reason
        assert second.kind == "maintain"
        await engine.close(0.5)

    asyncio.run(main())


def test_moves_are_told_by_run_with_their_rule(tmp_path: Path) -> None:
    async def main() -> None:
        old = NOW - timedelta(days=200)
        engine = await opened(tmp_path, Keys({}), clock=lambda: NOW)
        append_section(Layout.at(tmp_path), kind="flush", text="- an old fact\n", now=old)
        preview = await engine.ask.retention_preview()
        assert [one.step for one in preview] == ["archive"]
        job = await engine.do.maintain()
        await engine.drain(20)
        (move,) = await engine.ask.moves(job)
        assert (move.step, move.source) == ("archive", preview[0].path)
        assert (tmp_path / move.target).exists()
        assert "90 days" in move.rule
        assert await engine.ask.moves("another") == []
        assert await engine.ask.moves() == [move]
        await engine.close(0.5)

    asyncio.run(main())
