"""`CompactionMemoryConfig`: Motus's names and defaults, and what they are in ours.

Specification, section 4: `token_threshold` none is "auto", T fires strictly above T, 0 at each
boundary; `compact_model_name` none is the main model; a limit of 0 or less is no limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.engine.config import PRESETS, CompactionConfig
from app.engine.config_form import Config, setting, share, text_or_none

RESULT_TOKENS = 50_000
RESULT_NOTE = "\n… [the rest of this result was cut]"


def _tokens_or_none(value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return "" if value is None or (whole and value >= 0) else "must be a count of tokens, or none"


def _whole(value: Any) -> str:
    return "" if isinstance(value, int) and not isinstance(value, bool) else "must be a count"


def _path_or_none(value: Any) -> str:
    return "" if value is None or isinstance(value, str | Path) else "must be a folder, or none"


@dataclass(frozen=True)
class CompactionMemoryConfig(Config):
    """The settings of a `CompactionMemory`."""

    safety_ratio: float = setting(0.75, share, "The share of the window that triggers.")
    token_threshold: int | None = setting(
        None, _tokens_or_none, "Compact strictly above this; none follows the window.", "tokens"
    )
    compact_model_name: str | None = setting(
        None, text_or_none, "The model that summarises; none is the agent's."
    )
    max_tool_result_tokens: int = setting(
        RESULT_TOKENS, _whole, "Longer results are cut in the context; 0 is no limit.", "tokens"
    )
    tool_result_truncation_suffix: str = setting(
        RESULT_NOTE, lambda v: "" if isinstance(v, str) else "must be a text", "Ends a cut result."
    )
    session_id: str | None = setting(None, text_or_none, "The session's id; none makes one.")
    log_base_path: str | Path | None = setting(  # noqa: RUF009 - it only builds a field
        None, _path_or_none, "The folder of the logs; none keeps no log."
    )

    def compaction(
        self,
        compact_fn: Callable[..., Any] | None = None,
        on_compact: Callable[..., Any] | None = None,
    ) -> CompactionConfig:
        """The same in the engine's own words: the preset `motus` with these values.

        Whoever sets the threshold to 0 wants a compaction at each boundary, whatever it gains.
        """
        named = CompactionConfig.load({
            "token_threshold": self.token_threshold,
            "compact_model_name": self.compact_model_name,
            "safety_ratio": self.safety_ratio,
        })  # fmt: skip
        made = PRESETS["motus"].replace(
            trigger_tokens=named.trigger_tokens,
            model=named.model,
            safety_ratio=named.safety_ratio,
            compact_fn=compact_fn,
            on_compact=on_compact,
        )
        if self.token_threshold == 0:
            return made.replace(min_gain_ratio=0, cooldown_units=0, max_attempts_per_turn=1_000_000)
        return made

    def stored(self) -> dict[str, Any]:
        """What the session's first line keeps: everything but the session's own name and place."""
        plain = self.plain(defaults=True)
        return {k: v for k, v in plain.items() if k not in ("session_id", "log_base_path")}
