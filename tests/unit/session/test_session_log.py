"""The log file: torn tails, bad lines, line ends, one writer, huge lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from app.engine.errors import SessionNotFound, StorageError, WorkspaceBusy
from app.engine.session import entries as e
from app.engine.session.log import MemoryLog, SessionLog
from app.engine.session.session import Session
from app.engine.session.transcript import items
from tests.helpers.session_parts import (
    bot,
    lines,
    load,
    log_path,
    message_line,
    new,
    of_type,
    said,
    user,
    valid_log,
)


@pytest.mark.case("B42", "MOT-85")
def test_a_torn_tail_is_set_aside_before_the_next_append(tmp_path: Path) -> None:
    path = valid_log(tmp_path)
    before = path.read_bytes()
    stub = b'{"type":"message","te'
    path.write_bytes(before + stub)

    session = load(tmp_path)
    assert path.read_bytes() == before + stub  # loading never writes
    session.add(user("next", "m9"))
    session.close()

    assert path.read_bytes().startswith(before)
    assert stub not in path.read_bytes()
    assert (tmp_path / "s-1.log.torn-1").read_bytes() == stub
    (told,) = of_type(path, "recovery")
    assert (told["file"], told["bytes"]) == ("s-1.log.torn-1", len(stub))
    again = load(tmp_path)
    assert said(again) == ["text 0", "text 1", "text 2", "next"]
    assert again.counters.bad == 0
    assert [n["seq"] for n in lines(path)] == list(range(1, 7))
    assert any(i.target == "s-1.log.torn-1" for i in items(again.entries()))


@pytest.mark.case("B44")
def test_a_whole_last_line_without_newline_counts(tmp_path: Path) -> None:
    path = valid_log(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    session = load(tmp_path)
    assert said(session) == ["text 0", "text 1", "text 2"]
    session.add(user("next", "m9"))
    assert said(load(tmp_path)) == ["text 0", "text 1", "text 2", "next"]
    assert not list(tmp_path.glob("*.torn-*"))
    assert all(json.loads(line) for line in path.read_bytes().split(b"\n") if line)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    first, second = new(tmp_path), new(tmp_path)
    first.add(user("one", "m1"))
    with pytest.raises(WorkspaceBusy):
        second.add(user("two", "m2"))
    first.close()
    second.add(user("two", "m2"))
    assert said(second) == ["one", "two"]  # what the first wrote was read before


def test_another_process_is_kept_out(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("one", "m1"))
    code = (
        "import sys; from pathlib import Path\n"
        "from app.engine.errors import WorkspaceBusy\n"
        "from app.engine.session.log import SessionLog\n"
        "from app.engine.session.entries import SessionClose\n"
        "try: SessionLog(Path(sys.argv[1])).append([SessionClose()])\n"
        "except WorkspaceBusy: print('busy')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(log_path(tmp_path))],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "busy"


def test_a_refused_write_leaves_session_and_file_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new(tmp_path)
    session.add(user("one", "m1"))
    before, state = log_path(tmp_path).read_bytes(), session.state

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StorageError):
            session.add(user("two", "m2"))
    assert log_path(tmp_path).read_bytes() == before
    assert session.state == state
    session.add(user("two", "m2"))
    assert load(tmp_path).state == session.state


@pytest.mark.case("MOT-42", "MOT-44")
def test_the_file_appears_with_the_first_message(tmp_path: Path) -> None:
    session = new(tmp_path, system_prompt="Be brief.", config={"safety_ratio": 0.6})
    assert not log_path(tmp_path).exists()
    session.add(user("one", "m1"))
    first = lines(log_path(tmp_path))[0]
    assert first["type"] == "session_open"
    assert (first["sessionId"], first["systemPrompt"]) == ("s-1", "Be brief.")
    assert first["config"] == {"safety_ratio": 0.6}


@pytest.mark.case("MOT-43")
def test_a_message_entry_has_role_content_and_time(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("one", "m1"))
    session.add(bot("two", "m2"))
    made = of_type(log_path(tmp_path), "message")
    assert [(m["role"], m["content"]) for m in made] == [("USER", "one"), ("ASSISTANT", "two")]
    assert all(datetime.fromisoformat(m["timestamp"]).tzinfo is not None for m in made)


@pytest.mark.case("MOT-101")
def test_the_log_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    code = (
        "import sys, locale; from pathlib import Path\n"
        "from app.engine.session.log import SessionLog\n"
        "from app.engine.session.session import Session\n"
        "from app.engine.records import Message\n"
        "assert 'utf' not in locale.getpreferredencoding(False).lower()\n"
        "path = Path(sys.argv[1])\n"
        "s = Session.create('s-1', SessionLog(path))\n"
        "s.add(Message('m1', 'user', '\\u6570\\u636e\\u5e93 caf\\u00e9 \\U0001f378')); s.close()\n"
        "print(ascii(Session.load('s-1', SessionLog(path)).context[0].content))\n"
    )
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(log_path(tmp_path))],
        capture_output=True, text=True, check=True, timeout=60, env=env,
    )  # fmt: skip
    assert done.stdout.strip() == ascii("数据库 café 🍸")
    assert "数据库 café 🍸" in log_path(tmp_path).read_text("utf-8")


@pytest.mark.case("MOT-70")
def test_an_unknown_session_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="s-1"):
        load(tmp_path)
    with pytest.raises(SessionNotFound):
        load(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_log_in_memory_holds_the_same(tmp_path: Path) -> None:
    there, here = new(tmp_path), Session.create("s-1", MemoryLog())
    for session in (there, here):
        session.add(user("one", "m1"))
        session.add(bot("two", "m2", "c1"))
        session.add_result("c1", "look", "three")
    assert here.context == there.context
    assert [e.type_of(n) for n in here.entries() if isinstance(n, e.Entry)] == [
        e.type_of(n) for n in there.entries() if isinstance(n, e.Entry)
    ]


def test_sequence_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    valid_log(tmp_path)
    session = load(tmp_path)
    session.add(user("next", "m9"))
    assert [n["seq"] for n in lines(log_path(tmp_path))] == [1, 2, 3, 4, 5]


def test_a_log_without_numbers_is_numbered_by_its_lines(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    path.write_bytes(message_line(1) + b"bad\n" + message_line(2))
    session = load(tmp_path)
    session.add(user("three", "m3"))
    assert lines_seq(session) == [1, 2, 3, 4]


def lines_seq(session: Session) -> list[int]:
    return [entry.seq for entry in session.entries()]


def test_fsync_follows_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append("log"))
    counts: dict[str, tuple[int, int]] = {}
    for setting in ("always", "per_turn", "never"):
        synced.clear()
        log = SessionLog(tmp_path / f"{setting}.log.jsonl", fsync=setting)
        session = Session.create(setting, log)
        session.add(user("one", "m1"))
        early = len(synced)
        session.sync()
        counts[setting] = (bool(early), len(synced) > early)
        session.close()
    assert counts == {"always": (True, False), "per_turn": (False, True), "never": (False, False)}


def test_a_log_with_nothing_but_a_torn_line_can_be_opened(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    path.write_bytes(b'{"v":1,"seq":1,"type":"session_o')
    session = load(tmp_path)
    assert session.context == ()
    session.add(user("one", "m1"))
    assert [n["type"] for n in lines(path)] == ["recovery", "session_open", "message"]
    assert load(tmp_path).state == session.state


def test_an_id_that_comes_again_leads_to_where_it_was_first(tmp_path: Path) -> None:
    """Within one reading of the file, and in what another process wrote behind it."""
    path = log_path(tmp_path)
    path.write_bytes(
        message_line(1, timestamp="2026-06-02T08:00:00+00:00")
        + message_line(2)
        + message_line(1, timestamp="2026-06-02T09:00:00+00:00")
    )
    session = load(tmp_path)
    assert [entry.seq for entry in session.entries("m1")] == [2, 3]
    session.append(e.Reset())
    with path.open("ab") as file:
        file.write(message_line(1, content="after the reset", seq=5) + message_line(3, seq=6))
    again = session.add(user("said anew", "m1"))
    assert again.id == "m1:r1"  # it was said before the reset, whatever came after
    assert [entry.seq for entry in session.entries("m1")] == [2, 3, 4, 5, 6, 7]
