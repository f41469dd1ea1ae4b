"""Tool calls and reasoning out of a stream of fragments, as servers really send them.

`Accumulator` collects tool calls by the rules of the specification (model-servers, section 5):
what a server repeats, omits or numbers wrongly never makes a call twice, loses one, or mixes two.
`ReasoningSplitter` parts `<think>` blocks from the answer while it streams. Both are pure: the
same fragments give the same result, however they are cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from app.engine.records import ToolCall
from app.engine.workspace.files import well_formed


@dataclass
class _Slot:
    id: str = ""
    name: str = ""
    arguments: str = ""


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object a text is, or None."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class Accumulator:
    """The calls of one answer. `new_id` makes an id for a call that came without one."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}

    def add(
        self, *, index: int | None = None, id: str = "", name: str = "", arguments: str = ""
    ) -> None:
        """Take in one fragment. Empty texts mean "not said"."""
        slot = self._slot_of(index, id, name)
        if slot is None or self._opens(slot, id, name, arguments):
            slot = _Slot()
            self._slots.append(slot)
        if index is not None:
            self._by_index[index] = slot
        slot.id = slot.id or id
        slot.name = slot.name or name
        if arguments == slot.arguments and parse_object(slot.arguments) is not None:
            return  # the whole arguments once more, at the end
        slot.arguments += arguments

    def _slot_of(self, index: int | None, id: str, name: str) -> _Slot | None:
        if index is not None:
            return self._by_index.get(index)
        if id:
            for slot in self._slots:
                if slot.id == id:
                    return slot
            if name:
                # Without an index a new id with a name is a new call, unless the last slot still
                # waits for its id.
                last = self._slots[-1] if self._slots else None
                return last if last is not None and not last.id and not last.name else None
        return self._slots[-1] if self._slots else None

    @staticmethod
    def _opens(slot: _Slot, id: str, name: str, arguments: str) -> bool:
        if not name or (id and id == slot.id):
            return False
        if id and slot.id:
            return True
        if parse_object(slot.arguments) is None:
            return False
        # Complete, and a name without a known id: another call, unless it only repeats this one.
        return not (name == slot.name and arguments in ("", slot.arguments))

    @property
    def empty(self) -> bool:
        return not self._slots

    @property
    def open(self) -> bool:
        """Whether the arguments of the last call are not complete yet."""
        return bool(self._slots) and parse_object(self._slots[-1].arguments or "{}") is None

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order they began, each with an id.

        Arguments are mended once if need be. What cannot be mended stays as it came: running such
        a call gives the model an error result, and it is never sent back (`endpoint.wire`).
        """
        seen: set[str] = set()
        out: list[ToolCall] = []
        for slot in self._slots:
            call_id = slot.id if slot.id and slot.id not in seen else self._new_id()
            seen.add(call_id)
            out.append(ToolCall(call_id, slot.name, mended(slot.arguments)))
        return tuple(out)


def mended(arguments: str) -> str:
    """Arguments as the text of a JSON object after one attempt at repair, else as they came."""
    text = arguments.strip()
    if not text:
        return "{}"
    if parse_object(text) is not None:
        return text
    try:
        # Something after a complete object: a doubled ending, a stray bracket.
        value, _ = json.JSONDecoder().raw_decode(text)
        if isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        pass
    closed = _closed(text)
    return closed if parse_object(closed) is not None else arguments


def _closed(text: str) -> str:
    """The text with what it left open closed: a string, then brackets, innermost first."""
    stack: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]" and stack:
            stack.pop()
    if in_string:
        text = (text[:-1] if escaped else text) + '"'
    return text.rstrip().rstrip(",") + "".join(reversed(stack))


# ---------------------------------------------------------------------------- halves of characters


class Halves:
    """Joins a character whose two halves came in two fragments; a lone half becomes U+FFFD."""

    def __init__(self) -> None:
        self._half = ""

    def whole(self, fragment: str) -> str:
        """What is whole of the text so far and was not given yet."""
        text = self._half + fragment
        self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return well_formed(text[: len(text) - len(self._half)])

    def end(self) -> str:
        """What is left once the stream is over."""
        half, self._half = self._half, ""
        return well_formed(half)


# ---------------------------------------------------------------------------- reasoning in tags

Part = tuple[Literal["text", "reasoning"], str]
_TAGS = ("think", "thinking", "reasoning")
_OPEN = tuple(f"<{tag}>" for tag in _TAGS)
_CLOSING = re.compile(rf"^[ \t]*</(?:{'|'.join(_TAGS)})>[ \t]*$", re.MULTILINE)


class ReasoningSplitter:
    """Parts reasoning in tags from the answer, fragment by fragment.

    Only a tag at the very start of the answer counts (or right after such a block), so that a
    model can write about tags. A tag cut by a fragment's end is held back until it is known.
    """

    def __init__(self) -> None:
        self._held = ""
        self._close = ""
        self._at_start = True
        self._after_block = False

    def feed(self, fragment: str) -> list[Part]:
        self._held += fragment
        parts: list[Part] = []
        while self._held:
            step = self._inside() if self._close else self._outside()
            if step is None:
                break
            if step[1]:
                parts.append(step)
        return parts

    def end(self) -> list[Part]:
        """What was held back, once the stream is over."""
        held, self._held = self._held, ""
        if not held:
            return []
        return [("reasoning" if self._close else "text", held)]

    def _inside(self) -> Part | None:
        at = self._held.find(self._close)
        if at >= 0:
            text, self._held = self._held[:at], self._held[at + len(self._close) :].lstrip()
            self._close, self._at_start, self._after_block = "", True, True
            return ("reasoning", text)
        keep = _overlap(self._held, self._close)
        return self._give("reasoning", len(self._held) - keep)

    def _outside(self) -> Part | None:
        if not self._at_start:
            return self._give("text", len(self._held))
        text = self._held.lstrip()
        for tag in _OPEN:
            if text.startswith(tag):
                self._held = text[len(tag) :]
                self._close = "</" + tag[1:]
                return ("reasoning", "")
        if not text or any(tag.startswith(text) for tag in _OPEN):
            return None
        self._at_start = False
        if self._after_block:
            self._held = text
        return self._give("text", len(self._held))

    def _give(self, kind: Literal["text", "reasoning"], length: int) -> Part | None:
        if length <= 0:
            return None
        text, self._held = self._held[:length], self._held[length:]
        return (kind, text)


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0


def split_closed(text: str) -> tuple[str, str]:
    """(reasoning, answer) of a text whose opening tag was part of the server's own template.

    The closing tag must stand on a line of its own.
    """
    found = _CLOSING.search(text)
    if found is None or any(tag in text[: found.start()] for tag in _OPEN):
        return "", text
    return text[: found.start()].strip(), text[found.end() :].lstrip()


# ---------------------------------------------------------------------------- calls as text

_TEXT_CALLS = (
    re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL),
    re.compile(r"\[TOOL_REQUEST\]\s*(\{.*?\})\s*\[END_TOOL_REQUEST\]", re.DOTALL),
    re.compile(r"```(?:json|tool_call)?\s*\n(\{.*?\})\s*\n```", re.DOTALL),
)


def calls_in_text(
    text: str, names: Sequence[str], new_id: Callable[[], str]
) -> tuple[str, tuple[ToolCall, ...]]:
    """(remaining text, calls) of an answer that writes its calls as text.

    For models whose setting allows it (section 5, rule 8). Only objects that name an offered tool
    are calls.
    """
    calls: list[ToolCall] = []

    def take(found: re.Match[str]) -> str:
        value = parse_object(found.group(1)) or {}
        name, arguments = value.get("name"), value.get("arguments", value.get("parameters", {}))
        if name not in names or not isinstance(arguments, dict):
            return found.group(0)
        calls.append(ToolCall(new_id(), str(name), json.dumps(arguments, ensure_ascii=False)))
        return ""

    for pattern in _TEXT_CALLS:
        text = pattern.sub(take, text)
    return text.strip() if calls else text, tuple(calls)
