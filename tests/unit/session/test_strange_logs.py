"""A log that is no file, and one that goes or becomes another while it is open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.errors import StorageError, Unreadable, UserError
from app.engine.session.lines import raw_lines, raw_lines_backwards
from app.engine.session.log import SessionLog
from app.engine.session.recorder import Kit
from app.engine.session.store import SessionStore
from app.engine.workspace.layout import Layout
from tests.helpers.fake_server import say
from tests.helpers.session_parts import load, log_path, new, of_type, said, user
from tests.helpers.workspaces import engine_on, to_the_end

STRANGE = [
    pytest.param(os.mkfifo, id="fifo"),
    pytest.param(os.mkdir, id="folder"),
    pytest.param(lambda path: os.symlink("/dev/zero", path), id="device"),
]


@pytest.mark.parametrize("make", STRANGE)
def test_what_is_no_file_is_refused_by_every_way_into_a_log(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "s-1.log.jsonl"
    make(path)
    log = SessionLog(path)
    for way in (
        log.size,
        lambda: list(log.read()),
        lambda: log.between(0, 10, 0),
        lambda: list(raw_lines(path)),
        lambda: list(raw_lines_backwards(path)),
        log.prepare,
        lambda: load(tmp_path),
    ):
        with pytest.raises(Unreadable, match="not a regular file") as told:
            way()
        assert told.value.remedy
    with pytest.raises(UserError):
        new(tmp_path).add(user("Hello"))
    log.close()


@pytest.mark.parametrize("make", STRANGE)
def test_the_list_shows_a_strange_log_as_unreadable(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    there = SessionStore(Layout(tmp_path, "default"), fsync="never", kit=Kit())
    good = there.create("good")
    good.add(user("Hello"))
    good.close()
    make(Layout(tmp_path, "default").session_log("strange"))
    for _ in range(2):
        assert {i.id: i.failed for i in there.list()} == {"good": False, "strange": True}
    with pytest.raises(Unreadable):
        there.open("strange")
    with pytest.raises(UserError):
        there.create("strange")


@to_the_end
async def test_a_workspace_with_strange_logs_opens_and_finds_the_others(tmp_path: Path) -> None:
    async with engine_on(tmp_path, say("A heron.")) as desk:
        await desk.send("Which bird stands in the water?")
        folder = next(tmp_path.glob("agents/*/sessions"))
        os.mkfifo(folder / "pipe.log.jsonl")
        os.mkdir(folder / "folder.log.jsonl")
    async with engine_on(tmp_path, say("Yes.")) as desk:
        infos = await desk.engine.ask.sessions()
        assert {i.id for i in infos if i.failed} == {"pipe", "folder"}
        with pytest.raises(UserError):
            await desk.engine.do.send("pipe", "Hello")
        assert (await desk.send("Are you sure?")).reply == "Yes."


# ---------------------------------------------------------------------------- replaced


def other_log(folder: Path, count: int, size: int = 0) -> bytes:
    """A log of the same id as another program would have made it, padded to a size."""
    session = new(folder / "other", system_prompt="Another prompt.")
    for n in range(count):
        session.add(user(f"other {n}", f"o{n}"))
    session.close()
    data = log_path(folder / "other").read_bytes()
    return data[:-1] + b" " * (size - len(data)) + data[-1:]


def overwrite(path: Path, data: bytes) -> None:
    """Write into the file itself, as an editor or a copy onto it does."""
    with path.open("r+b") as file:
        file.write(data)


@pytest.mark.parametrize("messages", [1, 5])
@pytest.mark.parametrize("longer", [0, 500])
def test_a_log_another_program_replaced_is_read_anew(
    tmp_path: Path, longer: int, messages: int
) -> None:
    session = new(tmp_path, system_prompt="A prompt. " * 40)
    for n in range(messages):
        session.add(user(f"text {n}", f"m{n}"))
    path = log_path(tmp_path)
    size = path.stat().st_size + longer
    replacement = tmp_path / "replacement"
    replacement.write_bytes(other_log(tmp_path, 2, size))
    assert replacement.stat().st_size == size
    os.replace(replacement, path)

    session.add(user("next", "m9"))
    session.close()
    restored = load(tmp_path)
    assert said(session) == ["other 0", "other 1", "next"] == said(restored)
    assert session.state == restored.state
    assert session.system_prompt == "Another prompt."
    assert [entry["seq"] for entry in of_type(path, "message")] == [2, 3, 4]


@pytest.mark.parametrize("messages", [1, 5])
@pytest.mark.parametrize("longer", [0, 500])
@pytest.mark.parametrize("writing", [True, False], ids=["live", "restored"])
def test_a_log_overwritten_in_place_is_read_anew(
    tmp_path: Path, writing: bool, longer: int, messages: int
) -> None:
    session = new(tmp_path, system_prompt="A prompt. " * 40)
    for n in range(messages):
        session.add(user(f"text {n}", f"m{n}"))
    if not writing:
        session.close()
        session = load(tmp_path)
    path = log_path(tmp_path)
    before = path.stat()
    overwrite(path, other_log(tmp_path, 2, before.st_size + longer))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as within one tick of its clock

    session.add(user("next", "m9"))
    session.close()
    restored = load(tmp_path)
    assert said(session) == ["other 0", "other 1", "next"] == said(restored)
    assert session.state == restored.state
    assert session.system_prompt == "Another prompt."
    assert [entry["seq"] for entry in of_type(path, "message")] == [2, 3, 4]


@pytest.mark.parametrize("way", ["written into the same file", "put in its place"])
def test_a_torn_tail_of_another_log_is_set_aside(tmp_path: Path, way: str) -> None:
    session = new(tmp_path, system_prompt="A prompt. " * 40)
    session.add(user("text", "m0"))
    path = log_path(tmp_path)
    stub = b'{"type":"message","con'
    whole = other_log(tmp_path, 1, path.stat().st_size - len(stub))
    if way == "put in its place":
        (tmp_path / "replacement").write_bytes(whole + stub)
        os.replace(tmp_path / "replacement", path)
    else:
        overwrite(path, whole + stub)
    session.add(user("next", "m9"))
    session.close()
    assert path.read_bytes().startswith(whole)
    assert stub not in path.read_bytes()
    assert (tmp_path / "s-1.log.torn-1").read_bytes() == stub
    assert said(session) == ["other 0", "next"] == said(load(tmp_path))


def test_the_list_counts_a_replaced_log_anew(tmp_path: Path) -> None:
    there = SessionStore(Layout(tmp_path, "default"), fsync="never", kit=Kit())
    session = there.create("s-1")
    for n in range(5):
        session.add(user(f"text {n}", f"m{n}"))
    session.close()
    assert there.info("s-1").messages == there.list()[0].messages == 5
    path = Layout(tmp_path, "default").session_log("s-1")
    (tmp_path / "replacement").write_bytes(other_log(tmp_path, 2, path.stat().st_size + 100))
    os.replace(tmp_path / "replacement", path)
    assert there.info("s-1").messages == there.list()[0].messages == 2
    assert there.list()[0].title == "other 0"


def test_a_new_log_is_not_taken_for_a_replaced_one(tmp_path: Path) -> None:
    session = new(tmp_path)
    first = session.fold
    for n in range(3):
        session.add(user(f"text {n}", f"m{n}"))
    session.close()
    session.add(user("after closing", "m3"))
    assert session.fold is first
    session.close()


# ---------------------------------------------------------------------------- gone


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("folder_too", [False, True], ids=["log", "folder"])
def test_a_log_that_went_takes_no_more_messages(
    tmp_path: Path, closed: bool, folder_too: bool
) -> None:
    home = tmp_path / "home"
    session = new(home)
    session.add(user("text", "m0"))
    if closed:
        session.close()
    away = tmp_path / "away"
    if folder_too:
        home.rename(away)
    else:
        shutil.move(log_path(home), away)
    before = tree(tmp_path)
    for _ in range(2):
        with pytest.raises(StorageError, match=r"log of this session .* gone") as told:
            session.add(user("next", "m1"))
        assert told.value.remedy
        assert said(session) == ["text"]  # not silently empty
    session.close()
    assert tree(tmp_path) == before

    if folder_too:
        away.rename(home)
    else:
        shutil.move(away, log_path(home))
    session.add(user("next", "m1"))
    session.close()
    assert said(session) == ["text", "next"] == said(load(home))


def test_a_log_emptied_in_place_takes_no_more_messages(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("text", "m0"))
    os.truncate(log_path(tmp_path), 0)
    with pytest.raises(StorageError):
        session.add(user("next", "m1"))
    session.close()
    assert log_path(tmp_path).read_bytes() == b""


@to_the_end
async def test_a_turn_in_a_session_whose_log_went_is_refused(tmp_path: Path) -> None:
    async with engine_on(tmp_path, say("One."), say("Two.")) as desk:
        await desk.send("First")
        (path,) = tmp_path.glob("agents/*/sessions/*.log.jsonl")
        path.unlink()
        result = await desk.send("Second")
        assert (result.state, result.failure) == ("failed", "workspace")
        assert not result.kept  # the window puts the text back into the field
        assert "gone" in result.error
        assert result.remedy
        assert not path.exists()
        assert len(desk.server.requests) == 1
        desk.session = ""
        assert (await desk.send("Elsewhere")).reply == "Two."
