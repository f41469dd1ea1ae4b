"""Whole replacements, durable appends, locks and encodings."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.engine.errors import StorageError, Unreadable, WorkspaceBusy
from app.engine.workspace import files
from app.engine.workspace.files import (
    AppendFile,
    append_durable,
    encode,
    lock,
    read_text,
    try_lock,
    well_formed,
    write_atomic,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and FIFOs of POSIX")


def test_absent_empty_and_unreadable_are_three_things(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    assert read_text(path) is None
    path.write_bytes(b" \n")
    found = read_text(path)
    assert found is not None
    assert found.blank
    path.write_bytes("记忆".encode("gb18030"))
    with pytest.raises(Unreadable):
        read_text(path)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("# A\n中文".encode("utf-16"), "UTF-16"),
        ("# A plain title\n".encode("utf-16-le"), "UTF-16"),
        ("# A plain title\n".encode("utf-32"), "UTF-32"),
        ("用户的数据库迁移定在六月".encode("gbk"), "GBK"),
        (b"caf\xe9 au lait", "not UTF-8"),
    ],
)
def test_other_encodings_are_refused_by_name_and_left(
    tmp_path: Path, data: bytes, name: str
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(data)
    with pytest.raises(Unreadable, match=name) as caught:
        read_text(path)
    assert "MEMORY.md" in str(caught.value)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf# A\r\n- one\r\n",
        b"# A\n- one\n",
        b"# A\r\n- one",
        "\u2028 a \u0085 b \x0b c\rd\n".encode(),
    ],
)
def test_newline_style_and_bom_survive_a_rewrite(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(data)
    found = read_text(path)
    assert found is not None
    assert not found.text.startswith("\ufeff")
    assert encode(found.text, newline=found.newline, bom=found.bom) == data


def test_lines_end_at_line_feed_only(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes("a\u2028b\u2029c\u0085d\x0be\x1cf\rg\r\nh\n".encode())
    found = read_text(path)
    assert found is not None
    assert len(found.text.split("\n")) == 3


def test_half_an_emoji_becomes_the_replacement_and_a_pair_one_character() -> None:
    assert well_formed("ok \ud83d…") == "ok \ufffd…"
    assert well_formed("현\ud99c 보") == "현\ufffd 보"
    assert well_formed("\ud83c\udf78") == "🍸"
    assert encode("x\udc00") == "x\ufffd".encode()


# ---------------------------------------------------------------------------- replacing


@posix
def test_a_new_file_is_private_and_a_replaced_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "x.md"
    write_atomic(path, b"one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.md"
    write_atomic(path, b"one")

    def refuse(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", refuse)
    with pytest.raises(StorageError, match="no space left"):
        write_atomic(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["x.md"]


# ---------------------------------------------------------------------------- appending


def test_an_append_after_a_torn_tail_stands_on_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"torn')
    assert append_durable(path, b"whole\n") == 7
    assert path.read_bytes() == b'{"torn\nwhole\n'


def test_a_failed_append_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    append_durable(path, b"one\n")

    def refuse(_fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files.os, "fsync", refuse)
    with pytest.raises(StorageError):
        append_durable(path, b"two\n")
    assert path.read_bytes() == b"one\n"


_APPENDER = """
import sys
from pathlib import Path
from app.engine.workspace.files import append_durable
path, who = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for n in range(100):
    append_durable(path, f"{who}-{n} {'x' * 500}\\n".encode(), sync=False)
"""


def test_a_file_moved_away_during_appends_loses_no_line(tmp_path: Path) -> None:
    path, moved = tmp_path / "log", tmp_path / "moved"
    child = subprocess.Popen(
        [sys.executable, "-c", _APPENDER, str(path), "a"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    child.stdin.write("\n")
    child.stdin.flush()
    while not path.exists():
        pass
    path.rename(moved)
    child.communicate(timeout=60)
    later = path.read_bytes() if path.exists() else b""
    lines = (moved.read_bytes() + later).split(b"\n")
    assert [line.split(b" ")[0] for line in lines if line] == [b"a-%d" % n for n in range(100)]


def test_an_append_that_waited_goes_to_the_file_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append_durable(path, b"old\n")
    held = try_lock(path)  # as a rewriter (forget) would hold it
    assert held is not None
    waiting = threading.Thread(target=append_durable, args=(path, b"new\n"))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    write_atomic(path, b"rewritten\n")
    held.release()
    waiting.join(30)
    assert path.read_bytes() == b"rewritten\nnew\n"


# ---------------------------------------------------------------------------- what is on the disk


def watch_the_disk(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is asked of the disk, in order: ("sync" or "replace", name of the file or folder)."""
    asked: list[tuple[str, str]] = []
    sync, replace = os.fsync, os.replace

    def fsync(fd: int) -> None:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        asked.append(("sync", name))
        sync(fd)

    def replaced(source: str | Path, target: Path) -> None:
        asked.append(("replace", Path(target).name))
        replace(source, target)

    monkeypatch.setattr(files.os, "fsync", fsync)
    monkeypatch.setattr(files.os, "replace", replaced)
    return asked


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system which file is synced")
def test_a_replacement_is_on_the_disk_before_it_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    asked = watch_the_disk(monkeypatch)
    write_atomic(folder / "x.md", b"one")
    (first, temporary), *rest = asked
    assert (first, temporary.startswith(".x.md.")) == ("sync", True)
    assert rest == [("replace", "x.md"), ("sync", "folder")]


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system which file is synced")
def test_an_append_is_on_the_disk_when_it_returns_and_a_new_file_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    asked = watch_the_disk(monkeypatch)
    kept = AppendFile(folder / "b")
    for name, append in (("a", lambda: append_durable(folder / "a", b"x\n")),
                         ("b", lambda: kept.append(b"x\n"))):  # fmt: skip
        asked.clear()
        append()
        append()
        assert asked == [("sync", name), ("sync", "folder"), ("sync", name)]
    kept.close()


# ---------------------------------------------------------------------------- a file kept open


def test_a_file_kept_open_never_glues_a_line_to_another(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"torn')
    kept = AppendFile(path)
    assert kept.append(b"one\n") == 7
    assert kept.append(b"two\n") == 11
    with path.open("ab") as other:
        other.write(b"half")
    assert kept.append(b"three\n") == 20
    assert path.read_bytes() == b'{"torn\none\ntwo\nhalf\nthree\n'
    os.truncate(path, 0)
    assert kept.append(b"four\n") == 0
    assert path.read_bytes() == b"four\n"
    kept.close()


def test_a_failed_append_to_a_file_kept_open_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = AppendFile(tmp_path / "log")
    kept.append(b"one\n")

    def refuse(_fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", refuse)
        with pytest.raises(StorageError, match="input/output error"):
            kept.append(b"two\n")
    assert kept.append(b"three\n") == 4
    assert kept.path.read_bytes() == b"one\nthree\n"
    kept.close()


def test_a_file_kept_open_is_the_one_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "log"
    kept = AppendFile(path)
    kept.append(b"one\n")
    path.rename(tmp_path / "moved")
    kept.append(b"two\n")
    write_atomic(path, b"rewritten\n")
    kept.append(b"three\n")
    kept.close()
    kept.append(b"four\n")
    kept.close()
    assert (tmp_path / "moved").read_bytes() == b"one\n"
    assert path.read_bytes() == b"rewritten\nthree\nfour\n"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="pipe could not be written"):
        AppendFile(tmp_path / "pipe").append(b"x\n")


# ---------------------------------------------------------------------------- locks


def test_a_lock_has_one_holder_and_is_free_again(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "x.lock"
    held = try_lock(path)
    assert held is not None
    assert try_lock(path) is None
    with pytest.raises(WorkspaceBusy), lock(path, timeout=0.05):
        pass
    held.release()
    held.release()
    with lock(path):
        assert try_lock(path) is None
    again = try_lock(path)
    assert again is not None
    again.release()


def test_a_lock_holds_between_threads(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(20):
            with lock(path, timeout=30):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 80
    assert max(most) == 1


_HOLDER = """
import sys, time
from pathlib import Path
from app.engine.workspace.files import try_lock
held = try_lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    assert try_lock(path) is None
    child.kill()
    child.communicate(timeout=30)
    held = try_lock(path)
    assert held is not None
    held.release()
