"""Questions: what comes first, and why."""

from __future__ import annotations

from pathlib import Path

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import put, said, talk, with_index

FILLER = [said(n, f"Nothing much happened at number {n} of the harbour") for n in range(40, 90)]


async def first(index: MemoryIndex, text: str) -> str:
    result = await index.search(Query(text, mode="natural"))
    assert result.mode == "natural"
    return result.hits[0].text


def test_more_of_the_terms_rank_higher_and_a_rare_one_above_a_frequent_one(tmp_path: Path) -> None:
    talk(
        tmp_path, "s-1", *FILLER, said(100, "The harbour has a lamp"), said(110, "A lamp"),
        said(120, "The keeper paints"),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        assert await first(index, "Does the harbour have a lamp?") == "The harbour has a lamp"
        hits = (await index.search(Query("harbour keeper", mode="natural"))).hits
        assert hits[0].text == "The keeper paints"

    with_index(tmp_path, work)


def test_who_says_it_comes_before_who_is_spoken_to(tmp_path: Path) -> None:
    talk(
        tmp_path, "s-1", *FILLER,
        said(100, "Bert: Sails are sails, Ann"),
        said(110, "Ann: I mended the sails today, you and the others would have laughed at it"),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        assert (await first(index, "What did Ann do with the sails?")).startswith("Ann:")

    with_index(tmp_path, work)


def test_a_day_in_the_question_prefers_what_was_said_on_it(tmp_path: Path) -> None:
    for month, place in ((3, "Lyon"), (5, "Oslo"), (7, "Rome")):
        text = f"The fair is in {place}"
        talk(tmp_path, f"s-{month}", said(1, text, f"2026-0{month}-12"))

    async def work(index: MemoryIndex) -> None:
        assert await first(index, "Where was the fair in May?") == "The fair is in Oslo"
        assert await first(index, "Where was the fair on 12 March 2026?") == "The fair is in Lyon"
        assert await first(index, "3月的 fair 在哪里") == "The fair is in Lyon"
        assert await first(index, "Where was the fair?") == "The fair is in Rome", (
            "newest of equals"
        )

    with_index(tmp_path, work)


def test_the_answer_to_a_question_stands_beside_it(tmp_path: Path) -> None:
    talk(
        tmp_path, "s-1", *FILLER, said(100, "Which paint does the gangway need?"),
        said(101, "The grey one, two coats"),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        hits = (await index.search(Query("What paint for the gangway?", mode="natural"))).hits
        assert "The grey one, two coats" in [hit.text for hit in hits[:2]]

    with_index(tmp_path, work)


def test_a_slip_of_the_pen_still_finds_the_word(tmp_path: Path) -> None:
    talk(
        tmp_path, "s-1", *FILLER, said(100, "We held a fundraiser at the pier"),
        said(110, "We held a party at the pier"), said(120, "The pier is closed"),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        assert "fundraiser" in await first(index, "Which pier had the funraiser?")
        found = await index.search(Query("Which pier had the funraiser?", mode="natural"))
        marked = {h.text[s.start : s.end].lower() for h in found.hits for s in h.spans}
        assert marked == {"pier"}, "only what was asked for is marked"

    with_index(tmp_path, work)


def test_irregular_forms_meet(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- Ann went sailing and bought two knives\n- Nothing else\n")

    async def work(index: MemoryIndex) -> None:
        for question in ("Where did Ann go?", "What did they buy?", "Who has a knife?"):
            result = await index.search(Query(question, mode="natural"))
            assert [hit.line for hit in result.hits] == [1]
            assert result.hits[0].spans

    with_index(tmp_path, work)


def test_the_same_text_is_told_once_with_its_places(tmp_path: Path) -> None:
    talk(tmp_path, "s-1", said(1, "The gate code is in the blue book"))
    talk(tmp_path, "s-2", said(2, "The gate code is in the blue book", "2026-07-01"))
    put(tmp_path, "MEMORY.md", "- The gate code is in the blue book\n")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("Where is the gate code?", mode="natural"))
        (hit,) = result.hits
        there = {(hit.layer, hit.session_id), *((p.layer, p.session_id) for p in hit.places)}
        assert there == {("memory", ""), ("sessions", "s-1"), ("sessions", "s-2")}
        assert result.total == 3

    with_index(tmp_path, work)


def test_a_filter_without_words_lists_in_every_mode(tmp_path: Path) -> None:
    put(tmp_path, "memory/2026-06-02.md", "- one\n- two\n")

    async def work(index: MemoryIndex) -> None:
        for mode in ("auto", "words", "natural", "literal"):
            result = await index.search(Query("in:daily", mode=mode))  # type: ignore[arg-type]
            assert [hit.text for hit in result.hits] == ["- two", "- one"]

    with_index(tmp_path, work)


def test_a_long_text_as_a_question_is_known_by_its_rare_words(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    frequent = " ".join(f"{one}{other}rope" for one in letters[:6] for other in letters[:6])
    talk(
        tmp_path, "s-1", *(said(n, frequent) for n in range(20)),
        said(100, "The quinces ripen"), said(110, "by the sundial"),
    )  # fmt: skip

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query(f"{frequent} quinces", mode="natural"))
        assert result.hits[0].text == "The quinces ripen"

    with_index(tmp_path, work)
