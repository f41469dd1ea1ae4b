"""What a person typed becomes a query that cannot fail.

Idea: everything is literal unless it is one of a few plain signs (quotes, `*` at the end, `-` in
front, OR between two terms, `field:value` with a value that field can have). What is not
understood is searched for as it stands.

Invariant: `parse` never raises and its work is bounded, whatever the text; nothing of FTS5's syntax
can get through, as only terms from `terms.py` are ever put into an expression.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from app.engine.records import FILTER_FIELDS, LAYER_NAMES, ROLE_NAMES, days_of, why_no_filter
from app.engine.search.stems import stem
from app.engine.search.terms import STEM_MARK, Token, fold, tokens

LONGEST_QUERY = 2_000
NO_SIGNS = "There are no letters or digits to search for."
"""Characters of a query that count."""
MOST_TERMS = 48
"""Terms of a query that count."""
MOST_BEGINNINGS = 8
"""Terms that count of those that are only the beginning of a word: each stands for many words."""

MOST_NOTES = 3
"""Things taken for words that are told of."""

_PIECE = re.compile(
    rf"""\s*(?:
      (?P<unlike>-|not:)?(?P<field>{"|".join(FILTER_FIELDS)}):(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s"]+))
    | (?P<not>-(?=[^\s\-*])|not:(?=\S))?(?:"(?P<phrase>[^"]*)(?:"(?P<star>\*)?|$)|(?P<word>\S+))
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_EDGES = " \t\r\n/\\.,;:!?…'\"`()[]{}<>“”‘’«»。，、；：！？（）【】《》「」『』"
_SYMBOLS_IN_WORD = re.compile(r"[^\w\s'’]")


class Term(Struct, frozen=True):
    """One thing to find. `main` are main terms that must follow each other.

    `stems` are what natural mode looks for instead, each on its own. `open` means that the last
    main term is only a beginning (a typed `*`, or a single character of a Chinese run). `needle`,
    when not "", must stand in the folded text as it is: the term has signs that no term keeps.
    """

    text: str
    main: tuple[str, ...]
    stems: tuple[str, ...] = ()
    open: bool = False
    quoted: bool = False
    needle: str = ""


class Filters(Struct, frozen=True):
    """What a hit must be. Empty means no condition; instants are UTC, `before` is exclusive, names
    of tools are folded."""

    layers: frozenset[str] = frozenset()
    not_layers: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    not_roles: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    not_tools: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    after: datetime | None = None
    before: datetime | None = None
    has: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return self != _NO_FILTERS


_NO_FILTERS = Filters()


class Parsed(Struct, frozen=True):
    """A query, understood. Each of `groups` must be met, by any one of its terms.

    `literal` is the folded text without filters. `typing` says that the last word may go on.
    `note` tells what looks like a filter, is none, and is taken as words instead.
    """

    groups: tuple[tuple[Term, ...], ...] = ()
    without: tuple[Term, ...] = ()
    filters: Filters = _NO_FILTERS
    literal: str = ""
    typing: bool = False
    cut: bool = False
    empty: str = ""
    note: str = ""

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms asked for, in order."""
        return tuple(term for group in self.groups for term in group)


def parse(text: str, *, today: date, zone: tzinfo = UTC) -> Parsed:
    """Understand `text`. `today` and `zone` give `day:today` and plain days their meaning."""
    asked = _Asked(today, zone)
    head = text[:LONGEST_QUERY]
    whole = all(asked.take(piece) for piece in _PIECE.finditer(head))
    # What is said again is dropped at the end: on the way it is what an OR joins.
    groups = dict.fromkeys(tuple(dict.fromkeys(group)) for group in asked.groups)
    last = list(groups)[-1][-1] if groups else None
    typing = asked.growing is not None and asked.growing == last and not head[-1].isspace()
    parsed = Parsed(
        tuple(groups), tuple(dict.fromkeys(asked.without)), asked.filters,
        fold(" ".join(asked.literal)), typing, cut=not whole or len(text) > LONGEST_QUERY,
        note=asked.note(),
    )  # fmt: skip
    return replace(parsed, empty=_why_empty(head, parsed))


class _Asked:
    """What was understood so far, piece by piece."""

    def __init__(self, today: date, zone: tzinfo) -> None:
        self.groups: list[list[Term]] = []
        self.without: list[Term] = []
        self.literal: list[str] = []
        self.filters = _NO_FILTERS
        self.growing: Term | None = None
        self._wrong: dict[str, None] = {}
        self._today = today
        self._zone = zone
        self._joining = False
        self._seen: set[Term] = set()
        self._open = 0

    def take(self, piece: re.Match[str]) -> bool:
        """One more piece; False when no more will be taken."""
        self.growing = None
        if piece["field"]:
            value = piece["quoted"] or piece["value"] or ""
            field, unlike = piece["field"].lower(), bool(piece["unlike"])
            wrong = why_no_filter(field, value, self._today, negative=unlike)
            if not wrong:
                self.filters = _filter(self.filters, field, value, self._today, self._zone, unlike)
                return True
            self._wrong[wrong] = None
        quoted = piece["phrase"] is not None
        written = piece["word"] or ""
        minus = piece["not"] or piece["unlike"] or ""
        text = piece["phrase"] if quoted else written or piece.group().strip().removeprefix(minus)
        if text == "OR" and self.groups and not self._joining and not quoted and not minus:
            self._joining = True
            return True
        term = term_of(text, quoted, bool(piece["star"]))
        if not minus:
            self.literal.append(text)
        elif term is None:  # an arrow, say: nothing to be without
            self.literal.append(minus + text)
        return term is None or self._add(term, unwanted=bool(minus))

    def note(self) -> str:
        """What was no filter, and why."""
        told = list(self._wrong)[:MOST_NOTES]
        taken = "It is taken as words." if len(told) == 1 else "They are taken as words."
        return " ".join([*told, taken]) if told else ""

    def _add(self, term: Term, *, unwanted: bool) -> bool:
        """A term at its place; False when there are too many different ones."""
        known = term in self._seen
        self._seen.add(term)
        self._open += term.open and not known
        if len(self._seen) > MOST_TERMS or self._open > MOST_BEGINNINGS:
            return False
        if unwanted:
            self.without.append(term)
        elif self._joining:
            self.groups[-1].append(term)
        else:
            self.groups.append([term])
        self._joining = False
        whole = unwanted or term.quoted or term.open or _one_letter(term)
        self.growing = None if whole else term
        return True


def _one_letter(term: Term) -> bool:
    """A single letter begins a tenth of all words: it is looked up as it stands."""
    return len(term.main) == 1 and len(term.main[0]) == 1 and term.main[0].isascii()


def _why_empty(text: str, parsed: Parsed) -> str:
    if parsed.groups or parsed.without or parsed.filters:
        return ""
    if not text.strip():
        return "Nothing to search for yet."
    if any(char.isalnum() for char in text):
        return "This is no text that is searched: one word without end."
    return NO_SIGNS


def term_of(text: str, quoted: bool = False, star: bool = False) -> Term | None:
    """One typed word or phrase as a term; None when nothing in it can be searched for."""
    opened = star or (not quoted and text.endswith("*"))
    bare = text.rstrip("*") if opened else text
    found = list(tokens(bare))
    if not found:
        return None
    last = len(found) - 1
    main = [t.terms[0] for i, t in enumerate(found) if i < last or not _closes(found, i)]
    single = found[last].run and len(main[-1]) == 1 and not _closes(found, last)
    needle = ""
    inner = bare.strip(_EDGES)
    if not quoted and _SYMBOLS_IN_WORD.search(inner):
        needle = fold(inner).replace("’", "'")
    stems = [t.stem or stem(t.terms[0]) for i, t in enumerate(found) if not _closes(found, i)]
    main = main[:MOST_TERMS]
    stems = dict.fromkeys(stems[:MOST_TERMS])
    return Term(text, tuple(main), tuple(stems), opened or single, quoted, needle)


def _closes(found: list[Token], i: int) -> bool:
    """Whether piece `i` is the single character that ends a run of several."""
    here, before = found[i], found[i - 1]
    return i > 0 and here.run and before.run and here.start < before.end and len(here.terms[0]) == 1


# ---------------------------------------------------------------------------- filters


def _filter(
    now: Filters, field: str, value: str, today: date, zone: tzinfo, negative: bool
) -> Filters:
    """`now` with one more condition, which `why_no_filter` has found to be one."""
    values = frozenset(part for part in value.lower().split(",") if part)
    if field == "in":
        layers = frozenset(LAYER_NAMES[name] for name in values)
        if negative:
            return replace(now, not_layers=now.not_layers | layers)
        return replace(now, layers=now.layers | layers)
    if field == "role":
        roles = frozenset(ROLE_NAMES[name] for name in values)
        if negative:
            return replace(now, not_roles=now.not_roles | roles)
        return replace(now, roles=now.roles | roles)
    if field == "tool":
        names = frozenset(map(fold, value.split(","))) - {""}
        if negative:
            return replace(now, not_tools=now.not_tools | names)
        return replace(now, tools=now.tools | names)
    if field == "session":
        return replace(now, sessions=now.sessions | frozenset(value.split(",")) - {""})
    if field == "has":
        return replace(now, has=now.has | values)
    return _when(now, field, value, today, zone)


def _when(now: Filters, field: str, value: str, today: date, zone: tzinfo) -> Filters:
    days = days_of(value, today)
    if days is None:
        return now
    start = datetime.combine(days[0], time(), zone).astimezone(UTC)
    end = datetime.combine(days[1], time(), zone).astimezone(UTC)
    if field != "before" and (now.after is None or start > now.after):
        now = replace(now, after=start)
    limit = start if field == "before" else end if field == "day" else None
    if limit is not None and (now.before is None or limit < now.before):
        now = replace(now, before=limit)
    return now


# ---------------------------------------------------------------------------- expressions


def words_expression(parsed: Parsed, *, typing: bool = False) -> str:
    """The FTS5 expression for words mode: every group, in any order. "" when there is none.

    With `typing` the last word may go on. What `reads_texts` speaks of is left out.
    """
    groups = [[phrase(term) for term in group] for group in parsed.groups]
    if not groups:
        return ""
    if typing:
        groups[-1][-1] = phrase(replace(parsed.groups[-1][-1], open=True))
    return " AND ".join(f"({' OR '.join(group)})" for group in groups if all(group))


def without_expression(parsed: Parsed) -> str:
    """The FTS5 expression for what must not be there; "" when there is nothing."""
    return " OR ".join(filter(None, map(_unwanted, parsed.without)))


def _unwanted(term: Term) -> str:
    return "" if begins_with_letter(term) else phrase(term)


def phrase(term: Term) -> str:
    """The FTS5 expression for one term: its words in a row, less a last one that is the beginning
    of too many."""
    words = term.main[:-1] if begins_with_letter(term) else term.main
    quoted = '"' + " ".join(words) + '"' if words else ""
    return quoted + "*" if term.open and words == term.main else quoted


def any_form(stem: str) -> str:
    """The FTS5 expression for a word in all forms that share a stem."""
    return f'"{stem}" OR "{STEM_MARK}{stem}"' if stem.isascii() else f'"{stem}"'


def begins_with_letter(term: Term) -> bool:
    """Whether its last word is one letter to begin with: a tenth of all words, which the index
    would have to gather for seconds, without an end in between."""
    return term.open and len(term.main[-1]) == 1 and term.main[-1].isascii()


def reads_texts(parsed: Parsed) -> bool:
    """Whether only the texts of the newest documents can say which of them match: for signs that
    no term keeps, and for one letter to begin with."""
    return any(t.needle or begins_with_letter(t) for t in parsed.terms) or any(
        map(begins_with_letter, parsed.without)
    )
