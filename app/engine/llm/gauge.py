"""What a model's own reports teach: how it counts, and how much its server really takes.

One `Gauge` serves every model of a workspace. A ratio is the server's count ÷ ours, one per model
and tokenizer, learned from usage that can be trusted; a window is learned from an error that names
it, and kept, or from a prompt that seems to have been cut, and then kept for this run only.
Invariant: what a report says is never believed beyond `LOW` and `HIGH`, and a cut prompt teaches no
ratio. Specification, section 6; model-servers, sections 3 and 4.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from app.engine.errors import UserError
from app.engine.llm.endpoint import Request
from app.engine.llm.figures import MOST
from app.engine.records import Window
from app.engine.workspace.files import lock, read_text, write_atomic

log = logging.getLogger(__name__)

SHARE = 0.70  # reported below this share of what we expect at least: cut, or cached and not counted
LOW, HIGH = 0.5, 4.0  # what is nearer to 0 or higher than this is no tokenizer
WEIGHT = 0.3  # of a new report beside those before it
LEAST = 200  # tokens; shorter requests say more about the server's template than about the rate
REPORTS = 8  # that tell how low a model's ratio goes
MOVED = 0.01  # a ratio that moved by less is not written again
SURE = ("setting", "loaded", "reported")  # windows that nothing learned overrules


class Gauge:
    """Ratios and learned windows by model. Usable from any thread; `attach` joins a workspace.

    `count` gives our own count of a request in tokens, `tokenizer` the name of who counts.
    """

    def __init__(self) -> None:
        self.count: Callable[[Request], int] = lambda _request: 0
        self.tokenizer: Callable[[], str] = str
        self._ratios: dict[str, float] = {}
        self._written: dict[str, float] = {}
        self._seen: dict[str, deque[float]] = {}  # the newest reports of this run
        self._windows: dict[str, int] = {}
        self._unwritten: set[str] = set()  # names of what was learned here since the last write
        self._cut: dict[str, int] = {}
        self._file: tuple[Path, Path] | None = None  # windows.json, and its lock
        self._guard = threading.Lock()

    def attach(self, count: Callable[[Request], int], tokenizer: Callable[[], str]) -> None:
        """Count with the tokenizer of a workspace from now on."""
        self.count, self.tokenizer = count, tokenizer

    def keep_in(self, file: Path, guard: Path, *, read_only: bool = False) -> None:
        """Take up what `file` (windows.json) holds, and write what is learned there. Blocks."""
        data = _read(file, aside=not read_only)
        with self._guard:
            self._ratios |= _numbers(data.get("ratios"), LOW, HIGH)
            self._windows |= {k: int(v) for k, v in _numbers(data.get("windows"), 1, MOST).items()}
            self._written = dict(self._ratios)
            self._file = None if read_only else (file, guard)

    # ------------------------------------------------------------------ how a model counts

    def ratio(self, model: str) -> float:
        """The server's count ÷ ours for this model; 1.0 until something was learned."""
        with self._guard:
            return self._ratios.get(self._name(model), 1.0)

    def least(self, model: str) -> float:
        """The ratio that nothing believable is below: languages differ in it, also of one model.

        The lowest of the newest reports; as long as there are few of them, no more than 1.
        """
        with self._guard:
            return self._least(self._name(model))

    def _least(self, name: str) -> float:
        seen = self._seen.get(name, ())
        lowest = min(seen, default=self._ratios.get(name, 1.0))
        return lowest if len(seen) == REPORTS else min(1.0, lowest)

    def learn(self, model: str, counted: int, reported: int) -> None:
        """Take in one report on a request of `counted` tokens of our own. Blocks when it writes."""
        if counted < LEAST or reported <= 0:
            return
        seen = reported / counted
        with self._guard:
            name = self._name(model)
            known = self._ratios.get(name)
            if not max(LOW, SHARE * self._least(name)) <= seen <= HIGH:
                return
            self._seen.setdefault(name, deque(maxlen=REPORTS)).append(seen)
            now = seen if known is None else known + WEIGHT * (seen - known)
            self._ratios[name] = now
            before = self._written.get(name)
            if before is not None and abs(now - before) < MOVED * before:
                return
            self._written[name] = now
            self._unwritten.add(name)
        self._write()

    def _name(self, model: str) -> str:
        return f"{model} by {self.tokenizer()}"

    # ------------------------------------------------------------------ what a server takes

    def window(self, server: str, told: Window) -> Window:
        """The window that counts for a model of a server (`host model`), given what it told."""
        with self._guard:
            learned = self._cut.get(server) or self._windows.get(server)
        return Window(learned, "learned") if learned and told.source not in SURE else told

    def learn_window(self, server: str, tokens: int) -> None:
        """An error named the window. Blocks while it is written."""
        with self._guard:
            self._cut.pop(server, None)
            if self._windows.get(server) == tokens:
                return
            self._windows[server] = tokens
            self._unwritten.add(server)
        self._write()

    def suspect_window(self, server: str, tokens: int) -> None:
        """A prompt seems to have been cut to `tokens`: true until the program ends or it is
        named."""
        with self._guard:
            self._cut[server] = tokens

    # ------------------------------------------------------------------ the file

    def _write(self) -> None:
        """Add what was learned to the file; others may have written to it meanwhile."""
        if self._file is None:
            return
        file, guard = self._file
        fresh: set[str] = set()
        try:
            with lock(guard):
                data = _read(file, aside=True)
                with self._guard:
                    every = not data  # a file that is gone or was put aside: all that is known
                    fresh, self._unwritten = self._unwritten, fresh
                    ratios = {
                        k: round(v, 4) for k, v in self._ratios.items() if every or k in fresh
                    }
                    windows = {k: v for k, v in self._windows.items() if every or k in fresh}
                data["ratios"] = _numbers(data.get("ratios")) | ratios
                data["windows"] = _numbers(data.get("windows"), 1, MOST) | windows
                write_atomic(file, json.dumps({"version": 1} | data, indent=1).encode() + b"\n")
        except (UserError, OSError) as error:
            with self._guard:
                self._unwritten |= fresh  # the next write takes it along
            log.warning("what was learned of a model could not be kept: %s", error)


def corrected_limit(limit: int, estimated: int, requested: int) -> int:
    """The limit in our own count when the server counted `requested` for our `estimated`; the same
    limit when no tokenizer comes to such a count."""
    if estimated > 0 and LOW <= requested / estimated <= HIGH:
        return int(limit * estimated / requested)
    return limit


def _read(file: Path, *, aside: bool) -> dict[str, Any]:
    """The file's content. A damaged one counts as empty; it is not ours to overwrite, so it is put
    aside first."""
    try:
        found = read_text(file)
        value: Any = json.loads(found.text) if found and not found.blank else {}
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    except (ValueError, RecursionError, UserError, OSError) as error:
        log.warning("windows.json is not understood and counts as empty: %s", error)
    if aside:
        with suppress(OSError):
            file.replace(file.with_name("windows.json.damaged"))
    return {}


def _numbers(value: object, least: float = 0.0, most: float = float("inf")) -> dict[str, float]:
    """The sound numbers of a mapping."""
    if not isinstance(value, dict):
        return {}
    return {
        name: number
        for name, number in cast("dict[str, Any]", value).items()
        if isinstance(number, int | float)
        and not isinstance(number, bool)
        and least <= number <= most
    }
