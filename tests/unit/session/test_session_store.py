"""The list of sessions, its index, the trash."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from app.engine.context.tokens import Counter
from app.engine.errors import PathRefused, SessionNotFound, StorageError, WorkspaceBusy
from app.engine.records import TEXT_LIMIT, Message, Query
from app.engine.search.index import MemoryIndex
from app.engine.session import entries as e
from app.engine.session import glance
from app.engine.session.lines import Line
from app.engine.session.pages import Pages
from app.engine.session.session import Session
from app.engine.session.store import SessionStore
from app.engine.session.transcript import items
from app.engine.workspace.layout import Layout
from tests.helpers.session_parts import bot, kit, said, summary, user


def store(folder: Path, **values: bool) -> SessionStore:
    return SessionStore(Layout.at(folder), fsync="never", kit=kit(), **values)


def talk(there: SessionStore, session_id: str, *texts: str) -> Session:
    session = there.create(session_id)
    for text in texts:
        session.add(user(text))
        session.add(bot(f"answer to {text}"))
    session.close()
    return session


def index_of(folder: Path) -> dict[str, dict[str, object]]:
    data = json.loads(Layout.at(folder).sessions_index.read_bytes())
    assert data["version"] == 1
    return data["sessions"]


def test_the_list_says_what_the_logs_say(tmp_path: Path) -> None:
    there = store(tmp_path)
    talk(there, "s-1", "first question", "second question")
    session = there.create("s-2")
    session.add(user("look\nat this"))
    session.append(e.Flush(to="x", path="memory/2026-06-02.md"))
    session.append(e.Eviction(target="t", in_context="cut", file="f"))
    assert session.commit_compaction(
        summary="s", message=summary(), covered=[session.context[0].id]
    )
    session.close()
    newest, oldest = there.list()
    assert (newest.id, newest.title, newest.messages) == ("s-2", "look", 1)
    assert (newest.compactions, newest.flushes, newest.evictions) == (1, 1, 1)
    assert (oldest.id, oldest.title, oldest.messages, oldest.entries) == (
        "s-1", "first question", 4, 5,
    )  # fmt: skip
    assert oldest.first is not None
    assert oldest.last is not None
    assert oldest.first < oldest.last
    assert oldest.bytes == Layout.at(tmp_path).session_log("s-1").stat().st_size
    assert index_of(tmp_path)["s-1"]["summary"] == "first question"
    assert index_of(tmp_path)["s-1"]["updatedAt"] == oldest.last.isoformat()


def test_titles(tmp_path: Path) -> None:
    there = store(tmp_path)
    talk(there, "long", "x" * 100)
    talk(there, "blank", " \n\t ")
    talk(there, "late", "  \n  after   blank lines\nmore")
    talk(there, "named", "first line").rename("  A person's title ")
    talk(there, "unnamed", "first line").rename("  ")
    titles = {i.id: i.title for i in there.list()}
    assert titles == {
        "long": "x" * 79 + "…",
        "blank": "Session blank",
        "late": "after blank lines",
        "named": "A person's title",
        "unnamed": "first line",
    }


@pytest.mark.case("SES-16")
@pytest.mark.parametrize(
    "damage", [b"", b"{half", b"[]", b'{"version":1,"sessions":7}', b'{"sessions":{"s-1":3}}', None]
)
def test_a_corrupt_index_is_rebuilt_from_the_logs(tmp_path: Path, damage: bytes | None) -> None:
    there = store(tmp_path)
    talk(there, "s-1", "first").rename("A title")
    talk(there, "s-2", "second")
    before = there.list()
    path = Layout.at(tmp_path).sessions_index
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert store(tmp_path).list() == before
    assert set(index_of(tmp_path)) == {"s-1", "s-2"}
    assert index_of(tmp_path)["s-1"]["summary"] == "A title"


def test_unchanged_logs_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = store(tmp_path)
    for n in range(5):
        talk(there, f"s-{n}", f"question {n}")
    before = there.list()
    read: list[tuple[str, int]] = []
    whole = glance.SessionLog.read

    def counted(self: glance.SessionLog, start: int = 0, after: int = 0) -> Iterator[Line]:
        read.append((self.path.name, start))
        return whole(self, start, after)

    monkeypatch.setattr(glance.SessionLog, "read", counted)
    again = store(tmp_path)  # another start of the program
    assert again.list() == before
    assert read == []
    size = Layout.at(tmp_path).session_log("s-3").stat().st_size
    session = again.open("s-3")
    session.add(user("more"))
    session.close()
    read.clear()
    assert next(i for i in again.list() if i.id == "s-3").messages == 3
    assert read == [("s-3.log.jsonl", size)]  # only what is new


def test_looking_on_gives_what_looking_anew_gives(tmp_path: Path) -> None:
    there = store(tmp_path)
    session = there.create("s-1")
    session.add(user("one"))
    for n in range(4):
        there.list()
        session.add(bot("yes" if n % 2 else "", f"a{n}", *(["c"] if n % 2 == 0 else [])))
        if n % 2 == 0:
            session.add_result("c", "look", "found")
    path = Layout.at(tmp_path).session_log("s-1")
    path.write_bytes(path.read_bytes() + b"not json\n" + b'{"type":"message","te')
    grown = there.list()
    Layout.at(tmp_path).sessions_index.unlink()
    assert grown == store(tmp_path).list()
    assert grown[0].messages == session.counters.messages


def test_what_other_writers_put_into_the_index_stays(tmp_path: Path) -> None:
    there = store(tmp_path)
    talk(there, "s-1", "one")
    path = Layout.at(tmp_path).sessions_index
    other = {"summary": "theirs", "updatedAt": "2026-01-01T00:00:00Z", "flag": 1}
    path.write_text(json.dumps({"version": 1, "sessions": {"far": other, "s-1": {"color": "red"}}}))
    store(tmp_path).list()
    assert index_of(tmp_path)["far"] == other
    assert index_of(tmp_path)["s-1"]["color"] == "red"
    assert [i.id for i in store(tmp_path).list()] == ["s-1"]


def test_read_only_writes_nothing(tmp_path: Path) -> None:
    talk(store(tmp_path), "s-1", "one")
    before = sorted(tmp_path.rglob("*"))
    assert [i.id for i in store(tmp_path, read_only=True).list()] == ["s-1"]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.case("MOT-94")
@pytest.mark.parametrize("bad", ["../x", "a/b", "..\\x", ".hidden", "", "x" * 129, "a b", "a\n"])
def test_ids_that_could_leave_the_folder_are_refused(tmp_path: Path, bad: str) -> None:
    home = tmp_path / "w"
    there = store(home)
    for act in (there.open, there.exists, there.trash, *([there.create] if bad else [])):
        with pytest.raises(PathRefused):
            act(bad)
    assert list(tmp_path.iterdir()) == []


def test_an_id_is_taken_once(tmp_path: Path) -> None:
    there = store(tmp_path)
    talk(there, "x" * 128, "one")
    with pytest.raises(StorageError):
        there.create("x" * 128)
    assert there.open("x" * 128).id == "x" * 128


def test_trash_and_back(tmp_path: Path) -> None:
    there = store(tmp_path)
    talk(there, "s-1", "one")
    talk(there, "s-2", "two")
    layout = Layout.at(tmp_path)
    (tmp_path / "big.txt").write_text("evicted")
    before = {p.name: p.read_bytes() for p in layout.sessions_dir.glob("s-1*")}
    there.list()
    there.trash("s-1", more=["big.txt"])
    assert [i.id for i in there.list()] == ["s-2"]
    assert "s-1" not in index_of(tmp_path)
    assert [(i.id, i.title, i.trashed) for i in there.list(trashed=True)] == [("s-1", "one", True)]
    assert not (tmp_path / "big.txt").exists()
    with pytest.raises(SessionNotFound):
        there.trash("s-1")
    there.restore("s-1")
    assert {p.name: p.read_bytes() for p in layout.sessions_dir.glob("s-1*")} == before
    assert (tmp_path / "big.txt").read_text() == "evicted"
    assert there.list(trashed=True) == []
    assert {i.id for i in there.list()} == {"s-1", "s-2"}
    with pytest.raises(SessionNotFound):
        there.restore("s-1")


def test_an_open_session_is_not_moved_away(tmp_path: Path) -> None:
    there = store(tmp_path)
    session = there.create("s-1")
    session.add(user("one"))
    with pytest.raises(WorkspaceBusy):
        there.trash("s-1")
    session.close()
    there.trash("s-1")


def test_a_fork_knows_its_parent(tmp_path: Path) -> None:
    there = store(tmp_path)
    parent = talk(there, "s-1", "one")
    there.fork(parent, "s-2").close()
    assert {i.id: i.parent for i in there.list()} == {"s-1": "", "s-2": "s-1"}
    assert said(there.open("s-2")) == said(parent)


# ---------------------------------------------------------------------------- damaged logs


def put_log(folder: Path, session_id: str, body: bytes) -> Path:
    path = Layout.at(folder).session_log(session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def record(n: int, text: str) -> bytes:
    entry = {"v": 1, "seq": n, "type": "message", "id": f"m{n}", "role": "USER", "content": text}
    return json.dumps(entry).encode() + b"\n"


def found(folder: Path, words: str) -> int:
    """How many session entries the search index finds."""

    async def main() -> int:
        index = MemoryIndex(folder, zone=UTC)
        await index.open()
        try:
            await index.index_all_from_workspace()
            query = Query(words, mode="words", layers=frozenset({"sessions"}))
            return (await index.search(query)).total
        finally:
            await index.close()

    return asyncio.run(main())


@pytest.mark.case("B45")
def test_list_and_conversation_agree_on_a_damaged_log(tmp_path: Path) -> None:
    body = [record(n, f"text {n}") for n in range(1, 101)]
    body[39] = b'{"type":"message","id":"m40","role":"US\n'
    put_log(tmp_path, "s-1", b"".join(body))
    cut = b"".join(record(n, f"text {n}") for n in range(1, 20))
    nested = (
        b'{"v":1,"seq":20,"type":"tool_use","id":"a:use:c","toolCallId":"c","input":{"a":{"b":['
    )
    put_log(tmp_path, "s-2", cut + nested)
    there = store(tmp_path)
    infos = {i.id: i for i in there.list()}

    first = there.open("s-1")
    assert len(first.context) == infos["s-1"].messages == infos["s-1"].entries == 99
    shown = Pages().page(there.log("s-1"))
    assert shown == items(first.entries())
    assert [i.kind for i in shown].count("gap") == 1  # one notice, at its place
    assert (shown[38].id, shown[39].kind, shown[40].id) == ("m39", "gap", "m41")
    assert infos["s-1"].title == "text 1"

    second = there.open("s-2")
    assert len(second.context) == infos["s-2"].messages == 19
    gaps = [i for i in Pages().page(there.log("s-2")) if i.kind == "gap"]
    assert [g.detail["torn"] for g in gaps] == [True]


@pytest.mark.case("B50")
def test_valid_json_of_the_wrong_shape(tmp_path: Path) -> None:
    strange = [
        b"42", b'"massive error"', b"[1]", b'{"silly":"this"}',
        b'{"type":"message","id":"m2","role":"USER","content":"misspelt","timestmap":5}',
        b'{"type":"message","message":"bare text"}',
        b'{"type":"compaction","id":"k1","summaryEntryId":"nobody","firstKeptEntryId":"m2"}',
        b'{"type":"hologram","id":"h1","depth":{"a":1}}',
        b'{"type":"message","id":"m3","role":"USER","text":"renamed field"}',
        b'{"type":"message","id":"m4","role":"USER","content":{"parts":[{"text":"deeper"}]}}',
        b'{"type":"novelty","id":"n1"}',
    ]  # fmt: skip
    path = put_log(
        tmp_path, "s-1", record(1, "before") + b"\n".join(strange) + b"\n" + record(13, "after")
    )
    before = path.read_bytes()
    there = store(tmp_path)
    session = there.open("s-1")
    assert said(session) == ["before", "misspelt", "after"]
    assert session.counters.bad == 7
    shown = items(session.entries())
    assert [i.kind for i in shown] == [
        "user", "gap", "gap", "gap", "gap", "user", "gap", "note", "note", "gap", "gap",
        "note", "user",
    ]  # fmt: skip
    assert [i.text for i in shown if i.kind == "note"] == ["", "hologram", "novelty"]
    assert shown[4].detail["raw"] == '{"silly":"this"}'
    assert there.list()[0].entries == session.counters.entries == 6
    session.add(user("goes on"))
    assert path.read_bytes().startswith(before)  # nothing is rewritten


@pytest.mark.case("B49")
def test_half_an_emoji_kills_nothing(tmp_path: Path) -> None:
    texts = [rb"ok \ud83d\u2026", rb"\ud604\ud99c \ubcf4", rb"pair \ud83c\udf78"]
    lines = [
        b'{"v":1,"seq":%d,"type":"message","id":"m%d","role":"USER","content":"%s"}\n' % (n, n, t)
        for n, t in enumerate(texts, 1)
    ]
    put_log(tmp_path, "s-1", b"".join(lines))
    there = store(tmp_path)
    expected = ["ok \ufffd…", "현\ufffd 보", "pair 🍸"]
    session = there.open("s-1")
    assert [m.content for m in session.outgoing()] == expected  # to the model
    assert [i.text for i in Pages().page(there.log("s-1"))] == expected  # to the eye
    assert there.list()[0].title == expected[0]
    session.add(bot("\udc00 answer"))
    session.sync()
    Layout.at(tmp_path).session_view("s-1").read_bytes().decode("utf-8")
    Layout.at(tmp_path).sessions_index.read_bytes().decode("utf-8")
    with sqlite3.connect(":memory:") as base:
        for message in session.context:
            (stored,) = base.execute("select ?", (message.content,)).fetchone()
            assert stored == message.content
    base.close()
    assert len(expected[2]) == len("pair ") + 1
    session.close()
    assert found(tmp_path, "pair") == found(tmp_path, "ok") == 1


@pytest.mark.case("B56")
def test_a_giant_line_and_heavy_images_hold_up_nothing(tmp_path: Path) -> None:
    there = store(tmp_path)
    heavy = there.create("heavy")
    for n in range(8):
        heavy.add(user(f"q{n}"))
    heavy.add(bot("", "a1", "c1"))
    heavy.add_result("c1", "look", "z" * 12_000_000)
    for n in range(8):
        heavy.add(bot(f"r{n}", f"b{n}"))
    heavy.close()
    pictures = there.create("pictures")
    image = "data:image/png;base64," + "A" * 300_000
    for n in range(10):
        pictures.add(Message(f"p{n}", "user", f"see {n}", images=(image,)))
    pictures.close()
    talk(there, "light", "small")

    assert {i.id for i in store(tmp_path).list()} == {"heavy", "pictures", "light"}
    shown = Pages().page(there.log("heavy"), limit=9)
    assert [i.text for i in shown[1:]] == [f"r{n}" for n in range(8)]
    assert shown[0].kind == "tool"
    assert len(shown[0].result or "") == TEXT_LIMIT
    assert shown[0].cut == 12_000_000
    seen = Pages().page(there.log("pictures"))
    assert [i.detail["images"] for i in seen] == [1] * 10
    assert all("base64" not in str(i) for i in seen)  # shown as a count, never as text
    sent = there.open("pictures").outgoing()
    assert Counter().messages(sent) < 10 * 1_200  # counted as images, not as text
    assert found(tmp_path, "see") == 10
    assert found(tmp_path, "base64") == found(tmp_path, "AAAA*") == 0  # nothing of it is indexed


def test_the_end_of_a_huge_log_is_read_without_its_beginning(tmp_path: Path) -> None:
    """A sparse file of 3 GB: reading it whole would take its time and its memory."""
    path = put_log(tmp_path, "huge", record(1, "start"))
    with path.open("r+b") as file:
        file.truncate(3 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"".join(record(n, f"text {n}") for n in range(3, 200)))
    shown = Pages().page(store(tmp_path).log("huge"), limit=50)
    assert [i.id for i in shown] == [f"m{n}" for n in range(150, 200)]
