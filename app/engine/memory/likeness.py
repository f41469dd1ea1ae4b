"""How alike two lines are: content words, containment, and the specifics a line holds.

Words are Latin-script runs without the commonest function words; Chinese, Japanese and Korean runs
count as overlapping pairs of characters. Pure; nothing here ever asks a model.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from app.engine.memory.outline import body

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’][^\W\d_]+)?")
_IS_CJK = re.compile(rf"[{CJK}]")
_FUNCTION_WORDS = (
    "a an the and or of to in on at is are was were be been by for from with as it its this that "
    "these those his her their they he she we you i has have had will would can do does did "
    "user users"
)  # never "no" and "not": they turn a fact around
_NO_NAMES = frozenset(
    ["user", "it", "he", "she", "they", "there", "this", "that", "who", "what", "here", "let"]
)
_STOP = frozenset(_FUNCTION_WORDS.split(" "))
_DATE = re.compile(r"\d{4}[-/.年]\d{1,2}(?:[-/.月]\d{1,2}日?)?")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_PATH = re.compile(r"(?:~|\.{0,2})/[\w./-]+|\b[\w-]+(?:/[\w.-]+)+|\b[\w-]+\.[A-Za-z]{1,5}\b")
_NAME = re.compile(r"(?<![.!?。！？:]\s)(?<!^)\b[A-ZÀ-Þ][\w'’-]+")
# A capital at the beginning says nothing by itself; what follows a name usually does: a verb that
# goes with names, or any verb or noun in -s or -ed unless the word itself may be such a verb.
_FIRST_NAME = re.compile(
    r"[A-ZÀ-Þ][\w-]+(?=(?:['’]s)?\s(?:and|is|was|has|had|will|works|lives|likes|prefers|wants|owns|"
    r"uses|moved|said|needs|plans|runs|leads|manages|met|asked|joined|left|takes|speaks|drinks)\b)"
    r"|[A-ZÀ-Þ][\w-]*(?:(?=['’]s\s)|(?<!s)(?=\s[a-z]+(?:[^\Ws]s|ed)\b))"
)
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶"
    "余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段钱汤尹黎易常武乔贺赖龚文"
)
_CHINESE_NAME = re.compile(
    rf"(?<![\u4e00-\u9fff])[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?"
    r"(?=负责|担任|喜欢|认为|希望|[是在住不说要的和与会有每已将把给做写用从想去来买吃喝养管审付])"
)


@lru_cache(maxsize=65_536)
def words(text: str) -> frozenset[str]:
    """The content words of a text; of a text without any, all its words."""
    found: set[str] = set()
    for run in set(_RUN.findall(unicodedata.normalize("NFKC", body(text)).casefold())):
        if _IS_CJK.match(run):
            found.update(run[i : i + 2] for i in range(max(1, len(run) - 1)))
        else:
            found.add(run)
    return frozenset(found - _STOP) or frozenset(found)


def contained(part: frozenset[str], whole: frozenset[str]) -> float:
    """The share of the words of `part` that `whole` holds too: 0 to 1; 0 for no words."""
    return len(part & whole) / len(part) if part else 0.0


def share(one: frozenset[str], other: frozenset[str]) -> float:
    """Words in common as a share of all: 0 to 1."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def numbers(text: str) -> frozenset[str]:
    """The numbers of a line, as they are written."""
    return frozenset(m.group() for m in _NUMBER.finditer(unicodedata.normalize("NFKC", body(text))))


def specifics(text: str) -> frozenset[str]:
    """Names, numbers, dates and paths of a line, case folded where case carries nothing."""
    plain = unicodedata.normalize("NFKC", body(text))
    found = {m.group() for m in _DATE.finditer(plain)}
    found |= numbers(text)
    found.update(m.group().rstrip(".").casefold() for m in _PATH.finditer(plain))
    found.update(m.group().casefold() for m in _NAME.finditer(plain))
    first = _FIRST_NAME.match(plain)
    if first is not None and first.group().casefold() not in _NO_NAMES:
        found.add(first.group().casefold())
    found.update(m.group() for m in _CHINESE_NAME.finditer(plain))
    return frozenset(found)


_NOT = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot"
    r"|nicht|nie|niemals|nichts|niemand|kein(?:e[mnrs]?)?|ohne|pas|jamais|aucune?|sans"
    r"|nunca|jamás|sin|não|sem|non|senza)\b"
    r"|n['’]t\b|[不没無无未别]|ない|ません|[않없]",
    re.IGNORECASE,
)


def negations(text: str) -> int:
    """How often a text says no. A fact and its opposite mostly differ in this alone."""
    return len(_NOT.findall(text))


def affirmed(text: str) -> str:
    """A text without the words that say no: what a fact and its opposite have in common."""
    return _NOT.sub(" ", text)
