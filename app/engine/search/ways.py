"""What a query asks for here, and the ways in which it is tried, one after another. Pure."""

from __future__ import annotations

from datetime import datetime, tzinfo

from msgspec.structs import replace

from app.engine.records import Query, SearchMode
from app.engine.search.query import MOST_TERMS, Parsed, parse


def asked(query: Query, now: datetime, zone: tzinfo) -> Parsed:
    """The parsed query, narrowed to the layers it names."""
    parsed = parse(query.text, today=now.astimezone(zone).date(), zone=zone)
    if _by_letter(query, parsed):
        parsed = replace(parsed, empty="")  # signs stand in the files, though no term keeps them
    if query.skip_tools and not parsed.empty:
        tools = parsed.filters.not_tools | query.skip_tools
        parsed = replace(parsed, filters=replace(parsed.filters, not_tools=tools))
    if not query.layers or (parsed.empty and not query.text.strip()):
        return parsed
    layers = parsed.filters.layers
    both = frozenset(query.layers) & layers if layers else frozenset(query.layers)
    return replace(parsed, filters=replace(parsed.filters, layers=both or frozenset({"none"})))


def _by_letter(query: Query, parsed: Parsed) -> bool:
    return query.mode == "literal" and bool(parsed.literal.strip())


def pasted(parsed: Parsed) -> bool:
    """Whether a query is a paste rather than words somebody looks for."""
    return parsed.cut or sum(len(term.main) for term in parsed.terms) >= MOST_TERMS


def ways(query: Query, parsed: Parsed) -> list[tuple[SearchMode, bool]]:
    """The ways to try, in order, each with whether the last word may still be growing; of a quick
    query without the one that reads the files.

    A single word is tried by its stem before it is taken for the beginning of another one; of
    several words the last is taken for a beginning first, so that live results do not widen to
    "any of them" at every new word.
    """
    if not parsed.groups and not _by_letter(query, parsed):
        return [("words", False)]
    steps: list[tuple[SearchMode, bool]] = [("words", False), ("natural", False)]
    if parsed.typing:
        steps.insert(1 if len(parsed.groups) > 1 else 2, ("words", True))
    steps.append(("literal", False))
    if query.mode != "auto":
        steps = [step for step in steps if step[0] == query.mode]
    return [step for step in steps if step[0] != "literal" or not query.quick]
