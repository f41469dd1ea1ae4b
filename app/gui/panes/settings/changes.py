"""A row's new value on its way to the disk: checked, stored, shown; or told why not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from app.engine.config_form import Config
from app.engine.errors import ConfigError, UserError
from app.gui.look.text import tr
from app.gui.look.theme import theme
from app.gui.panes.settings import fields
from app.gui.panes.settings.fields import Section, Spec
from app.gui.panes.settings.keep import Keeper
from app.gui.panes.settings.rows import SettingRow
from app.gui.panes.settings.values import rule_broken


class Changes:
    """`row(id)` gives the row on screen, `again()` shows everything as it is now."""

    def __init__(
        self, keep: Keeper, row: Callable[[str], SettingRow | None], again: Callable[[], None]
    ) -> None:
        self._keep, self._row, self._again = keep, row, again

    async def policy(self, spec: Spec, value: Any) -> None:
        """Store one value of the workspace's policy; a wrong one is told under its row."""
        row = self._row(spec.id)
        if spec.kind != "part" and (rule := rule_broken(self._keep.config, spec, value)):
            if row is not None:
                row.show_problem(rule)
            return
        try:
            await self._keep.configure(spec.title, lambda now: _changed(now, spec, value))
        except ConfigError as error:
            if row is not None:
                row.show_problem(rule_of(error))
            return
        except UserError:
            if row is not None:  # the disk refused: what was, holds
                row.settle()
                row.put(row.value(), fields.default_at(self._keep.defaults, spec.path))
            raise
        if row is not None:
            row.settle()
        self._again()

    async def look(self, spec: Spec, value: Any) -> None:
        """Store one value of the person's look and use it at once."""
        values, row = self._keep.values, self._row(spec.id)
        if values is None:
            return
        if rule := rule_broken(values.look, spec, value):
            if row is not None:
                row.show_problem(rule)
            return
        name = spec.path[-1]
        await self._keep.personal(
            spec.title,
            lambda now: dataclasses.replace(now, look=now.look.replace(**{name: value})),
        )
        if row is not None:
            row.settle()
        use_look(self._keep)
        self._again()

    async def defaults(self, section: Section) -> None:
        """Every row of a section of the policy back to its default, as one change."""
        defaults = self._keep.defaults

        def change(now: Any) -> Any:
            for group in section.groups:
                for text in group.paths:
                    path = tuple(text.split("."))
                    if fields.spec_at(now, path) is not None:
                        now = fields.with_value(now, path, fields.value_at(defaults, path))
            return now

        await self._keep.configure(tr("Defaults for {name}", name=tr(section.title)), change)
        self._again()

    async def default_look(self) -> None:
        await self._keep.personal(
            tr("Defaults"), lambda now: dataclasses.replace(now, look=type(now.look).defaults())
        )
        use_look(self._keep)
        self._again()


def use_look(keep: Keeper) -> None:
    """Dress the window as the person's settings say."""
    look: Any = keep.values.look if keep.values is not None else None
    if look is not None:
        theme().choose(
            look.scheme, contrast=look.high_contrast, still=look.reduce_motion,
            zoom=look.text_percent / 100,
        )  # fmt: skip


def _changed(now: Any, spec: Spec, value: Any) -> Any:
    if spec.kind == "part":
        on = value is True or isinstance(value, Config)
        return fields.switched_part(now, spec.path, on)
    return fields.with_value(now, spec.path, value)


def rule_of(error: ConfigError) -> str:
    """The rule in a configuration's own sentence, without the names of classes."""
    text = str(error)
    _, found, rest = text.partition(" must ")
    return f"must {rest.partition(';')[0].rstrip('.')}" if found else text.rstrip(".")
