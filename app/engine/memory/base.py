"""`BaseMemory`: the Motus-shaped face of a session, and `BasicMemory`, which only appends.

A memory holds a `Session` and nothing besides: what it shows is that session's fold, what it takes
in becomes an entry of that session's log. Invariant: whatever a subclass does to its messages goes
through the log, so a restored memory equals the live one. `add_message` and `compact` are async and
leave file work to a thread; the rest is plain and blocks. Specification, section 1, "Motus face".
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from typing import Any, ClassVar, TypeVar, cast, overload

from app.engine.context.committing import Run
from app.engine.context.tokenizer import Tiktoken
from app.engine.context.tokens import Counter
from app.engine.context.trimming import cut_to_tokens
from app.engine.events import Activity
from app.engine.memory.motus_settings import RESULT_NOTE, RESULT_TOKENS
from app.engine.memory.trace import trace_of
from app.engine.records import Message
from app.engine.session import entries as e
from app.engine.session.chat_form import from_chat
from app.engine.session.session import Session
from app.engine.session.snapshot import CompactionSessionState

log = logging.getLogger(__name__)

COUNTED_AT_ONCE = 10_000  # characters: their tokens are counted within a few milliseconds

T = TypeVar("T")
Emit = Callable[[Activity], None]
ChatMessage = Message | Mapping[str, Any]


class BaseMemory(ABC):
    """What all memories share; a strategy of one's own implements `compact` and `reset`.

    `session` is an existing session (a restored one); without it a new one lives in memory.
    Messages are `records.Message`s or mappings in the chat form (`role`, `content`, …).
    """

    strategy: ClassVar[str] = "basic"

    def __init__(
        self,
        *,
        system_prompt: str = "",
        session: Session | None = None,
        counter: Counter | None = None,
        max_tool_result_tokens: int = RESULT_TOKENS,
        tool_result_truncation_suffix: str = RESULT_NOTE,
        on_event: Emit | None = None,
    ) -> None:
        self._session = session or Session.create(
            str(uuid.uuid4()), system_prompt=system_prompt, strategy=self.strategy
        )
        self._counter = counter or Counter(Tiktoken())
        self._result_limit = max_tool_result_tokens
        self._result_suffix = tool_result_truncation_suffix
        self._on_event = on_event
        self._guard = threading.Lock()  # one thread at a time works on the session
        self._turnstile = asyncio.Lock()  # and in the order in which they came
        self._run: Run | None = None
        self._sum = _Sum()

    # ------------------------------------------------------------------ what a strategy is

    @abstractmethod
    async def compact(self, **kwargs: Any) -> str | None:
        """Make room; the summary text, or None when there was nothing to do."""

    @abstractmethod
    def reset(self) -> dict[str, int]:
        """Forget the conversation; counts of what left, e.g. `{"messages": 2}`."""

    # ------------------------------------------------------------------ messages

    @property
    def session(self) -> Session:
        """The session behind this memory: one truth, one log."""
        return self._session

    @property
    def session_id(self) -> str:
        return self._session.id

    @property
    def keeps_log(self) -> bool:
        """Whether the session has a log of its own on disk, or in a store."""
        return False

    def stored_config(self) -> dict[str, Any]:
        """The configuration as the session's first line keeps it."""
        return dict(self._session.fold.config)

    @property
    def messages(self) -> list[Message]:
        """The live messages, without the system prompt; a copy."""
        return list(self._session.context)

    @property
    def _messages(self) -> LiveMessages:
        """The same as a list that can be changed; each change is an entry of the log."""
        return LiveMessages(self)

    @_messages.setter
    def _messages(self, messages: Iterable[ChatMessage]) -> None:
        self._now(lambda session: session.replace_context([as_message(m) for m in messages]))

    async def add_message(self, message: ChatMessage) -> Message:
        """Add one message, durably; the message as it stands in the context.

        A tool result longer than `max_tool_result_tokens` is cut there; the log has all of it.
        """
        given = as_message(message)
        small = len(given.content) <= COUNTED_AT_ONCE
        return await self._work(lambda session: self._added(session, given), small=small)

    def _added(self, session: Session, message: Message) -> Message:
        before, size = session.fold.version, len(session.fold)
        kept = session.add(message)
        fresh = session.fold.version != before
        if fresh and kept.role == "tool":
            shorter = cut_to_tokens(
                kept.content, self._result_limit, self._result_suffix, self._counter
            )
            if shorter != kept.content:
                session.append(e.ToolTruncation(target=kept.id, in_context=shorter))
                kept = session.fold.message(kept.id) or kept
        if len(session.fold) == size + 1:
            self._sum.grown(session, before, kept, self._counter)
        return kept

    def clear_messages(self) -> None:
        """Empty the context; the log keeps what was said."""
        self._now(lambda session: session.reset())

    def get_context(self) -> list[Message]:
        """One system message, present even when empty, and the live messages."""
        prompt = Message(id="system", role="system", content=self.construct_system_prompt())
        return [prompt, *self.messages]

    # ------------------------------------------------------------------ prompt

    @property
    def system_prompt(self) -> str:
        return self._session.system_prompt

    def set_system_prompt(self, system_prompt: str) -> None:
        """Change the prompt; it is stored with the next entry."""
        self._now(lambda session: session.set_prompt(system_prompt))

    def construct_system_prompt(self) -> str:
        """The prompt as it is sent; a subclass may add to it."""
        return self._session.system_prompt

    # ------------------------------------------------------------------ figures

    def estimate_tokens(self) -> int:
        """Tokens of prompt and messages, as the token trigger counts them."""
        with self._guard:
            total = self._sum.of(self._session, self._counter)
        return total + self._counter.text(self.construct_system_prompt())

    def get_memory_trace(self) -> dict[str, Any]:
        """What happened since the last reset: `events`, `total_events`, `total_compactions`."""
        return self._now(lambda session: trace_of(session.entries()))

    def get_session_state(self) -> CompactionSessionState:
        """The session as a value; see `CompactionSessionState.to_dict`."""
        return self._now(lambda session: session.snapshot())

    # ------------------------------------------------------------------ for the engine

    def attach(self, session: Session, run: Run) -> None:
        """Go on in another session (one of a workspace), whose owner carries out the work."""
        self._session, self._run, self._sum = session, run, _Sum()

    def listen(self, on_event: Emit) -> None:
        """Hear what happens to this memory, unless somebody does already."""
        self._on_event = self._on_event or on_event

    async def _work(self, work: Callable[[Session], T], *, small: bool = False) -> T:
        """`work(session)` in a thread, after whatever is still running on this session.

        Small work on a session without a disk is done at once: a thread would cost more.
        """
        if self._run is not None:
            return await self._run(lambda _session: self._now(work))
        async with self._turnstile:
            if small and self._session.in_memory:
                return self._now(work)
            return await asyncio.to_thread(self._now, work)

    def _now(self, work: Callable[[Session], T]) -> T:
        with self._guard:
            return work(self._session)

    def _emit(self, activity: Activity) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(activity)
        except Exception:
            log.exception("a listener failed on %r", activity)


class BasicMemory(BaseMemory):
    """Append-only: messages accumulate, an overflow is the caller's business."""

    async def compact(self, **kwargs: Any) -> str | None:
        """Never compacts: None."""
        return None

    def reset(self) -> dict[str, int]:
        """Clear messages and trace; `{"messages": n}`."""
        return {"messages": self._now(lambda session: session.reset())["messages"]}


# ---------------------------------------------------------------------------- inside


def as_message(message: ChatMessage) -> Message:
    """A message of either form. Raises `ValueError` for a mapping that is none."""
    return message if isinstance(message, Message) else from_chat(message)


class _Sum:
    """Tokens of a context, kept current while it only grows, so that adding costs no recount."""

    def __init__(self) -> None:
        self._version = -1
        self._label = ""
        self._tokens = 0

    def of(self, session: Session, counter: Counter) -> int:
        if self._version != session.fold.version or self._label != counter.label:
            self._tokens = counter.messages(session.context)
            self._version, self._label = session.fold.version, counter.label
        return self._tokens

    def grown(self, session: Session, before: int, added: Message, counter: Counter) -> None:
        """One message was added when the context's version was `before`."""
        if self._version == before and self._label == counter.label:
            self._tokens += counter.message(added)
            self._version = session.fold.version


class LiveMessages(MutableSequence[Message]):
    """The messages of a memory as a list: reading shows the fold, changing writes entries."""

    def __init__(self, memory: BaseMemory) -> None:
        self._memory = memory

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._memory.messages[index]

    def __len__(self) -> int:
        return len(self._memory.session.fold)

    def __setitem__(self, index: int | slice, value: Any) -> None:
        changed = self._memory.messages
        if isinstance(index, slice):
            changed[index] = [as_message(m) for m in cast("Iterable[ChatMessage]", value)]
        else:
            changed[index] = as_message(value)
        self._put(changed)

    def __delitem__(self, index: int | slice) -> None:
        changed = self._memory.messages
        del changed[index]
        self._put(changed)

    def insert(self, index: int, value: Message) -> None:
        changed = self._memory.messages
        changed.insert(index, as_message(value))
        self._put(changed)

    def clear(self) -> None:
        self._memory.clear_messages()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._memory.messages == list(
            cast("Sequence[object]", other)
        )

    __hash__ = None  # type: ignore[assignment]

    def _put(self, messages: list[Message]) -> None:
        self._memory._messages = messages  # pyright: ignore[reportPrivateUsage]
