"""Windows, their sources, and the thresholds that follow."""

from __future__ import annotations

import pytest

from app.engine.config import (
    PRESETS,
    CompactionConfig,
    InjectionConfig,
    ToolResultEvictionConfig,
)
from app.engine.context.eviction import placeholder
from app.engine.context.window import (
    KnownWindows,
    eviction_for,
    injection_budget,
    resolve_window,
    thresholds,
)
from app.engine.records import Window

AUTO = CompactionConfig(trigger_tokens="auto", keep_tokens="auto")


@pytest.mark.case("CFG-13")
@pytest.mark.parametrize(
    ("window", "trigger", "keep"),
    [(128_000, 91_904, 8_000), (32_000, 20_000, 7_000), (16_000, 10_000, 3_500),
     (4_096, 2_560, 1_280)],
)  # fmt: skip
def test_auto_follows_the_window(window: int, trigger: int, keep: int) -> None:
    found = thresholds(AUTO, Window(window))
    assert (found.trigger, found.keep.tokens) == (trigger, keep)
    assert found.note == ""


@pytest.mark.case("CFG-13")
def test_an_unknown_window_has_a_default_by_place() -> None:
    assert resolve_window(KnownWindows(local=True)) == Window(4_096, "default")
    assert resolve_window(KnownWindows(local=False)) == Window(128_000, "default")
    local = thresholds(AUTO, resolve_window(KnownWindows(local=True)))
    cloud = thresholds(AUTO, resolve_window(KnownWindows(local=False)))
    assert (local.trigger, local.keep.tokens) == (2_560, 1_280)
    assert (cloud.trigger, cloud.keep.tokens) == (91_904, 8_000)


def test_the_order_of_sources() -> None:
    known = {"setting": 1, "loaded": 2, "reported": 3, "learned": 4, "table": 5}
    for source, tokens in known.items():
        rest = {s: t for s, t in known.items() if t >= tokens}
        assert resolve_window(KnownWindows(**rest)) == Window(tokens, source)


def test_tools_are_deducted_and_a_window_too_small_for_them_says_so() -> None:
    assert thresholds(AUTO, Window(32_000), tool_tokens=1_000).trigger == 19_000
    small = thresholds(AUTO, Window(2_048), tool_tokens=3_000)
    assert small.trigger == 1_024
    assert "half the window" in small.note


def test_fixed_numbers_stay_fixed() -> None:
    found = thresholds(CompactionConfig(), Window(4_096))
    assert (found.trigger, found.keep.tokens, found.keep.messages) == (80_000, 0, 20)
    assert found.limit == 4_096 - 512


def test_the_small_preset_keeps_a_quarter_without_a_minimum() -> None:
    found = thresholds(PRESETS["local_small"], Window(4_096))
    assert found.trigger == int(4_096 * 0.6) - 512
    assert found.keep.tokens == 896


def test_the_injected_block_takes_a_quarter_of_the_window_at_most() -> None:
    assert injection_budget(InjectionConfig(), Window(128_000)) == 8_000
    assert injection_budget(InjectionConfig(), Window(4_096)) == 1_024
    assert injection_budget(InjectionConfig(max_context_tokens=500), Window(4_096)) == 500


def test_the_small_preset_evicts_above_a_tenth_of_the_window() -> None:
    config = ToolResultEvictionConfig()
    assert eviction_for(config, Window(4_096)) is config
    small = eviction_for(config, Window(4_096), small=True)
    assert small.max_result_chars == 409 * 4
    text = "x" * (small.max_result_chars + 1)
    path = "large_tool_results/palimpsest/call_0123456789-0123456789abcdef"
    assert len(placeholder(text, path, small.preview_chars)) < len(text)
