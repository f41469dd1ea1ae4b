"""Best first: what of two words is rarer, what is said more often, what is said in fewer words."""

from __future__ import annotations

import asyncio
from datetime import UTC
from pathlib import Path

import pytest

from app.engine.records import Query
from app.engine.search import finding
from app.engine.search.finding import FREQUENT, SAMPLE
from app.engine.search.index import MemoryIndex


def found(root: Path, *asked: str) -> list[list[str]]:
    """The lines that answer each query in words, best first."""

    async def main() -> list[list[str]]:
        index = MemoryIndex(root, zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        try:
            answers = [
                await index.search(Query(one, mode="words", fold=False, limit=10)) for one in asked
            ]
        finally:
            await index.close()
        return [[hit.text for hit in answer.hits] for answer in answers]

    return asyncio.run(main())


def write(root: Path, lines: list[str]) -> None:
    (root / "MEMORY.md").write_text("\n".join(lines) + "\n", "utf-8")


def test_what_says_it_more_often_or_in_fewer_words_comes_first(tmp_path: Path) -> None:
    often = "A parser in, a parser out, a parser, a parser."
    short = "A parser."
    long = "A parser, one of the things that were spoken of on that day."
    write(tmp_path, [often, short, long, *["A line with nothing of all that in it."] * 20])
    assert found(tmp_path, "parser") == [[often, short, long]]


@pytest.mark.parametrize(("frequent", "sample"), [(FREQUENT, SAMPLE), (1, 2 * FREQUENT)])
def test_the_rarer_of_two_words_counts_more_however_frequent_the_other_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frequent: int, sample: int
) -> None:
    monkeypatch.setattr(finding, "FREQUENT", frequent)
    monkeypatch.setattr(finding, "SAMPLE", sample)
    rare = "Of build 7: zeppelin, zeppelin, zeppelin."
    often = "Of zeppelin 7: build, build, build."
    write(tmp_path, [rare, often, *[f"The build {n} went well." for n in range(2 * FREQUENT)]])
    asked = ("build zeppelin", "zeppelin build")
    for one, lines in zip(asked, found(tmp_path, *asked), strict=True):
        assert lines == [rare, often], one
