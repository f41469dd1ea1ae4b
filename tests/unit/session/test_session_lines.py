"""The lines of a log: what ends one, what an odd one means, and what comes back of each."""

from __future__ import annotations

import asyncio
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.memory.diff import changes
from app.engine.search.index import MemoryIndex
from app.engine.session import entries as e
from app.engine.session.codec import decode, encode
from app.engine.session.lines import numbered, raw_lines, raw_lines_backwards
from app.engine.session.log import SessionLog
from app.engine.session.transcript import items
from app.engine.workspace.layout import Layout
from app.engine.workspace.paging import memory_lines
from tests.helpers.session_parts import load, log_path, message_line, said, user, valid_log


@pytest.mark.case("SES-10")
def test_a_malformed_line_is_skipped_and_the_others_load(tmp_path: Path) -> None:
    path = valid_log(tmp_path)
    whole = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*whole[:2], b"{not json", *whole[2:]]))
    session = load(tmp_path)
    assert said(session) == ["text 0", "text 1", "text 2"]
    assert session.counters.bad == 1


@pytest.mark.case("SES-12")
def test_times_as_numbers_and_as_text_both_load(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    stamps = [1780833603.5, 1780833603500, "2026-06-07T12:00:03.5Z", "2026-06-07T14:00:03.5+02:00"]
    path.write_bytes(b"".join(message_line(n, timestamp=s) for n, s in enumerate(stamps)))
    session = load(tmp_path)
    assert len(session.context) == 4
    times = {entry.when for entry in session.entries() if isinstance(entry, e.Entry)}
    assert times == {datetime(2026, 6, 7, 12, 0, 3, 500_000, tzinfo=UTC)}


def test_a_time_that_cannot_be_read_is_none_and_the_entry_stays(tmp_path: Path) -> None:
    log_path(tmp_path).write_bytes(message_line(1, timestamp="yesterday") + message_line(2))
    session = load(tmp_path)
    assert said(session) == ["text 1", "text 2"]
    assert [i.when for i in items(session.entries())] == [None, None]


def test_only_the_byte_0a_ends_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei"
    path = log_path(tmp_path)
    raw = (
        '{"type":"message","id":"m1","role":"USER","content":'
        '"a\u2028b\u2029c\x85d\\u000be\\ff\\u001cg\\u001dh\\u001ei"}\n'
    )
    path.write_bytes(raw.encode())
    session = load(tmp_path)
    assert said(session) == [text]
    session.add(user(text, "m2"))
    assert said(load(tmp_path)) == [text, text]
    assert [len(list(raw_lines(path))), len(list(raw_lines_backwards(path)))] == [2, 2]


@pytest.mark.case("MOT-77")
def test_lines_of_the_wrong_shape_are_skipped_and_counted(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    path.write_bytes(
        message_line(1) + b"no json at all\n" + b'["a", "list"]\n' + b'{"type":"message"}\n'
        + message_line(2)
    )  # fmt: skip
    session = load(tmp_path)
    assert said(session) == ["text 1", "text 2"]
    assert session.counters.bad == 3
    assert session.counters.entries == 2


def test_unknown_kinds_and_fields_come_back_as_they_were() -> None:
    line = (
        b'{"v":1,"seq":7,"type":"hologram","id":"h-1","parentId":"m1","timestamp":5,'
        b'"depth":{"a":[1,null]},"extra":"field"}\n'
    )
    entry = decode(line)
    assert isinstance(entry, e.RawEntry)
    assert encode(entry) == line
    known = decode(message_line(1, futureField={"x": 1}, name=None))
    assert isinstance(known, e.MessageEntry)
    assert json.loads(encode(known))["futureField"] == {"x": 1}


def test_a_byte_order_mark_and_crlf_are_no_obstacle(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    body = (message_line(1) + message_line(2)).replace(b"\n", b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + body)
    assert said(load(tmp_path)) == ["text 1", "text 2"]
    assert [a for a, _, _ in raw_lines(path)] == [a for a, _, _ in raw_lines_backwards(path)][::-1]


def test_reading_backwards_is_reading_forwards_reversed(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    body = b"".join(
        message_line(n, content="x" * (300_000 if n % 7 == 3 else n)) for n in range(60)
    )
    for tail in (b"", b'{"torn', b"\n\n"):
        path.write_bytes(body + tail)
        assert list(raw_lines_backwards(path)) == list(raw_lines(path))[::-1]


def test_search_diff_and_reading_agree_on_the_lines_of_memory(tmp_path: Path) -> None:
    """The other half of B47; the gutter of the memory pane is the window's to show."""
    text = "# Notes\n- a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\n- Pelican sleeps here\n"
    (tmp_path / "MEMORY.md").write_bytes(text.encode())

    async def lines_found() -> list[int]:
        index = MemoryIndex(tmp_path, zone=UTC)
        await index.open()
        try:
            await index.index_all_from_workspace()
            return [hit.line_number for hit in await index.search("pelican")]
        finally:
            await index.close()

    assert asyncio.run(lines_found()) == [3]
    got = memory_lines(Layout.at(tmp_path), "MEMORY.md", 3, 3)
    assert got == "3|- Pelican sleeps here"
    (change,) = changes(text, text.replace("- Pelican sleeps here\n", ""))
    assert change.base_line == 3


def test_a_field_that_is_named_extra_is_kept_as_any_unknown_one() -> None:
    line = b'{"type":"message","id":"m","seq":1,"role":"USER","content":"x","extra":{"a":1}}'
    entry = decode(line)
    assert isinstance(entry, e.Entry)
    assert entry.extra == {"extra": {"a": 1}}
    assert json.loads(encode(entry))["extra"] == {"a": 1}


ODD_LINES = (
    message_line(1),
    b'{"type":"message","id":"n","role":"USER","content":null}\n',
    b'{"type":"message","id":"n","role":"USER"}\n',
    b'{"type":"message","id":"p","role":"USER","content":null,"images":["a"]}\n',
    b'{"type":"message","id":"x","role":"USER","content":"x","extra":{"a":1}}\n',
    b'{"type":"tool_use","id":"a:use:c","toolCallId":"c","input":null}\n',
    b'{"type":"tool_use","id":"a:use:c","toolCallId":"c","input":[1,null]}\n',
    b'{"type":"novel","id":"r","deep":{"a":null}}\n',
    b"\n",
    b" \t\r\n",
    b"not json\n",
)


@given(st.lists(st.sampled_from(ODD_LINES), max_size=12))
def test_lines_read_many_at_once_are_what_each_is_alone(picked: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.log.jsonl"
        path.write_bytes(b"".join(picked))
        read = list(SessionLog(path).read())
        spoken = [line for line in picked if line.strip()]
        assert [n.entry for n in read] == [numbered(decode(x), n) for n, x in enumerate(spoken, 1)]
        for line in read:
            (again, *_) = SessionLog(path).read(line.offset, line.entry.seq - 1)
            assert again == line


def test_what_a_placeholder_says_and_what_says_nothing() -> None:
    nothing, missing, placeholder = (decode(ODD_LINES[n]) for n in (1, 2, 3))
    assert isinstance(nothing, e.BadLine)
    assert isinstance(missing, e.BadLine)
    assert nothing.reason == missing.reason == "A message entry has no content."
    assert isinstance(placeholder, e.MessageEntry)
    assert (placeholder.content, placeholder.images) == ("", ("a",))
    call = decode(ODD_LINES[6])
    assert isinstance(call, e.ToolUse)
    assert call.input == [1, None]
