"""Settings: defaults, validation, builders, loading."""

from __future__ import annotations

import dataclasses
import tomllib
from datetime import timedelta
from typing import Any

import pytest
import tomlkit

from app.engine.config import (
    PRESETS,
    CompactionConfig,
    EngineConfig,
    FlushTrigger,
    InjectionConfig,
    MaintenanceConfig,
    MemoryConfig,
    PruneConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
)
from app.engine.config_form import Config
from app.engine.errors import ConfigError


@pytest.mark.case("CFG-1")
def test_the_defaults_of_memory() -> None:
    config = MemoryConfig()
    assert config.flush_prompt is None
    assert config.consolidation_prompt is None
    assert config.consolidation_max_tokens == 4_000
    assert config.consolidation_min_gap == timedelta(minutes=30)
    assert config.daily_file_retention_days == 90
    assert config.session_retention_days == 180
    assert config.flush_trigger is FlushTrigger.always()


@pytest.mark.case("CFG-2")
def test_always_and_never_are_single_objects() -> None:
    assert FlushTrigger.always() is FlushTrigger.always()
    assert FlushTrigger.never() is FlushTrigger.never()
    assert FlushTrigger.always() != FlushTrigger.never()


@pytest.mark.case("CFG-3")
@pytest.mark.parametrize("zero", [0, 0.0, timedelta(0)])
def test_a_gap_of_zero_is_always(zero: Any) -> None:
    assert FlushTrigger.throttled(zero) is FlushTrigger.always()


@pytest.mark.case("CFG-4")
def test_a_throttled_trigger_keeps_its_gap() -> None:
    trigger = FlushTrigger.throttled(timedelta(minutes=5))
    assert trigger.mode == "throttled"
    assert trigger.gap == timedelta(minutes=5)
    assert trigger == FlushTrigger.throttled(300)
    assert trigger != FlushTrigger.throttled(301)


@pytest.mark.case("CFG-5")
@pytest.mark.parametrize("gap", [None, timedelta(seconds=-1), -1])
def test_a_gap_that_is_none_or_negative_is_refused(gap: Any) -> None:
    with pytest.raises(ConfigError):
        FlushTrigger.throttled(gap)


@pytest.mark.case("CFG-6")
@pytest.mark.parametrize("prompt", ["none", "one %d", "%d %d %d"])
def test_a_consolidation_prompt_needs_two_counts(prompt: str) -> None:
    with pytest.raises(ConfigError):
        MemoryConfig.builder().consolidation_prompt(prompt)
    with pytest.raises(ConfigError):
        MemoryConfig(consolidation_prompt=prompt)


@pytest.mark.case("CFG-6")
def test_a_good_consolidation_prompt_is_kept_as_given() -> None:
    prompt = "Within %d tokens, %d characters."
    assert MemoryConfig.builder().consolidation_prompt(prompt).build().consolidation_prompt == (
        prompt
    )
    assert MemoryConfig.builder().consolidation_prompt(None).build().consolidation_prompt is None


@pytest.mark.case("CFG-7")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("consolidation_max_tokens", 0),
        ("consolidation_max_tokens", -1),
        ("daily_file_retention_days", 0),
        ("session_retention_days", -5),
    ],
)
def test_numbers_that_make_no_sense_are_refused_when_set(name: str, value: int) -> None:
    builder = MemoryConfig.builder()
    with pytest.raises(ConfigError) as caught:
        getattr(builder, name)(value)
    assert isinstance(caught.value, ValueError)
    assert name in str(caught.value)
    with pytest.raises(ConfigError):
        MemoryConfig(**{name: value})
    with pytest.raises(ConfigError):
        MemoryConfig().replace(**{name: value})


@pytest.mark.case("CFG-8")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("consolidation_min_gap", None),
        ("consolidation_min_gap", timedelta(seconds=-1)),
        ("flush_trigger", None),
    ],
)
def test_a_missing_gap_or_trigger_is_refused_when_set(name: str, value: Any) -> None:
    with pytest.raises(ConfigError):
        getattr(MemoryConfig.builder(), name)(value)


@pytest.mark.case("CFG-9")
def test_a_builder_never_changes_what_it_built() -> None:
    builder = CompactionConfig.builder().keep_messages(5)
    first = builder.build()
    second = builder.keep_messages(9).trigger_messages(30).build()
    assert (first.keep_messages, first.trigger_messages) == (5, 50)
    assert (second.keep_messages, second.trigger_messages) == (9, 30)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.keep_messages = 1  # type: ignore[misc]
    names = {"execute"}
    eviction = ToolResultEvictionConfig.builder().excluded_tool_names(names)
    made = eviction.build()
    names.add("other")
    assert made.excluded_tool_names == {"execute"}


OVERRIDES: dict[type[Config], dict[str, Any]] = {
    CompactionConfig: {
        "trigger_messages": 7, "trigger_tokens": 9_000, "safety_ratio": 0.5, "reserved": 100,
        "keep_messages": 3, "keep_tokens": "auto", "keep_tokens_min": 10, "keep_tokens_max": 20,
        "keep_tokens_ratio": 0.1, "flush_before_compact": False, "flush_wait": True,
        "offload_before_compact": False, "prompt_profile": "working_state", "check": "both",
        "summary_prompt": "sum {messages}", "truncate_args": TruncateArgsConfig(),
        "prune": PruneConfig(), "model": "local:small", "compact_fn": print, "on_compact": print,
        "min_gain_ratio": 0.4, "cooldown_units": 3, "max_attempts_per_turn": 5,
        "extractive_fallback": True,
    },
    MemoryConfig: {
        "model": "local:small", "flush_prompt": "flush", "consolidation_prompt": "%d %d",
        "consolidation_max_tokens": 10, "consolidation_min_gap": timedelta(minutes=1),
        "daily_file_retention_days": "never", "session_retention_days": 3,
        "flush_trigger": FlushTrigger.never(), "policy": "review", "curator": "extractive",
        "loss_limit": 0.1, "source_min_overlap": 0.9, "never_remember": ("salary",),
    },
    ToolResultEvictionConfig: {
        "max_result_chars": 10, "preview_chars": 1, "eviction_path": "/tmp/x",
        "excluded_tool_names": frozenset({"a"}),
    },
    TruncateArgsConfig: {
        "trigger_messages": 1, "trigger_tokens": 2, "keep_messages": 3, "keep_tokens": 4,
        "max_arg_length": 5, "truncation_text": "x",
    },
    PruneConfig: {
        "protect_tokens": 1, "minimum_tokens": 2, "max_output_chars": 3,
        "excluded_tools": frozenset({"b"}),
    },
    MaintenanceConfig: {
        "interval": timedelta(hours=1), "opportunistic_gap": timedelta(minutes=2),
        "queue_limit": 3, "drain_timeout": 4.0, "trash_days": 5,
        "retention_allowed": False,
    },
}  # fmt: skip


@pytest.mark.case("CFG-10")
@pytest.mark.parametrize("made", list(OVERRIDES))
def test_every_field_can_be_overridden(made: type[Config]) -> None:
    values = OVERRIDES[made]
    assert set(values) == {f.name for f in dataclasses.fields(made)}
    builder = made.builder()
    for name, value in values.items():
        getattr(builder, name)(value)
    built = builder.build()
    for name, value in values.items():
        assert getattr(built, name) == value
        assert getattr(made(), name) != value
    assert made().replace(**values) == built


@pytest.mark.case("CFG-12")
def test_the_defaults_of_eviction_and_its_names() -> None:
    config = ToolResultEvictionConfig()
    assert (config.max_result_chars, config.preview_chars) == (80_000, 2_000)
    assert config.excluded_tool_names == {
        "read_file", "write_file", "edit_file", "grep_files", "glob_files", "list_files",
        "memory_search", "memory_get", "session_search",
    }  # fmt: skip
    replaced = ToolResultEvictionConfig.builder().excluded_tool_names(["execute"]).build()
    assert replaced.excluded_tool_names == {"execute"}


def test_the_defaults_of_compaction() -> None:
    config = CompactionConfig()
    assert (config.trigger_messages, config.trigger_tokens, config.keep_messages) == (
        50, 80_000, 20,
    )  # fmt: skip
    assert (config.min_gain_ratio, config.cooldown_units, config.max_attempts_per_turn) == (
        0.2, 1, 2,
    )  # fmt: skip
    assert PRESETS["motus"].prompt_profile == "working_state"
    assert (PRESETS["motus"].trigger_messages, PRESETS["motus"].keep_messages) == (0, 0)


@pytest.mark.parametrize(
    "values",
    [
        {"trigger_messages": -1}, {"trigger_tokens": "often"}, {"trigger_tokens": True},
        {"safety_ratio": 1.5}, {"keep_tokens_min": 9_000}, {"summary_prompt": "no place"},
        {"prompt_profile": "long"}, {"check": "never"}, {"keep_messages": "20"},
    ],
)  # fmt: skip
def test_wrong_compaction_values_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        CompactionConfig(**values)


def test_camel_case_and_foreign_names_are_read() -> None:
    config = CompactionConfig.load(
        {"triggerMessages": 30, "keepTokens": 500, "truncateArgs": {"maxArgLength": 100}}
    )
    assert (config.trigger_messages, config.keep_tokens) == (30, 500)
    assert config.truncate_args == TruncateArgsConfig(max_arg_length=100)
    motus = CompactionConfig.load(
        {"safety_ratio": 0.6, "token_threshold": 5_000, "compact_model_name": "small"}
    )
    assert (motus.safety_ratio, motus.trigger_tokens, motus.model) == (0.6, 5_001, "small")
    assert CompactionConfig.load({"token_threshold": None}).trigger_tokens == "auto"
    assert CompactionConfig.load({"token_threshold": 0}).trigger_tokens == 1
    with pytest.raises(ConfigError):
        CompactionConfig.load({"tokenThreshold": -1})
    with pytest.raises(ConfigError):
        CompactionConfig.load({"triggerMesages": 3})


def test_what_was_changed_survives_a_file() -> None:
    config = EngineConfig(
        compaction=CompactionConfig(keep_messages=7, prune=PruneConfig(), trigger_tokens="auto"),
        memory=MemoryConfig(
            flush_trigger=FlushTrigger.throttled(90), consolidation_min_gap=timedelta(minutes=5)
        ),
        eviction=ToolResultEvictionConfig(excluded_tool_names=frozenset({"b", "a"})),
        maintenance=MaintenanceConfig(opportunistic_gap=timedelta(minutes=3)),
        injection=InjectionConfig(additional_context_files=("docs/a.md", "docs/b.md")),
    )
    text = tomlkit.dumps(config.plain())
    assert EngineConfig.load(tomllib.loads(text)) == config
    assert EngineConfig().plain() == {}
    assert EngineConfig.load({}) == EngineConfig()
