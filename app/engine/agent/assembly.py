"""One request, put together: system prompt with what is remembered, history, tools.

The same code serves the turn, the inspector ("what would be sent next") and the log of past
requests, so that what is shown is what is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import platform

import msgspec
from msgspec import Struct

from app.engine.agent.filters import filtered
from app.engine.agent.live import LiveSession
from app.engine.agent.parts import AgentParts, is_small
from app.engine.config import EngineConfig
from app.engine.context.compactor import Frame
from app.engine.context.injection import Injected, Situation, inject, recalled
from app.engine.context.sources import load_sources
from app.engine.context.tokens import Counter
from app.engine.context.view import describe
from app.engine.context.window import injection_budget, thresholds
from app.engine.llm.endpoint import Endpoint, Request
from app.engine.records import ContextView, Message, Query, Window
from app.engine.session import entries as e
from app.engine.workspace.files import encode, write_atomic


class Assembled(Struct, frozen=True):
    """A request that is ready, and everything that was decided on the way."""

    request: Request
    injected: Injected
    window: Window
    config: EngineConfig
    tool_tokens: int
    counter: Counter
    recall: str = ""


async def surroundings(
    parts: AgentParts, live: LiveSession, endpoint: Endpoint, prompt: str | None = None
) -> Assembled:
    """Everything of a request except the history: prompt, tools, window, fitted configuration.

    `prompt` stands for the session's own system prompt.
    """
    window = await endpoint.window()
    config = parts.fitted(endpoint, window)
    if live.strategy:
        config = config.replace(agent=config.agent.replace(strategy=live.strategy))
    switches = config.agent
    small = is_small(endpoint, window)
    sources = await load_sources(
        parts.layout, parts.writer, config.injection.additional_context_files
    )
    parts.tell(sources.problems, live.id)
    tools = parts.toolbox.specs if endpoint.supports_tools else ()
    situation = Situation(
        agent=switches.name,
        today=parts.clock().astimezone().date(),
        system=platform.system(),
        workspace=parts.layout.root.name,
        session_id=live.id,
        tools=switches.memory_tools and endpoint.supports_tools,
        hooks=switches.memory_hooks,
        files=switches.workspace_context,
        budget=injection_budget(config.injection, window),
        compact=small,
    )
    base = live.session.system_prompt if prompt is None else prompt
    counter = parts.counter_for(endpoint)
    injected = inject(base, sources, situation, counter.text)
    return Assembled(
        Request((), injected.text, tools, switches.max_output),
        injected,
        window,
        config,
        counter.schemas(tools),
        counter,
    )


def frame(parts: AgentParts, live: LiveSession, around: Assembled, summary_window: int) -> Frame:
    """What the compactor has to know of the surroundings."""
    return Frame(
        window=around.window,
        summary_window=summary_window,
        system_prompt=around.injected.text,
        system_tokens=sum(part.tokens for part in around.injected.parts),
        tool_tokens=around.tool_tokens,
        log_path=parts.layout.relative(parts.layout.session_log(live.id)),
        session_id=live.id,
    )


async def with_history(
    parts: AgentParts,
    live: LiveSession,
    around: Assembled,
    history: list[Message],
    recall: str = "",
) -> Assembled:
    """The surroundings with the messages to send, as they leave the request filters; recalled lines
    stand before the last question. Raises `FilterFailed`."""
    messages = list(history)
    if recall and messages and messages[-1].role == "user":
        last = messages[-1]
        content = f"{recalled(recall)}\n\n{last.content}"
        messages[-1] = msgspec.structs.replace(last, content=content)
    longest = around.config.eviction.max_result_chars
    sent = await filtered(parts.request_filters, tuple(messages), live.session.context, longest)
    request = around.request
    return Assembled(
        Request(sent, request.system, request.tools, request.max_output),
        around.injected,
        around.window,
        around.config,
        around.tool_tokens,
        around.counter,
        recall,
    )


async def recall_for(parts: AgentParts, around: Assembled, question: str) -> str:
    """Lines of memory that fit the question, when the model cannot search for itself.

    Lines that are injected with MEMORY.md anyway are left out.
    """
    config = around.config
    wanted = config.injection.recall or not around.request.tools
    if not (wanted and config.agent.workspace_context and question.strip()):
        return ""
    query = Query(
        question[:2_000], "natural", frozenset({"memory", "daily"}), config.injection.recall_limit
    )
    found = await parts.search(query)
    lines = [hit.text.strip() for hit in found.hits]
    return "\n".join(dict.fromkeys(line for line in lines if line not in around.request.system))


def view(made: Assembled, draft: str = "") -> ContextView:
    """The request as ordered blocks for people, with the tokens of each."""
    compaction = made.config.compaction
    return describe(
        made.injected,
        made.request.messages,
        made.counter,
        window=made.window,
        thresholds=thresholds(compaction, made.window, made.tool_tokens),
        tools=made.request.tools,
        draft=draft,
        flushes=compaction.flush_before_compact and made.config.agent.memory_hooks,
    )


async def log_request(parts: AgentParts, live: LiveSession, made: Assembled) -> None:
    """Keep the exact request: its injected parts as blobs, its history as message ids."""
    pieces = made.injected.parts
    rows: list[dict[str, object]] = [
        {"kind": part.kind, "note": part.note, "tokens": part.tokens, "hash": _sha(part.text)}
        for part in pieces
    ]
    messages = made.request.messages
    rows.append({
        "kind": "history",
        "messages": len(messages),
        "hash": await asyncio.to_thread(lambda: _sha(" ".join(one.id for one in messages))),
        "last": messages[-1].id if messages else "",
    })  # fmt: skip
    rows.append({"kind": "tools", "tokens": made.tool_tokens, "count": len(made.request.tools)})

    def write() -> None:
        for part in pieces:
            place = parts.layout.blob(_sha(part.text))
            if not place.exists():
                write_atomic(place, encode(part.text))

    await asyncio.to_thread(write)
    await live.do(lambda session: session.append(e.Request(parts=tuple(rows))))


def _sha(text: str) -> str:
    return hashlib.sha256(encode(text)).hexdigest()
