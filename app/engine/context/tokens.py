"""How long a text is for a model.

An estimator turns text into tokens; `Counter` adds the structure of messages, remembers what it has
counted and says whether the number is an estimate. Invariant: counting never fetches anything,
never raises for any text, and costs under a second however long the text is. Lengths are code
points. Rules: specification, section 6.
"""

from __future__ import annotations

import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from app.engine.records import Message

MESSAGE, CALL, RESULT, IMAGE = 5, 10, 8, 5
IMAGE_TOKENS = 1_000
CACHED_MESSAGES = 20_000
REMEMBERED_FROM, REMEMBERED = 200, 64  # characters, texts

# Chinese, Japanese and Korean writing, with its punctuation and full-width forms.
CJK_RANGES = "\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
CJK = re.compile(f"[{CJK_RANGES}\uff00-\uffef\U00020000-\U0003ffff]")
_CJK_SPACED = re.compile(f" ?{CJK.pattern}")
_PIECE = re.compile(  # "\r" stands where CJK was and belongs to none
    r"(?P<word>[^\w\r\n]?(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+))|(?P<digits>\d{1,3})"
    r"|(?P<signs> ?(?:[^\w\s]|_)+\n*)|(?P<space>[^\S\r]+)|(?P<foreign>[^\W\d_])"
)
SAMPLED_ABOVE = 300_000  # longer texts are counted in part
SAMPLES, SAMPLE = 48, 3_000


class Estimator(Protocol):
    """Something that counts the tokens of a text. `estimated` is False for a real tokenizer."""

    @property
    def name(self) -> str: ...
    @property
    def estimated(self) -> bool: ...

    def text(self, text: str) -> int:
        """Tokens of `text`, taken as plain text. Never raises."""
        ...


class AgentScope:
    """Characters ÷ 2.5, rounded up per text: the seed's own rule, for parity with it."""

    name = "agentscope"
    estimated = True

    def text(self, text: str) -> int:
        return math.ceil(len(text) * 2 / 5)


class Heuristic:
    """An estimate from the pieces a tokenizer would see; for long texts from samples of them.

    One rate per CJK character and per other foreign letter; one per English word with the sign or
    space before it, more when it is long; one per group of three digits, per run of signs, and per
    run of white space. Fitted against o200k on manuals, licences, source, listings, logs and
    Chinese prose, so that the 5th to 95th percentile is within 15 % (CMP-30). The specification's
    three rates per character miss that by twice as much for tool output.
    """

    name = "heuristic"
    estimated = True
    CJK_RATE, FOREIGN = 0.80, 0.45
    WORD, LONG_LETTER, SIGNED = 0.95, 0.18, 0.45
    DIGITS, SIGNS, MORE_SIGNS, SPACE = 1.35, 0.9, 0.2, 1.25

    def text(self, text: str) -> int:
        if len(text) > SAMPLED_ABOVE:
            return sampled(self._pieces, text)
        return self._pieces(text)

    def _pieces(self, text: str) -> int:
        cjk = 0
        if not text.isascii():
            text, cjk = _CJK_SPACED.subn("\r", text)
        tokens = cjk * self.CJK_RATE
        for piece in _PIECE.finditer(text):
            length = piece.end() - piece.start()
            kind = piece.lastgroup
            if kind == "word":
                tokens += self.WORD + max(0, length - 7) * self.LONG_LETTER
                first = text[piece.start()]
                if first != " " and not first.isalpha():
                    tokens += self.SIGNED
            elif kind == "digits":
                tokens += self.DIGITS
            elif kind == "signs":
                tokens += self.SIGNS + max(0, length - 2) * self.MORE_SIGNS
            elif kind == "space":
                tokens += self.SPACE
            else:
                tokens += self.FOREIGN
        return math.ceil(tokens)


def sampled(count: Callable[[str], int], text: str) -> int:
    """Count evenly spaced stretches and scale: bounded time for megabytes (B75)."""
    step = len(text) / SAMPLES
    pieces = [text[int(i * step) : int(i * step) + SAMPLE] for i in range(SAMPLES)]
    return round(sum(map(count, pieces)) * len(text) / sum(map(len, pieces)))


def budget_tokens(text: str) -> int:
    """The plain count that injection budgets use: CJK 1 each, the rest ÷ 4, rounded down."""
    cjk = 0 if text.isascii() else len(CJK.findall(text))
    return cjk + (len(text) - cjk) // 4


# ---------------------------------------------------------------------------- messages


class Counter:
    """Counts messages with one estimator, each message object once.

    Messages are frozen, so an object that was counted is not counted again; the cache holds the
    object itself, which keeps its identity from being reused. Usable from any thread.
    """

    def __init__(self, estimator: Estimator | None = None, image_tokens: int = IMAGE_TOKENS):
        self._estimator = estimator or Heuristic()
        self._image = IMAGE + image_tokens
        self._seen: OrderedDict[int, tuple[Message, int]] = OrderedDict()
        self._texts: OrderedDict[str, int] = OrderedDict()
        self._named = ""
        self._lock = threading.Lock()

    @property
    def label(self) -> str:
        """The estimator's name, with the word "estimate" when it is none of a real tokenizer."""
        made = self._estimator
        return f"{made.name} (estimate)" if made.estimated else made.name

    @property
    def estimated(self) -> bool:
        return self._estimator.estimated

    def text(self, text: str) -> int:
        """Tokens of a text. Texts that come again with each request (MEMORY.md) are remembered."""
        if len(text) < REMEMBERED_FROM:
            return self._estimator.text(text) if text else 0
        with self._lock:
            self._renew()
            known = self._texts.get(text)
        if known is None:
            known = self._estimator.text(text)
            with self._lock:
                self._texts[text] = known
                if len(self._texts) > REMEMBERED:
                    self._texts.popitem(last=False)
        return known

    def _renew(self) -> None:
        """When the tokenizer has come, everything is counted anew."""
        if self._named != self._estimator.name:
            self._seen.clear()
            self._texts.clear()
            self._named = self._estimator.name

    def message(self, message: Message) -> int:
        """Tokens of one message with its structure."""
        with self._lock:
            self._renew()
            known = self._seen.get(id(message))
        if known is not None:
            return known[1]
        tokens = self.uncached(message)
        with self._lock:
            self._seen[id(message)] = (message, tokens)
            if len(self._seen) > CACHED_MESSAGES:
                self._seen.popitem(last=False)
        return tokens

    def messages(self, messages: Iterable[Message]) -> int:
        return sum(self.message(message) for message in messages)

    def schemas(self, tools: Iterable[object]) -> int:
        """Tokens of tool schemas, as the JSON that is sent for them. 0 for none."""
        return sum(self.text(msgspec.json.encode(tool).decode()) for tool in tools)

    def uncached(self, message: Message) -> int:
        """As `message`, for a message that is made for one request and then forgotten."""
        text = self._estimator.text
        tokens = MESSAGE + text(message.role) + text(message.name)
        tokens += text(message.content) + text(message.reasoning)
        if message.role == "tool":
            tokens += RESULT + text(message.call_id)
        for call in message.calls:
            tokens += CALL + text(call.name) + text(call.id) + text(call.arguments)
        return tokens + len(message.images) * self._image


class Calibration:
    """How far a model's own counts are from ours, learned from the usage its server reports.

    A report far below the estimate is taken for a cut prompt, not for a better count
    (model-servers.md, section 4), and is not learned.
    """

    LOW, HIGH, WEIGHT = 0.7, 4.0, 0.3

    def __init__(self, factors: Mapping[str, float] | None = None) -> None:
        self._factors = {
            model: factor
            for model, factor in (factors or {}).items()
            if self.LOW <= factor <= self.HIGH
        }

    def factor(self, model: str) -> float:
        """Reported ÷ estimated for this model; 1.0 until something was learned."""
        return self._factors.get(model, 1.0)

    def apply(self, model: str, tokens: int) -> int:
        return math.ceil(tokens * self.factor(model))

    def learn(self, model: str, estimated: int, reported: int) -> bool:
        """Take one report in. `estimated` is our own count, not calibrated. False if refused."""
        if estimated <= 0 or reported <= 0:
            return False
        ratio = reported / estimated
        if not self.LOW * self.factor(model) <= ratio <= self.HIGH:
            return False
        known = self._factors.get(model)
        mixed = ratio if known is None else known + self.WEIGHT * (ratio - known)
        self._factors[model] = max(self.LOW, mixed)
        return True

    def plain(self) -> dict[str, float]:
        """What was learned, for `windows.json`."""
        return dict(self._factors)
