"""Actions are data: menus, keys and the palette are views on them.

`when` says where an action holds: "window" (always) or "pane:<place>". No two actions that can hold
at the same time share a key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


def _always() -> str:
    return ""


@dataclass(frozen=True)
class Action:
    """One thing a person can do.

    `key` is a `QKeySequence` in portable text ("Ctrl+K", "J", "G, P"); `also` holds further keys.
    Plain letters are off while somebody types in a field. `off()` returns "" when the action can
    be done, else the reason why not. `checked` makes it a switch that shows its state. `menu` puts
    it into the menu of that name (File, Go, View, Session, Memory, Help); "" only in the palette.
    """

    name: str
    title: str
    icon: str
    run: Callable[[], object] = field(compare=False)
    key: str = ""
    also: tuple[str, ...] = ()
    when: str = "window"
    menu: str = ""
    off: Callable[[], str] = field(default=_always, compare=False)
    checked: Callable[[], bool] | None = field(default=None, compare=False)

    @property
    def keys(self) -> tuple[str, ...]:
        return ((self.key,) if self.key else ()) + self.also

    @property
    def place(self) -> str:
        """The place it belongs to; "" for the whole window."""
        return self.when.removeprefix("pane:") if self.when.startswith("pane:") else ""


def overlapping(actions: Sequence[Action]) -> list[tuple[str, str, str]]:
    """(key, name, name) of any two actions that share a key and can hold at the same time."""
    out: list[tuple[str, str, str]] = []
    for i, one in enumerate(actions):
        for other in actions[i + 1 :]:
            apart = one.place and other.place and one.place != other.place
            if apart:
                continue
            shared = {k.lower() for k in one.keys} & {k.lower() for k in other.keys}
            out += [(key, one.name, other.name) for key in sorted(shared)]
    return out


def key_caps(sequence: str) -> list[str]:
    """The caps to draw for a key: "Ctrl+Shift+K" is Ctrl, Shift, K; "G, P" is G, P."""
    out: list[str] = []
    for chord in sequence.split(", "):
        plus = chord.endswith("+")
        caps = [part for part in chord.rstrip("+").split("+") if part]
        out += caps + (["+"] if plus else [])
    return out
