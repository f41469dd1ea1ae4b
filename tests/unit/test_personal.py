"""A person's settings as the window uses them: checked, kept with comments, keys in no file."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from app.engine.errors import ConfigError, StorageError, UserError
from app.engine.llm.keys import VARIABLE, Keys
from app.personal import Personal
from tests.helpers.fake_server import FakeServer, Reply


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A keyring of the test's own."""
    kept: dict[str, str] = {}

    def put(origin: str, text: str) -> bool:
        kept[origin] = text
        return True

    monkeypatch.setattr("app.engine.llm.keys._from_keyring", lambda origin: kept.get(origin, ""))
    monkeypatch.setattr("app.engine.llm.keys._to_keyring", put)
    monkeypatch.setattr("app.engine.llm.keys._forget", lambda origin: kept.pop(origin, None))
    return kept


def test_what_is_saved_is_read_again_and_comments_stay(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("# mine\n[look]\nscheme = 'dark' # at night\n[other]\nx = 1\n", "utf-8")

    async def main() -> None:
        person = Personal(file, Keys({}))
        now = await person.load()
        assert now.look.scheme == "dark"  # type: ignore[attr-defined]
        server = person.server(url="http://127.0.0.1:11434", model="qwen3:8b")
        assert server.url == "http://127.0.0.1:11434/v1"  # type: ignore[attr-defined]
        await person.save(dataclasses.replace(now, servers={"ollama": server}))
        again = await person.load()
        assert again.servers == {"ollama": server}

    asyncio.run(main())
    text = file.read_text("utf-8")
    for part in ("# mine", "# at night", "[other]\nx = 1"):
        assert part in text


def test_a_file_that_is_not_understood_is_named_and_never_rewritten(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("broken [", "utf-8")

    async def main() -> None:
        person = Personal(file, Keys({}))
        with pytest.raises(ConfigError):
            await person.load()
        values = await Personal(tmp_path / "none.toml", Keys({})).load()
        with pytest.raises(StorageError):
            await person.save(values)

    asyncio.run(main())
    assert file.read_text("utf-8") == "broken ["


@pytest.mark.parametrize(
    "wrong", [{"url": "ftp://x"}, {"url": ""}, {"url": "http://x", "window": -1}]
)
def test_a_wrong_server_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        Personal(tmp_path / "s.toml", Keys({})).server(**wrong)


def test_the_source_of_a_key_is_told_in_the_order_of_trust(
    tmp_path: Path, keyring: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "https://api.openai.com/v1"

    async def main() -> None:
        plain = Personal(tmp_path / "s.toml", Keys({}))
        assert await plain.key_source(url) == ""
        assert await plain.store_key(url, " sk-1 ") == "from the system's keyring"
        assert list(keyring.values()) == ["sk-1"]
        from_outside = Personal(tmp_path / "s.toml", Keys({VARIABLE: "sk-2"}))
        assert await from_outside.key_source(url) == f"from {VARIABLE}"
        assert await from_outside.key_source("http://127.0.0.1:1/v1") == ""
        assert await plain.store_key(url, "") == ""
        monkeypatch.setattr("app.engine.llm.keys._to_keyring", lambda _origin, _text: False)
        assert await plain.store_key(url, "sk-3") == "for this run only"

    asyncio.run(main())
    assert not (tmp_path / "s.toml").exists()


def test_a_server_is_asked_with_the_key_that_stands_in_the_field(tmp_path: Path) -> None:
    body = {"data": [{"id": "gemma-3-12b-it", "max_model_len": 8_192, "owned_by": "vllm"}]}

    async def main() -> None:
        async with FakeServer(routes={"/v1/models": Reply(body=body)}) as server:
            person = Personal(tmp_path / "s.toml", Keys({}))
            seen = await person.probe(f"http://{server.host}", "", key="sk-typed")
            assert seen.answers
            assert seen.kind == "vLLM"
            (model,) = seen.models
            assert (model.name, model.window, model.fit) == ("gemma-3-12b-it", 8_192, True)
            asked = [one for one in server.others if one.path == "/v1/models"]
            assert asked[0].headers["authorization"] == "Bearer sk-typed"
            gone = await person.probe("http://127.0.0.1:9/v1")
            assert not gone.answers

    asyncio.run(main())


def test_hosts_and_fitness_are_told(tmp_path: Path) -> None:
    person = Personal(tmp_path / "s.toml", Keys({}))
    assert person.host("https://user:secret@api.example.com:8443/v1") == "api.example.com:8443"
    assert person.stays_here("http://[::1]:8080/v1")
    assert not person.stays_here("http://192.168.1.4:8080/v1")
    assert person.fits("smollm2-135m") is False
    assert person.fits("never-heard-of") is None
    assert person.builtin.fit is False
    assert person.defaults.memory.policy == "review"
