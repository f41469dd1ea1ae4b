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
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from app.engine.records import Message

MESSAGE, CALL, RESULT, IMAGE = 5, 10, 8, 5
IMAGE_TOKENS = 1_000
CACHED_MESSAGES = 200_000  # more than a context holds: a longer one would be counted anew
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
        self.image = IMAGE + image_tokens  # tokens of one image
        self._seen: OrderedDict[int, tuple[Message, int, int]] = OrderedDict()
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

    @property
    def tokenizer(self) -> str:
        """The name of the estimator that counts now."""
        return self._estimator.name

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
        if self._named != self.tokenizer:
            self._seen.clear()
            self._texts.clear()
            self._named = self.tokenizer

    def message(self, message: Message) -> int:
        """Tokens of one message with its structure."""
        with self._lock:
            self._renew()
            known = self._seen.get(id(message))
        if known is not None:
            return known[1]
        tokens, unsent = self._count(message)
        with self._lock:
            self._seen[id(message)] = (message, tokens, unsent)
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
        return self._count(message)[0]

    def request(self, system: str, messages: Iterable[Message], tools: Iterable[object]) -> int:
        """Tokens of a request as it is sent: without reasoning. Messages that were made for it
        alone are not remembered."""
        tokens = self.text(system) + self.schemas(tools)
        for message in messages:
            with self._lock:
                known = self._seen.get(id(message))
            counted, unsent = known[1:] if known is not None else self._count(message)
            tokens += counted - unsent
        return tokens

    def _count(self, message: Message) -> tuple[int, int]:
        """Tokens of a message with its structure, and how many of them are never sent."""
        text = self._estimator.text
        unsent = text(message.reasoning)
        tokens = MESSAGE + text(message.role) + text(message.name) + text(message.content) + unsent
        if message.role == "tool":
            tokens += RESULT + text(message.call_id)
        for call in message.calls:
            tokens += CALL + text(call.name) + text(call.id) + text(call.arguments)
        return tokens + len(message.images) * self.image, unsent

    def scaled(self, ratio: float) -> Counter:
        """This counter in the tokens of a model that counts `ratio` times as many."""
        return self if ratio == 1.0 else ScaledCounter(self, ratio)


class ScaledCounter(Counter):
    """The counts of another counter in a model's own tokens: each times the ratio learned for it.

    Nothing is counted twice: what the other one knows serves here, too. Images are not text, their
    number stands.
    """

    def __init__(self, counter: Counter, ratio: float) -> None:
        self._counter = counter
        self._ratio = ratio

    @property
    def label(self) -> str:
        return self._counter.label

    @property
    def estimated(self) -> bool:
        return self._counter.estimated

    @property
    def image(self) -> int:
        return self._counter.image

    def text(self, text: str) -> int:
        return round(self._counter.text(text) * self._ratio)

    def message(self, message: Message) -> int:
        return self._scaled(message, self._counter.message(message))

    def uncached(self, message: Message) -> int:
        return self._scaled(message, self._counter.uncached(message))

    def _scaled(self, message: Message, tokens: int) -> int:
        images = len(message.images) * self.image
        return round((tokens - images) * self._ratio) + images
