"""The timeline of a session: every kind, pairing, covering, gaps, pages."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.records import Message, TranscriptItem
from app.engine.session import entries as e
from app.engine.session.fold import Fold
from app.engine.session.lines import Stretch
from app.engine.session.log import MemoryLog, SessionLog
from app.engine.session.pages import Pages
from app.engine.session.session import Session
from app.engine.session.text import cut_text
from app.engine.session.transcript import full_text, items
from app.engine.workspace.files import write_atomic
from tests.helpers.session_parts import (
    bot,
    kit,
    load,
    log_path,
    new,
    result,
    summary,
    user,
)


def shown(session: Session) -> list[TranscriptItem]:
    return items(session.entries())


def one(session: Session, kind: str) -> TranscriptItem:
    (item,) = [i for i in shown(session) if i.kind == kind]
    return item


def test_a_call_and_its_result_are_one_item(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("look", "u1"))
    session.add(bot("I look.", "a1", "c1", "c2"))
    assert [(i.kind, i.result) for i in shown(session)][2:] == [("tool", None), ("tool", None)]
    session.add_result("c2", "look", "broken", is_error=True, seconds=1.5)
    session.add_result("c1", "look", "fine")
    first, second = [i for i in shown(session) if i.kind == "tool"]
    assert (first.id, first.tool, first.arguments) == ("a1:use:c1", "look", "{}")
    assert (first.result, first.is_error) == ("fine", False)
    assert (second.result, second.is_error, second.seconds) == ("broken", True, 1.5)
    assert first.seconds is not None  # by the clock, where nobody measured
    assert [i.seq for i in shown(session)] == sorted(i.seq for i in shown(session))


def test_a_compaction_shows_summary_numbers_and_what_it_covered(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("q", "u1"))
    session.add(bot("", "a1", "c1"))
    session.add(result("c1", "r", "t1"))
    session.add(user("q2", "u2"))
    done = session.commit_compaction(
        summary="short", message=summary("long form"), covered=["u1", "a1", "t1:result:c1"],
        reason="tokens", before=900, after=100,
    )  # fmt: skip
    assert done is not None
    item = one(session, "compaction")
    assert (item.id, item.text) == (done.id, "short")
    assert {k: item.detail[k] for k in ("before", "after", "covered", "kept", "reason")} == {
        "before": 900, "after": 100, "covered": 3, "kept": 1, "reason": "tokens",
    }  # fmt: skip
    covers = {i.id: i.covered_by for i in shown(session)}
    assert covers == {"u1": done.id, "a1:use:c1": done.id, "u2": "", done.id: ""}
    later = session.commit_compaction(
        summary="shorter", message=summary("2"), covered=[summary("long form").id, "u2"]
    )
    assert later is not None
    covers = {i.id: i.covered_by for i in shown(session)}
    assert covers == {
        "u1": done.id, "a1:use:c1": done.id, "u2": later.id, done.id: later.id, later.id: "",
    }  # fmt: skip


def test_every_act_of_the_engine_has_its_place(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(bot("", "a1", "c1"))
    session.add(result("c1", "much", "t1"))
    for entry in (
        e.Eviction(target="t1:result:c1", in_context="cut", file="large/x", chars=90_000),
        e.Flush(from_="a1", to="t1", path="memory/2026-06-02.md", bullets=3),
        e.Consolidation(proposal="r-7"),
        e.Recall(text="- a line", query="line"),
        e.Overflow(requested=9_000, window=8_192, reason="Too long."),
        e.CompactionFailed(reason="The summary was blank."),
        e.SystemPrompt(system_prompt="Be brief."),
        e.UsageEntry(message_id="a1", prompt=5),
        e.Request(memory_version=3),
        e.Reset(messages=2),
        e.Fork(parent_session="s-0"),
        e.Interrupted(reason="stopped"),
        e.SessionClose(),
    ):
        session.append(entry)
    there = {i.kind: i for i in shown(session)}
    assert set(there) == {
        "tool", "eviction", "flush", "consolidation", "recall", "overflow", "failure", "system",
        "reset", "fork", "interrupted",
    }  # fmt: skip
    assert there["tool"].target == there["eviction"].target == "large/x"
    assert there["tool"].result == "much"  # the original, not the placeholder
    assert there["flush"].target == "memory/2026-06-02.md"
    assert there["flush"].detail["bullets"] == 3
    assert there["consolidation"].target == "r-7"
    assert there["overflow"].detail["window"] == 8_192
    assert there["fork"].target == "s-0"
    assert there["failure"].text == "The summary was blank."


def test_marked_messages_stay_and_say_so(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a", "u1"))
    session.add(user("b", "u2"))
    session.mark(["u1"], deleted=True, do_not_remember=True)
    session.mark(["u2"], edited="changed")
    first, second = shown(session)
    assert (first.text, first.detail) == ("a", {"do_not_remember": True, "deleted": True})
    assert (second.text, second.detail) == ("changed", {"edited": True})


def test_long_texts_are_cut_and_can_be_had_whole(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("y" * 50_000, "u1"))
    session.add(bot("", "a1", "c1"))
    session.add(result("c1", "z" * 60_000, "t1"))
    text, tool = shown(session)
    assert (len(text.text), text.cut) == (40_000, 50_000)
    assert (len(tool.result or ""), tool.cut) == (40_000, 60_000)
    assert full_text(session.entries(), "u1") == "y" * 50_000
    assert full_text(session.entries(), "a1:use:c1") == "z" * 60_000
    with pytest.raises(KeyError):
        full_text(session.entries(), "nobody")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("abc", "abc"), ("abcd", "abc"), ("abe\u0301", "ab"), ("ab👍🏽", "ab"),
        ("a👩\u200d💻", "a"), ("ab🇩🇪", "ab"), ("a🇩🇪🇩🇪", "a🇩🇪"), ("abक्ष", "ab"), ("abकि", "ab"),
        ("ab\u1112\u1161\u11ab", "ab"), ("ab❤\ufe0f", "ab"), ("ab\r\n", "ab"),
    ],
)  # fmt: skip
def test_a_cut_parts_no_character(text: str, kept: str) -> None:
    assert cut_text(text, 3) == (kept, len(text) if len(text) > 3 else 0)


def test_a_page_of_a_log_in_memory() -> None:
    session = Session.create("s-1", log := MemoryLog(), kit())
    for n in range(9):
        session.add(user(f"q{n}", f"u{n}"))
    newest = Pages().page(log, limit=3)
    assert [i.id for i in newest] == ["u6", "u7", "u8"]
    assert [i.id for i in Pages().page(log, before=newest[0].seq, limit=2)] == ["u4", "u5"]
    assert [i.id for i in Pages().page(log, around="u2", limit=3)] == ["u1", "u2", "u3"]


STEPS = st.lists(
    st.sampled_from(["user", "bot", "calls", "result", "compact", "evict", "bad", "usage", "mark"]),
    min_size=12,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, limit=st.integers(1, 12))
def test_pages_joined_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], limit: int
) -> None:
    folder = tmp_path_factory.mktemp("pages")
    session = new(folder)
    session.add(user("start"))
    for n, step in enumerate(steps):
        session = do(session, step, n, folder)
    log = SessionLog(log_path(folder))
    whole = shown(session)
    covered = covered_by(session)
    for item in whole:
        assert_covered_as_folded(covered, item)
    joined: list[TranscriptItem] = []
    before, pages = None, Pages()
    while part := pages.page(log, before=before, limit=limit):
        assert len(part) == limit or part[0].id == whole[0].id
        joined = [*part, *joined]
        before = part[0].seq
    assert joined == whole
    ids = Counter(entry.id for entry in session.entries() if isinstance(entry, e.Entry))
    for n, item in enumerate(whole):
        if ids[item.id] < 2:  # the ids of the tests begin anew after each "bad"
            first = max(0, min(n - (limit - 1) // 2, len(whole) - limit))
            assert pages.page(log, around=item.id, limit=limit) == whole[first : first + limit]


class Watched(SessionLog):
    """Counts the lines that are decoded."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.passed = self.looked_up = 0

    def stretches(self, start: int = 0, after: int = 0) -> Iterator[Stretch]:
        for some in super().stretches(start, after):
            self.passed += len(some.entries)
            yield some

    def between(self, start: int, end: int, after: int) -> Stretch:
        some = super().between(start, end, after)
        self.looked_up += len(some.entries)
        return some


def long_talk(folder: Path, turns: int) -> Session:
    session = new(folder)
    for n in range(turns):
        session.extend(
            [
                e.MessageEntry(id=f"u{n}", role="USER", content=f"question {n}"),
                e.ToolUse(id=f"a{n}:use:c{n}", tool_call_id=f"c{n}", name="look"),
                e.UsageEntry(message_id=f"a{n}", prompt=n),
                e.ToolResult(id=f"t{n}:result:c{n}", tool_call_id=f"c{n}", output=f"out {n}"),
            ]
        )
        if n % 20 == 19:
            covered = [m.id for m in session.context[:-3]]
            session.commit_compaction(summary=f"s{n}", message=summary(f"s{n}"), covered=covered)
    return session


def test_a_page_from_far_back_costs_a_page(tmp_path: Path) -> None:
    session = long_talk(tmp_path, 1_000)
    whole, log, pages = shown(session), Watched(log_path(tmp_path)), Pages()
    assert pages.page(log, limit=20) == whole[-20:]
    assert log.passed == log.looked_up == 0  # the newest one is read from the end
    lines = len(list(session.entries()))
    for some_id, kind in (("u500", "user"), ("a30", "tool"), ("t980:result:c980", "tool")):
        log.looked_up = 0
        page = pages.page(log, around=some_id, limit=21)
        assert page[10].kind == kind
        assert page == whole[whole.index(page[0]) :][:21]
        assert log.looked_up < 1_000
        assert pages.page(log, before=page[0].seq, limit=5)[-1].seq < page[0].seq
        assert log.passed == lines  # one reading, and no second one
    session.add(user("new", "u-new"))
    assert pages.page(log, around="u-new", limit=3)[-1].text == "new"
    assert log.passed == lines + 1
    assert pages.page(log, around="nobody", limit=3) == []


def test_pages_of_a_log_that_was_replaced_or_has_a_torn_end(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    long_talk(tmp_path, 30).close()
    pages, log = Pages(), SessionLog(path)
    assert pages.page(log, around="u7", limit=1)[0].text == "question 7"
    data = path.read_bytes()
    path.write_bytes(data + b'{"type":"message","id":"half","role":"USER","con')
    assert pages.page(log, around="half", limit=1) == []
    path.write_bytes(data + b'{"type":"message","id":"half","role":"USER","content":"whole"}\n')
    assert pages.page(log, around="half", limit=1)[0].text == "whole"
    write_atomic(path, path.read_bytes().replace(b"question", b"the question"))
    assert pages.page(log, around="u7", limit=1)[0].text == "the question 7"
    path.unlink()
    assert pages.page(log, around="u7", limit=1) == []


def test_a_log_whose_compactions_do_not_say_what_they_cover_is_read_whole(tmp_path: Path) -> None:
    session = new(tmp_path)
    for n in range(40):
        session.add(user(f"q{n}", f"u{n}"))
    session.append(e.Summary(id="s", summary="short"))
    session.append(e.Compaction(id="c", summary_entry_id="s", first_kept_entry_id="u39"))
    pages, log = Pages(), SessionLog(log_path(tmp_path))
    assert pages.page(log, around="u3", limit=3) == shown(session)[2:5]
    assert [i.covered_by for i in pages.page(log, around="u38", limit=3)] == ["c", "c", ""]
    assert pages.page(log, around="s", limit=1)[0].id == "u39"  # itself it is no item


def do(session: Session, step: str, n: int, folder: Path) -> Session:
    path = log_path(folder)
    if step == "user":
        session.add(user(f"q{n}"))
    elif step == "bot":
        session.add(bot(f"r{n}"))
    elif step == "calls":
        session.add(bot("", f"a{n}", f"c{n}-1", f"c{n}-2"))
    elif step == "result":
        waiting = session.open_calls
        session.add_result(waiting[-1].id if waiting else "c0", "look", f"out {n}")
    elif step == "compact":
        try:
            session.commit_compaction(
                summary=f"s{n}",
                message=summary(f"s{n}"),
                covered=[m.id for m in session.context[: n % 5 + 1]],
            )
        except ValueError:
            return session
    elif step == "evict":
        tools = [m.id for m in session.context if m.role == "tool"]
        if tools:
            session.append(e.Eviction(target=tools[0], in_context="cut", file=f"f{n}"))
    elif step == "bad":
        session.close()
        path.write_bytes(path.read_bytes() + b'{"type":"message"}\n')
        return load(folder)
    elif step == "usage":
        session.append(e.UsageEntry(message_id="x", prompt=n))
    elif session.context:
        session.mark([session.context[0].id], do_not_remember=True)
    return session


def covered_by(session: Session) -> dict[str, str]:
    """Which compaction took each message out of the context, by folding step by step."""
    fold, covered = Fold(), {}
    for entry in session.entries():
        before = [m.id for m in fold.context]
        fold.apply(entry)
        if isinstance(entry, e.Compaction):
            left = set(before) - {m.id for m in fold.context}
            covered |= {i: entry.id for i in before if i in left and i not in covered}
    return covered


def assert_covered_as_folded(covered: dict[str, str], item: TranscriptItem) -> None:
    if item.kind in ("user", "assistant"):
        assert item.covered_by == covered.get(item.id, "")
    elif item.kind == "tool" and not item.detail.get("without_call"):
        assert item.covered_by == covered.get(item.id.rpartition(":use:")[0], "")


def test_a_message_of_the_past_is_shown_by_its_role(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(Message("s", "system", "rules"))
    session.add(Message("k", "user", "goes on", origin="continuation"))
    assert [(i.kind, i.detail.get("origin")) for i in shown(session)] == [
        ("system", None), ("user", "continuation"),
    ]  # fmt: skip


def test_a_log_that_was_cut_in_place_is_read_anew(tmp_path: Path) -> None:
    """Another program may shorten the same file; what it held before is shown no longer."""
    session = new(tmp_path)
    for n in range(6):
        session.add(user(f"text {n}", f"m{n}"))
    session.close()
    path, pages = log_path(tmp_path), Pages()
    log = SessionLog(path, fsync="never")

    def texts(limit: int) -> list[str]:
        newest, far = pages.page(log, limit=limit), pages.page(log, before=1_000, limit=limit)
        assert newest == far
        return [item.text for item in far]

    assert texts(3) == ["text 3", "text 4", "text 5"]
    whole = path.read_bytes().split(b"\n")
    with path.open("r+b") as file:
        file.truncate(len(b"\n".join(whole[:-3])) + 1)
    assert pages.page(log, around="m5", limit=3) == []
    assert texts(3) == ["text 1", "text 2", "text 3"]
    with path.open("ab") as file:
        file.write(whole[-2] + b"\n")
    assert texts(2) == ["text 3", "text 5"]


@pytest.mark.parametrize("longer", [0, 500])
def test_a_log_overwritten_in_place_is_paged_anew(tmp_path: Path, longer: int) -> None:
    for name, count in (("s-1", 6), ("other", 2)):
        session = new(tmp_path, name)
        for n in range(count):
            session.add(user(f"{name} {n}", f"{name}-m{n}"))
        session.close()
    path, pages = log_path(tmp_path), Pages()
    log = SessionLog(path, fsync="never")
    assert [i.text for i in pages.page(log, before=1_000, limit=2)] == ["s-1 4", "s-1 5"]
    other = log_path(tmp_path, "other").read_bytes()
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END) + longer
        file.seek(0)
        file.write(other[:-1].ljust(size - 1) + b"\n")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10_000_000))
    assert [i.text for i in pages.page(log, before=1_000, limit=9)] == ["other 0", "other 1"]
    assert pages.page(log, around="s-1-m5", limit=3) == []
