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
from app.engine.llm.stream import (
    Accumulator,
    Part,
    ReasoningSplitter,
    calls_in_text,
    split_closed,
)
from app.engine.records import ToolCall, Usage

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
        return self._give(self._splitter.end())

    def _take_usage(self, usage: Any) -> None:
        if usage is None:
            return
        prompt = getattr(usage, "prompt_tokens", 0) or 0
        completion = getattr(usage, "completion_tokens", 0) or 0
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
            out += self._give([("reasoning", reasoning)])
        content = getattr(delta, "content", None)
        if isinstance(content, str) and content:
            out += self._give(self._splitter.feed(content))
        for call in getattr(delta, "tool_calls", None) or ():
            self.began = True
            function = getattr(call, "function", None)
            arguments = getattr(function, "arguments", None)
            if isinstance(arguments, dict):
                arguments = json.dumps(arguments, ensure_ascii=False)
            self._calls.add(
                index=getattr(call, "index", None),
                id=getattr(call, "id", None) or "",
                name=getattr(function, "name", None) or "",
                arguments=arguments or "",
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
    for choice in body.get("choices") or ():
        message = dict(choice.get("message") or choice.get("delta") or {})
        calls = [
            SimpleNamespace(
                index=n,
                id=call.get("id"),
                function=SimpleNamespace(**(call.get("function") or {})),
            )
            for n, call in enumerate(message.get("tool_calls") or ())
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
    usage = body.get("usage")
    return SimpleNamespace(
        choices=choices, usage=SimpleNamespace(**usage) if usage else None, model_extra={}
    )
