"""Colours for code, by the name of its language only; nothing is guessed. Pygments loads lazily."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

LIMIT = 8_000  # characters above which code stays plain

# Pygments' token types (prefixes of their names) and our tokens, most special first.
_COLORS = (
    ("Comment", "text_faint"),
    ("Keyword", "ansi_blue"),
    ("Operator.Word", "ansi_blue"),
    ("Literal.String", "ansi_green"),
    ("Literal.Number", "ansi_magenta"),
    ("Name.Function", "ansi_cyan"),
    ("Name.Class", "ansi_cyan"),
    ("Name.Tag", "ansi_blue"),
    ("Name.Attribute", "ansi_cyan"),
    ("Name.Builtin", "ansi_cyan"),
    ("Name.Decorator", "ansi_magenta"),
    ("Generic.Deleted", "ansi_red"),
    ("Generic.Inserted", "ansi_green"),
    ("Generic.Heading", "ansi_magenta"),
    ("Generic.Error", "ansi_red"),
)


def runs(code: str, language: str) -> list[tuple[str, str]]:
    """`code` as (text, token) pieces that join to it; one plain piece when unknown or too long."""
    name = language.split()[0].strip("{}.").lower() if language.split() else ""
    lexer = _lexer(name) if name and len(code) <= LIMIT else None
    if lexer is None:
        return [(code, "text")]
    out: list[tuple[str, str]] = []
    for _, kind, text in lexer.get_tokens_unprocessed(code):
        color = _color(str(kind)) if text.strip() or not out else out[-1][1]
        if out and out[-1][1] == color:
            out[-1] = (out[-1][0] + text, color)
        else:
            out.append((text, color))
    return out


@lru_cache(maxsize=256)
def _color(kind: str) -> str:
    bare = kind.removeprefix("Token.")
    return next((color for prefix, color in _COLORS if bare.startswith(prefix)), "text")


@lru_cache(maxsize=64)
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name)
    except ClassNotFound:
        return None
