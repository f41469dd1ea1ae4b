"""A session at one moment, as a frozen value that can be compared (restored = live)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from app.engine.records import Message, Usage


class OpenCall(Struct, frozen=True):
    """A call that has no result yet, and the assistant message it belongs to."""

    id: str
    name: str
    message_id: str


class Counters(Struct, frozen=True):
    """How often something happened, over the whole log. `compactions` is since the last reset."""

    entries: int = 0
    bad: int = 0
    messages: int = 0
    turns: int = 0
    compactions: int = 0
    flushes: int = 0
    evictions: int = 0
    resets: int = 0
    ignored: int = 0


class State(Struct, frozen=True):
    """A session at one moment."""

    session_id: str = ""
    context: tuple[Message, ...] = ()
    open_calls: tuple[OpenCall, ...] = ()
    counters: Counters = Counters()
    system_prompt: str = ""
    strategy: str = ""
    config: dict[str, Any] = {}
    model: str = ""
    title: str = ""
    parent: str = ""
    flushed: str = ""
    summaries: tuple[str, ...] = ()
    do_not_remember: frozenset[str] = frozenset()
    usage: Usage = Usage()
    version: int = 0
