"""What a settings object is: frozen fields, each with a rule, a sentence and a unit.

`Class.builder()` gives a builder whose setters are the field names and raise `ConfigError` at once;
`replace(**changes)` gives a changed copy; `load(mapping)` accepts snake case, camelCase and a
class's own aliases. Invariant: no object exists with a value its rules refuse.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from app.engine.errors import ConfigError

Check = Callable[[Any], str]  # "" when the value is fine, else what it must be
C = TypeVar("C", bound="Config")


# ---------------------------------------------------------------------------- checks


def is_number(value: Any) -> bool:
    """Whether it is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def at_least(low: float) -> Check:
    return lambda v: "" if is_number(v) and v >= low else f"must be a number of at least {low:g}"


def above(low: float) -> Check:
    return lambda v: "" if is_number(v) and v > low else f"must be a number above {low:g}"


def auto_or_at_least(low: float) -> Check:
    inner = at_least(low)
    return lambda v: (
        "" if v == "auto" or not inner(v) else f'must be "auto" or a number of at least {low:g}'
    )


def never_or_above(low: float) -> Check:
    inner = above(low)
    return lambda v: (
        "" if v == "never" or not inner(v) else f'must be "never" or a number above {low:g}'
    )


def share(value: Any) -> str:
    return "" if is_number(value) and 0 <= value <= 1 else "must be a number from 0 to 1"


def one_of(*names: str) -> Check:
    return lambda v: "" if v in names else "must be one of " + ", ".join(names)


def text_or_none(value: Any) -> str:
    return "" if value is None or isinstance(value, str) else "must be a text"


def yes_no(value: Any) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


def gap(value: Any) -> str:
    good = isinstance(value, timedelta) and value >= timedelta(0)
    return "" if good else "must be a time span that is not negative"


def callable_or_none(value: Any) -> str:
    return "" if value is None or callable(value) else "must be a function"


def names(value: Any) -> str:
    good = isinstance(value, frozenset) and all(
        isinstance(v, str) for v in cast("frozenset[Any]", value)
    )
    return "" if good else "must be a set of names"


def paths(value: Any) -> str:
    good = isinstance(value, tuple) and all(
        isinstance(v, str) and v.strip() for v in cast("tuple[Any, ...]", value)
    )
    return "" if good else "must be a list of paths"


def words(value: Any) -> str:
    return "must be a list of words or phrases" if paths(value) else ""


def holds(placeholder: str) -> Check:
    return lambda v: (
        ""
        if v is None or (isinstance(v, str) and placeholder in v)
        else f"must hold the placeholder {placeholder}"
    )


def two_plain_counts(value: Any) -> str:
    """Exactly two `%d`: they become the token budget and the character budget (CFG-6, CFG-11)."""
    if value is None:
        return ""
    good = isinstance(value, str) and value.count("%d") == 2
    return "" if good else "must hold exactly two %d: tokens, then characters"


def setting(default: Any, check: Check, help: str = "", unit: str = "", **kind: Any) -> Any:
    """A field with its rule and its sentence. `choices=` names the values of a choice."""
    meta = {"check": check, "help": help, "unit": unit, **kind}
    if kind.get("factory"):
        return dataclasses.field(default_factory=default, metadata=meta)
    return dataclasses.field(default=default, metadata=meta)


# ---------------------------------------------------------------------------- the common form


class Builder(Generic[C]):
    """Collects values for one config class: `Class.builder().field(value).build()`."""

    def __init__(self, made: type[C], values: Mapping[str, Any] | None = None) -> None:
        self._made = made
        self._values: dict[str, Any] = dict(values or {})

    def __getattr__(self, name: str) -> Callable[[Any], Builder[C]]:
        field = self._made.field_named(name)
        if field is None:
            raise AttributeError(f"{self._made.__name__} has no setting {name!r}")

        def put(value: Any) -> Builder[C]:
            self._values[field] = self._made.checked(field, value)
            return self

        return put

    def build(self) -> C:
        """A new immutable object; the builder can go on and never changes it."""
        return self._made(**self._values)


@dataclass(frozen=True)
class Config:
    """What all settings objects share: checks, builder, replace, loading."""

    aliases: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = self.checked(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)

    @classmethod
    def defaults(cls) -> Self:
        return cls()

    @classmethod
    def builder(cls) -> Builder[Self]:
        return Builder(cls)

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed, checked again."""
        return dataclasses.replace(self, **changes)

    @classmethod
    def field_named(cls, name: str) -> str | None:
        """The field behind a snake-case, camelCase or foreign name; None when there is none."""
        known = {f.name for f in dataclasses.fields(cls)}
        name = cls.aliases.get(name, name)
        snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
        return snake if snake in known else None

    @classmethod
    def checked(cls, name: str, value: Any) -> Any:
        """The value as it is kept. Raises `ConfigError` naming the setting and the rule."""
        field = next(f for f in dataclasses.fields(cls) if f.name == name)
        if field.metadata.get("freeze") and isinstance(value, str | list | set | tuple):
            value = frozenset([value] if isinstance(value, str) else cast("list[Any]", value))
        if field.metadata.get("listed") and isinstance(value, list):
            value = tuple(cast("list[Any]", value))
        check: Check | None = field.metadata.get("check")
        problem = check(value) if check else ""
        if problem:
            raise ConfigError(f"{cls.__name__}.{name} {problem}; {value!r} was given.")
        return value

    @classmethod
    def load(cls, mapping: Mapping[str, Any]) -> Self:
        """Read a mapping (TOML, JSON, another system's). Unknown names raise `ConfigError`."""
        values: dict[str, Any] = {}
        for key, value in mapping.items():
            name = cls.field_named(key)
            if name is None:
                raise ConfigError(f"{cls.__name__} has no setting {key!r}.")
            values[name] = cls.from_plain(name, value)
        return cls(**values)

    def overlaid(self, mapping: Mapping[str, Any]) -> Self:
        """A copy in which the values of a mapping stand over these; nested tables likewise."""
        changes: dict[str, Any] = {}
        for key, value in mapping.items():
            name = self.field_named(key)
            if name is None:
                raise ConfigError(f"{type(self).__name__} has no setting {key!r}.")
            here = getattr(self, name)
            if isinstance(here, Config) and isinstance(value, Mapping):
                changes[name] = here.overlaid(cast("Mapping[str, Any]", value))
            else:
                changes[name] = self.from_plain(name, value)
        return self.replace(**changes)

    @classmethod
    def from_plain(cls, name: str, value: Any) -> Any:
        """One value of a file as the field wants it (nested tables, minutes)."""
        field = next(f for f in dataclasses.fields(cls) if f.name == name)
        part: type[Config] | None = field.metadata.get("part")
        if part is not None and isinstance(value, Mapping):
            return part.load(cast("Mapping[str, Any]", value))
        if field.metadata.get("unit") == "min" and is_number(value):
            return timedelta(minutes=value)
        return value

    def plain(self, *, defaults: bool = False) -> dict[str, Any]:
        """The values in the form `load` reads: numbers, texts, tables; what is unset is left out.

        Without `defaults` only values that differ from them.
        """
        out: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Config):
                inner = value.plain(defaults=defaults)
                if inner or getattr(type(self).defaults(), field.name) is None:
                    out[field.name] = inner  # an empty table turns an optional part on
            elif defaults or value != getattr(type(self).defaults(), field.name):
                simple = _simple(value)
                if simple is not None:
                    out[field.name] = simple
        return out


def _simple(value: Any) -> Any:
    """A value as TOML holds it; None for what only a program can give (functions, objects)."""
    if isinstance(value, timedelta):
        return value.total_seconds() / 60
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    if isinstance(value, tuple):
        return list(cast("tuple[Any, ...]", value))
    if isinstance(value, str | int | float | bool):
        return value
    plain = getattr(value, "plain", None)  # a value of its own kind, as the flush trigger is
    return plain() if callable(plain) else None
