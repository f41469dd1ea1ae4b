"""The o200k tokenizer with the vocabulary that comes with the program.

Loading takes half a second and runs in a thread of its own; until it is done, and for good when it
fails, the heuristic answers and the label says so. Invariant: the network is never asked: the
bundled file is checked against its known hash before the library sees its folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import cast

from app.engine.context.tokens import (
    SAMPLED_ABOVE,
    AgentScope,
    Estimator,
    Heuristic,
    sampled,
)
from app.engine.errors import ConfigError
from app.resources import resource

log = logging.getLogger(__name__)

VOCABULARY = "encodings/fb374d419588a4632f3f557e76b4b70aebbca790"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
CHUNK = 4_000  # code points handed to the tokenizer at once: long runs cost more than their length

Encode = Callable[[str], "list[int]"]


class Tiktoken:
    """Counts with o200k once it is loaded, with the heuristic until then."""

    def __init__(self, load: Callable[[], Encode] | None = None) -> None:
        self._load = load or load_o200k
        self._encode: Encode | None = None
        self._waiting = Heuristic()
        self._started = False
        self._lock = threading.Lock()
        self._done = threading.Event()

    @property
    def name(self) -> str:
        return self._waiting.name if self._encode is None else "o200k"

    @property
    def estimated(self) -> bool:
        return self._encode is None

    def start(self) -> None:
        """Begin to load, once, in a thread of its own. Returns at once."""
        with self._lock:
            if self._started:
                return
            self._started = True
        threading.Thread(target=self._run, name="tokenizer", daemon=True).start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until loading has ended. True when the real tokenizer answers now. Blocks."""
        self.start()
        self._done.wait(timeout)
        return self._encode is not None

    def text(self, text: str) -> int:
        encode = self._encode
        if encode is None:
            self.start()
            return self._waiting.text(text)
        if len(text) > SAMPLED_ABOVE:
            return sampled(lambda piece: self._chunk(encode, piece), text)
        return sum(self._chunk(encode, chunk) for chunk in chunks(text))

    def _run(self) -> None:
        try:
            self._encode = self._load()
        except Exception as error:  # a missing file or library: estimates serve on
            log.warning("the tokenizer could not be loaded, counts stay estimates: %s", error)
        finally:
            self._done.set()

    def _chunk(self, encode: Encode, text: str) -> int:
        try:
            return len(encode(text))
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # Rust's PanicException is no Exception (B75)
            log.debug("the tokenizer refused a text of %d characters: %s", len(text), error)
            return self._waiting.text(text)


def chunks(text: str) -> Iterator[str]:
    """The text in pieces of at most `CHUNK` code points, cut before white space where it can be."""
    start = 0
    while len(text) - start > CHUNK:
        end = start + CHUNK
        for at in range(end, max(start + CHUNK // 2, end - 400), -1):
            if text[at].isspace() and not text[at - 1].isspace():
                end = at
                break
        yield text[start:end]
        start = end
    yield text[start:]


def load_o200k() -> Encode:
    """The encoder. Raises `ValueError` when the bundled vocabulary is missing or altered."""
    path = resource(VOCABULARY)
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise ValueError("the bundled vocabulary is missing or altered")
    import tiktoken

    name = "TIKTOKEN_CACHE_DIR"
    before = os.environ.get(name)
    os.environ[name] = str(path.parent)
    try:
        encoding = tiktoken.get_encoding("o200k_base")
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
    # Special tokens in a person's text are text (B74): the ordinary encoder knows none.
    return cast("Encode", encoding.encode_ordinary)


def estimator(name: str) -> Estimator:
    """An estimator by its name: tiktoken, heuristic, agentscope. Raises `ConfigError`."""
    if name == "tiktoken":
        return Tiktoken()
    if name in ("heuristic", "agentscope"):
        return Heuristic() if name == "heuristic" else AgentScope()
    raise ConfigError(f"There is no estimator {name!r}; there are tiktoken, heuristic, agentscope.")
