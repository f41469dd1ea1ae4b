"""How much fits, and from where on something is done about it.

A window is a number of tokens with the source it came from; the thresholds follow from it by the
rules of the specification, section 4. Everything here is pure arithmetic.
"""

from __future__ import annotations

from msgspec import Struct

from app.engine.config import CompactionConfig, InjectionConfig, ToolResultEvictionConfig
from app.engine.context.units import Keep
from app.engine.records import Window

DEFAULT_LOCAL = 4_096
DEFAULT_CLOUD = 128_000
RESERVED_MOST = 4_096
INJECTION_MOST = 8_000
EVICTION_SHARE = 0.10  # of the window, for the preset `local_small`
CHARS_PER_TOKEN = 4


class KnownWindows(Struct, frozen=True):
    """What is known of one model's window, by source; 0 where nothing is."""

    setting: int = 0
    loaded: int = 0
    reported: int = 0
    learned: int = 0
    table: int = 0
    local: bool = True


def resolve_window(known: KnownWindows) -> Window:
    """The window that counts: setting, loaded, reported, learned, table, default."""
    for source in ("setting", "loaded", "reported", "learned", "table"):
        tokens: int = getattr(known, source)
        if tokens > 0:
            return Window(tokens, source)
    return Window(DEFAULT_LOCAL if known.local else DEFAULT_CLOUD, "default")


class Thresholds(Struct, frozen=True):
    """Tokens at which a context is compacted, and what then stays.

    `trigger` 0 is off. `limit` is the most a request may hold: the window less `reserved`, which is
    kept free for the answer. `note` is a sentence when a rule had to give way.
    """

    trigger: int
    keep: Keep
    reserved: int
    limit: int
    window: int
    note: str = ""

    def plain(self, *, flush: bool = False) -> dict[str, int]:
        """For `ContextView.thresholds`; `flush` when one runs before each compaction."""
        return {
            "flush": self.trigger if flush else 0,
            "compact": self.trigger,
            "limit": self.limit,
        }


def thresholds(config: CompactionConfig, window: Window, tool_tokens: int = 0) -> Thresholds:
    """The numbers that hold for a window. `tool_tokens` are those of the tool schemas."""
    size = max(1, window.tokens)
    reserved = reserved_tokens(config, size)
    trigger, note = _trigger(config, size, reserved, tool_tokens)
    return Thresholds(
        trigger=trigger,
        keep=_keep(config, size, reserved, trigger),
        reserved=reserved,
        limit=max(1, size - reserved),
        window=size,
        note=note,
    )


def reserved_tokens(config: CompactionConfig, window: int) -> int:
    """Tokens kept free for the answer: as set, or the smaller of 4 096 and an eighth."""
    if isinstance(config.reserved, str):
        return min(RESERVED_MOST, window // 8)
    return int(config.reserved)


def injection_budget(config: InjectionConfig, window: Window) -> int:
    """Tokens the whole injected block may take."""
    if isinstance(config.max_context_tokens, str):
        return max(1, min(INJECTION_MOST, window.tokens // 4))
    return int(config.max_context_tokens)


def eviction_for(
    config: ToolResultEvictionConfig, window: Window, *, small: bool = False
) -> ToolResultEvictionConfig:
    """The eviction limits for a window; with `small` (preset `local_small`) a tenth of it.

    The ends that are shown shrink with the limit, so that the placeholder is always the shorter.
    """
    if not small:
        return config
    limit = max(200, int(window.tokens * EVICTION_SHARE) * CHARS_PER_TOKEN)
    if limit >= config.max_result_chars:
        return config
    return config.replace(
        max_result_chars=limit, preview_chars=min(config.preview_chars, limit // 4)
    )


def _trigger(
    config: CompactionConfig, window: int, reserved: int, tool_tokens: int
) -> tuple[int, str]:
    if not isinstance(config.trigger_tokens, str):
        return int(config.trigger_tokens), ""
    trigger = _trunc(window * config.safety_ratio) - reserved - tool_tokens
    if trigger > 0:
        return trigger, ""
    return max(1, window // 2), (
        f"The window of {window} tokens leaves no room after {reserved} reserved and "
        f"{tool_tokens} for tools; half the window is used as the threshold."
    )


def _keep(config: CompactionConfig, window: int, reserved: int, trigger: int) -> Keep:
    if not isinstance(config.keep_tokens, str):
        return Keep(messages=config.keep_messages, tokens=int(config.keep_tokens))
    share = _trunc((window - reserved) * config.keep_tokens_ratio)
    tokens = min(config.keep_tokens_max, max(config.keep_tokens_min, share))
    if trigger > 0:
        tokens = min(tokens, trigger // 2)
    return Keep(messages=config.keep_messages, tokens=max(1, tokens))


def _trunc(number: float) -> int:
    return int(round(number, 6))  # 0.29 * 100 is 28.999…, which means 29
