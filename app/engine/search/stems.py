"""English words to their stems: what natural-language search compares.

Idea: Porter's rules of 1980 (the figures of the recall benchmark are best with them), and a short
list of forms that no rule reaches: went belongs to go. A stem is no word, only a common name for
the forms of one. Pure; words that are not plain ASCII letters are returned as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FAMILIES = """
go went gone going|buy bought|get got gotten|take took taken|give gave given|make made|see saw seen
find found|think thought|tell told|say said|write wrote written|begin began begun|run ran|meet met
feel felt|lose lost|win won|teach taught|bring brought|come came|become became|leave left
speak spoke spoken|eat ate eaten|drink drank drunk|swim swam swum|sing sang sung|drive drove driven
ride rode ridden|fly flew flown|grow grew grown|know knew known|draw drew drawn|choose chose chosen
break broke broken|wear wore worn|sell sold|build built|send sent|spend spent|keep kept|sleep slept
hold held|stand stood|understand understood|fall fell fallen|hear heard|pay paid|sit sat
catch caught|fight fought|seek sought|hide hid hidden|forget forgot forgotten|wake woke woken
child children|man men|woman women|foot feet|tooth teeth|mouse mice|wife wives|knife knives
"""
_IRREGULAR = {
    form: family.split()[0]
    for family in re.split(r"[|\n]", _FAMILIES.strip())
    for form in family.split()[1:]
}

Rules = dict[str, list[tuple[str, str]]]


def _by_end(*rules: tuple[str, str]) -> Rules:
    """Suffixes and what is put in their place, by their last two letters: few words end so."""
    found: Rules = {}
    for rule in rules:
        found.setdefault(rule[0][-2:], []).append(rule)
    return found


# The longest suffix that fits decides, so longer ones stand first.
_STEP2 = _by_end(
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"),
    ("ousness", "ous"), ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"),
    ("ation", "ate"), ("alism", "al"), ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"),
    ("anci", "ance"), ("izer", "ize"), ("abli", "able"), ("alli", "al"), ("ator", "ate"),
    ("eli", "e"),
)  # fmt: skip
_STEP3 = _by_end(
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ness", ""), ("ful", ""),
)  # fmt: skip
_STEP4 = _by_end(*((suffix, "") for suffix in (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti",
    "ous", "ive", "ize", "al", "er", "ic", "ou",
)))  # fmt: skip


_KINDS = bytes.maketrans(b"aeioubcdfghjklmnpqrstvwxz", b"v" * 5 + b"c" * 20)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of a folded word. Words shorter than three letters are their own stems."""
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    word = _IRREGULAR.get(word, word)
    word = _plural(word)
    if word[-1] in "dg":
        word = _past(word)
    if word[-1] == "y" and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _swap(_swap(word, _STEP2), _STEP3)
    return _end(_cut(word))


def irregular(wanted: str) -> tuple[str, ...]:
    """The words of the list whose stem is `wanted`, though no rule leads there."""
    return tuple(form for form in _IRREGULAR if stem(form) == wanted)


def _shape(root: str) -> str:
    """`root` with every letter as v or c (y after a consonant is a vowel)."""
    shape = root.encode().translate(_KINDS).decode()
    while "y" in shape:  # from the left: what stands before one is known
        before, _, behind = shape.partition("y")
        shape = before + ("v" if before.endswith("c") else "c") + behind
    return shape


def _measure(root: str) -> int:
    """How often a consonant follows a vowel in `root`."""
    return _shape(root).count("vc")


def _has_vowel(root: str) -> bool:
    return "v" in _shape(root)


def _short(root: str) -> bool:
    """Whether `root` ends consonant, vowel, consonant, the last not w, x or y."""
    return _shape(root)[-3:] == "cvc" and root[-1] not in "wxy"


def _plural(word: str) -> str:
    if word[-1] != "s" or word[-2] == "s":
        return word[:-2] if word.endswith("sses") else word
    return word[:-2] if word.endswith("ies") else word[:-1]


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        root = word[: -len(suffix)]
        if word.endswith(suffix) and _has_vowel(root):
            return _mended(root)
    return word


def _mended(root: str) -> str:
    """A root after -ed or -ing, spelled as the word alone would be."""
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if root[-1:] == root[-2:-1] and _shape(root)[-1] == "c" and root[-1] not in "lsz":
        return root[:-1]
    if _measure(root) == 1 and _short(root):
        return root + "e"
    return root


def _swap(word: str, rules: Rules) -> str:
    for suffix, put in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            root = word[: -len(suffix)]
            return root + put if _measure(root) > 0 else word
    return word


def _cut(word: str) -> str:
    for suffix, _ in _STEP4.get(word[-2:], ()):
        if word.endswith(suffix):
            root = word[: -len(suffix)]
            if suffix == "ion" and root[-1:] not in ("s", "t"):
                return word
            return root if _measure(root) > 1 else word
    return word


def _end(word: str) -> str:
    if word.endswith("e"):
        root = word[:-1]
        count = _measure(root)
        if count > 1 or (count == 1 and not _short(root)):
            word = root
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word
