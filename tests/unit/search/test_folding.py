"""The same line in several places, and what stands around a hit."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import put, said, talk, with_index

LINE = "The pump runs 4 minutes at 06:30"


def lines_everywhere(root: Path) -> None:
    put(root, "MEMORY.md", f"# Notes\n\n- {LINE}\n- another pump\n")
    put(root, "memory/2026-06-02.md", f"- {LINE}\n")
    put(root, "memory/archive/2025-06-02.md", f"* {LINE.upper()}\n")
    talk(root, "s-1", said(1, LINE), said(2, LINE))


@pytest.mark.parametrize("mode", ["words", "literal"])
def test_one_line_is_one_hit_with_its_places_when_wanted(tmp_path: Path, mode: str) -> None:
    lines_everywhere(tmp_path)

    async def work(index: MemoryIndex) -> None:
        query = Query("pump runs", mode=mode)  # type: ignore[arg-type]
        plain = await index.search(query)
        assert len(plain.hits) == plain.total == 5
        assert not any(hit.places for hit in plain.hits)
        folded = await index.search(Query("pump runs", mode=mode, fold=True))  # type: ignore[arg-type]
        assert folded.total == 5
        assert sum(plain.counts.values()) == sum(folded.counts.values()) == 5
        lines = [hit for hit in folded.hits if hit.layer in ("memory", "daily")]
        (line,) = lines
        assert line.layer == "memory", "what holds now is the hit"
        assert {line.path, *(place.path for place in line.places)} == {
            "MEMORY.md", "memory/2026-06-02.md", "memory/archive/2025-06-02.md",
        }  # fmt: skip
        assert [hit.layer for hit in folded.hits].count("sessions") == 2, "said twice is said twice"

    with_index(tmp_path, work)


def test_a_line_that_stands_everywhere_names_some_of_its_places(tmp_path: Path) -> None:
    for n in range(70):
        put(tmp_path, f"memory/note-{n}.md", "- the gate code\n")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("gate", mode="words", fold=True, limit=200))
        (hit,) = result.hits
        assert (len(hit.places), result.total) == (50, 70)

    with_index(tmp_path, work)


def test_a_folded_place_opens_where_the_line_is(tmp_path: Path) -> None:
    lines_everywhere(tmp_path)

    async def work(index: MemoryIndex) -> None:
        (hit,) = (await index.search(Query("in:memory,daily 06:30", fold=True))).hits
        for place in (hit, *hit.places):
            text = (tmp_path / place.path).read_text("utf-8").split("\n")[place.line - 1]
            assert LINE.lower() in text.lower()

    with_index(tmp_path, work)


def test_the_entries_around_a_hit_come_when_they_are_asked_for(tmp_path: Path) -> None:
    long = "a long story " * 100
    talk(
        tmp_path,
        "s-1",
        *(said(n, f"turn {n}") for n in range(3)),
        said(3, "the pump"),
        said(4, long),
    )
    talk(tmp_path, "s-2", said(9, "somebody else"))

    async def work(index: MemoryIndex) -> None:
        (hit,) = (await index.search(Query("pump"))).hits
        assert (hit.before, hit.after) == ((), ())
        (hit,) = (await index.search(Query("pump", context=2), width=40)).hits
        assert hit.before == ("turn 1", "turn 2")
        assert len(hit.after) == 1
        assert hit.after[0].startswith("a long story")
        assert len(hit.after[0]) <= 41

    with_index(tmp_path, work)


def test_a_question_gets_lines_that_are_nearly_the_same_once(tmp_path: Path) -> None:
    """Articles, case and punctuation say nothing; a number, a sign, a tense or a "not" does."""
    nearly = ("The pump runs 4 minutes at 06:30", "- pump runs, 4 minutes at 06:30.",
              "A PUMP: runs 4 minutes (at 06:30)!")  # fmt: skip
    others = ("The pump runs 5 minutes at 06:30", "The pump runs -4 minutes at 06:30",
              "The pump runs not 4 minutes at 06:30", "At 06:30 runs the pump 4 minutes",
              "The pump ran 4 minutes at 06:30")  # fmt: skip
    chinese = ("水泵在六点半启动，运行四分钟", "水泵在六点半启动,运行四分钟。")
    put(tmp_path, "MEMORY.md", f"- {nearly[0]}\n- {chinese[0]}\n")
    put(tmp_path, "memory/2026-06-02.md", f"{nearly[1]}\n- {chinese[1]}\n")
    talk(tmp_path, "s-1", said(1, nearly[2]), *(said(9 + n, text) for n, text in enumerate(others)))

    async def work(index: MemoryIndex) -> None:
        found = (await index.search(Query("when does the pump run?", mode="natural"))).hits
        (one,) = (hit for hit in found if hit.path == "MEMORY.md")
        assert {(place.layer, place.line) for place in one.places} == {
            ("daily", 1),
            ("sessions", 1),
        }
        assert sorted(hit.text for hit in found if hit is not one) == sorted(others)
        assert not any(hit.places for hit in found if hit is not one)
        (drop,) = (await index.search(Query("水泵什么时候启动", mode="natural"))).hits
        assert [(place.layer, place.line) for place in drop.places] == [("daily", 2)]
        words = await index.search(Query("pump", mode="words"))
        assert len(words.hits) == 3 + len(others), "who looks for a word wants each time"

    with_index(tmp_path, work)
