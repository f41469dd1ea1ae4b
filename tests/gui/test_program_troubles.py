"""What is wrong with a workspace or a server is a sentence with a remedy, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget

from app import startup
from app.engine.engine import Engine
from app.engine.llm.configured import ConfiguredEndpoint
from app.engine.llm.keys import Keys
from app.engine.llm.roles import Endpoints, EndpointSettings, RoleSettings
from app.gui.bridge.single import Doorbell
from app.gui.widgets.labels import Link
from app.gui.widgets.notices import NoticeBar
from app.program import refusal
from app.showing import Showing, crash_folder
from tests.helpers.fake_server import FakeServer, Reply, error, say

Drive = Callable[[Showing], Awaitable[None]]


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PALIMPSEST_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


def on(url: str) -> Callable[[Path], Any]:
    """What opens an engine that talks to the server at `url`."""

    async def open_engine(folder: Path) -> Engine:
        settings = EndpointSettings(url=url, model="m", window=32_000, trust_with_memory=True)

        def make(_name: str, one: EndpointSettings) -> ConfiguredEndpoint:
            return ConfiguredEndpoint(one, Keys({}))

        endpoints = Endpoints(
            {"fake": settings}, RoleSettings(chat="fake"), make, lambda: make("", settings)
        )
        config = startup.default_config()
        config = config.replace(agent=config.agent.replace(memory_hooks=False))
        return await Engine.open(folder, endpoints, config=config, watch=False)

    return open_engine


def told(show: Showing) -> dict[str, str]:
    """Every notice on screen: its cause and what is said after it."""
    bars = show.window.findChildren(NoticeBar)
    return {bar.cause.text(): bar.text.text() for bar in bars if bar.isVisibleTo(show.window)}


def driven(
    loop: asyncio.AbstractEventLoop, folder: Path, drive: Drive, url: str = "http://127.0.0.1:9/v1"
) -> None:
    """Show `folder` in a window, let `drive` do its work, and close it."""

    async def main() -> None:
        show = Showing(folder, demo=False, open_engine=on(url))
        show.show()
        try:
            await asyncio.wait_for(show.begin(), 20)
            await drive(show)
        finally:
            show.window.close()
            await show.end()

    loop.run_until_complete(main())


async def until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, "still not so"
        await asyncio.sleep(0.02)


# ---------------------------------------------------------------------------- the workspace


def test_a_file_in_a_workspaces_place_can_be_tried_again(qloop, tmp_path: Path) -> None:
    place = tmp_path / "Garden"
    place.write_text("I am a letter.")

    async def drive(show: Showing) -> None:
        assert show.engine is None
        [(cause, remedy)] = told(show).items()
        assert "Garden" in cause
        assert remedy
        show.window.run_action(show.window.catalogue.get("go.memory"))
        show.window.run_action(show.window.catalogue.get("memory.undo"))
        await asyncio.sleep(0.05)
        assert show.window.place() == "", "there is nothing to show a place of"
        assert place.read_text() == "I am a letter."
        place.rename(tmp_path / "letter.txt")
        place.mkdir()
        show._open_again()
        await asyncio.wait_for(show.opened.wait(), 20)
        assert show.window.place() == "memory", "what was asked for meanwhile"

    driven(qloop, place, drive)


def test_a_folder_that_is_gone_keeps_the_open_workspace(qloop, tmp_path: Path) -> None:
    folder = tmp_path / "Garden"
    folder.mkdir()

    async def drive(show: Showing) -> None:
        show.window.workspace_wanted.emit(str(tmp_path / "Attic"))
        assert "Attic is no folder." in told(show)
        assert not show.ended.is_set()
        assert show.wanted is None

    driven(qloop, folder, drive)


def test_a_workspace_of_another_window_is_raised_and_this_one_stays(qloop, tmp_path: Path) -> None:
    folder, other = tmp_path / "Garden", tmp_path / "Attic"
    folder.mkdir()
    other.mkdir()
    rung: list[bool] = []
    bell = Doorbell(str(other))
    bell.rang.connect(lambda: rung.append(True))

    async def drive(show: Showing) -> None:
        show.window.workspace_wanted.emit(str(other))
        assert "Attic is open in another window." in told(show)
        assert show.wanted is None
        await until(lambda: rung)
        bell.close()
        show.window.workspace_wanted.emit(str(other))
        assert show.wanted == other
        assert show.ended.is_set()

    driven(qloop, folder, drive)


def test_a_newer_format_is_open_for_reading_only(qloop, tmp_path: Path) -> None:
    folder = tmp_path / "Garden"
    (folder / ".palimpsest").mkdir(parents=True)
    (folder / ".palimpsest" / "format").write_text("99\n")
    (folder / "MEMORY.md").write_text("- The boat is called Selkie.\n")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    async def drive(show: Showing) -> None:
        await asyncio.wait_for(show.opened.wait(), 20)
        notices = told(show)
        cause = next(cause for cause in notices if "newer version" in cause)
        assert "reading only" in notices[cause]
        assert show.engine is not None
        assert "Selkie" in (await show.engine.ask.memory()).text

    driven(qloop, folder, drive)
    assert before == {p: p.read_bytes() for p in folder.rglob("*") if p in before}


def test_a_config_that_is_not_understood_stays_and_is_told(qloop, tmp_path: Path) -> None:
    folder = tmp_path / "Garden"
    (folder / ".palimpsest").mkdir(parents=True)
    config = folder / ".palimpsest" / "config.toml"
    config.write_text("[memory\n")

    async def drive(show: Showing) -> None:
        await asyncio.wait_for(show.opened.wait(), 20)
        notices = told(show)
        cause = next(cause for cause in notices if "config.toml" in cause)
        assert "defaults" in notices[cause]

    driven(qloop, folder, drive)
    assert config.read_text() == "[memory\n"


def test_settings_that_are_not_understood_can_be_mended_and_tried_again(
    qloop, tmp_path: Path
) -> None:
    folder = tmp_path / "Garden"
    folder.mkdir()
    settings = startup.settings_file()
    settings.parent.mkdir(parents=True)
    settings.write_text("[models\n")

    async def main() -> None:
        show = Showing(folder, demo=False)
        show.show()
        await show.begin()
        assert show.engine is None
        [(cause, remedy)] = told(show).items()
        assert "settings.toml" in cause
        assert remedy
        assert settings.read_text() == "[models\n"
        settings.write_text('[endpoints.a]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
                            'window = 32000\n\n[models]\nchat = "a"\n')  # fmt: skip
        [link] = [w for w in show.window.findChildren(Link) if w.text() == "Try again"]
        link.click()
        await asyncio.wait_for(show.opened.wait(), 20)
        await until(lambda: cause not in told(show))
        show.window.close()
        await show.end()

    qloop.run_until_complete(main())


def test_a_damaged_session_index_is_made_again_and_the_sessions_are_there(
    qloop, tmp_path: Path
) -> None:
    folder = tmp_path / "Garden"
    folder.mkdir()

    async def main() -> None:
        async with FakeServer(say("Hello")) as server:
            engine = await on(server.base_url)(folder)
            session = await engine.do.new_session()
            await engine.do.send(session, "Where is the boat?")
            await engine.ask.sessions()
            await engine.close()

    qloop.run_until_complete(main())
    index = next(folder.glob("agents/*/sessions/sessions.json"))
    index.write_text('{"sessions": {"s-1": [')

    async def drive(show: Showing) -> None:
        rows = show.window.sidebar.sessions.rows_model
        await until(lambda: [row.title for row in rows.rows()] == ["Where is the boat?"])

    driven(qloop, folder, drive)


def test_memory_in_utf_16_is_told_with_a_remedy_and_left_as_it_is(qloop, tmp_path: Path) -> None:
    folder = tmp_path / "Garden"
    folder.mkdir()
    foreign = "\ufeff- 我的船叫塞尔基\n".encode("utf-16-le")
    (folder / "MEMORY.md").write_bytes(foreign)

    async def main() -> None:
        async with FakeServer(say("Hello")) as server:
            show = Showing(folder, demo=False, open_engine=on(server.base_url))
            show.show()
            await show.begin()
            assert show.engine is not None
            session = await show.engine.do.new_session()
            for _ in range(2):
                assert (await show.engine.do.send(session, "Hi")).reply == "Hello"
            causes = [cause for cause in show.window.notices.causes() if "MEMORY.md" in cause]
            assert len(causes) == 1
            assert "UTF-8" in told(show)[causes[0]]
            show.window.close()
            await show.end()

    qloop.run_until_complete(main())
    assert (folder / "MEMORY.md").read_bytes() == foreign


# ---------------------------------------------------------------------------- the server


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (None, "Start the server"),
        (error(401, {"error": {"message": "Invalid API Key", "code": 401}}), "key"),
    ],
    ids=["unreachable", "wrong key"],
)
def test_a_model_that_does_not_answer_is_told_in_the_chat(
    qloop, tmp_path: Path, answer: Reply | None, word: str
) -> None:
    folder = tmp_path / "Garden"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("You are kind.")

    async def main() -> None:
        async with FakeServer(answer or say("never")) as server:
            url = server.base_url if answer else "http://127.0.0.1:9/v1"
            show = Showing(folder, demo=False, open_engine=on(url))
            show.show()
            await show.begin()
            assert show.engine is not None
            session = await show.engine.do.new_session()
            show.window.open_session(session)
            await asyncio.sleep(0.2)
            result = await show.engine.do.send(session, "Are you there?")
            assert result.state == "failed"
            await until(lambda: any(word in text for text in words(show.window)))
            log = next(folder.glob(f"agents/*/sessions/{session}.log.jsonl"))
            assert "Are you there?" in log.read_text()
            show.window.close()
            await show.end()

    qloop.run_until_complete(main())


def words(window: QWidget) -> list[str]:
    """Every text on screen: labels, and what painted views say of themselves."""
    found: list[str] = []
    for widget in window.findChildren(QWidget):
        if widget.isVisibleTo(window):
            found.append(widget.accessibleName())
            text = getattr(widget, "text", None)
            if callable(text):
                found.append(str(text()))
            said = getattr(widget, "toPlainText", None)
            if callable(said):
                found.append(str(said()))
    return found


# ---------------------------------------------------------------------------- the program itself


def test_a_crash_of_the_last_run_is_told_once(qloop, tmp_path: Path) -> None:
    folder = tmp_path / "Garden"
    folder.mkdir()
    crash_folder().mkdir(parents=True)
    (crash_folder() / "crash-77.txt").write_text("Fatal Python error: Segmentation fault\n")

    async def first(show: Showing) -> None:
        assert "Palimpsest ended without warning the last time." in told(show)

    async def second(show: Showing) -> None:
        assert "Palimpsest ended without warning the last time." not in told(show)

    driven(qloop, folder, first)
    driven(qloop, folder, second)
    assert "Segmentation fault" in (crash_folder() / "last-crash.txt").read_text()


def test_bugs_that_come_together_are_one_dialog_and_then_one_more(qloop, tmp_path: Path) -> None:
    folder = tmp_path / "Garden"
    folder.mkdir()

    async def drive(show: Showing) -> None:
        from app.gui.widgets.dialogs import Question

        def open_ones() -> list[Question]:
            return [q for q in show.window.findChildren(Question) if q.isVisible()]

        for n in range(5):
            show.faults.report(ValueError(f"number {n}"))
        await until(open_ones)
        assert len(open_ones()) == 1
        open_ones()[0].answer("go")
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        await until(open_ones)
        assert len(open_ones()) == 1
        shown = " ".join(words(open_ones()[0]))
        assert all(f"number {n}" in shown for n in range(1, 5))
        open_ones()[0].answer("go")
        await until(lambda: open_ones() == [])

    driven(qloop, folder, drive)


@pytest.mark.parametrize(
    ("python", "pyside", "refused"),
    [
        ((3, 11, 7), (6, 11, 3), False),
        ((3, 11, 7), (6, 12, 0), True),
        ((3, 11, 7), (7, 0, 0), True),
        ((3, 12, 1), (6, 12, 0), False),
    ],
)
def test_a_pair_of_versions_that_crashes_is_refused_in_words(
    python: tuple[int, ...], pyside: tuple[int, ...], refused: bool
) -> None:
    said = refusal(python, pyside)
    assert bool(said) is refused
    assert not refused or "pip install" in said
