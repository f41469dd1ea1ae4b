"""The reasoning loop: one turn of a person and an agent.

The person's message is durable before anything else happens. A half answer is never kept; a reply
that is complete ends the turn, and whatever follows (flush, maintenance) is a job that the reply
never waits for. Specification, sections 5, 8 and 15.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from app.engine.agent.assembly import (
    Assembled,
    log_request,
    recall_for,
    with_history,
)
from app.engine.agent.keeper import ContextKeeper
from app.engine.agent.live import LiveSession
from app.engine.agent.own_memory import MemoryKeeper
from app.engine.agent.parts import AgentParts
from app.engine.errors import (
    ContextOverflow,
    IncompleteAnswer,
    Interrupted,
    ModelError,
    QuestionTooLong,
    UserError,
    interruption,
)
from app.engine.events import Activity, TurnEvent, TurnKind
from app.engine.llm.endpoint import Answer, Endpoint, ReasoningDelta, TextDelta, WaitingDelta
from app.engine.llm.truncation import half_of
from app.engine.records import Message, ToolCall, TranscriptItem, TurnResult, Usage
from app.engine.session import entries as e

CUT_REMEDY = "Give the server a larger window (num_ctx), or set its real one in Settings."


class Agent:
    """Runs the turns of one session. `after_turn(live)` is called when a reply is complete."""

    def __init__(
        self, parts: AgentParts, live: LiveSession, after_turn: Callable[[LiveSession], None]
    ) -> None:
        self._parts = parts
        self._live = live
        self._after_turn = after_turn
        own = live.memory
        self.keeper = ContextKeeper(parts, live) if own is None else MemoryKeeper(parts, live, own)
        self._shown = False  # whether a person has seen a part of the answer
        self._cut = False  # whether this turn has already made room for a prompt that was cut

    async def turn(self, text: str) -> TurnResult:
        """One turn. Never raises for failures of model, tools or disk: they are its result."""
        self._say("started", text)
        self.keeper.pace.new_turn()
        self._cut = False
        kept = False
        try:
            question = Message(id=self._parts.new_id("u"), role="user", content=text)
            await self.keeper.add(question)
            kept = True
            reply, calls, usage = await self._loop(text)
        except (asyncio.CancelledError, Interrupted) as stop:
            await self._interrupt()
            self._say("stopped")
            if isinstance(stop, Interrupted):
                raise
            return TurnResult(self._live.id, "stopped")
        except Exception as error:
            if interruption(error) is not None:  # an interruption inside another error
                await self._interrupt()
                self._say("stopped")
                raise
            if not isinstance(error, UserError):
                raise
            return await self._failed(error, kept)
        await self._live.write(lambda session: session.sync())
        self._say("finished", reply)
        self._after_turn(self._live)
        return TurnResult(self._live.id, "finished", reply, calls, usage)

    async def _failed(self, error: UserError, kept: bool) -> TurnResult:
        """The end of a turn that failed. A question that is too long by itself leaves the context:
        it goes back to the person, and would be in the way of every later one."""
        failure = "model" if isinstance(error, ModelError) else "workspace"
        if isinstance(error, QuestionTooLong):
            failure, kept = "question", False
            last = self._live.session.context[-1]
            with contextlib.suppress(UserError):  # a disk that is full, too
                await self._live.write(lambda session: session.mark([last.id], deleted=True))
        self._say("failed", str(error), remedy=error.remedy)
        return TurnResult(
            self._live.id,
            "failed",
            error=str(error),
            remedy=error.remedy,
            failure=failure,
            kept=kept,
        )

    async def _loop(self, question: str) -> tuple[str, tuple[ToolCall, ...], Usage]:
        endpoint = self._parts.chat()
        made: list[ToolCall] = []
        usage = Usage()
        recall: str | None = None
        for _ in range(self._parts.config.agent.max_steps):
            around = await self.keeper.before_request(endpoint)
            if recall is None:
                recall = await self._recall(around, question)
            answer, around = await self._ask(endpoint, around, recall)
            message = await self._keep(answer)
            usage = answer.usage or usage
            if not answer.calls or answer.finish == "length":
                return answer.text, tuple(made), usage
            for call in message.calls:
                made.append(call)
                await self._run(call, message.id, around)
        raise IncompleteAnswer(
            f"The model asked for tools {self._parts.config.agent.max_steps} times without ending.",
            "Send again to let it go on, or raise the number of steps in Settings.",
        )

    # ------------------------------------------------------------------ asking the model

    async def _recall(self, around: Assembled, question: str) -> str:
        recall = await recall_for(self._parts, around, question)
        if recall:
            entry = e.Recall(text=recall, query=question[:500])
            await self._live.write(lambda session: session.append(entry))
        return recall

    async def _ask(
        self, endpoint: Endpoint, around: Assembled, recall: str
    ) -> tuple[Answer, Assembled]:
        """The answer; after an overflow with nothing shown yet, once more (OVF-3 to OVF-8)."""
        try:
            answer = await self._stream(endpoint, around, recall)
            if answer.truncated:
                return await self._after_cut(endpoint, around, recall, answer)
            return answer, around
        except ContextOverflow as error:
            if self._shown or not self.keeper.recovers(around):
                raise
            await self.keeper.recover(around, endpoint, error)
        around = await self.keeper.before_request(endpoint, recovered=True)
        return await self._stream(endpoint, around, recall), around

    async def _after_cut(
        self, endpoint: Endpoint, around: Assembled, recall: str, answer: Answer
    ) -> tuple[Answer, Assembled]:
        """The server seems to have dropped a part of the prompt (model-servers, section 4).

        Nothing of the answer is kept or executed yet, so room is made and the same is asked once
        more in this turn. An answer that cannot be bettered stands, with the warning.
        """
        if self._cut or not self.keeper.recovers(around) or answer.usage is None:
            return answer, around
        self._cut = True
        read, window = answer.usage.prompt, around.window.tokens
        # Half a window is what some servers cut to; anything else read is all there is room for.
        room = window if half_of(read, window) else read + answer.usage.completion
        try:
            cut = ContextOverflow(answer.truncated, CUT_REMEDY, window=room)
            await self.keeper.recover(around, endpoint, cut)
            smaller = await self.keeper.before_request(endpoint, recovered=True)
            self._say("again")
            return await self._stream(endpoint, smaller, recall), smaller
        except ModelError:
            return answer, around

    async def _stream(self, endpoint: Endpoint, around: Assembled, recall: str) -> Answer:
        history = await self.keeper.history()
        made = await with_history(self._parts, self._live, around, history, recall)
        await log_request(self._parts, self._live, made)
        self._shown = False
        stream = endpoint.stream(made.request)
        try:
            async for delta in stream:
                match delta:
                    case TextDelta(text):
                        self._shown = True
                        self._say("text", text)
                    case ReasoningDelta(text):
                        self._say("reasoning", text)
                    case WaitingDelta(what, _):
                        self._say("waiting", what)
                    case Answer():
                        self._warn_of_cut(delta)
                        return delta
        finally:
            if (close := getattr(stream, "aclose", None)) is not None:
                await close()
        raise IncompleteAnswer("The model's answer ended before it was complete.")

    def _warn_of_cut(self, answer: Answer) -> None:
        if answer.truncated:
            said = Activity(
                "suspected_truncation",
                "finished",
                self._live.id,
                reason=answer.truncated,
                remedy=CUT_REMEDY,
            )
            self._parts.bus.publish(said)

    async def _keep(self, answer: Answer) -> Message:
        """Store a whole answer, and what it cost."""
        complete = answer.finish != "length"
        message = Message(
            id=self._parts.new_id("a"),
            role="assistant",
            content=answer.text,
            reasoning=answer.reasoning,
            calls=answer.calls if complete else (),
        )
        kept = await self.keeper.add(message)
        if answer.usage is not None:
            spent = e.UsageEntry(
                message_id=message.id,
                prompt=answer.usage.prompt,
                completion=answer.usage.completion,
                model=answer.model,
            )
            await self._live.do(lambda session: session.append(spent))
        return kept

    # ------------------------------------------------------------------ running tools

    async def _run(self, call: ToolCall, message_id: str, around: Assembled) -> None:
        """Run one call and append its result; a long one is put aside at once."""
        item_id = f"{message_id}:use:{call.id}"
        running = TranscriptItem(
            item_id, 0, "tool", self._parts.clock(), tool=call.name, arguments=call.arguments
        )
        self._say("item", item=running)

        async def approve(asked: ToolCall) -> bool:
            self._say("approval", asked.id, item=running)
            return await self._live.approval(asked)

        outcome = await self._parts.toolbox.run(call, approve)
        result = Message(
            id="",
            role="tool",
            content=outcome.output,
            name=call.name,
            call_id=call.id,
            is_error=outcome.is_error,
        )
        await self.keeper.add(result, outcome.seconds)
        await self.keeper.evict(around)

    async def _interrupt(self) -> None:
        """Close open calls; runs to its end also when it is cancelled again.

        On a disk that cannot be written the calls stay open; the next request closes them.
        """
        work = asyncio.ensure_future(
            self._live.write(lambda session: session.interrupt("stopped by the person"))
        )
        with contextlib.suppress(UserError):
            await asyncio.shield(work)

    # ------------------------------------------------------------------ saying so

    def _say(
        self,
        kind: TurnKind,
        text: str = "",
        *,
        item: TranscriptItem | None = None,
        remedy: str = "",
    ) -> None:
        self._parts.bus.publish(TurnEvent(self._live.id, kind, text, item, remedy))
