"""What servers say when a prompt is too long, asked through the endpoint over real HTTP."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from app.engine.errors import (
    ContextOverflow,
    ModelError,
    ModelUnavailable,
    OutputTooLarge,
    RateLimited,
)
from app.engine.llm.endpoint import (
    Answer,
    Delta,
    Request,
    TextDelta,
    ToolSpec,
    WaitingDelta,
    complete,
    user,
)
from app.engine.llm.failures import Kind, classify, classify_exception, from_body
from app.engine.llm.gauge import Gauge
from app.engine.llm.measured import MeasuredEndpoint
from app.engine.llm.openai_endpoint import OpenAIEndpoint, Options
from tests.helpers.fake_server import FakeServer, Reply, Script, error, say

REQUEST = Request((user("How do I migrate?"),), system="Be brief.")
TOOL = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})


class Sleeps(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Outcome:
    """What one request came to."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self.error: ModelError | None = None
        self.requests: list[Any] = []
        self.sleeps = Sleeps()
        self.window = 0
        self.source = ""

    @property
    def answer(self) -> Answer:
        last = self.deltas[-1]
        assert isinstance(last, Answer)
        return last

    @property
    def waits(self) -> list[str]:
        return [d.what for d in self.deltas if isinstance(d, WaitingDelta)]


def ask(*scripts: Script, request: Request = REQUEST, options: Options | None = None) -> Outcome:
    out = Outcome()

    async def main() -> None:
        async with FakeServer(*scripts) as server:
            inner = OpenAIEndpoint(server.base_url, "m", options=options, sleep=out.sleeps)
            endpoint = MeasuredEndpoint(inner, Gauge())
            try:
                async with aclosing(endpoint.stream(request)) as deltas:
                    async for delta in deltas:
                        out.deltas.append(delta)
            except ModelError as raised:
                out.error = raised
            out.requests = server.requests
            window = await endpoint.window()
            out.window, out.source = window.tokens, window.source
            await endpoint.close()

    asyncio.run(main())
    return out


def llama(status: int) -> Reply:
    message = "the request exceeds the available context size, try increasing it"
    kind = "exceed_context_size_error"
    inner = {"code": 400, "message": message, "type": kind, "n_prompt_tokens": 5200, "n_ctx": 4096}
    return error(status, {"error": inner})


def said(status: int, message: str, **fields: Any) -> Reply:
    return error(status, {"error": {"message": message, **fields}})


def streamed(data: Any, event: str = "") -> Reply:
    import json

    head = f"event: {event}\n" if event else ""
    return Reply(events=[f"{head}data: {json.dumps(data)}\n\n"])


OPENAI = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in "
    "10250 tokens. Please reduce the length of the messages."
)
LM_STUDIO = "The prompt of 9000 tokens does not fit in context length of 4096 tokens"
KEEP = (
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
    "loaded with context length of only 4096 tokens"
)
SHAPES = [
    pytest.param(
        said(400, OPENAI, type="invalid_request_error", code="context_length_exceeded"),
        10250, 8192, marks=pytest.mark.case("SRV-1"),
    ),
    pytest.param(llama(400), 5200, 4096, marks=pytest.mark.case("SRV-2")),
    pytest.param(llama(500), 5200, 4096, marks=pytest.mark.case("SRV-3")),
    pytest.param(streamed(llama(200).body), 5200, 4096, marks=pytest.mark.case("SRV-4")),
    pytest.param(
        said(400, "Too long.", type="BadRequestError", param="input_tokens", code=400),
        None, None, marks=pytest.mark.case("SRV-5"),
    ),
    pytest.param(
        error(400, {"object": "error", "message": "maximum context length is 8192", "code": 400}),
        None, 8192, marks=pytest.mark.case("SRV-6"),
    ),
    pytest.param(
        said(413, "the request exceeds this model's context"), None, None,
        marks=pytest.mark.case("SRV-9"),
    ),
    pytest.param(
        said(400, "prompt is longer than the context length", code=None), None, None,
        marks=pytest.mark.case("SRV-10"),
    ),
    pytest.param(error(400, {"error": LM_STUDIO}), 9000, 4096, marks=pytest.mark.case("SRV-14")),
    pytest.param(
        streamed({"error": {"message": LM_STUDIO}, "message": LM_STUDIO}, "error"), 9000, 4096,
        marks=pytest.mark.case("SRV-15"),
    ),
    pytest.param(said(400, KEEP), 5000, 4096, marks=pytest.mark.case("SRV-16")),
    pytest.param(
        streamed({"error": {"message": "Context size has been exceeded"}}), None, None,
        marks=pytest.mark.case("SRV-17"),
    ),
    pytest.param(
        Reply(events=[]), None, None, marks=pytest.mark.case("SRV-18"), id="no deltas at all"
    ),
    pytest.param(
        streamed({"object": "error", "message": "context length of 2048 exceeded", "code": 400}),
        None, 2048, marks=pytest.mark.case("SRV-19"),
    ),
    pytest.param(
        Reply(body={"error": {"message": "maximum context is 2048 tokens", "code": 400}}),
        None, 2048, marks=pytest.mark.case("SRV-19"),
    ),
    pytest.param(
        Reply(body={"choices": None, "error": {"message": "context size 2048 exceeded"}}),
        None, 2048, marks=pytest.mark.case("SRV-20"),
    ),
    pytest.param(said(400, "Prompt 超长"), None, None, marks=pytest.mark.case("SRV-23")),
    pytest.param(
        said(400, "model token limit: 8192 (requested: 9100)"), 9100, 8192,
        marks=pytest.mark.case("SRV-23"),
    ),
    pytest.param(
        said(400, "Input length 9100 exceeds the maximum allowed input length 8192"), 9100, 8192,
        marks=pytest.mark.case("SRV-23"),
    ),
    pytest.param(
        said(400, "Range of input length should be [1, 6144]"), None, 6144,
        marks=pytest.mark.case("SRV-23"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "requested", "window"), SHAPES)
def test_a_prompt_that_is_too_long(reply: Reply, requested: int | None, window: int | None) -> None:
    out = ask(reply)
    assert isinstance(out.error, ContextOverflow)
    assert (out.error.requested, out.error.window) == (requested, window)
    assert len(out.requests) == 1, "it is not asked again before the context is smaller"
    assert not [d for d in out.deltas if isinstance(d, TextDelta | Answer)]
    if window:
        assert (out.window, out.source) == (window, "learned")


@pytest.mark.case("SRV-7")
def test_too_much_output_is_asked_for_once_more_with_less() -> None:
    refusal = said(400, "max_tokens (9000) is too large for this model", param="max_tokens")
    out = ask(refusal, say("Fine."), options=Options(max_output=9000))
    first, second = (one.body for one in out.requests)
    assert out.answer.text == "Fine."
    assert second["max_tokens"] < first["max_tokens"]
    assert second["messages"] == first["messages"]

    again = ask(refusal, options=Options(max_output=9000))
    assert isinstance(again.error, OutputTooLarge)
    assert len(again.requests) == 2


@pytest.mark.case("SRV-8")
def test_the_two_meanings_of_a_minimum_of_one_token() -> None:
    long = ask(said(400, "max_tokens must be at least 1, got -512", param="max_tokens"))
    assert isinstance(long.error, ContextOverflow)
    wrong = from_body({"error": {"message": "max_tokens must be at least 1", "code": 400}}, 400)
    assert classify(wrong).kind is Kind.BAD_REQUEST
    out = ask(said(400, "max_tokens must be at least 1"), options=Options(max_output=50))
    assert isinstance(out.error, ModelUnavailable)
    assert len(out.requests) == 1


@pytest.mark.case("SRV-21")
def test_a_rate_limit_is_waited_for_and_the_history_stays() -> None:
    message = "Rate limit reached: 30000 tokens per minute. Please try again in 2.5s."
    out = ask(said(429, message, code="rate_limit_exceeded", type="tokens"), say("Here."))
    assert out.answer.text == "Here."
    assert out.sleeps == [2.5]
    assert any("pause" in words for words in out.waits)
    assert out.requests[0].body == out.requests[1].body
    endless = ask(said(429, message, code="rate_limit_exceeded", type="tokens"))
    assert isinstance(endless.error, RateLimited)
    assert len(endless.requests) == 3


@pytest.mark.case("SRV-22")
def test_too_many_tokens_may_be_a_rate_limit() -> None:
    out = ask(said(400, "Too many tokens, please wait before trying again"))
    assert isinstance(out.error, RateLimited)
    assert not isinstance(out.error, ContextOverflow)


def test_a_long_pause_is_not_waited_for() -> None:
    out = ask(error(429, {"error": {"message": "slow down"}}, Retry_After="3600"))
    assert isinstance(out.error, RateLimited)
    assert (len(out.requests), out.sleeps) == (1, [])


@pytest.mark.case("SRV-24")
def test_an_embedding_batch_is_not_a_chat_overflow() -> None:
    message = "input (700 tokens) is too large to process. increase the physical batch size"
    out = ask(said(500, message, code=500, type="server_error"))
    assert isinstance(out.error, ModelUnavailable)


@pytest.mark.case("SRV-25")
def test_a_failing_server_is_asked_again_visibly_and_not_for_ever() -> None:
    broken = said(500, "internal error")
    out = ask(broken, broken, say("Back."))
    assert out.answer.text == "Back."
    assert len(out.requests) == 3
    assert [w for w in out.waits if "trying again" in w] == [
        "the server failed: trying again (1 of 2)", "the server failed: trying again (2 of 2)",
    ]  # fmt: skip
    assert isinstance(ask(broken).error, ModelUnavailable)

    async def refused() -> tuple[list[str], ModelError | None]:
        async with FakeServer() as server:
            url = server.base_url
        endpoint = OpenAIEndpoint(url, "m", sleep=Sleeps())
        waits: list[str] = []
        try:
            async with aclosing(endpoint.stream(REQUEST)) as deltas:
                async for delta in deltas:
                    waits += [delta.what] if isinstance(delta, WaitingDelta) else []
        except ModelUnavailable as raised:
            return waits, raised
        finally:
            await endpoint.close()
        return waits, None

    waits, raised = asyncio.run(refused())
    assert [w for w in waits if "does not answer" in w] == [
        "the server does not answer: trying again (1 of 2)",
        "the server does not answer: trying again (2 of 2)",
    ]
    assert raised is not None
    assert "127.0.0.1" in str(raised)
    assert "Start the server" in raised.remedy


@pytest.mark.case("SRV-49")
def test_a_server_that_takes_no_tools_gets_none() -> None:
    refusal = said(400, '"auto" tool choice requires --enable-auto-tool-choice to be set')
    out = ask(refusal, say("Without tools."), request=Request((user("hi"),), tools=(TOOL,)))
    assert out.answer.text == "Without tools."
    assert "tools" in out.requests[0].body
    assert "tools" not in out.requests[1].body
    assert any("takes no tools" in words for words in out.waits)


def test_tools_refused_once_are_not_offered_again() -> None:
    async def main() -> None:
        refusal = said(400, "this model does not support tools")
        async with FakeServer(refusal, say("a"), say("b")) as server:
            endpoint = OpenAIEndpoint(server.base_url, "m", sleep=Sleeps())
            request = Request((user("hi"),), tools=(TOOL,))
            assert (await complete(endpoint, request)).text == "a"
            assert not endpoint.supports_tools
            assert (await complete(endpoint, request)).text == "b"
            assert len(server.requests) == 3
            await endpoint.close()

    asyncio.run(main())


@pytest.mark.case("SRV-69")
def test_a_wrong_key_is_asked_for() -> None:
    out = ask(error(401, {"error": {"message": "Invalid API Key", "code": 401}}))
    assert isinstance(out.error, ModelUnavailable)
    assert "key" in out.error.remedy
    assert len(out.requests) == 1


def test_an_unknown_model_says_what_to_check() -> None:
    out = ask(said(404, "model 'm' not found"))
    assert isinstance(out.error, ModelUnavailable)
    assert "'m'" in str(out.error)


def test_a_cycle_of_causes_ends() -> None:
    first, second = ValueError("outer"), ValueError("prompt is too long: 900 tokens > 800 maximum")
    first.__cause__, second.__cause__ = second, first
    verdict = classify_exception(first)
    assert verdict.kind is Kind.OVERFLOW
    assert (verdict.requested, verdict.window) == (900, 800)


def test_a_models_own_wording_can_be_added() -> None:
    fault = from_body({"error": {"message": "zu viel Text"}}, 400)
    assert classify(fault).kind is Kind.OTHER
    assert classify(fault, ["zu viel"]).kind is Kind.OVERFLOW


def test_a_429_alone_is_never_an_overflow() -> None:
    fault = from_body({"error": {"message": "context length of your plan"}}, 429)
    assert classify(fault).kind is Kind.RATE_LIMIT


def test_a_web_page_is_not_an_overflow() -> None:
    out = ask(Reply(body="<html>Please log in</html>"))
    assert isinstance(out.error, ModelUnavailable)
    assert "web page" in str(out.error)
