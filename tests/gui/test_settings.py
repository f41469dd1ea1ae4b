"""Settings: every field has a row, rows save at once, wrong values are told and do not hold."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.engine.config import EngineConfig, FlushTrigger
from app.engine.config_form import Config
from app.engine.errors import StorageError
from app.engine.events import Bus
from app.gui.look.theme import theme
from app.gui.panes.settings import fields, values
from app.gui.panes.settings.agents import AgentsPage
from app.gui.panes.settings.fields import SECTIONS
from app.gui.panes.settings.form import Form
from app.gui.panes.settings.pane import SettingsPane
from app.gui.widgets.dialogs import Question
from app.gui.widgets.pane import Desk
from app.personal import Personal
from tests.helpers.panes import Until, assert_named
from tests.helpers.settings_place import (
    Engine,
    engine_of,
    section,
    shown_settings,
)


@pytest.fixture
def engine(desk: Desk, bus: Bus, person: Personal) -> Engine:
    return engine_of(desk, bus, person)


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot: Any, qloop: Any) -> Iterator[SettingsPane]:
    yield from shown_settings(desk, qtbot, qloop)


# ---------------------------------------------------------------------------- the catalogue


def all_paths(config: type[Config], before: tuple[str, ...] = ()) -> Iterator[str]:
    for field in dataclasses.fields(config):
        part = field.metadata.get("part")
        if part is not None and field.default is dataclasses.MISSING:
            yield from all_paths(part, (*before, field.name))
        else:
            yield ".".join((*before, field.name))


def test_every_field_of_the_configuration_has_one_row() -> None:
    listed = [path for one in SECTIONS for group in one.groups for path in group.paths]
    root = EngineConfig()
    wanted = [p for p in all_paths(EngineConfig) if fields.spec_at(root, tuple(p.split(".")))]
    assert sorted(listed) == sorted(wanted)
    assert len(listed) == len(set(listed))


def test_every_row_has_a_name_and_a_sentence() -> None:
    root = EngineConfig()
    for one in SECTIONS:
        for group in one.groups:
            for spec in fields.specs(root, group.paths):
                assert spec.title
                assert spec.help, spec.id


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("compaction.trigger_messages", "1,200", 1_200),
        ("compaction.trigger_tokens", "Auto", "auto"),
        ("compaction.safety_ratio", "0,8", 0.8),
        ("memory.consolidation_min_gap", "45", timedelta(minutes=45)),
        ("maintenance.opportunistic_gap", "", None),
        ("agent.max_output", "", None),
        ("eviction.excluded_tool_names", "shell, 搜索", frozenset({"shell", "搜索"})),
        ("injection.additional_context_files", "a.md, b c.md", ("a.md", "b c.md")),
        ("memory.never_remember", "salary，工资, tea", ("salary", "工资", "tea")),
    ],
)
def test_what_is_typed_becomes_a_value_and_back(path: str, text: str, value: Any) -> None:
    root = EngineConfig()
    spec = fields.spec_at(root, tuple(path.split(".")))
    assert spec is not None
    assert values.parse(spec, text) == value
    assert values.parse(spec, values.text_of(value)) == value


# ---------------------------------------------------------------------------- rows


def test_a_row_saves_at_once_marks_the_change_and_can_be_taken_back(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "compaction")
    row = form.rows["compaction.safety_ratio"]

    async def main() -> None:
        row.control.field.setText("0.8")
        row.control.field.editingFinished.emit()
        await until(lambda: engine.config.compaction.safety_ratio == 0.8)
        await until(lambda: row.back.isVisible())
        assert row.back.text() == "changed, default 0.75"
        assert pane.saved.text().startswith("Saved ")
        await until(lambda: "1 changed" in pane.side.list.rows_model.index(2).data())
        pane.undo()
        await until(lambda: engine.config.compaction.safety_ratio == 0.75)
        await until(lambda: row.control.field.text() == "0.75")
        assert not row.back.isVisible()

    qloop.run_until_complete(main())


def test_a_wrong_value_is_told_and_the_old_one_holds(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "compaction")
    before = engine.config

    async def main() -> None:
        for name, typed, told in (
            ("compaction.safety_ratio", "1.4", "Must be a number from 0 to 1; 0.75 holds"),
            ("compaction.keep_messages", "many", "Must be a whole number; 20 holds"),
            ("compaction.keep_tokens_min", "9000", "Must not exceed keep_tokens_max; 2,000 holds"),
        ):
            row = form.rows[name]
            row.control.field.setText(typed)
            row.control.field.editingFinished.emit()
            await until(row.wrong)
            assert row.wrong().startswith(told)
            assert row.control.field.text() == typed  # what was typed can be mended
        assert engine.config == before

    qloop.run_until_complete(main())


def test_what_is_wrong_stays_to_be_mended_while_other_rows_change(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "compaction")
    wrong = form.rows["compaction.safety_ratio"]

    async def main() -> None:
        wrong.control.field.setText("1.4")
        wrong.control.field.editingFinished.emit()
        await until(wrong.wrong)
        form.rows["compaction.prune"].control.switch.click()
        await until(lambda: "compaction.prune.protect_tokens" in form.rows)
        assert wrong.wrong()
        assert wrong.control.field.text() == "1.4"
        wrong.control.field.setText("0.75")  # what holds anyway
        wrong.control.field.editingFinished.emit()
        await until(lambda: not wrong.wrong())

    qloop.run_until_complete(main())


def test_a_prompt_gets_its_room_also_after_rows_came_and_went(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "compaction")
    row = form.rows["compaction.summary_prompt"]

    async def main() -> None:
        form.rows["compaction.prune"].control.switch.click()
        await until(lambda: "compaction.prune.protect_tokens" in form.rows)
        before = row.height()
        row.control.button.click()
        await until(lambda: row.height() >= before + 220)
        row.control.button.click()
        await until(lambda: row.height() == before)

    qloop.run_until_complete(main())


def test_a_disk_that_refuses_changes_nothing(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "compaction")
    engine.error = StorageError("The disk is full.", "Make room.")
    row = form.rows["compaction.flush_before_compact"]

    async def main() -> None:
        row.control.switch.click()
        await until(lambda: pane.notices.causes() == ["The disk is full."])

    qloop.run_until_complete(main())
    assert row.control.switch.isChecked()
    assert not pane.keep.steps


def test_two_quick_changes_both_hold(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "memory")

    async def main() -> None:
        form.rows["memory.policy"].control.given.emit("auto_additions")
        form.rows["memory.curator"].control.given.emit("extractive")
        await until(lambda: engine.config.memory.curator == "extractive")

    qloop.run_until_complete(main())
    assert engine.config.memory.policy == "auto_additions"


def test_a_prompt_without_its_placeholder_is_refused_under_its_row(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "compaction")
    row = form.rows["compaction.summary_prompt"]

    async def main() -> None:
        row.control.button.click()
        row._prompt.saved.emit("Sum it up.")
        await until(row.wrong)
        assert "{messages}" in row.wrong()
        assert "the built-in prompt holds" in row.wrong()
        row._prompt.saved.emit("Sum it up: {messages}")
        await until(lambda: engine.config.compaction.summary_prompt == "Sum it up: {messages}")

    qloop.run_until_complete(main())


def test_an_optional_part_opens_its_own_rows(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "compaction")
    assert "compaction.prune.protect_tokens" not in form.rows

    async def main() -> None:
        form.rows["compaction.prune"].control.switch.click()
        await until(lambda: "compaction.prune.protect_tokens" in form.rows)
        row = form.rows["compaction.prune.protect_tokens"]
        row.control.field.setText("30,000")
        row.control.field.editingFinished.emit()
        prune: Any = lambda: engine.config.compaction.prune  # noqa: E731
        await until(lambda: prune() and prune().protect_tokens == 30_000)
        form.rows["compaction.prune"].control.switch.click()
        await until(lambda: prune() is None)

    qloop.run_until_complete(main())


def test_the_flush_can_be_throttled(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    row = section(pane, qloop, "memory").rows["memory.flush_trigger"]

    async def main() -> None:
        row.control.switch.chosen.emit("throttled")
        await until(lambda: engine.config.memory.flush_trigger.mode == "throttled")
        await until(lambda: row.control.minutes.isVisible())
        row.control.minutes.field.setText("10")
        row.control.minutes.field.editingFinished.emit()
        wanted = FlushTrigger.throttled(600)
        await until(lambda: engine.config.memory.flush_trigger == wanted)

    qloop.run_until_complete(main())


def test_defaults_bring_a_section_back_as_one_change(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    section(pane, qloop, "evicted")

    async def main() -> None:
        changed = engine.config.eviction.replace(max_result_chars=9_000, preview_chars=10)
        engine.config = engine.config.replace(eviction=changed)
        pane.take_defaults()
        await until(lambda: engine.config.eviction.max_result_chars == 80_000)
        assert engine.config.eviction.preview_chars == 2_000
        pane.undo()
        await until(lambda: engine.config.eviction == changed)

    qloop.run_until_complete(main())


def test_a_setting_is_found_by_its_words(pane: SettingsPane, qloop: Any) -> None:
    pane.side.search("archive logs")
    form = pane.stack.currentWidget()
    assert isinstance(form, Form)
    assert "memory.daily_file_retention_days" in form.rows
    assert "compaction.trigger_tokens" not in form.rows


# ---------------------------------------------------------------------------- look, AGENTS.md


def test_the_look_changes_at_once_and_is_kept(
    pane: SettingsPane, person: Personal, qloop: Any, until: Until
) -> None:
    form = section(pane, qloop, "look")

    async def main() -> None:
        form.rows["scheme"].control.given.emit("dark")
        await until(lambda: theme().scheme == "dark")
        form.rows["text_percent"].control.given.emit(120)
        await until(lambda: theme().zoom == 1.2)
        form.rows["text_percent"].control.given.emit(900)
        await until(form.rows["text_percent"].wrong)

    qloop.run_until_complete(main())
    stored = tomllib.loads(Path(person.path).read_text("utf-8"))
    assert stored["look"] == {"scheme": "dark", "text_percent": 120}


def test_agents_md_is_saved_and_not_over_what_others_wrote(
    pane: SettingsPane, engine: Engine, qloop: Any, until: Until
) -> None:
    page: AgentsPage = section(pane, qloop, "agents")
    assert page.text() == engine.agents

    async def main() -> None:
        page.edit.setPlainText("# 你是谁,\u00a0谁\n")
        page.save.click()
        await until(lambda: engine.agents == "# 你是谁,\u00a0谁\n")
        await until(lambda: not page.is_edited())
        page.edit.setPlainText("mine\n")
        engine.agents = "theirs\n"
        page.save.click()
        await until(lambda: pane.window().findChildren(Question))
        pane.window().findChildren(Question)[0].answer("theirs")
        await until(lambda: page.text() == "theirs\n")

    qloop.run_until_complete(main())
    assert engine.agents == "theirs\n"


def test_a_settings_file_that_is_not_understood_stays_and_is_named(
    desk: Desk, engine: Engine, person: Personal, qtbot: Any, qloop: Any, until: Until
) -> None:
    file = Path(person.path)
    file.write_text("[endpoints\nbroken", "utf-8")

    async def main() -> SettingsPane:
        pane = SettingsPane(desk)
        pane.activate()
        await until(lambda: pane.notices.causes())
        return pane

    pane = qloop.run_until_complete(main())
    qtbot.addWidget(pane)
    assert "settings.toml is not valid TOML" in pane.notices.causes()[0]
    assert file.read_text("utf-8") == "[endpoints\nbroken"


def test_every_control_has_a_name(pane: SettingsPane, qloop: Any) -> None:
    for one in SECTIONS:
        assert_named(section(pane, qloop, one.id))
