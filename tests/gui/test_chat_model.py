"""What the transcript shows, worked out from items and a running reply; the inspector's groups."""

from __future__ import annotations

from datetime import UTC, date, datetime

from PySide6.QtWidgets import QApplication

from app.engine.events import TurnEvent
from app.engine.records import ContextPart, ContextView, TranscriptItem, Window
from app.gui.look.icons import pixmap
from app.gui.panes.chat.blocks import groups, marks, since
from app.gui.panes.chat.inspector import Inspector
from app.gui.panes.chat.model import (
    TOOL_ICONS,
    compaction_line,
    merge,
    outcome,
    pieces,
    quiet_line,
    tool_icon,
)
from app.gui.panes.chat.seek import hits
from app.gui.panes.chat.turns import Replies
from app.gui.panes.chat.writing import Drafts

WHEN = datetime(2026, 11, 29, 14, 2, tzinfo=UTC)


def item(id: str, seq: int, kind: str, text: str = "", **more) -> TranscriptItem:
    return TranscriptItem(id, seq, kind, WHEN, text=text, **more)  # type: ignore[arg-type]


def kinds(rows) -> list[tuple[str, str]]:
    return [(row.key, row.kind) for row in rows]


def test_an_eviction_is_told_in_its_call_and_not_twice() -> None:
    call = item("t1", 2, "tool", tool="execute", result="x", detail={"result_id": "r1"})
    aside = item("e1", 3, "eviction", target="large/x", detail={"of": "r1", "chars": 28_400})
    rows = pieces([item("u1", 1, "user", "Hi"), call, aside])
    assert kinds(rows) == [("u1", "user"), ("t1", "tool")]
    assert rows[1].aside == 28_400
    assert rows[1].lead


def test_only_the_first_row_of_an_answer_carries_the_name() -> None:
    rows = pieces([
        item("u1", 1, "user", "Hi"), item("a1", 2, "assistant", "One"),
        item("t1", 3, "tool", tool="x", result=""), item("a2", 4, "assistant", "Two"),
        item("f1", 5, "flush", detail={"bullets": 1}), item("a3", 6, "assistant", "Three"),
    ])  # fmt: skip
    assert [row.key for row in rows if row.lead] == ["a1", "a3"]


def test_a_call_without_result_runs_only_while_the_reply_is_made() -> None:
    old = item("t0", 1, "tool", tool="x")
    now = item("t1", 3, "tool", tool="x")
    items = [old, item("u1", 2, "user", "Go"), now]
    assert [r.running for r in pieces(items, running=True) if r.kind == "tool"] == [False, True]
    assert [r.running for r in pieces(items) if r.kind == "tool"] == [False, False]
    assert outcome(old) == "no result"


def test_a_streamed_text_becomes_the_stored_answer_in_its_place() -> None:
    replies = Replies()
    replies.take(TurnEvent("s", "started", "Go"))
    replies.take(TurnEvent("s", "text", "I will "))
    reply, key = replies.take(TurnEvent("s", "text", "look."))
    assert reply is not None
    asked = [item("u1", 1, "user", "Go")]
    assert kinds(pieces(asked, reply.tail, running=True)) == [("u1", "user"), (key, "live")]
    call = item("t1", 0, "tool", tool="x")
    replies.take(TurnEvent("s", "item", item=call))
    _, second = replies.take(TurnEvent("s", "text", "Done."))
    stored = [
        *asked,
        item("a1", 2, "assistant", "I will look."),
        item("t1", 3, "tool", tool="x", result="ok"),
    ]
    assert reply.settled(stored) == {key: "a1"}
    rows = pieces(stored, reply.tail, running=True)
    assert kinds(rows) == [("u1", "user"), ("a1", "assistant"), ("t1", "tool"), (second, "live")]


def test_the_same_answer_twice_is_two_answers() -> None:
    replies = Replies()
    replies.take(TurnEvent("s", "started", "Go"))
    _, one = replies.take(TurnEvent("s", "text", "OK"))
    replies.take(TurnEvent("s", "item", item=item("t1", 0, "tool", tool="x")))
    reply, two = replies.take(TurnEvent("s", "text", "OK"))
    assert reply is not None
    stored = [item("u1", 1, "user", "Go"), item("a1", 2, "assistant", "OK")]
    assert reply.settled(stored) == {one: "a1"}
    assert [s.key for s in reply.tail if s.item is None] == [two]


def test_a_text_that_was_not_kept_is_marked_and_a_failure_stands_below() -> None:
    replies = Replies()
    replies.take(TurnEvent("s", "started", "Go"))
    _, key = replies.take(TurnEvent("s", "text", "Half an ans"))
    reply, _ = replies.take(TurnEvent("s", "failed", "It broke.", remedy="Send again."))
    assert reply is not None
    rows = pieces([item("u1", 1, "user", "Go")], reply.tail, running=False)
    rows += reply.foot(rows)
    assert kinds(rows) == [("u1", "user"), (key, "broken"), ("failed", "failed")]
    assert rows[-1].item.reasoning == "Send again."


def test_waiting_stands_below_until_text_comes() -> None:
    replies = Replies()
    reply, _ = replies.take(TurnEvent("s", "started", "Go"))
    assert reply is not None
    replies.take(TurnEvent("s", "waiting", "loading the model"))
    assert [(p.kind, p.item.text) for p in reply.foot()] == [("waiting", "loading the model")]
    replies.take(TurnEvent("s", "text", "Hi"))
    assert reply.foot() == []


def test_a_newer_page_replaces_the_end_and_keeps_what_is_older() -> None:
    old = [item(f"i{n}", n, "user", str(n)) for n in range(1, 6)]
    page = [item("i4", 4, "user", "changed"), item("i5", 5, "user", "5"), item("i6", 6, "user")]
    assert [i.id for i in merge(old, page, 3)] == ["i1", "i2", "i3", "i4", "i5", "i6"]
    assert merge(old, page, 3)[3].text == "changed"
    assert merge(old, page, 10) == page


def test_every_tool_has_a_sign_that_exists() -> None:
    for name in [*TOOL_ICONS, "another"]:
        assert not pixmap(tool_icon(name), 16, "text_soft").isNull()


def test_quiet_lines_say_what_happened() -> None:
    flush = item("f", 1, "flush", target="memory/2026-11-29.md", detail={"bullets": 2})
    assert quiet_line(flush, date(2026, 11, 29)) == "2 lines added to today's log"
    assert quiet_line(flush, date(2026, 11, 30)) == "2 lines added to yesterday's log"
    assert quiet_line(flush, date(2026, 12, 24)) == "2 lines added to the log of 29 Nov"
    gap = item("g", 1, "gap", "half a line")
    assert quiet_line(gap) == "A line of the log cannot be read: half a line"
    stop = item("i", 1, "interrupted", detail={"calls": ["c1"]})
    assert quiet_line(stop) == "Stopped; 1 open call has the result interrupted"
    over = item("o", 1, "overflow", detail={"requested": 5200, "window": 4096})
    assert quiet_line(over) == "The request had 5,200 tokens, the window 4,096"
    done = item(
        "c", 1, "compaction",
        detail={"number": 3, "covered": 41, "kept": 20, "before": 26_900, "after": 8_400},
    )  # fmt: skip
    assert compaction_line(done) == (
        "Compaction 3 ran: 41 messages summarised, 20 kept, 26.9k to 8,400 tokens"
    )


def test_a_saved_fact_has_a_line_of_its_own_and_a_proposed_one_says_so() -> None:
    arguments = '{"content": "The pump stops at 23:00"}'
    saved = item("t1", 1, "tool", tool="memory_save", arguments=arguments,
                 result="Saved 1 fact to MEMORY.md and today's log.")  # fmt: skip
    waits = item("t2", 2, "tool", tool="memory_save", arguments=arguments,
                 result="Saved 1 fact to today's log; a proposal for MEMORY.md waits.")  # fmt: skip
    rows = pieces([saved, waits])
    lines = [quiet_line(row.item) for row in rows if row.kind == "saved"]
    assert lines == [
        "Memory changed: 1 line saved, “The pump stops at 23:00”",
        "Saved to today's log, proposed for memory: “The pump stops at 23:00”",
    ]


def test_found_are_words_of_all_kinds_newest_first() -> None:
    items = [
        item("u1", 1, "user", "The PUMP"),
        item("t1", 2, "tool", tool="x", arguments="{}", result="pump runs"),
        item("a1", 3, "assistant", "nothing"),
        item("e1", 4, "eviction", "pump"),
    ]
    assert hits(items, "pump") == ["t1", "u1"]
    assert hits(items, " ") == []


def test_drafts_are_kept_by_session_and_go_when_empty() -> None:
    kept: dict = {"chat.drafts": "damaged"}
    drafts = Drafts(kept)
    drafts.put("s1", "half a thought")
    drafts.put("s2", "好")
    assert (drafts.get("s1"), drafts.get("s2"), drafts.get("s3")) == ("half a thought", "好", "")
    drafts.put("s1", " ")
    assert kept["chat.drafts"] == {"s2": "好"}


# ---------------------------------------------------------------------------- the inspector


def test_where_the_window_comes_from_is_never_elided(qtbot) -> None:
    panel = Inspector()
    qtbot.addWidget(panel)
    panel.resize(330, 600)
    panel.show()
    panel.show_view(ContextView((), 614, Window(8_192, "loaded"), {}))
    beside = panel.source.y() == panel.of.y()
    assert panel.source.text() == "as loaded"
    assert panel.source.accessibleName().endswith("as the server loaded it.")
    panel.show_view(ContextView((), 24_300, Window(131_072, "table"), {}, estimated=True))
    panel.resize(280, 600)
    QApplication.processEvents()
    assert beside
    assert panel.source.y() > panel.of.y()
    for source in ("setting", "loaded", "reported", "learned", "table", "default"):
        panel.show_view(ContextView((), 24_300, Window(131_072, source), {}, estimated=True))
        QApplication.processEvents()
        assert panel.source.sizeHint().width() <= panel.source.width()


def view(*parts: ContextPart, flush: int = 0) -> ContextView:
    limits = {"flush": flush, "compact": 800, "limit": 900}
    return ContextView(parts, sum(p.tokens for p in parts), Window(1_000), limits)


RULES = ContextPart("rules", "system", "Be brief.\n", 3, "AGENTS.md")
MEMORY = ContextPart("memory", "system", "- Tea\n", 2, "MEMORY.md")
ASKED = ContextPart("history", "user", "Hi", 5)
RESULT = ContextPart("history", "tool", "42 lines", 7, "execute, put aside")
SCHEMAS = ContextPart("tools", "system", "{}", 11, "3 tools")


def test_every_token_is_in_one_group_and_texts_are_exact() -> None:
    found = groups(view(RULES, MEMORY, ASKED, RESULT, SCHEMAS))
    assert [(g.kind, g.tokens) for g in found] == [
        ("rules", 3), ("memory", 2), ("history", 5), ("tools", 18),
    ]  # fmt: skip
    assert found[0].text == "Be brief."
    assert found[3].detail == "3 tools, 1 result, 1 put aside"
    assert "42 lines" in found[3].text
    assert "execute, put aside" in found[3].text


def test_what_must_be_read_again_begins_at_the_first_change() -> None:
    before = view(RULES, MEMORY, ASKED, SCHEMAS)
    answer = ContextPart("history", "assistant", "Hello", 4)
    assert since(None, before) == ""
    assert since(before, before) == "Nothing changed since the last request"
    longer = view(RULES, MEMORY, ASKED, answer, SCHEMAS)
    assert since(before, longer) == "21 tokens as in the last request, 4 new"
    other = view(RULES, ContextPart("memory", "system", "- Coffee\n", 2), ASKED, SCHEMAS)
    said = since(before, other)
    assert said == "Memory changed since the last request: 7 tokens are read again"


def test_a_flush_that_comes_with_the_compaction_has_no_mark_of_its_own() -> None:
    assert marks(view(RULES, flush=800)) == [("compact", 800), ("limit", 900)]
    assert marks(view(RULES, flush=600))[0] == ("flush", 600)
