"""A model behind a server that speaks the OpenAI protocol. The only import of `openai`.

One request becomes a stream of deltas that ends with exactly one `Answer`. The client's own retries
are off: what may be tried again is decided here, is bounded, is said (`WaitingDelta`), and never
happens once something was shown. Closing the iterator closes the connection, which stops the
server. Rules and shapes: specification, model-servers, sections 1 to 5.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from app.engine.errors import Interrupted, ModelError
from app.engine.llm import probe
from app.engine.llm.answers import Collector, extra_of, whole_delta
from app.engine.llm.complaints import to_error
from app.engine.llm.endpoint import (
    Answer,
    Delta,
    ReasoningDelta,
    Request,
    TextDelta,
    WaitingDelta,
)
from app.engine.llm.failures import Kind, Verdict, chain, classify, classify_exception, from_body
from app.engine.llm.patience import ended, waiting
from app.engine.llm.request_body import less_output, request_body
from app.engine.llm.stream import parse_object
from app.engine.records import Window

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")

PLACEHOLDER_KEY = "no-key-needed"  # the client refuses an empty one; local servers take any
RETRIES = 2
RETRY_PAUSES = (0.5, 2.0)
RATE_PAUSES = (5.0, 15.0)
LONGEST_PAUSE = 60.0


class Options(Struct, frozen=True):
    """What differs between models and servers. 0 and None leave a matter to the server.

    `window` is a person's own setting, `known_window` the catalogue's; both in tokens.
    `overflow_patterns` are further wordings of "too long" (regular expressions). `text_calls`
    accepts tool calls written as text. `extra_body` goes into every request as it is.
    """

    window: int = 0
    known_window: int = 0
    fit_for_memory: bool = False
    supports_tools: bool = True
    text_calls: bool = False
    max_output: int | None = None
    temperature: float | None = None
    overflow_patterns: tuple[str, ...] = ()
    extra_body: dict[str, Any] = {}


class _Plan(Struct, frozen=True):
    """One attempt: what is asked for this time."""

    request: Request
    max_output: int | None
    tools: bool
    retried: int = 0
    paused: int = 0
    less_output: bool = False


class _Failed(Exception):
    """A failure of the client or the server, classified; turned into a `ModelError` or a retry."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.kind)
        self.verdict = verdict


class OpenAIEndpoint:
    """One model of one server; `key` is this origin's own key or "". No `model`: the loaded one.
    `where` names the server in sentences for people.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        name: str = "",
        where: str = "",
        options: Options | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        new_id: Callable[[], str] = lambda: f"call_{uuid.uuid4().hex[:24]}",
    ) -> None:
        self.options = options or Options()
        self.base_url = probe.base_of(base_url)
        self.model = model
        self.name = name or model
        self.host = probe.host_of(base_url)
        self._where = where or f"the server at {self.host}"
        self.fit_for_memory = self.options.fit_for_memory
        self.supports_tools = self.options.supports_tools
        self._openai_own = urlsplit(base_url).hostname == "api.openai.com"
        self._key = key
        self._sleep = sleep
        self._new_id = new_id
        self._client: AsyncOpenAI | None = None
        self._client_lock = asyncio.Lock()
        self._facts: probe.ServerFacts | None = None

    # ------------------------------------------------------------------ the protocol

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        plan = _Plan(
            request,
            request.max_output or self.options.max_output,
            bool(request.tools) and self.supports_tools,
        )
        while True:
            shown = False
            try:
                async with aclosing(self._attempt(plan)) as deltas:
                    async for delta in deltas:
                        shown = shown or isinstance(delta, TextDelta | ReasoningDelta)
                        if isinstance(delta, Answer):
                            self._answered()
                        yield delta
                return
            except _Failed as failed:
                verdict = failed.verdict
                self._forget(verdict)
                step = None if shown else self._next(plan, verdict)
                if step is None:
                    raise self._error(verdict) from failed.__cause__
            plan, pause, words = step
            yield WaitingDelta(words)
            await self._sleep(pause)

    async def window(self) -> Window:
        if self.options.window:
            return Window(self.options.window, "setting")
        if self._facts is None:
            self._facts = await probe.probe(self.base_url, self.model, self._key)
        if self._facts.window is not None:
            return self._facts.window
        if self.options.known_window:
            return Window(self.options.known_window, "table")
        return Window(probe.default_window(self.base_url), "default")

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # ------------------------------------------------------------------ what comes after a failure

    def _next(self, plan: _Plan, verdict: Verdict) -> tuple[_Plan, float, str] | None:
        """(another attempt, seconds before it, words for it), or None to give up."""
        match verdict.kind:
            case Kind.SERVER | Kind.CONNECTION if plan.retried < RETRIES:
                n = plan.retried + 1
                what = "does not answer" if verdict.kind is Kind.CONNECTION else "failed"
                words = f"the server {what}: trying again ({n} of {RETRIES})"
                return replace(plan, retried=n), RETRY_PAUSES[plan.retried], words
            case Kind.RATE_LIMIT if plan.paused < len(RATE_PAUSES):
                pause = verdict.wait if verdict.wait is not None else RATE_PAUSES[plan.paused]
                if pause > LONGEST_PAUSE:
                    return None
                words = f"the server asks for a pause of {pause:.0f} s"
                return replace(plan, paused=plan.paused + 1), pause, words
            case Kind.OUTPUT_TOO_LARGE if not plan.less_output and plan.max_output:
                less = less_output(plan.max_output, verdict)
                words = f"the server gives less output: asking for {less:,} tokens"
                return replace(plan, max_output=less, less_output=True), 0.0, words
            case Kind.TOOLS_REFUSED if plan.tools:
                self.supports_tools = False
                words = "this server takes no tools for this model: going on without them"
                return replace(plan, tools=False), 0.0, words
            case _:
                return None

    def _error(self, verdict: Verdict) -> ModelError:
        return to_error(verdict, self._where, self.name)

    def _forget(self, verdict: Verdict) -> None:
        if verdict.kind in (Kind.OVERFLOW, Kind.NOT_FOUND):
            self._facts = None  # asked again: another model may have been loaded

    def _answered(self) -> None:
        if self._facts is not None and (
            self._facts.window is None or self._facts.window.source != "loaded"
        ):
            self._facts = None  # the model is loaded now, so its real window can be asked for

    # ------------------------------------------------------------------ one attempt

    async def _attempt(self, plan: _Plan) -> AsyncGenerator[Delta, None]:
        client = await self._ready_client()
        await self._choose_model()
        collector = Collector(self._new_id, self.options.text_calls, plan.request.tools)
        async with aclosing(self._streamed(client, plan, collector)) as deltas:
            async for delta in deltas:
                yield delta
        if collector.lost_calls:
            # Calls were announced and none came: that one request again, without streaming.
            yield WaitingDelta("the server lost a tool call: asking once more")
            body = await _called(lambda: _create(client, self._body(plan, stream=False)))
            for delta in self._take_whole(body, collector):
                yield delta
        yield collector.answer(self.name)

    async def _streamed(
        self, client: AsyncOpenAI, plan: _Plan, collector: Collector
    ) -> AsyncGenerator[Delta, None]:
        opening = asyncio.ensure_future(
            _called(lambda: _create(client, self._body(plan, stream=True)))
        )
        response: Any = None
        try:
            async with aclosing(waiting(opening)) as waits:
                async for wait in waits:
                    yield wait
            response = await opening
            kind = response.response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:
                raw = await _called(response.response.aread)
                page = {"message": "a web page came, not a model's answer"}
                for delta in self._take_whole(_json(raw) if "json" in kind else page, collector):
                    yield delta
                return
            chunks = aiter(response)
            while True:
                coming = asyncio.ensure_future(_called(lambda: _next_chunk(chunks)))
                try:
                    if not collector.began:
                        async with aclosing(waiting(coming)) as waits:
                            async for wait in waits:
                                yield wait
                    chunk = await coming
                finally:
                    await ended(coming)
                if chunk is None:
                    break
                self._check(chunk)
                for delta in collector.take(chunk):
                    yield delta
            for delta in collector.end():
                yield delta
        finally:
            await ended(opening)
            if response is not None:
                await response.close()

    def _take_whole(self, body: Any, collector: Collector) -> list[Delta]:
        """The deltas of an answer that came in one piece."""
        plain = cast("dict[str, Any]", body if isinstance(body, dict) else body.model_dump())
        if not plain.get("choices"):
            raise _Failed(classify(from_body(plain, 200), self.options.overflow_patterns))
        return [*collector.take(whole_delta(plain)), *collector.end()]

    def _check(self, chunk: Any) -> None:
        """An error that came as an ordinary object of the stream."""
        if getattr(chunk, "choices", None):
            return
        extra = extra_of(chunk)
        if "error" in extra or getattr(chunk, "object", "") == "error":
            fault = from_body({**extra, "type": extra.get("type")}, 200)
            raise _Failed(classify(fault, self.options.overflow_patterns))

    def _body(self, plan: _Plan, *, stream: bool) -> dict[str, Any]:
        o = self.options
        temperature = plan.request.temperature
        return request_body(
            self.model,
            plan.request,
            stream=stream,
            tools=plan.tools,
            max_output=plan.max_output,
            temperature=o.temperature if temperature is None else temperature,
            # OpenAI's own newer models refuse the older name.
            output_field="max_completion_tokens" if self._openai_own else "max_tokens",
            extra_body=o.extra_body,
        )

    async def _choose_model(self) -> None:
        """Without a name: the model that is loaded, else the first of the server's list."""
        if self.model:
            return
        facts = await probe.probe(self.base_url, "", self._key)
        loaded = [one for one in facts.models if one.loaded]
        for one in [*loaded, *facts.models][:1]:
            self.model = one.id
            self.name = self.name or one.id

    async def _ready_client(self) -> AsyncOpenAI:
        async with self._client_lock:
            if self._client is None:
                # The import takes about a second, the client reads certificates: not on the loop.
                self._client = await asyncio.to_thread(_make_client, self.base_url, self._key)
            return self._client


def warm_up() -> None:
    """Import the client, which takes about a second; for a thread, before the first request."""
    import openai  # noqa: F401  # pyright: ignore[reportUnusedImport]


def _make_client(base_url: str, key: str) -> AsyncOpenAI:
    import openai

    openai_own = urlsplit(base_url).hostname == "api.openai.com"
    # Loading a model and reading a long prompt take minutes: only connecting is limited.
    patience = openai.Timeout(None, connect=5.0)
    here = probe.is_loopback(base_url)
    # Without TLS and without redirects no certificates are needed; reading them takes 0.2 s.
    bare = here and urlsplit(base_url).scheme == "http"
    client = openai.AsyncOpenAI(
        base_url=base_url,
        api_key=key or PLACEHOLDER_KEY,
        max_retries=0,
        timeout=patience,
        http_client=openai.DefaultAsyncHttpxClient(
            # A proxy of the environment must not see what is meant for this machine.
            trust_env=not here,
            timeout=patience,
            verify=not bare,
            follow_redirects=not bare,
        ),
    )
    if not openai_own:
        client.organization = client.project = None  # from the environment, meant for OpenAI
    return client


async def _called(call: Callable[[], Awaitable[T]]) -> T:
    """Make a call into the client; every failure of it comes out as `_Failed`.

    The call is made here, not by the caller: a task that is cancelled before its first step would
    leave a coroutine that nobody awaits.
    """
    try:
        return await call()
    except (ModelError, Interrupted):
        raise
    except Exception as error:
        for one in chain(error):
            if isinstance(one, Interrupted | asyncio.CancelledError):
                raise one from error
        raise _Failed(classify_exception(error)) from error


async def _create(client: AsyncOpenAI, body: dict[str, Any]) -> Any:
    create: Any = client.chat.completions.create
    return await create(**body)


async def _next_chunk(chunks: AsyncIterator[Any]) -> Any:
    return await anext(chunks, None)


def _json(raw: bytes) -> dict[str, Any]:
    return parse_object(raw.decode("utf-8", "replace")) or {}
