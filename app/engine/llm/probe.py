"""Which server is this, which models has it, and which window is really loaded.

All questions go out at once with short timeouts; whatever does not answer, or answers nonsense, is
simply not known. Nothing here raises. The trained length of a model is never taken for its window
(model-servers, section 6). Only the address a person entered is asked; `find_servers` looks at the
usual ports of this machine, and only when called.
"""

from __future__ import annotations

import asyncio
import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote, urlsplit

from msgspec import Struct

from app.engine.llm.figures import tokens_or_none
from app.engine.records import Window

TIMEOUT = 2.0
LARGEST_ANSWER = 4_000_000
LOCAL_DEFAULT = 4_096
CLOUD_DEFAULT = 128_000
USUAL_PORTS = {11434: "Ollama", 8080: "llama.cpp", 1234: "LM Studio", 8000: "vLLM"}


class ModelFacts(Struct, frozen=True):
    """One model of a server. `trained` and `window` in tokens, None when not told.

    `loaded` is None when the server does not say.
    """

    id: str
    trained: int | None = None
    window: int | None = None
    loaded: bool | None = None


class ServerFacts(Struct, frozen=True):
    """What a server told. `kind`: Ollama, LM Studio, llama.cpp, vLLM, unknown or unreachable.

    `window` is the loaded window of the model asked for; `needs_key` when it refused to talk.
    """

    kind: str
    base_url: str
    models: tuple[ModelFacts, ...] = ()
    window: Window | None = None
    needs_key: bool = False


def base_of(address: str) -> str:
    """The base of an address as a person may write it.

    A bare server gets `/v1`; what follows the base is taken off.
    """
    base = address.strip().rstrip("/").removesuffix("/chat/completions").removesuffix("/models")
    return base if urlsplit(base).path.strip("/") else f"{base}/v1"


def host_of(base_url: str) -> str:
    """Host and port of an address, without user names; for showing."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def is_loopback(base_url: str) -> bool:
    """Whether an address stays on this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(base_url: str) -> bool:
    """Whether a server is this machine or stands in a private network."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".localhost", ".home.arpa"))


def default_window(base_url: str) -> int:
    """The window to assume when nothing is known, in tokens."""
    return LOCAL_DEFAULT if is_local(base_url) else CLOUD_DEFAULT


# ---------------------------------------------------------------------------- asking


class _Reply(Struct, frozen=True):
    status: int = 0  # 0: no answer
    body: Any = None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key belongs to one origin: it is not carried on to another."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _ask(url: str, key: str, timeout: float, post: Mapping[str, Any] | None = None) -> _Reply:
    """One question, in a thread. Never raises."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if is_loopback(url):
        handlers.append(urllib.request.ProxyHandler({}))
    data = None if post is None else json.dumps(post).encode()
    try:
        asked = urllib.request.Request(url, data=data, headers=headers)
        with urllib.request.build_opener(*handlers).open(asked, timeout=timeout) as answer:
            raw = _read(answer, time.monotonic() + timeout)
            return _Reply(answer.status, json.loads(raw))
    except urllib.error.HTTPError as error:
        error.close()
        return _Reply(error.code)
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return _Reply()


def _read(answer: Any, deadline: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := answer.read1(65_536):
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER or time.monotonic() > deadline:
            raise ValueError("too large or too slow")
    return b"".join(parts)


async def probe(
    base_url: str, model: str = "", key: str = "", patience: float = TIMEOUT
) -> ServerFacts:
    """Ask a server who it is. Returns within `patience` seconds or so."""
    base = base_of(base_url)
    root = base.removesuffix("/v1")
    questions: dict[str, tuple[str, Mapping[str, Any] | None]] = {
        "models": (f"{base}/models", None),
        "version": (f"{root}/api/version", None),
        "ps": (f"{root}/api/ps", None),
        "show": (f"{root}/api/show", {"model": model}),
        "lm1": (f"{root}/api/v1/models", None),
        "lm0": (f"{root}/api/v0/models", None),
        "props": (f"{root}/props", None),
        "v1props": (f"{root}/v1/props", None),
        "model_props": (f"{root}/props?model={quote(model, safe='')}", None),
    }
    if not model:
        del questions["show"], questions["model_props"]
    if not is_local(base):
        # A cloud service has none of the local servers' own addresses.
        questions = {"models": questions["models"]}

    async def one(url: str, post: Mapping[str, Any] | None) -> _Reply:
        try:
            async with asyncio.timeout(patience + 0.5):
                return await asyncio.to_thread(_ask, url, key, patience, post)
        except TimeoutError:
            return _Reply()

    replies = await asyncio.gather(*(one(url, post) for url, post in questions.values()))
    return facts(base_url, model, dict(zip(questions, replies, strict=True)))


async def find_servers(ports: Mapping[int, str] = USUAL_PORTS) -> list[ServerFacts]:
    """Servers at the usual ports of this machine. Call it only when the person asked for it."""
    found = await asyncio.gather(
        *(probe(f"http://127.0.0.1:{port}/v1", patience=1.0) for port in ports)
    )
    return [one for one in found if one.kind != "unreachable"]


# ---------------------------------------------------------------------------- understanding


def facts(base_url: str, model: str, replies: Mapping[str, _Reply]) -> ServerFacts:
    """What the replies mean. Pure."""

    def body(name: str) -> dict[str, Any]:
        reply = replies.get(name, _Reply())
        return _dict(reply.body) if reply.status == 200 else {}

    listed = [_listed(one) for one in _dicts(body("models").get("data")) if one.get("id")]
    needs_key = any(reply.status in (401, 403) for reply in replies.values())
    if "version" in body("version"):
        kind, models = "Ollama", _ollama(listed, model, body("ps"), body("show"))
    elif _dicts(body("lm1").get("models")):
        kind, models = "LM Studio", _lm_studio_1(body("lm1"))
    elif any("state" in one for one in _dicts(body("lm0").get("data"))):
        kind, models = "LM Studio", _lm_studio_0(body("lm0"))
    elif _is_llama(replies, body("props"), body("v1props"), body("models")):
        slot = _slot(body("model_props")) or _slot(body("props")) or _slot(body("v1props"))
        kind, models = "llama.cpp", _llama(listed, model, slot)
    elif any(one.get("owned_by") == "vllm" for one in _dicts(body("models").get("data"))):
        kind, models = "vLLM", listed
    elif any(reply.status for reply in replies.values()):
        kind, models = "unknown", listed
    else:
        kind, models = "unreachable", []
    return ServerFacts(
        kind, base_url, tuple(models), _window_of(kind, base_url, model, models), needs_key
    )


def _is_llama(replies: Mapping[str, _Reply], *bodies: dict[str, Any]) -> bool:
    props, v1props, models = bodies
    return (
        "default_generation_settings" in props
        or "default_generation_settings" in v1props
        or any(one.get("owned_by") == "llamacpp" for one in _dicts(models.get("data")))
    )


def _window_of(kind: str, base_url: str, model: str, models: Sequence[ModelFacts]) -> Window | None:
    found = match(model, models)
    if found is None or not found.window:
        return None
    return Window(found.window, "reported" if kind in ("vLLM", "unknown") else "loaded")


def match(model: str, models: Sequence[ModelFacts]) -> ModelFacts | None:
    """The model of that name: exactly, by file name, by its beginning, or the only one there is."""
    wanted = _plain_name(model)
    exact = [one for one in models if one.id == model]
    plain = [one for one in models if _plain_name(one.id) == wanted]
    begins = [one for one in models if wanted and _plain_name(one.id).startswith(wanted)]
    sole = list(models) if len(models) == 1 else []
    return next(iter([*exact, *plain, *begins, *sole]), None)


def _plain_name(name: str) -> str:
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return last.removesuffix(".gguf").removesuffix(":latest")


def _listed(one: Mapping[str, Any]) -> ModelFacts:
    meta = _dict(one.get("meta"))
    names = ("max_model_len", "context_length", "context_window", "max_context_length")
    window = next((n for n in (tokens_or_none(one.get(name)) for name in names) if n), None)
    return ModelFacts(
        str(one["id"]),
        tokens_or_none(meta.get("n_ctx_train")),
        window or tokens_or_none(meta.get("n_ctx")),
    )


def _ollama(
    listed: Sequence[ModelFacts], model: str, ps: dict[str, Any], show: dict[str, Any]
) -> list[ModelFacts]:
    running = {
        str(one.get("name") or one.get("model")): tokens_or_none(one.get("context_length"))
        for one in _dicts(ps.get("models"))
    }
    trained = next(
        (
            tokens_or_none(value)
            for name, value in _dict(show.get("model_info")).items()
            if name.endswith(".context_length")
        ),
        None,
    )
    by_name = {_plain_name(name): window for name, window in running.items()}
    out: list[ModelFacts] = []
    for one in listed or ([ModelFacts(model)] if model else []):
        mine = _plain_name(one.id) == _plain_name(model)
        window = by_name.get(_plain_name(one.id))
        # The list's own length, if there is one, is the trained one.
        out.append(
            ModelFacts(one.id, trained if mine else None, window, _plain_name(one.id) in by_name)
        )
    return out


def _lm_studio_1(body: dict[str, Any]) -> list[ModelFacts]:
    out: list[ModelFacts] = []
    for one in _dicts(body.get("models")):
        loaded = _dicts(one.get("loaded_instances"))
        windows = [tokens_or_none(_dict(i.get("config")).get("context_length")) for i in loaded]
        known = [n for n in windows if n]
        name = str(one.get("key") or one.get("id") or "")
        out.append(
            ModelFacts(
                name,
                tokens_or_none(one.get("max_context_length")),
                min(known, default=None),
                bool(loaded),
            )
        )
    return [one for one in out if one.id]


def _lm_studio_0(body: dict[str, Any]) -> list[ModelFacts]:
    out: list[ModelFacts] = []
    for one in _dicts(body.get("data")):
        loaded = one.get("state") == "loaded"
        window = tokens_or_none(one.get("loaded_context_length")) if loaded else None
        out.append(
            ModelFacts(
                str(one.get("id")), tokens_or_none(one.get("max_context_length")), window, loaded
            )
        )
    return out


def _slot(props: dict[str, Any]) -> int | None:
    return tokens_or_none(_dict(props.get("default_generation_settings")).get("n_ctx"))


def _llama(listed: Sequence[ModelFacts], model: str, slot: int | None) -> list[ModelFacts]:
    if not listed:
        return [ModelFacts(model, None, slot)] if model else []
    mine = match(model, listed) or (listed[0] if len(listed) == 1 else None)
    return [
        ModelFacts(one.id, one.trained, slot or one.window, one.loaded) if one is mine else one
        for one in listed
    ]


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    many = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", one) for one in many if isinstance(one, dict)]
