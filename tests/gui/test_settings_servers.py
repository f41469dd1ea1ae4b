"""Servers and keys in the settings: added, asked, used, and named before anything is sent there."""

from __future__ import annotations

import asyncio
import dataclasses
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLineEdit

from app.engine.events import Bus
from app.gui.panes.settings.models import ModelsPage
from app.gui.panes.settings.pane import SettingsPane
from app.gui.panes.settings.server_sheet import ServerSheet
from app.gui.widgets.dialogs import Question
from app.gui.widgets.pane import Desk
from app.personal import Personal
from tests.helpers.fake_server import FakeServer, Reply
from tests.helpers.panes import Until
from tests.helpers.settings_place import (
    Engine,
    engine_of,
    section,
    shown_settings,
    words,
)

MODELS = Reply(body={"data": [{"id": "qwen3-8b", "max_model_len": 32_768, "owned_by": "vllm"},
                              {"id": "搜-模型"}]})  # fmt: skip


@pytest.fixture
def engine(desk: Desk, bus: Bus, person: Personal) -> Engine:
    return engine_of(desk, bus, person)


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot: Any, qloop: Any) -> Iterator[SettingsPane]:
    yield from shown_settings(desk, qtbot, qloop)


def test_a_server_is_added_asked_and_used_at_once(
    pane: SettingsPane, engine: Engine, person: Personal, qloop: Any, until: Until
) -> None:
    page: ModelsPage = section(pane, qloop, "models")

    async def main() -> None:
        async with FakeServer(routes={"/v1/models": MODELS}) as server:
            page.add_server()
            sheet = pane.window().findChildren(ServerSheet)[0]
            sheet.name.setText("mine")
            sheet.address.setText(f"http://{server.host}")  # a bare server gets /v1
            sheet.model.setText("qwen3-8b")
            await sheet.probe()
            assert sheet.told.text() == "vLLM answers, 2 models"
            sheet.submit()
            await until(lambda: "mine" in page.cards)
            await until(lambda: "answers" in page.cards["mine"].told.text())
            assert "32,768" in words(page.table)
            await page.choose("chat", "mine")
            assert engine.used[-1][1].chat == "mine"
            assert engine.used[-1][0]["mine"].url == server.base_url
            stored = tomllib.loads(Path(person.path).read_text("utf-8"))
            assert stored["endpoints"]["mine"]["model"] == "qwen3-8b"
            assert stored["models"] == {"chat": "mine"}
            page.edit_server("mine")
            again = pane.window().findChildren(ServerSheet)[-1]
            again.name.setText("renamed")
            again.submit()
            await until(lambda: "renamed" in page.cards)
            assert engine.used[-1][1].chat == "renamed"  # the role follows the name
            await pane.tasks.end()

    qloop.run_until_complete(main())


def test_a_key_goes_to_no_file_and_the_window_says_where_it_is(
    pane: SettingsPane, engine: Engine, person: Personal, qloop: Any, until: Until, tmp_path: Path
) -> None:
    page: ModelsPage = section(pane, qloop, "models")

    async def main() -> None:
        page.add_server("http://127.0.0.1:9/v1", "mine")
        sheet = pane.window().findChildren(ServerSheet)[0]
        assert sheet.key.echoMode() == QLineEdit.EchoMode.Password
        sheet.key.setText("sk-secret-123")
        sheet.submit()
        await until(lambda: "mine" in page.cards)
        await until(lambda: "key for this run only" in page.cards["mine"].key.text())
        assert await person.key_source("http://127.0.0.1:9/v1") == "for this run only"
        await pane.tasks.end()

    qloop.run_until_complete(main())
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"sk-secret-123" not in file.read_bytes()


def test_another_host_is_named_before_it_is_used(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    page: ModelsPage = section(pane, qloop, "models")

    async def main() -> None:
        page.add_server("https://api.example.com/v1", "far")
        sheet = pane.window().findChildren(ServerSheet)[0]
        assert "will be sent to api.example.com" in sheet.host.text()
        sheet.close_sheet()
        far = page._desk.person.server(url="https://api.example.com/v1")  # type: ignore[union-attr]
        await pane.keep.personal("far", lambda now: dataclasses.replace(now, servers={"far": far}))
        for answer, chat in (("", "builtin"), ("go", "far")):
            task = asyncio.ensure_future(page.choose("chat", "far"))
            await until(lambda: pane.window().findChildren(Question))
            pane.window().findChildren(Question)[0].answer(answer)
            await task
            assert pane.keep.values is not None
            assert pane.keep.values.roles.chat == chat  # type: ignore[attr-defined]
        await page.choose("chat", "builtin")
        await page.choose("chat", "far")  # asked once for each host
        await pane.tasks.end()

    qloop.run_until_complete(main())


def test_removing_a_server_in_use_falls_back_and_can_be_undone(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    page: ModelsPage = section(pane, qloop, "models")

    async def main() -> None:
        server = page._desk.person.server(url="http://127.0.0.1:9/v1")  # type: ignore[union-attr]
        await pane.keep.personal(
            "x",
            lambda now: dataclasses.replace(
                now, servers={"x": server}, roles=now.roles.replace(chat="x", memory="x:big")
            ),
        )
        task = asyncio.ensure_future(page.remove_server("x"))
        await until(lambda: pane.window().findChildren(Question))
        question = pane.window().findChildren(Question)[0]
        assert "in use for chat, memory" in words(question)
        question.answer("go")
        await task
        assert engine.used[-1][0] == {}
        assert (engine.used[-1][1].chat, engine.used[-1][1].memory) == ("builtin", "")
        await pane.keep.undo()
        assert engine.used[-1][1].memory == "x:big"
        await pane.tasks.end()

    qloop.run_until_complete(main())
