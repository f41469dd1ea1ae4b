"""One answer, put together from the chunks of a stream.

The collector knows how a finished answer looks and which endings are none: a stream without finish
reason is `IncompleteAnswer`, one without anything in it an overflow suspect (model-servers,
sections 5 and 7). It never keeps half a call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

from app.engine.errors import ContextOverflow, IncompleteAnswer
from app.engine.llm.endpoint import (
    Answer,
    Delta,
    ReasoningDelta,
    TextDelta,
    ToolSpec,
    WaitingDelta,
)
from app.engine.llm.figures import tokens_or_none
from app.engine.llm.stream import (
    Accumulator,
    Halves,
    Part,
    ReasoningSplitter,
    calls_in_text,
    split_closed,
)
from app.engine.records import ToolCall, Usage
from app.engine.workspace.files import well_formed

_FINISH = {"length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls"}


class Collector:
    """Takes chunks (objects of the client, or look-alikes) and gives deltas and the answer."""

    def __init__(
        self, new_id: Callable[[], str], text_calls: bool, tools: Sequence[ToolSpec]
    ) -> None:
        self._new_id = new_id
        self._names = tuple(one.name for one in tools) if text_calls else ()
        self._calls = Accumulator(new_id)
        self._splitter = ReasoningSplitter()
        self._halves = Halves()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._finish = ""
        self._usage: Usage | None = None
        self.began = False

    def take(self, chunk: Any) -> list[Delta]:
        """The deltas of one chunk."""
        out: list[Delta] = []
        self._take_usage(getattr(chunk, "usage", None))
        progress = extra_of(chunk).get("prompt_progress")
        if isinstance(progress, dict):
            out += self._progress(cast("dict[str, Any]", progress))
        for choice in getattr(chunk, "choices", None) or ():
            if (getattr(choice, "index", 0) or 0) != 0:
                continue
            delta = getattr(choice, "delta", None)
            if delta is not None:
                out += self._take_delta(delta)
            self._finish = getattr(choice, "finish_reason", None) or self._finish
        return out

    def end(self) -> list[Delta]:
        """What the splitter still held, once the stream is over."""
        rest = self._splitter.feed(self._halves.end())
        return self._give([*rest, *self._splitter.end()])

    def _take_usage(self, usage: Any) -> None:
        prompt = tokens_or_none(getattr(usage, "prompt_tokens", None)) or 0
        completion = tokens_or_none(getattr(usage, "completion_tokens", None)) or 0
        if prompt or completion:
            self._usage = Usage(prompt, completion)

    def _progress(self, progress: dict[str, Any]) -> list[Delta]:
        self.began = True  # the server itself says what it does: no clock beside it
        total, done = progress.get("total"), progress.get("processed")
        if not isinstance(total, int) or not isinstance(done, int) or total <= 0:
            return []
        share = min(1.0, max(0.0, done / total))
        words = f"reading {total:,} tokens" if share < 1 else "thinking of the first word"
        return [WaitingDelta(words, share)]

    def _take_delta(self, delta: Any) -> list[Delta]:
        out: list[Delta] = []
        extra = extra_of(delta)
        reasoning = extra.get("reasoning_content") or extra.get("reasoning")
        if isinstance(reasoning, str):
            out += self._give([("reasoning", well_formed(reasoning))])
        content = self._halves.whole(_text(getattr(delta, "content", None)))
        out += self._give(self._splitter.feed(content))
        for call in getattr(delta, "tool_calls", None) or ():
            self.began = True
            function = getattr(call, "function", None)
            arguments = getattr(function, "arguments", None)
            if isinstance(arguments, dict):
                arguments = json.dumps(arguments, ensure_ascii=False)
            index = getattr(call, "index", None)
            self._calls.add(
                index=index if isinstance(index, int) else None,
                id=_text(getattr(call, "id", None)),
                name=_text(getattr(function, "name", None)),
                arguments=_text(arguments),
            )
        return out

    def _give(self, parts: Sequence[Part]) -> list[Delta]:
        out: list[Delta] = []
        for kind, text in parts:
            if not text:
                continue
            self.began = True
            if kind == "reasoning":
                self._reasoning.append(text)
                out.append(ReasoningDelta(text))
            else:
                self._text.append(text)
                out.append(TextDelta(text))
        return out

    @property
    def lost_calls(self) -> bool:
        """Whether calls were announced and none came."""
        return self._finish == "tool_calls" and self._calls.empty

    def answer(self, model: str) -> Answer:
        """The whole answer. Raises `IncompleteAnswer` or, for an empty one, `ContextOverflow`."""
        text = "".join(self._text)
        self._refuse_unfinished(text)
        before, text = split_closed(text)
        reasoning = "".join([*self._reasoning, before])
        calls = tuple(ToolCall(c.id, c.name or "unknown", c.arguments) for c in self._calls.calls())
        if not calls and self._names:
            text, calls = calls_in_text(text, self._names, self._new_id)
        finish = "tool_calls" if calls else _FINISH.get(self._finish, "stop")
        if finish == "tool_calls" and not calls:
            finish = "stop"
        return Answer(text, reasoning, calls, finish, self._usage, model)

    def _refuse_unfinished(self, text: str) -> None:
        nothing = not text.strip() and not self._reasoning and self._calls.empty
        if nothing and self._finish in ("", "length"):
            raise ContextOverflow(
                "The model answered nothing at all: the request is probably too long for it."
            )
        if not self._finish:
            raise IncompleteAnswer("The answer broke off before its end.")
        if self._finish == "length" and self._calls.open:
            raise IncompleteAnswer(
                "The answer reached the output limit in the middle of a tool call.",
                "Raise the output limit, or ask for less at once.",
            )


def extra_of(thing: Any) -> dict[str, Any]:
    """The members of a client object that the protocol does not know."""
    extra = getattr(thing, "model_extra", None)
    return cast("dict[str, Any]", extra) if isinstance(extra, dict) else {}


def whole_delta(body: dict[str, Any]) -> Any:
    """An answer that came in one piece, in the form of a stream's chunk."""
    choices: list[Any] = []
    for choice in _objects(body.get("choices")):
        message = _object(choice.get("message")) or _object(choice.get("delta"))
        calls = [
            SimpleNamespace(
                index=n,
                id=call.get("id"),
                function=SimpleNamespace(**_object(call.get("function"))),
            )
            for n, call in enumerate(_objects(message.get("tool_calls")))
        ]
        delta = SimpleNamespace(
            content=message.get("content"), tool_calls=calls, model_extra=message
        )
        choices.append(
            SimpleNamespace(
                index=choice.get("index") or 0,
                delta=delta,
                finish_reason=choice.get("finish_reason"),
            )
        )
    usage = SimpleNamespace(**_object(body.get("usage")))
    return SimpleNamespace(choices=choices, usage=usage, model_extra={})


def _text(value: object) -> str:
    """A text as a server gave it; anything else was not said."""
    return value if isinstance(value, str) else ""


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    many = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", one) for one in many if isinstance(one, dict)]
