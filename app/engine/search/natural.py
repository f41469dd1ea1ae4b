"""A question as the things that are looked for in answer to it.

Idea: what a question is made of (when, did, the; 什么, 的) says nothing about its answer and is
left out; each other word counts on its own, in any form, a Chinese run by each of its pairs.
Pure, apart from the two lists of function words, which are read once from `resources/search`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from msgspec import Struct

from app.engine.search.query import (
    Parsed,
    Term,
    any_form,
    begins_with_letter,
    phrase,
    term_of,
)
from app.engine.search.terms import fold


class Unit(Struct, frozen=True):
    """One thing that is weighed on its own.

    `expression` asks the index for it. `stem` is what a token of a text must be to count, a
    beginning of it when `open`, "" for a phrase, whose words are `words`. `word` is the word as it
    was typed (folded), "" where it is no single word. `also` are stems that count as well, when it
    is taken for a slip.
    """

    expression: str
    stem: str = ""
    open: bool = False
    words: tuple[str, ...] = ()
    word: str = ""
    also: frozenset[str] = frozenset()


def natural_units(wanted: tuple[Term, ...]) -> list[Unit]:
    """The units of these terms, each once."""
    units: dict[str, Unit] = {}
    for term in wanted:
        if term.quoted and phrase(term):
            unit = Unit(phrase(term), words=term.main)
            units.setdefault(unit.expression, unit)
            continue
        word = term.main[0] if len(term.main) == 1 and not term.open else ""
        for i, stem in enumerate(term.stems):
            opened = term.open and i == len(term.stems) - 1 and not begins_with_letter(term)
            unit = Unit(f'"{stem}"*' if opened else any_form(stem), stem, opened, word=word)
            units.setdefault(unit.expression, unit)
    return list(units.values())


def natural_expression(wanted: tuple[Term, ...]) -> str:
    """The FTS5 expression for natural mode: any of the terms."""
    return " OR ".join(unit.expression for unit in natural_units(wanted))


def natural_terms(parsed: Parsed) -> tuple[Term, ...]:
    """The terms natural mode asks for: function words dropped, unless nothing would be left."""
    english, chinese = stop_words()
    kept: list[Term] = []
    for term in parsed.terms:
        if term.quoted:
            kept.append(term)
        elif term.main[0] in english and len(term.main) == 1 and not term.needle:
            continue
        elif not term.text.isascii() and not term.open:
            kept += _chinese(term, chinese)
        else:
            kept.append(term)
    return tuple(kept) or parsed.terms


def _chinese(term: Term, splitter: re.Pattern[str]) -> list[Term]:
    """A term without spaces, cut at the function words in it."""
    parts = [term_of(part) for part in splitter.split(fold(term.text))]
    return [part for part in parts if part is not None] or [term]


@cache
def stop_words() -> tuple[frozenset[str], re.Pattern[str]]:
    """English function words (folded), and a pattern that cuts a Chinese run at its own."""
    folder = Path(__file__).resolve().parents[3] / "resources" / "search"
    english = frozenset(_list(folder / "stop_words_en.txt"))
    chinese = sorted(_list(folder / "stop_words_zh.txt"), key=len, reverse=True)
    return english, re.compile("|".join(map(re.escape, chinese)) or r"(?!)")


def _list(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").split("\n")
    except OSError:
        return []
    return [word for line in lines if not line.startswith("#") for word in line.split()]
