"""What a person types, as a value, and a value as it is shown. Pure.

`parse` raises `Wrong` with a sentence that says what is expected; rules of the field itself are the
configuration's own and come as `ConfigError`.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from app.engine.config import FlushTrigger
from app.engine.config_form import Config
from app.gui.look.text import locale, number, plural, tr
from app.gui.panes.settings.fields import Spec, field_at, word_of


class Wrong(ValueError):
    """What was typed is no value of this kind; its text says what would be."""


def parse(spec: Spec, text: str) -> Any:
    """The value of a typed text."""
    text = text.strip()
    if spec.kind in ("maybe", "maybe_minutes") and not text:
        return None
    match spec.kind:
        case "whole" | "maybe":
            return _whole(text)
        case "word":
            return text.lower() if text.lower() == spec.word else _whole(text)
        case "number":
            return _number(text)
        case "minutes" | "maybe_minutes":
            return timedelta(minutes=_number(text))
        case "names":
            return frozenset(_listed(text))
        case "listed":
            return tuple(_listed(text))
        case _:
            return text


def _whole(text: str) -> int:
    plain = "".join(text.replace(locale().groupSeparator(), "").replace(",", "").split())
    try:
        return int(plain)
    except ValueError:
        raise Wrong(tr("must be a whole number")) from None


def _number(text: str) -> float | int:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise Wrong(tr("must be a number")) from None
    if value != value or abs(value) > 1e12:
        raise Wrong(tr("must be a number"))
    return int(value) if value.is_integer() and "." not in text else value


def _listed(text: str) -> list[str]:
    return [part.strip() for part in re.split("[,，\n]", text) if part.strip()]


def text_of(value: Any) -> str:
    """A value as it stands in a field."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return tr("on") if value else tr("off")
    if isinstance(value, timedelta):
        return _plain(value.total_seconds() / 60)
    if isinstance(value, frozenset):
        return ", ".join(sorted(value))
    if isinstance(value, tuple):
        return ", ".join(str(v) for v in value)
    if isinstance(value, float):
        return _plain(value)
    if isinstance(value, int):
        return number(value)
    return str(value)


def _plain(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def shown(spec: Spec, value: Any) -> str:
    """A value in words: for "changed, default 0.75" and for what holds instead."""
    if spec.kind == "prompt":
        return tr("the built-in prompt") if not value else tr("your own prompt")
    if spec.kind == "model":
        names = {None: tr("as in Models"), "": tr("same as chat"), "builtin": tr("built-in")}
        return names.get(value) or str(value)
    if spec.kind == "part":
        return tr("on") if value is not None else tr("off")
    if spec.kind == "trigger" and isinstance(value, FlushTrigger):
        if value.mode != "throttled":
            return value.mode
        minutes = round(value.gap.total_seconds() / 60)
        return plural(minutes, "every {n} minute", "every {n} minutes")
    if spec.choices:
        return word_of(str(value)).lower()
    if spec.kind == "names":
        return plural(len(value or ()), "{n} tool", "{n} tools")
    if value in (None, "", ()):
        return tr("none")
    return text_of(value)


def rule_broken(root: Config, spec: Spec, value: Any) -> str:
    """What the field's own rule says of a value; "" when it is fine."""
    check = field_at(root, spec.path).metadata.get("check")
    return tr(check(value)) if check is not None and check(value) else ""


def told(spec: Spec, rule: str, holds: Any) -> str:
    """The sentence under a wrong row: the rule, and what holds until it is right."""
    text = rule[:1].upper() + rule[1:]
    return tr("{rule}; {value} holds until then", rule=text, value=shown(spec, holds))
