"""An answer without hits has a reason, and words to try instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.engine.records import Query
from app.engine.search import answers
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import put, said, talk, with_index


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("deplyo", "deploy"), ("deploj", "deploy"), ("dploy", "deploy"),
        ("greenhose", "greenhouse"), ("xump", "pump"), ("ventilaton", "ventilation"),
        ("数居", "数据"), ("muler", "muller"),
    ],
)  # fmt: skip
def test_the_nearest_words_are_offered(tmp_path: Path, typed: str, wanted: str) -> None:
    put(tmp_path, "MEMORY.md", "- deploy the greenhouse pump ventilation\n- 数据库\n- Zoë Müller\n")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query(typed))
        assert not result.hits
        assert result.reason
        assert result.nearest[0] == wanted
        assert (await index.search(Query(result.nearest[0]))).hits

    with_index(tmp_path, work)


def test_nothing_is_offered_that_is_not_there(tmp_path: Path) -> None:
    put(tmp_path, "memory/2026-06-02.md", "- the harbour lamp\n")
    gone = put(tmp_path, "memory/2026-06-03.md", "- the harpoon\n")

    async def work(index: MemoryIndex) -> None:
        assert (await index.search(Query("harpon"))).nearest == ("harpoon",)
        gone.unlink()
        await index.update("memory/2026-06-03.md")
        assert (await index.search(Query("harpon"))).nearest == ()
        assert (await index.search(Query("zzzzzzzzzz"))).nearest == ()

    with_index(tmp_path, work)


def test_filters_say_how_much_they_leave_out(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- the lamp\n- a lamp\n- lamps\n")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("lamp in:daily"))
        assert result.reason == "The filters leave out 2 matches."
        assert result.causes == {"filters"}
        result = await index.search(Query("lamp", layers=frozenset({"sessions"})))
        assert result.reason == "The filters leave out 2 matches."

    with_index(tmp_path, work)


def test_a_single_letter_is_too_short(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- unrelated\n")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("q"))
        assert not result.hits
        assert "too short" in result.reason
        assert "q*" in result.reason
        assert result.causes == {"short"}

    with_index(tmp_path, work)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("typed", "found"),
    [("->", "- f -> g"), ("!!", "- stop!!"), ("-!", "- -!-"), ("-> g", "- f -> g")],
)
def test_signs_alone_are_found_letter_by_letter(
    tmp_path: Path, typed: str, found: str, whole: bool
) -> None:
    put(tmp_path, "MEMORY.md", "- f -> g\n- stop!!\n- -!-\n- nothing g\n")

    async def work(index: MemoryIndex) -> None:
        (hit,) = (await index.search(Query(typed, mode="literal"))).hits
        assert hit.text == found
        assert [hit.text[span.start : span.end] for span in hit.spans] == [typed]
        if typed != "-> g":
            signs = await index.search(Query(typed))
            assert not signs.hits
            assert signs.reason.endswith("There are no letters or digits to search for.")
            assert signs.causes == {"signs"}
        for nothing in ("=>", "=> in:memory", '"', " "):
            assert not (await index.search(Query(nothing, mode="literal"))).hits
        assert len((await index.search(Query("in:memory", mode="literal"))).hits) == 4

    if not whole:
        put(tmp_path, ".palimpsest/index.db", "no database at all")
    with_index(tmp_path, work, whole=whole)


def test_files_that_are_not_indexed_are_told(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- unrelated\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-06-02.md").write_bytes("- 港口\n".encode("gbk"))

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("港口"))
        assert "1 file is not indexed, as its text" in result.reason
        assert result.causes == {"left_out"}
        (left_out,) = await index.left_out()
        assert left_out.path == "memory/2026-06-02.md"
        assert left_out.why.startswith("is written in")
        put(tmp_path, "memory/2026-06-02.md", "- 港口\n")
        await index.update("memory/2026-06-02.md")
        assert await index.left_out() == []

    with_index(tmp_path, work)


def marked(number: int, target: str, **what: bool) -> dict[str, Any]:
    return {
        "v": 1, "seq": number, "type": "mark", "id": f"k-{number}", "targets": [target],
        "timestamp": "2026-06-02T02:00:00+00:00",
    } | what  # fmt: skip


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_marked_away_is_found_neither_by_the_index_nor_in_the_files(
    tmp_path: Path, whole: bool
) -> None:
    talk(
        tmp_path, "s-1", said(1, "lamp one"), said(2, "lamp two"), said(3, "lamp three"),
        marked(4, "m-1", do_not_remember=True), marked(5, "m-2", deleted=True),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        if not whole:
            index_file = tmp_path / ".palimpsest" / "index.db"
            assert index_file.exists()
        for mode in ("words", "natural", "literal"):
            result = await index.search(Query("lamp", mode=mode))  # type: ignore[arg-type]
            assert [hit.text for hit in result.hits] == ["lamp three"]

    if not whole:
        put(tmp_path, ".palimpsest/index.db", "no database at all")
    with_index(tmp_path, work, whole=whole)


@pytest.mark.parametrize("whole", [True, False])
def test_evicted_results_are_filtered_with_and_without_an_index(
    tmp_path: Path, whole: bool
) -> None:
    result = {"type": "tool_result", "name": "grep", "role": "TOOL"}
    talk(
        tmp_path, "s-1", said(1, "", output="lamp in the log", **result),
        said(2, "", output="lamp in the book", **result),
        {"v": 1, "seq": 3, "type": "eviction", "id": "e-3", "target": "m-2",
         "timestamp": "2026-06-02T02:00:00+00:00", "file": "large_tool_results/x"},
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        found = await index.search(Query("lamp has:evicted"))
        assert [hit.text for hit in found.hits] == ["lamp in the book"]
        found = await index.search(Query("lamp has:tool tool:grep"))
        assert len(found.hits) == 2

    if not whole:
        put(tmp_path, ".palimpsest/index.db", "no database at all")
    with_index(tmp_path, work, whole=whole)


@pytest.mark.parametrize("whole", [True, False])
def test_names_of_tools_are_folded_as_words_are(tmp_path: Path, whole: bool) -> None:
    call = {"type": "tool_use", "role": "ASSISTANT"}
    talk(
        tmp_path, "s-1", said(1, "", input="lamp one", name="Straße_Prüfen", **call),
        said(2, "", input="lamp two", name="ДОМ", **call),
        said(3, "", input="lamp three", name="Ｇｒｅｐ", **call),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        for typed, ones in (
            ("tool:straße_prüfen", ["one"]), ("tool:STRASSE_PRUFEN", ["one"]),
            ("tool:дом", ["two"]), ("tool:grep,дом", ["three", "two"]),
            ("-tool:Дом", ["three", "one"]),
        ):  # fmt: skip
            found = await index.search(Query(f"lamp {typed}", newest_first=True))
            assert [hit.text.split()[-1] for hit in found.hits] == ones, typed

    if not whole:
        put(tmp_path, ".palimpsest/index.db", "no database at all")
    with_index(tmp_path, work, whole=whole)


@pytest.mark.parametrize("how", ["followed", "at once", "scanned"])
def test_an_eviction_tells_of_what_was_there_before_it(tmp_path: Path, how: str) -> None:
    def put_aside(number: int, target: str) -> dict[str, Any]:
        return {"v": 1, "seq": number, "type": "eviction", "id": f"e-{number}", "target": target}

    entries = [
        put_aside(1, "m-7"), said(2, "first lamp", id="m-7"), put_aside(3, "m-7"),
        said(4, "second lamp", id="m-7"), said(5, "third lamp", id="m-5"), put_aside(6, "m-5"),
    ]  # fmt: skip
    log = talk(tmp_path, "s-1", *entries[:1])
    if how == "scanned":
        put(tmp_path, ".palimpsest/index.db", "no database at all")

    async def work(index: MemoryIndex) -> None:
        for so_far in range(2 if how == "followed" else len(entries), len(entries) + 1):
            talk(tmp_path, "s-1", *entries[:so_far])
            await index.update(log)
        found = await index.search(Query("lamp has:evicted", "words", newest_first=True))
        assert [hit.text for hit in found.hits] == ["third lamp", "first lamp"]
        assert (await index.search(Query("lamp"))).total == 3

    with_index(tmp_path, work, whole=how == "followed")


def test_without_an_index_more_of_the_terms_still_rank_higher(tmp_path: Path) -> None:
    talk(
        tmp_path, "s-1", said(1, "the lamp of the harbour"), said(2, "a lamp"), said(3, "a lamp"),
        said(4, "the sea"),
    )  # fmt: skip
    put(tmp_path, ".palimpsest/index.db", "no database at all")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("Where is the harbour lamp?", mode="natural"))
        assert [hit.entry_id for hit in result.hits] == ["m-1", "m-3"]
        assert [place.entry_id for place in result.hits[1].places] == ["m-2"]
        assert "files were read instead" in result.reason

    with_index(tmp_path, work, whole=False)


def test_of_words_equally_near_the_more_frequent_comes_first(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- a lamb\n" + "".join(f"- lamp number {n}\n" for n in range(4)))

    async def work(index: MemoryIndex) -> None:
        assert (await index.search(Query("lamx"))).nearest[:2] == ("lamp", "lamb")

    with_index(tmp_path, work)


def test_an_answer_says_what_was_no_filter(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- the probe is wet\n")

    async def work(index: MemoryIndex) -> None:
        for mode in ("auto", "natural"):
            found = await index.search(Query("probe day:2025-13", mode=mode))
            assert found.hits
            assert found.note.startswith("“2025-13” is no day")
        none = await index.search(Query("probe role:tol", mode="words"))
        assert not none.hits
        assert none.remark.startswith("“tol” is no role")
        assert none.remark.endswith(none.reason)

    with_index(tmp_path, work)


def test_in_words_mode_the_last_word_may_be_a_beginning(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- the probe in bed four is wet\n- a bed\n")

    async def work(index: MemoryIndex) -> None:
        for quick in (False, True):
            for typed in ("prob", "bed prob", "four the pro"):
                (hit,) = (await index.search(Query(typed, mode="words", quick=quick))).hits
                assert hit.line == 1
            for typed in ("prob ", "prob bed", "be four", '"prob"'):
                assert not (await index.search(Query(typed, mode="words", quick=quick))).hits

    with_index(tmp_path, work)


@pytest.mark.parametrize(
    ("typed", "told", "near"),
    [
        ("probe humdity", "“humdity” is nowhere; like it: humidity.", ("humidity",)),
        ("probe zzzzz humi", "“zzzzz” is nowhere.", ()),
        ("probe humi wet", "“humi” is nowhere.", ()),
        ("probe umidity", "“umidity” is nowhere.", ()),
        ("what did the probe xqzvvvv?", "“xqzvvvv” is nowhere.", ()),
        ("周报 火星", "“火星” is nowhere.", ()),
        ("probing humidty wet", "“humidty” is nowhere; like it: humidity.", ("humidity",)),
        ("probe zzzzz wet qqqqq", "“zzzzz” and “qqqqq” are nowhere.", ()),
        ("wet xxxxx zzzzz qqqqq", "“xxxxx”, “zzzzz” and “qqqqq” are nowhere.", ()),
        (
            "wet humdity qqqqq",
            "“humdity” and “qqqqq” are nowhere; like them: humidity.",
            ("humidity",),
        ),
        ("probes humid", "", ()),
        ("wet missing* probe", "", ()),
    ],
)
def test_beside_hits_the_words_that_stand_nowhere_are_told(
    tmp_path: Path, typed: str, told: str, near: tuple[str, ...]
) -> None:
    put(tmp_path, "MEMORY.md", "- the probe is wet\n- humidity\n- 周报写好了\n")

    async def work(index: MemoryIndex) -> None:
        found = await index.search(Query(typed))
        assert found.hits
        assert (found.note, found.nearest) == (told, near)
        quick = await index.search(Query(typed, mode="natural", quick=True))
        assert (quick.note, quick.nearest) == ("", ())

    with_index(tmp_path, work)


def test_each_missing_word_has_its_turn_among_the_words_offered(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- lamp lamb lame lamps lampe\n- harpoon\n")

    async def work(index: MemoryIndex) -> None:
        none = await index.search(Query("lampo harpon ", mode="words"))
        assert not none.hits
        assert set(none.nearest[:2]) >= {"harpoon"}

    with_index(tmp_path, work)


def test_a_session_that_is_none_is_told(tmp_path: Path) -> None:
    talk(tmp_path, "s-1", said(1, "the probe"))

    async def work(index: MemoryIndex) -> None:
        unknown = "There is no session whose id begins with “hum”."
        none = await index.search(Query("probe session:hum"))
        assert none.reason == f"{unknown} The filters leave out 1 match."
        assert none.causes == {"filters", "session"}
        alone = await index.search(Query("session:hum"))
        assert (alone.reason, alone.causes) == (unknown, {"session"})
        assert (await index.search(Query("session:s session:hum lamp"))).reason != unknown
        assert (await index.search(Query("session:s- probe"))).hits

    with_index(tmp_path, work)


def test_what_could_not_be_looked_at_yet_or_in_time_is_a_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "MEMORY.md", "- the lamp\n")

    async def growing(index: MemoryIndex) -> None:
        assert index.state.state == "building"
        assert (await index.search(Query("harbour"))).causes == {"building"}

    async def slow(index: MemoryIndex) -> None:
        monkeypatch.setattr(answers, "SCAN_SECONDS", 0.0)
        assert (await index.search(Query("harbour"))).causes == {"late"}

    with_index(tmp_path, growing, whole=False)
    put(tmp_path, ".palimpsest/index.db", "no database at all")
    with_index(tmp_path, slow, whole=False)
