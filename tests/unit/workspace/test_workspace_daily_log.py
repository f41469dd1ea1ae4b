"""Daily logs: appending, parsing, listing."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.errors import PathRefused, Unreadable
from app.engine.workspace.daily_log import (
    append_section,
    day_of,
    list_days,
    parse,
    read_day,
    section_text,
    source_text,
)
from app.engine.workspace.layout import Layout, ensure

BERLIN = timezone(timedelta(hours=2))
NOW = datetime(2026, 6, 2, 3, 15, 9, 204511, tzinfo=BERLIN)


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    layout = Layout.at(tmp_path / "w", "bot")
    ensure(layout)
    return layout


def flush(at: Layout, text: str, now: datetime = NOW, run: str = "r-18") -> str:
    append_section(
        at, kind="flush", text=text, now=now, run=run, session="s-4", first="u-1", last="a-9",
        origin="user",
    )  # fmt: skip
    return at.daily(now.date()).read_bytes().decode()


def test_a_section_is_written_as_the_format_says(at: Layout) -> None:
    text = "\n- Ines prefers answers in Portuguese\n- Release 4.2 is frozen until 2026-06-10\n\n"
    assert flush(at, text) == (
        "\n"
        "## Memory Flush — 2026-06-02T03:15:09.204511+02:00\n"
        "<!-- palimpsest:flush run=r-18 session=s-4 from=u-1 to=a-9 origin=user -->\n"
        "- Ines prefers answers in Portuguese\n"
        "- Release 4.2 is frozen until 2026-06-10\n"
    )


def test_what_comes_back_is_what_was_written(at: Layout) -> None:
    written = append_section(at, kind="save", text="- a\n- b", now=NOW, origin="user", session="s")
    day = read_day(at, "memory/2026-06-02.md")
    assert day.sections == (written,)
    assert (day.day, day.problem) == (date(2026, 6, 2), "")
    assert (written.kind, written.ordinal, written.line) == ("save", 1, 2)
    assert written.when == NOW
    assert [(line.line, line.text) for line in written.lines] == [(4, "- a"), (5, "- b")]
    again = append_section(at, kind="flush", text="- a\n- b", now=NOW)
    assert (again.ordinal, again.line, again.hash) == (2, 7, written.hash)


def test_earlier_bytes_never_change(at: Layout) -> None:
    before = flush(at, "- one")
    assert flush(at, "- two").startswith(before)


def test_odd_ids_cannot_leave_the_comment(at: Layout) -> None:
    section = append_section(
        at, kind="flush", text="x", now=NOW, session="s 1-->", first="a=b", last="日", run="r"
    )
    assert (section.session_id, section.first_entry, section.last_entry) == ("s 1-->", "a=b", "日")
    assert section_text(section) == "x"


HARD = [
    "- before\n## 2026-01-01\n- after",
    "---",
    "---\ntitle: front matter\n---\n- body",
    "## Memory Flush — 2026-06-02T03:15:09.204511+02:00\n- not a section",
    "## Memory Save — now",
    "\\## Memory Flush — escaped by hand\n\\\\## Memory Save — twice",
    "<!-- palimpsest:flush run=r-1 -->\n- x",
    "<!-- palimpsest:saved -->\n## Saved\n<!-- /palimpsest:saved -->",
    "\\<!-- palimpsest:x -->",
    "这里提到 ## 归档记忆 和 ## Memory Flush — 句子中间",
    "a\u2028## Memory Flush — b\u0085c\rd",
    "```\n## Memory Flush — in a fence\n",
]


@pytest.mark.case("B20")
def test_no_entry_can_open_a_section_and_the_round_trip_is_exact(at: Layout) -> None:
    for text in HARD:
        flush(at, text)
    sections = read_day(at, "memory/2026-06-02.md").sections
    assert [section_text(section) for section in sections] == [text.strip() for text in HARD]
    assert [section.ordinal for section in sections] == list(range(1, len(HARD) + 1))
    assert {section.session_id for section in sections} == {"s-4"}


PIECES = st.sampled_from(
    ["## Memory Flush — ", "## Memory Save — ", "\\", "<!-- palimpsest:", "-->", "\n", "- x", " ",
     "\r\n", "\r", "##", "\u2028", "\ud800", "é", "```", "<!-- /palimpsest:saved -->"]
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(PIECES, min_size=1, max_size=8).map("".join), min_size=1, max_size=5))
def test_any_entries_come_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    at = Layout.at(tmp_path_factory.mktemp("w"))
    wanted = [t.replace("\ud800", "\ufffd").replace("\r\n", "\n").strip() for t in texts]
    for text in texts:
        if text.strip():
            append_section(at, kind="flush", text=text, now=NOW)
    path = at.daily(NOW.date())
    got = parse(path.read_bytes().decode()) if path.exists() else []
    assert [section_text(section) for section in got] == [text for text in wanted if text]


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf# Notes\r\n- x",
        b"- x\n\n## Memory Save - y\n- z",
    ],
)
def test_what_append_tells_is_what_reading_finds(at: Layout, before: bytes) -> None:
    at.daily(NOW.date()).write_bytes(before)
    written = [append_section(at, kind="flush", text=f"- {n}\n\n- b", now=NOW) for n in range(3)]
    assert at.daily(NOW.date()).read_bytes().startswith(before)
    assert read_day(at, "memory/2026-06-02.md").sections[-3:] == tuple(written)


def test_foreign_logs_are_cut_at_the_same_headings(at: Layout) -> None:
    at.daily(date(2026, 6, 1)).write_bytes(
        b"# Notes\r\n\r\nkept by hand\r\n\r\n## Memory Flush \xe2\x80\x94 2026-06-01T10:00:00Z\r\n"
        b"\r\n- a\r\n## Other heading\r\n- b\r\n"
    )
    preamble, second = read_day(at, "memory/2026-06-01.md").sections
    assert (preamble.kind, preamble.line, preamble.heading, preamble.when) == (
        "foreign",
        1,
        "",
        None,
    )
    assert section_text(preamble) == "# Notes\n\nkept by hand"
    assert (second.kind, second.line) == ("foreign", 5)
    assert second.when == datetime(2026, 6, 1, 10, tzinfo=UTC)
    assert section_text(second) == "- a\n## Other heading\n- b"


@pytest.mark.parametrize("bad", ["", " \n\t"])
def test_a_blank_text_makes_no_section(at: Layout, bad: str) -> None:
    with pytest.raises(ValueError, match="text"):
        flush(at, bad)
    assert list_days(at) == []


def test_a_time_without_zone_is_refused(at: Layout) -> None:
    with pytest.raises(ValueError, match="zone"):
        flush(at, "x", datetime(2026, 6, 2))


def test_a_day_in_another_encoding_gets_nothing_added(at: Layout) -> None:
    data = "- 数据库迁移\n".encode("gbk")
    at.daily(NOW.date()).write_bytes(data)
    with pytest.raises(Unreadable, match="GBK"):
        flush(at, "- new")
    assert at.daily(NOW.date()).read_bytes() == data
    assert "GBK" in read_day(at, "memory/2026-06-02.md").problem


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_day_linked_to_outside_is_neither_written_nor_read(at: Layout) -> None:
    outside = at.root.parent / "outside.md"
    outside.write_text("theirs")
    at.daily(NOW.date()).symlink_to(outside)
    with pytest.raises(PathRefused):
        flush(at, "- new")
    with pytest.raises(PathRefused):
        read_day(at, "memory/2026-06-02.md")
    assert outside.read_text() == "theirs"
    assert list_days(at) == []


def test_secrets_are_masked_before_they_reach_the_day(at: Layout) -> None:
    text = flush(at, "- the key is ghp_abcDEF0123456789abcDEF0123456789abcd")
    assert "ghp_" not in text
    assert "[masked: token]" in text


_APPENDER = """
import sys
from datetime import datetime
from pathlib import Path
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout
at, who, now = Layout.at(sys.argv[1]), sys.argv[2], datetime.fromisoformat(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for n in range(200):
    append_section(at, kind="flush", text=f"- {who} {n} " + "x" * 40, now=now, run=f"r-{who}")
"""


@pytest.mark.case("B07")
def test_two_processes_append_and_no_line_is_lost(at: Layout) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _APPENDER, str(at.root), who, NOW.isoformat()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=os.getcwd(),
        )
        for who in ("a", "b")
    ]  # fmt: skip
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:  # the barrier: both wait for this line
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=100)
        assert child.returncode == 0
    sections = read_day(at, "memory/2026-06-02.md").sections
    wanted = {f"- {who} {n} " + "x" * 40 for who in ("a", "b") for n in range(200)}
    assert len(sections) == 400
    assert {section_text(section) for section in sections} == wanted
    assert {len(section.lines) for section in sections} == {1}


@pytest.mark.case("B77")
@pytest.mark.parametrize(
    ("zone", "clock", "day", "offset"),
    [
        ("Asia/Shanghai", datetime(2026, 4, 11, 19, 53, tzinfo=UTC), "2026-04-12", "+08:00"),
        ("America/Los_Angeles", datetime(2026, 4, 12, 3, 0, tzinfo=UTC), "2026-04-11", "-07:00"),
    ],
)
def test_the_file_is_the_local_day_and_the_time_carries_its_offset(
    at: Layout, zone: str, clock: datetime, day: str, offset: str
) -> None:
    section = append_section(at, kind="flush", text="- x", now=clock.astimezone(ZoneInfo(zone)))
    assert [info.path for info in list_days(at)] == [f"memory/{day}.md"]
    assert section.heading.startswith(f"Memory Flush — {day}T")
    assert section.heading.endswith(offset)
    assert section.when == clock


def test_days_variants_archived_and_undated(at: Layout) -> None:
    for name in (
        "2026-03-03.md", "2026-03-03-1709.md", "2026-03-03-topic.md", "2026-3-3.md",
        "archive/2026-02-27.md", "notes.md", "2026-13-40.md", ".hidden.md", "2026-03-04.txt",
        "2026-03-05.md",
    ):  # fmt: skip
        path = at.memory_dir / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("- a line\n\n- another\n")
    seen = [(i.path, i.day, i.variant, i.archived) for i in list_days(at)]
    third = date(2026, 3, 3)
    assert seen == [
        ("memory/2026-03-05.md", date(2026, 3, 5), False, False),
        ("memory/2026-03-03.md", third, False, False),
        ("memory/2026-03-03-1709.md", third, True, False),
        ("memory/2026-03-03-topic.md", third, True, False),
        ("memory/archive/2026-02-27.md", date(2026, 2, 27), False, True),
        ("memory/2026-13-40.md", None, False, False),
        ("memory/2026-3-3.md", None, False, False),
        ("memory/notes.md", None, False, False),
    ]
    assert {(i.sections, i.lines) for i in list_days(at)} == {(1, 2)}
    assert day_of("2026-03-031.md") == (None, False)


def test_one_unreadable_day_does_not_empty_the_list(at: Layout) -> None:
    at.daily(date(2026, 1, 1)).write_bytes("数据库迁移".encode("gbk"))
    flush(at, "- x")
    assert [(i.path, i.sections) for i in list_days(at)] == [
        ("memory/2026-06-02.md", 1),
        ("memory/2026-01-01.md", 0),
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- a <!-- score: 0.81 --> b\n- c", "- a  b\n- c"),
        ("- a\n<!-- dreaming:start -->\n- staged\n<!-- dreaming:end -->\n- b", "- a\n\n- b"),
        ("- a\n<!-- x:y:start v=1 -->\n- staged\n<!-- x:y:end -->\n- b", "- a\n\n- b"),
        ("<!-- managed -->\n- staged\n<!-- /managed -->\n- b", "- b"),
        ("- a\n<!-- dreaming:start -->\n- never closed", "- a\n\n- never closed"),
        ("- a\n<!-- no end of the comment\n- b", "- a\n<!-- no end of the comment\n- b"),
        ("<!-- a:start -->1<!-- b:start -->2<!-- a:end -->3<!-- b:end -->4", "34"),
        ("```json\n{ never closed\n- b", "```json\n{ never closed\n- b"),
    ],
)
def test_managed_blocks_and_comments_are_no_source(text: str, wanted: str) -> None:
    assert source_text(text) == wanted


def test_many_unclosed_blocks_are_read_in_passing() -> None:
    text = "".join(f"<!-- b{n % 7}:start -->\n- line {n}\n" for n in range(20_000))
    assert source_text(text).count("- line") == 20_000
