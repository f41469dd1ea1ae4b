"""What the pages of Settings hold: rows of a section with their values and defaults. No widgets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from app.gui.bridge.person import PersonalSettings
from app.gui.look.text import plural, tr
from app.gui.panes.settings import fields
from app.gui.panes.settings.fields import SECTIONS, Section, Spec
from app.gui.panes.settings.keep import Keeper

Given = tuple[Spec, Any, Any]  # field, value in force, default
Groups = list[tuple[str, list[Given]]]


def policy(section: Section, keep: Keeper) -> Groups:
    """The rows of a section of the workspace's policy."""
    config, defaults = keep.config, keep.defaults
    return [
        (
            tr(group.title) if group.title else "",
            [
                (s, fields.value_at(config, s.path), fields.default_at(defaults, s.path))
                for s in fields.specs(config, group.paths)
            ],
        )
        for group in section.groups
    ]


def look(keep: Keeper) -> list[Given]:
    """The rows of the person's look."""
    if keep.values is None:
        return []
    now = keep.values.look
    defaults = type(now).defaults()
    names = [field.name for field in dataclasses.fields(now)]
    return [
        (s, fields.value_at(now, s.path), fields.value_at(defaults, s.path))
        for s in fields.specs(now, names)
    ]


def counts(keep: Keeper) -> dict[str, str]:
    """Words beside the sections: how many rows differ from their default."""
    config, defaults = keep.config, keep.defaults
    changed = {one.id: fields.changed_in(one, config, defaults) for one in SECTIONS}
    changed["look"] = sum(value != default for _, value, default in look(keep))
    return {
        name: plural(n, "{n} changed", "{n} changed") if n else "" for name, n in changed.items()
    }


def found(keep: Keeper, words: str) -> tuple[Groups, int]:
    """Rows that are meant by `words`, by section, and how many."""
    out: Groups = []
    for section in SECTIONS:
        rows = [one for _, given in policy(section, keep) for one in given]
        fit = [one for one in rows if fields.matches(one[0], words)]
        if fit:
            out.append((tr(section.title), fit))
    return out, sum(len(given) for _, given in out)


def model_choices(keep: Keeper) -> list[tuple[Any, str]]:
    """The choices of a model field of the policy."""
    servers = keep.values.servers if keep.values is not None else {}
    return [
        (None, tr("as in Models")), ("builtin", tr("built-in")), *[(n, n) for n in servers],
    ]  # fmt: skip


def paths(person: PersonalSettings | None, root: Path | None) -> list[tuple[str, str, str]]:
    """(name, sentence, path) of what lies where."""
    out: list[tuple[str, str, str]] = []
    if root is not None:
        out.append((tr("Workspace"), tr("Memory, daily logs, sessions"), str(root)))
        config = str(config_file(root))
        out.append((tr("Its policy"), tr("What differs from the defaults"), config))
    if person is not None:
        out.append((tr("Your settings"), tr("Servers, roles, look"), person.path))
    return out


def config_file(root: Path) -> Path:
    return root / ".palimpsest" / "config.toml"
