"""Keys that belong to one origin, and prompts that were cut in silence."""

from __future__ import annotations

import asyncio

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import NoKeyringError

from app.engine.llm.endpoint import Request, complete, user
from app.engine.llm.gauge import Gauge
from app.engine.llm.keys import FROM_ENVIRONMENT, FROM_KEYRING, FROM_RUN, NO_KEY, Keys, origin_of
from app.engine.llm.measured import MeasuredEndpoint
from app.engine.llm.openai_endpoint import OpenAIEndpoint, Options
from tests.helpers.fake_server import FakeServer, Reply, Seen, say

LOCAL = "http://127.0.0.1:8080/v1"


class Memory(KeyringBackend):
    """A system keyring that keeps what it is given."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class Broken(Memory):
    def get_password(self, service: str, username: str) -> str | None:
        raise NoKeyringError

    set_password = delete_password = get_password  # type: ignore[assignment]


class Forgetful(Memory):
    def set_password(self, service: str, username: str, password: str) -> None:
        return None


@pytest.fixture
def system(request: pytest.FixtureRequest):
    before = keyring.get_keyring()
    backend = getattr(request, "param", Memory)()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def test_a_stored_key_goes_to_its_origin_alone(system: Memory) -> None:
    async def main() -> None:
        keys = Keys({})
        assert await keys.store(LOCAL, "sk-1") == FROM_KEYRING
        assert list(system.kept) == [("palimpsest", "http://127.0.0.1:8080")]
        found = await Keys({}).find("http://127.0.0.1:8080/other/v1")
        assert (found.text, found.source) == ("sk-1", FROM_KEYRING)
        assert "sk-1" not in repr(found)
        for other in ("http://127.0.0.1:8081/v1", "https://127.0.0.1:8080/v1", "http://evil/v1"):
            assert (await keys.find(other)).source == NO_KEY
        assert await keys.store(LOCAL, "") == NO_KEY
        assert (await keys.find(LOCAL)).text == ""

    asyncio.run(main())


@pytest.mark.parametrize("system", [Broken, Forgetful], indirect=True)
def test_without_a_keyring_a_key_lasts_for_this_run(system: Memory) -> None:
    async def main() -> None:
        keys = Keys({})
        assert await keys.store(LOCAL, "sk-2") == FROM_RUN
        assert (await keys.find(LOCAL)).text == "sk-2"
        assert (await Keys({}).find(LOCAL)).source == NO_KEY
        assert await keys.store(LOCAL, "") == NO_KEY
        assert (await keys.find(LOCAL)).text == ""

    asyncio.run(main())


def test_the_environments_key_goes_to_openai_or_to_the_address_beside_it(system: Memory) -> None:
    async def source(environ: dict[str, str], url: str) -> str:
        return (await Keys(environ).find(url)).source

    async def main() -> None:
        key = {"OPENAI_API_KEY": "sk-env"}
        beside = {**key, "OPENAI_BASE_URL": LOCAL}
        assert await source(key, "https://api.openai.com/v1") == FROM_ENVIRONMENT
        assert await source(key, LOCAL) == NO_KEY
        assert await source(key, "https://api.openai.com.evil.example/v1") == NO_KEY
        assert await source(key, "https://x@api.openai.com@evil.example/v1") == NO_KEY
        assert await source(beside, LOCAL) == FROM_ENVIRONMENT
        assert await source(beside, "https://api.openai.com/v1") == NO_KEY

    asyncio.run(main())


def test_origins() -> None:
    assert origin_of("HTTPS://API.openai.com:443/v1") == "https://api.openai.com"
    assert origin_of("http://[::1]:8080/v1") == "http://[::1]:8080"


def test_a_server_without_a_key_gets_a_placeholder_and_no_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async def main() -> dict[str, str]:
        async with FakeServer(say("hi")) as server:
            endpoint = OpenAIEndpoint(server.base_url, "m")
            await complete(endpoint, Request((user("hi"),)))
            await endpoint.close()
            return server.requests[0].headers

    headers = asyncio.run(main())
    assert headers["authorization"] == "Bearer no-key-needed"
    assert "sk-environment" not in str(headers)
    assert "org-of-mine" not in str(headers)


# ---------------------------------------------------------------------------- cut in silence


def cut(reported: list[int], estimates: list[int], window: int = 4096) -> list[str]:
    """What is suspected of each request in turn."""

    async def main() -> list[str]:
        counts = iter(estimates)
        async with FakeServer(*(say("ok", prompt=n) for n in reported)) as server:
            gauge = Gauge()
            gauge.count = lambda _request: next(counts)
            inner = OpenAIEndpoint(server.base_url, "m", options=Options(window=window))
            endpoint = MeasuredEndpoint(inner, gauge)
            said = [(await complete(endpoint, Request((user("hi"),)))).truncated for _ in reported]
            await endpoint.close()
            return said

    return asyncio.run(main())


def test_a_prompt_cut_to_half_the_window_is_suspected() -> None:
    assert "2,050" in cut([2050], [6000])[0]


def test_half_the_window_is_suspected_when_the_estimate_is_only_a_little_higher() -> None:
    assert "half of its window" in cut([2050], [2800])[0]


def test_a_count_that_stays_while_the_context_grows_is_suspected() -> None:
    first, second = cut([900, 900], [900, 1200], window=8192)
    assert first == ""
    assert "no more than before" in second


def test_another_tokenizer_is_not_a_cut_and_no_count_is_no_evidence() -> None:
    assert cut([1000, 1500, 2200], [1250, 1900, 2800], window=32_768) == ["", "", ""]
    assert cut([0], [6000]) == [""]


@pytest.mark.case("SRV-12")
def test_dropped_messages_show_in_the_count_and_teach_the_window() -> None:
    def drops_the_oldest(seen: Seen) -> Reply:
        kept = [seen.body["messages"][0], *seen.body["messages"][-2:]]
        texts = [one["content"] for one in kept]
        return say("I saw: " + " | ".join(t[:9] for t in texts), prompt=sum(map(len, texts)) // 4)

    def estimate(request: Request) -> int:
        return (len(request.system) + sum(len(m.content) for m in request.messages)) // 4

    async def main() -> None:
        async with FakeServer(drops_the_oldest) as server:
            gauge = Gauge()
            gauge.count = estimate
            endpoint = MeasuredEndpoint(OpenAIEndpoint(server.base_url, "m"), gauge)
            few = tuple(user(f"message {n} " + "word " * 400) for n in range(2))
            many = tuple(user(f"message {n} " + "word " * 400) for n in range(12))
            fine = await complete(endpoint, Request(few, system="rules"))
            assert fine.truncated == ""
            answer = await complete(endpoint, Request(many, system="rules"))
            assert "message 0" not in answer.text
            assert "seems to cut" in answer.truncated
            window = await endpoint.window()
            assert window.source == "learned"
            assert window.tokens < 1100
            await endpoint.close()

    asyncio.run(main())
