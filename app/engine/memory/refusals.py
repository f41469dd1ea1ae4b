"""Refused claims that come back are taken out again, and so are losses, by code.

A claim comes back when a change would write it in the same words (spacing, case, its mark and its
end aside), or in nearly the same ones while it stems from a section it stemmed from before. A line
that was corrected in a number, a name or a "not" is another claim. A line whose loss was refused
is not dropped again, also not when it was slightly reworded since; it may still be reworded and
merged, and goes when a person takes it out of the file or off the list. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from app.engine.memory.diff import difference
from app.engine.memory.outline import bullet_key, bullets, normal
from app.engine.memory.review import resolved
from app.engine.memory.sameness import same_fact
from app.engine.records import Change, Decision, Refused

_END = " .!;,。！；，、"


def claim_key(text: str, what: str = "claim") -> str:
    """What a refusal is known by, however its text is spaced, marked, cased or ended."""
    key = bullet_key(text.rstrip(_END))
    return key if what == "claim" else f"{what}-{key}"


def without_refused(
    base: str, text: str, claims: Sequence[Refused], sections_of: Callable[[str], Iterable[str]]
) -> tuple[str, int]:
    """The candidate `text` without changes that only bring refused claims or only lose what was to
    be kept, and how many those were.

    `sections_of` gives the hashes of the sections a line stems from.
    """
    if not claims:
        return text, 0
    kept = [claim for claim in claims if claim.what == "loss"]
    claims = [claim for claim in claims if claim.what == "claim"]
    known = {claim.key for claim in claims}

    def refused(fact: str) -> bool:
        if claim_key(fact) in known:
            return True
        alike = [claim for claim in claims if same_fact(fact, claim.text)]
        return bool(alike) and not _sources(alike).isdisjoint(sections_of(fact))

    diff = difference(base, text)
    back = {c.n for c in diff.changes if (new := _new_facts(c)) and all(refused(f) for f in new)}
    back |= {c.n for c in diff.changes if c.kind == "dropped" and _is_kept(c, kept)}
    if not back:
        return text, 0
    taken = [Decision(c.n, "accept") for c in diff.changes if c.n not in back]
    return resolved(diff, taken), len(back)


def _is_kept(change: Change, kept: Sequence[Refused]) -> bool:
    facts = bullets("\n".join(change.before))
    return any(same_fact(fact.text, one.text) for fact in facts for one in kept)


def _sources(claims: Iterable[Refused]) -> set[str]:
    return {source for claim in claims for source in claim.sources}


def _new_facts(change: Change) -> list[str]:
    """The facts that a change writes and that its old lines do not say."""
    if change.kind not in ("added", "reworded", "merged", "split"):
        return []
    old = {normal(block.text) for block in bullets("\n".join(change.before))}
    new = bullets("\n".join(change.after))
    return [block.text for block in new if normal(block.text) not in old]
