"""`CompactionBase`: what all memories that compact share.

A thin class over the engine's own parts: `ConversationCompactor` computes, the session commits. It
adds when: after each message at a unit boundary, and before each request (preset `motus`).
Invariant: an automatic compaction never raises out of `add_message` and never loses a message; what
went wrong is an event and a `compaction_failed` entry. Specification, sections 1, 4 and 7.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any, ClassVar, Literal, cast

import msgspec

from app.engine.config import CompactionConfig
from app.engine.context.committing import commit
from app.engine.context.compactor import (
    ConversationCompactor,
    Flush,
    Frame,
    NotCompacted,
)
from app.engine.context.pace import Pace
from app.engine.context.summaries import SummaryAnswer, SummaryRequest
from app.engine.context.tokens import Counter
from app.engine.context.window import KnownWindows, resolve_window, thresholds
from app.engine.errors import (
    ContextOverflow,
    UserError,
    interruption,
)
from app.engine.events import Activity
from app.engine.llm.endpoint import Endpoint, Request, complete
from app.engine.llm.roles import Endpoints
from app.engine.memory.base import BaseMemory, ChatMessage, Emit
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.records import Message, Window
from app.engine.session.session import Session

log = logging.getLogger(__name__)

Client = Endpoint | Endpoints
NO_CLIENT = (
    "compact() needs a client to ask for the summary: give one with set_model(client=…), "
    "or give a compact_fn."
)


class CompactionBase(BaseMemory):
    """Boundaries, thresholds, `compact()` and `set_model()`, for memories that compact.

    `client` is an endpoint, or `Endpoints`, in which `model_name` and the configured
    `compact_model_name` are looked up. `compaction` replaces the preset made from `config`.
    `compact_fn(messages, system_prompt)` and `on_compact(stats)` may be sync or async.
    """

    strategy: ClassVar[str] = "compact"

    def __init__(
        self,
        config: CompactionMemoryConfig | None = None,
        *,
        client: Client | None = None,
        model_name: str = "",
        system_prompt: str = "",
        compact_fn: Callable[..., Any] | None = None,
        on_compact: Callable[..., Any] | None = None,
        compaction: CompactionConfig | None = None,
        session: Session | None = None,
        counter: Counter | None = None,
        flush: Flush | None = None,
        on_event: Emit | None = None,
    ) -> None:
        self.config = config or CompactionMemoryConfig()
        super().__init__(
            session=session
            or Session.create(
                self.config.session_id or str(uuid.uuid4()),
                system_prompt=system_prompt,
                strategy=self.strategy,
                config=self.config.stored(),
                model=model_name,
            ),
            counter=counter,
            max_tool_result_tokens=self.config.max_tool_result_tokens,
            tool_result_truncation_suffix=self.config.tool_result_truncation_suffix,
            on_event=on_event,
        )
        self._client = client
        self._model_name = model_name
        self._functions = (compact_fn, on_compact)
        self._compaction = compaction or self.config.compaction(compact_fn, on_compact)
        self._flush = flush
        self._pace = Pace()
        self._busy = False
        self._learned = 0
        self._known: Window | None = None
        self._around = Frame(window=Window(0))
        self._own_counter = counter is not None
        self._ratio = 1.0

    # ------------------------------------------------------------------ model

    def set_model(self, client: Client | None = None, model_name: str | None = None) -> None:
        """Fill in client and model name where none was given before."""
        self._client = self._client or client
        self._model_name = self._model_name or model_name or ""

    @property
    def client(self) -> Client | None:
        return self._client

    @property
    def model_name(self) -> str:
        return self._model_name

    @property
    def compact_model_name(self) -> str:
        """The model that summarises: the configured one, else the agent's."""
        return self.config.compact_model_name or self._model_name

    def _endpoint(self, role: Literal["chat", "compaction"]) -> Endpoint | None:
        if not isinstance(self._client, Endpoints):
            return self._client
        name = self.compact_model_name if role == "compaction" else self._model_name
        return self._client.role(role, name or None)

    @property
    def window(self) -> Window:
        """The context window that counts now, with the source of the number."""
        if self._known is not None and not self._learned:
            return self._known
        known = self._known or Window(0)
        local = self._client is not None and not getattr(self._endpoint("chat"), "host", "")
        return resolve_window(
            KnownWindows(
                setting=known.tokens if known.source == "setting" else 0,
                learned=self._learned,
                local=local,
            )
        )

    def note_overflow(self, error: ContextOverflow) -> None:
        """Learn the window that an overflow named; it is used from now on."""
        self._learned = error.window or self._learned

    async def _look_at_window(self) -> None:
        endpoint = self._endpoint("chat")
        if endpoint is not None:
            self._known = await endpoint.window()

    def surround(self, system_tokens: int, tool_tokens: int, ratio: float = 1.0) -> None:
        """What else is in each request: tokens of the injected prompt and of the tool schemas.

        `ratio` is how many tokens the model makes of one of ours (`Gauge.ratio`); a counter that
        was given to this memory counts as it does.
        """
        self._ratio = 1.0 if self._own_counter else ratio
        self._around = msgspec.structs.replace(
            self._around, system_tokens=system_tokens, tool_tokens=tool_tokens
        )

    # ------------------------------------------------------------------ messages

    @property
    def compaction_count(self) -> int:
        return self._session.fold.compactions

    @property
    def summaries(self) -> tuple[str, ...]:
        """The summaries so far, oldest first."""
        return tuple(self._session.fold.summaries)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Ids of calls that still wait for their results."""
        return tuple(call.id for call in self._session.open_calls)

    def at_boundary(self) -> bool:
        """Whether a turn unit is complete: something was said, and no call is open."""
        return self._session.fold.at_boundary()

    async def add_message(self, message: ChatMessage) -> Message:
        """As in `BaseMemory`; compacts by itself when the threshold is passed at a boundary."""
        kept = await super().add_message(message)
        if kept.role == "user" and not kept.origin:
            self._pace.new_turn()
        if self._compaction.check != "before_request" and self.at_boundary():
            await self.compact_if_due()
        return kept

    def reset(self) -> dict[str, int]:
        """Clear messages, trace, summaries and open calls; `{"messages": n}`. The file stays."""
        self._pace = Pace()
        return {"messages": self._now(lambda session: session.reset())["messages"]}

    def estimate_tokens(self) -> int:
        """What the token trigger is compared with: messages, prompt, tools."""
        with self._guard:
            total = self._sum.of(self._session, self._counter)
        tools = 0 if self._compaction.trigger_tokens == "auto" else self._around.tool_tokens
        return round(total * self._ratio) + self._prompt_tokens() + tools

    def _prompt_tokens(self) -> int:
        return self._around.system_tokens or self._scaled.text(self.construct_system_prompt())

    @property
    def _scaled(self) -> Counter:
        return self._counter.scaled(self._ratio)

    # ------------------------------------------------------------------ compacting

    async def compact(self, **kwargs: Any) -> str | None:
        """Compact now, whatever the gain; the summary, or None when there was nothing.

        Raises `ValueError` without a client and a `compact_fn`, `UserError` when no usable summary
        came; the messages are then as they were. Unknown arguments are ignored.
        """
        if not len(self._session.fold):
            return None
        if self._client is None and self._compaction.compact_fn is None:
            raise ValueError(NO_CLIENT)
        await self._look_at_window()
        compactor = await self._compactor()
        outcome = await compactor.compact(
            self._session.context, flush=self._flush, offload=self._offload
        )
        made = await commit(compactor, outcome, self.session_id, self._work, self._emit)
        if isinstance(outcome, NotCompacted) and outcome.kind == "failed":
            raise UserError(outcome.reason, outcome.remedy)
        return made.summary if made is not None else None

    async def compact_if_due(self) -> str | None:
        """The automatic run: the summary when one was made. Raises nothing but interruptions."""
        if self._busy:
            return None
        self._busy = True
        try:
            return await self._automatic()
        except Exception as error:
            if interruption(error) is not None:
                raise
            log.warning("an automatic compaction failed: %s", error)
            reason = f"The compaction failed, the conversation is kept as it is: {error}"
            self._emit(Activity("compaction", "failed", self.session_id, reason=reason))
            return None
        finally:
            self._busy = False

    async def _automatic(self) -> str | None:
        await self._look_at_window()
        limits = thresholds(self._compaction, self.window, self._around.tool_tokens)
        size = len(self._session.fold)
        by_count = 0 < self._compaction.trigger_messages <= size
        if not by_count and not 0 < limits.trigger <= self.estimate_tokens():
            return None
        compactor = await self._compactor()
        outcome = await compactor.compact_if_due(
            self._session.context, flush=self._flush, offload=self._offload
        )
        if outcome is None:
            return None
        made = await commit(compactor, outcome, self.session_id, self._work, self._emit)
        return made.summary if made is not None else None

    async def _compactor(self) -> ConversationCompactor:
        main, model = self._endpoint("chat"), self._endpoint("compaction")
        other = model is not None and model is not main
        size = (await cast("Endpoint", model).window()).tokens if other else 0

        async def summarise(request: SummaryRequest) -> SummaryAnswer:
            asked = Request(request.messages, request.system, (), request.max_output)
            try:
                answer = await complete(cast("Endpoint", model), asked)
            except ContextOverflow as error:
                if not other:
                    self.note_overflow(error)
                raise
            return SummaryAnswer(answer.text, answer.finish)

        return ConversationCompactor(
            self._compaction,
            self._scaled,
            msgspec.structs.replace(self._frame(), summary_window=size),
            summarise=summarise if model is not None else None,
            pace=self._pace,
            emit=self._emit,
        )

    def _frame(self) -> Frame:
        return msgspec.structs.replace(
            self._around,
            window=self.window,
            system_prompt=self.construct_system_prompt(),
            system_tokens=self._prompt_tokens(),
            session_id=self.session_id,
        )

    async def _offload(self) -> None:
        await self._work(lambda session: session.sync())
