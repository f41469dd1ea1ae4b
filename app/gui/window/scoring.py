"""How well typed letters fit a title: a subsequence scorer. Pure."""

from __future__ import annotations


def score(typed: str, title: str) -> tuple[int, tuple[int, ...]] | None:
    """(score, matched positions), larger is better; None when the letters do not occur in order.

    Letters that begin words or follow each other count more; a place nearer the start breaks ties.
    """
    needle = typed.casefold().replace(" ", "")
    if not needle:
        return 0, ()
    hay = title.casefold()
    if len(hay) != len(title):  # casefold changed the length: positions would lie
        hay = title.lower() if len(title.lower()) == len(title) else title
    best: tuple[int, tuple[int, ...]] | None = None
    for start, letter in enumerate(hay):
        if letter != needle[0]:
            continue
        found = _from(needle, hay, start)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best


def _from(needle: str, hay: str, start: int) -> tuple[int, tuple[int, ...]] | None:
    """Greedy match from `start`, preferring the next letter, then the start of a word."""
    at, total, out = start, 0, []
    for i, letter in enumerate(needle):
        if i:
            if at < len(hay) and hay[at] == letter:
                total += 8
            else:
                at = _next(letter, hay, at)
                if at < 0:
                    return None
        if _begins(hay, at):
            total += 6
        out.append(at)
        at += 1
    return total * 100 - start - (out[-1] - out[0]), tuple(out)


def _next(letter: str, hay: str, at: int) -> int:
    plain = hay.find(letter, at)
    probe = plain
    while probe >= 0 and not _begins(hay, probe):
        probe = hay.find(letter, probe + 1)
    return probe if probe >= 0 else plain


def _begins(hay: str, at: int) -> bool:
    return at == 0 or not hay[at - 1].isalnum()
