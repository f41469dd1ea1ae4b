"""Which server, which models, which window: asked over real HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from app.engine.llm.endpoint import Request, complete, user
from app.engine.llm.gauge import Gauge
from app.engine.llm.measured import MeasuredEndpoint
from app.engine.llm.openai_endpoint import OpenAIEndpoint, Options
from app.engine.llm.probe import (
    ServerFacts,
    base_of,
    default_window,
    find_servers,
    is_loopback,
    probe,
)
from app.engine.records import Window
from tests.helpers.fake_server import FakeServer, Reply, Seen, error, say


def models(*ids: str, **fields: Any) -> Reply:
    return Reply(body={"object": "list", "data": [{"id": one, **fields} for one in ids]})


def probed(routes: Mapping[str, Reply], model: str = "m", key: str = "") -> ServerFacts:
    async def main() -> ServerFacts:
        async with FakeServer(routes=routes) as server:
            return await probe(server.base_url, model, key)

    return asyncio.run(main())


def ollama(*running: Mapping[str, Any], model: str = "qwen3:4b") -> dict[str, Reply]:
    return {
        "/v1/models": models(model, owned_by="library"),
        "/api/version": Reply(body={"version": "0.12.0"}),
        "/api/show": Reply(body={"model_info": {"qwen3.context_length": 40_960}}),
        "/api/ps": Reply(body={"models": list(running)}),
    }


@pytest.mark.case("SRV-60")
def test_ollama_says_what_is_loaded() -> None:
    told = probed(ollama({"name": "qwen3:4b", "context_length": 4096}), "qwen3:4b")
    assert told.kind == "Ollama"
    assert told.window == Window(4096, "loaded")
    assert [(m.id, m.trained, m.loaded) for m in told.models] == [("qwen3:4b", 40_960, True)]


@pytest.mark.case("SRV-61")
def test_ollama_without_a_loaded_model_is_asked_again_after_the_first_answer() -> None:
    async def main() -> None:
        async with FakeServer(say("hi"), routes=ollama()) as server:
            endpoint = OpenAIEndpoint(server.base_url, "qwen3:4b")
            assert await endpoint.window() == Window(4096, "default")
            await complete(endpoint, Request((user("hi"),)))
            running = {"name": "qwen3:4b", "context_length": 16_384}
            server.routes.update(ollama(running))
            assert await endpoint.window() == Window(16_384, "loaded")
            await endpoint.close()

    asyncio.run(main())


def props(window: int) -> Reply:
    return Reply(body={"default_generation_settings": {"n_ctx": window}, "model_path": "x"})


@pytest.mark.case("SRV-62")
def test_llama_cpp_trained_length_is_not_its_window() -> None:
    listed = models("m", owned_by="llamacpp", meta={"n_ctx_train": 32_768})
    told = probed({"/v1/models": listed, "/props": props(8192)})
    assert told.kind == "llama.cpp"
    assert told.window == Window(8192, "loaded")
    assert told.models[0].trained == 32_768


@pytest.mark.case("SRV-63")
def test_llama_cpp_router_is_asked_for_the_model() -> None:
    routes = {
        "/v1/models": models("m", "n", owned_by="llamacpp", meta=None),
        "/props": props(0),
    }
    assert probed(routes).window is None
    assert probed({**routes, "/props?model=m": props(8192)}).window == Window(8192, "loaded")


@pytest.mark.case("SRV-64")
def test_lm_studio_with_one_loaded_model_of_two() -> None:
    loaded = {"id": "m", "config": {"context_length": 4096}}
    body = {
        "models": [
            {"key": "m", "max_context_length": 131_072, "loaded_instances": [loaded]},
            {"key": "other", "max_context_length": 32_768, "loaded_instances": []},
        ]
    }
    told = probed({"/v1/models": models("m", "other"), "/api/v1/models": Reply(body=body)})
    assert told.kind == "LM Studio"
    assert told.window == Window(4096, "loaded")
    assert [(m.id, m.loaded) for m in told.models] == [("m", True), ("other", False)]


@pytest.mark.case("SRV-65")
def test_older_lm_studio() -> None:
    def older(**fields: Any) -> ServerFacts:
        one = {"id": "m", "max_context_length": 32_768, **fields}
        return probed({"/v1/models": models("m"), "/api/v0/models": Reply(body={"data": [one]})})

    assert older(state="loaded", loaded_context_length=6144).window == Window(6144, "loaded")
    for silent in (older(state="loaded"), older(state="not-loaded", loaded_context_length=6144)):
        assert silent.kind == "LM Studio"
        assert silent.window is None

    async def through_the_endpoint() -> Window:
        one = {"id": "m", "state": "not-loaded", "max_context_length": 32_768}
        routes = {"/v1/models": models("m"), "/api/v0/models": Reply(body={"data": [one]})}
        async with FakeServer(routes=routes) as server:
            return await OpenAIEndpoint(server.base_url, "m").window()

    assert asyncio.run(through_the_endpoint()) == Window(4096, "default")


@pytest.mark.case("SRV-66")
def test_vllm() -> None:
    told = probed({"/v1/models": models("m", owned_by="vllm", max_model_len=20_000)})
    assert (told.kind, told.window) == ("vLLM", Window(20_000, "reported"))


@pytest.mark.case("SRV-67")
def test_an_unknown_server_says_or_teaches_its_window() -> None:
    told = probed({"/v1/models": models("m", context_window=12_000)})
    assert (told.kind, told.window) == ("unknown", Window(12_000, "reported"))

    async def silent() -> None:
        long = error(400, {"error": {"message": "maximum context length is 6000 tokens"}})
        async with FakeServer(long, routes={"/v1/models": models("m")}) as server:
            endpoint = MeasuredEndpoint(OpenAIEndpoint(server.base_url, "m"), Gauge())
            assert await endpoint.window() == Window(4096, "default")
            with pytest.raises(Exception, match="does not fit"):
                await complete(endpoint, Request((user("long"),)))
            assert await endpoint.window() == Window(6000, "learned")
            await endpoint.close()

    asyncio.run(silent())


@pytest.mark.case("SRV-68")
def test_names_match_loosely() -> None:
    path = models("/models/Qwen3-4B-Q4_K_M.gguf", max_model_len=9000, owned_by="vllm")
    assert probed({"/v1/models": path}, "qwen3-4b-q4_k_m").window == Window(9000, "reported")
    sole = models("something-else", max_model_len=9000, owned_by="vllm")
    assert probed({"/v1/models": sole}, "m").window == Window(9000, "reported")
    two = models("a", "b", max_model_len=9000, owned_by="vllm")
    assert probed({"/v1/models": two}, "m").window is None


@pytest.mark.case("SRV-69")
def test_a_server_that_wants_a_key_says_so() -> None:
    told = probed({"/v1/models": error(401, {"error": {"message": "no key"}})})
    assert told.needs_key


def test_the_key_travels_in_the_header_only() -> None:
    async def main() -> list[Seen]:
        async with FakeServer(routes={"/v1/models": models("m")}) as server:
            await probe(server.base_url, "m", "secret")
            return server.others

    asked = asyncio.run(main())
    assert asked
    for seen in asked:
        assert seen.headers["authorization"] == "Bearer secret"
        assert "secret" not in seen.path


def test_a_redirect_takes_no_key_elsewhere() -> None:
    async def main() -> None:
        async with FakeServer() as other:
            away = Reply(302, "", headers={"Location": f"{other.base_url}/models"})
            async with FakeServer(routes={"/v1/models": away}) as server:
                told = await probe(server.base_url, "m", "secret")
            assert told.models == ()
            assert other.others == []

    asyncio.run(main())


@pytest.mark.case("SRV-70")
def test_servers_that_hang_or_talk_nonsense_leave_the_chat_usable() -> None:
    async def main() -> None:
        html = Reply(body="<html>Welcome</html>")
        routes = {"/v1/models": Reply(delay=30), "/api/version": html, "/props": html}
        routes |= {"/api/ps": Reply(body=[1, 2]), "/api/v1/models": Reply(body={"models": "x"})}
        async with FakeServer(say("Still here."), routes=routes) as server:
            start = time.monotonic()
            told = await probe(server.base_url, "m", patience=0.4)
            assert time.monotonic() - start < 20, "nobody waits for the answer that never comes"
            assert (told.kind, told.window) == ("unknown", None)
            endpoint = OpenAIEndpoint(server.base_url, "m", options=Options(known_window=9000))
            assert (await complete(endpoint, Request((user("hi"),)))).text == "Still here."
            assert await endpoint.window() == Window(9000, "table")
            await endpoint.close()

    asyncio.run(main())


def test_nobody_there() -> None:
    async def main() -> ServerFacts:
        async with FakeServer() as server:
            url = server.base_url
        return await probe(url, "m")

    assert asyncio.run(main()).kind == "unreachable"


def test_servers_are_found_at_the_usual_ports() -> None:
    async def main() -> list[str]:
        async with FakeServer(routes=ollama()) as one, FakeServer() as gone:
            port = gone.port
            await gone.__aexit__()
            found = await find_servers({one.port: "Ollama", port: "vLLM"})
            await gone.__aenter__()
            return [f"{server.kind} {server.models[0].id}" for server in found]

    assert asyncio.run(main()) == ["Ollama qwen3:4b"]


def test_a_persons_setting_wins() -> None:
    async def main() -> Window:
        endpoint = OpenAIEndpoint("http://127.0.0.1:9/v1", "m", options=Options(window=1234))
        return await endpoint.window()

    assert asyncio.run(main()) == Window(1234, "setting")


def test_what_counts_as_this_machine() -> None:
    assert is_loopback("http://localhost:1/v1")
    assert is_loopback("http://[::1]:1/v1")
    assert not is_loopback("http://localhost.example.org/v1")
    assert default_window("http://192.168.1.5:8080/v1") == 4096
    assert default_window("https://api.example.org/v1") == 128_000


@pytest.mark.parametrize(
    "written",
    ["http://127.0.0.1:1", "http://127.0.0.1:1/", "http://127.0.0.1:1/v1/chat/completions"],
)
def test_an_address_may_be_written_loosely(written: str) -> None:
    assert base_of(written) == "http://127.0.0.1:1/v1"
    assert base_of("https://host/llm/v3") == "https://host/llm/v3"


def test_without_a_name_the_loaded_model_answers() -> None:
    async def main() -> None:
        one = {"key": "asleep", "loaded_instances": []}
        two = {"key": "awake", "loaded_instances": [{"config": {"context_length": 4096}}]}
        routes = {"/api/v1/models": Reply(body={"models": [one, two]})}
        async with FakeServer(say("hi"), routes=routes) as server:
            endpoint = OpenAIEndpoint(f"http://{server.host}", "")
            await complete(endpoint, Request((user("hi"),)))
            assert server.requests[0].body["model"] == "awake"
            assert endpoint.name == "awake"
            assert await endpoint.window() == Window(4096, "loaded")
            await endpoint.close()

    asyncio.run(main())
