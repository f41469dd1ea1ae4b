"""ToolResultEvictor on real files."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from app.engine.config import ToolResultEvictionConfig
from app.engine.context.eviction import (
    Eviction,
    ToolResultEvictor,
    Written,
    placeholder,
)
from app.engine.errors import StorageError
from app.engine.events import Activity
from app.engine.records import Message
from app.engine.workspace.evictions import Evictions
from app.engine.workspace.layout import Layout
from tests.helpers.talk import calls, result, user

CONFIG = ToolResultEvictionConfig(max_result_chars=1_000, preview_chars=50)


def files(root: Path, base: str = "large_tool_results") -> Evictions:
    return Evictions(Layout.at(root, "bot"), base)


def evict(
    root: Path, *messages: Message, config: ToolResultEvictionConfig = CONFIG
) -> tuple[tuple[Message, ...], tuple[Eviction, ...]]:
    evictor = ToolResultEvictor(config, files(root).write)
    done = asyncio.run(evictor.apply(messages))
    return done.context, done.evictions


def long(size: int = 5_000) -> str:
    return "HEAD" + "m" * (size - 8) + "TAIL"


@pytest.mark.case("EVI-1")
def test_the_limit_itself_stays(tmp_path: Path) -> None:
    exact, over = result("t1", "c1", "x" * 1_000), result("t2", "c2", "x" * 1_001)
    context, evictions = evict(tmp_path, exact, over)
    assert context[0] is exact
    assert context[1].evicted
    assert [e.target for e in evictions] == ["t2"]


@pytest.mark.case("EVI-2")
def test_the_file_holds_all_and_the_model_sees_both_ends(tmp_path: Path) -> None:
    others = [user("u"), calls("a", "c1")]
    text = long()
    context, evictions = evict(tmp_path, *others, result("t", "c1", text))
    seen = context[2].content
    path = evictions[0].path
    assert (tmp_path / path).read_text() == text
    assert path in seen
    assert "5000 characters" in seen
    assert text[:50] in seen
    assert seen.endswith(text[-50:])
    assert "read_file" in seen
    assert len(seen) < 1_000
    assert context[0] is others[0]
    assert context[1] is others[1]
    assert evictions[0].message is context[2]
    assert (context[2].call_id, context[2].name, context[2].id) == ("c1", "execute", "t")


@pytest.mark.case("EVI-5")
def test_output_that_looks_like_a_placeholder_is_evicted(tmp_path: Path) -> None:
    alike = placeholder(long(), "large_tool_results/bot/x-0000000000000000", 50) + "z" * 2_000
    context, evictions = evict(tmp_path, result("t", "c1", alike))
    assert context[0].evicted
    assert (tmp_path / evictions[0].path).read_text() == alike


@pytest.mark.case("EVI-6")
@pytest.mark.parametrize("error", [StorageError("The disk is full."), OSError("no")])
def test_a_failed_write_changes_nothing(error: Exception) -> None:
    events: list[Activity] = []

    def broken(_call: str, _text: str) -> Written:
        raise error

    evictor = ToolResultEvictor(CONFIG, broken, emit=events.append)
    message = result("t", "c1", long())
    done = asyncio.run(evictor.apply([message]))
    assert done.context[0] is message
    assert done.evictions == ()
    assert asyncio.run(evictor.evict(message)) is None
    assert events[1].state == "failed"
    assert events[1].reason


@pytest.mark.case("EVI-7")
def test_an_absolute_base_is_kept_and_slashes_are_trimmed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "ws", tmp_path / "elsewhere"
    root.mkdir()
    for base, folder in ((f"{elsewhere}", elsewhere), ("put/aside///", root / "put" / "aside")):
        evictor = ToolResultEvictor(CONFIG, files(root, base).write)
        eviction = asyncio.run(evictor.evict(result("t", "c1", long())))
        assert eviction is not None
        held = list((folder / "bot").iterdir())
        assert [f.read_text() for f in held] == [long()]
        assert eviction.path.endswith(f"bot/{held[0].name}")
        assert "//" not in eviction.path


@pytest.mark.case("EVI-8")
def test_a_reused_call_id_gets_a_second_file(tmp_path: Path) -> None:
    first, _ = evict(tmp_path, result("t1", "c1", long(5_000)))
    both, evictions = evict(tmp_path, first[0], result("t2", "c1", long(6_000)))
    assert both[0] is first[0]
    assert len(list((tmp_path / "large_tool_results" / "bot").iterdir())) == 2
    assert evictions[0].path not in first[0].content


@pytest.mark.case("EVI-9")
def test_an_evicted_result_is_skipped(tmp_path: Path) -> None:
    wide = CONFIG.replace(max_result_chars=100, preview_chars=80)
    first, _ = evict(tmp_path, result("t", "c1", long()), config=wide)
    assert len(first[0].content) > 100
    again, evictions = evict(tmp_path, first[0], config=wide)
    assert again[0] is first[0]
    assert evictions == ()


@pytest.mark.case("EVI-10")
def test_excluded_tools_keep_their_results(tmp_path: Path) -> None:
    read, run = result("t1", "c1", long(), "read_file"), result("t2", "c2", long(), "execute")
    context, _ = evict(tmp_path, read, run)
    assert context[0] is read
    assert context[1].evicted


@pytest.mark.case("EVI-11")
def test_the_same_result_again_reuses_its_file(tmp_path: Path) -> None:
    _, first = evict(tmp_path, result("t1", "c1", long()))
    stamp = (tmp_path / first[0].path).stat().st_mtime_ns
    context, second = evict(tmp_path, result("t1", "c1", long()))
    assert context[0].evicted
    assert second[0].path == first[0].path
    assert (tmp_path / first[0].path).stat().st_mtime_ns == stamp
    assert len(list((tmp_path / "large_tool_results" / "bot").iterdir())) == 1


@pytest.mark.case("EVI-12")
@pytest.mark.parametrize(("length", "shown"), [(5_000, 50), (60, 30), (61, 30), (100, 50)])
def test_the_size_of_the_ends(length: int, shown: int) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(length))
    lines = placeholder(text, "p", 50).split("\n")
    assert lines[1] == text[:shown]
    assert lines[-1] == text[-shown:]


def test_nothing_is_shown_of_a_result_when_no_preview_is_wanted() -> None:
    assert "abc" not in placeholder("abcdef", "p", 0)


def test_the_file_is_written_off_the_loop(tmp_path: Path) -> None:
    threads: list[Any] = []

    def write(call: str, text: str) -> Written:
        threads.append(threading.current_thread())
        return files(tmp_path).write(call, text)

    asyncio.run(ToolResultEvictor(CONFIG, write).evict(result("t", "c1", long())))
    assert threads
    assert threads[0] is not threading.main_thread()


def test_named_results_go_even_when_they_are_short(tmp_path: Path) -> None:
    evictor = ToolResultEvictor(CONFIG, files(tmp_path).write)
    context = [result("t1", "c1", "x" * 500), result("t2", "c2", "x" * 500)]
    done = asyncio.run(evictor.apply(context, also={"t2"}))
    assert [m.evicted for m in done.context] == [False, True]
