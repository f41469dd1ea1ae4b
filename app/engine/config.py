"""Settings of the engine, in parts: compaction, memory, eviction, maintenance, injection, agent.

What a settings object can do is said once, in `config_form`; here stand names, defaults, rules and
the sentence of each. `load` also accepts AgentScope's camelCase and Motus's names. Defaults and
rules: specification, section 4 ("Configuration").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Self, cast

from app.engine.config_form import (
    Config,
    above,
    at_least,
    auto_or_at_least,
    callable_or_none,
    gap,
    holds,
    is_number,
    names,
    never_or_above,
    one_of,
    paths,
    setting,
    share,
    text_or_none,
    two_plain_counts,
    words,
    yes_no,
)
from app.engine.errors import ConfigError

DEFAULT_EXCLUDED_TOOLS = frozenset(
    {
        "read_file", "write_file", "edit_file", "grep_files", "glob_files", "list_files",
        "memory_search", "memory_get", "session_search",
    }
)  # fmt: skip


# ---------------------------------------------------------------------------- compaction


@dataclass(frozen=True)
class TruncateArgsConfig(Config):
    """The pre-pass that cuts long arguments of old calls (AgentScope)."""

    trigger_messages: int = setting(25, at_least(0), "Cut long arguments from this many messages.")
    trigger_tokens: int = setting(40_000, at_least(0), "Or from this many tokens.", "tokens")
    keep_messages: int = setting(20, at_least(0), "The newest messages that stay whole.")
    keep_tokens: int = setting(0, at_least(0), "Or the newest tokens that stay whole.", "tokens")
    max_arg_length: int = setting(2_000, at_least(0), "Longer arguments are cut.", "characters")
    truncation_text: str = setting("… (argument cut)", text_or_none, "Stands where it was cut.")


@dataclass(frozen=True)
class PruneConfig(Config):
    """The pre-pass that shortens old tool output."""

    protect_tokens: int = setting(40_000, at_least(0), "The newest output that stays.", "tokens")
    minimum_tokens: int = setting(20_000, at_least(0), "Prune only when this much goes.", "tokens")
    max_output_chars: int = setting(2_000, at_least(0), "Longer output is cut.", "characters")
    excluded_tools: frozenset[str] = setting(
        frozenset({"read_file", "memory_search", "memory_get", "session_search"}),
        names, "Output of these tools stays.", freeze=True,
    )  # fmt: skip


@dataclass(frozen=True)
class CompactionConfig(Config):
    """When a session's context is compacted, and what stays."""

    aliases: ClassVar[Mapping[str, str]] = {
        "compact_model_name": "model",
        "token_threshold": "trigger_tokens",
        "tokenThreshold": "trigger_tokens",
    }

    trigger_messages: int = setting(50, at_least(0), "Compact from this many messages; 0 is off.")
    trigger_tokens: int | str = setting(
        80_000,
        auto_or_at_least(0),
        'Compact from this many tokens; "auto" follows the window.',
        "tokens",
    )
    safety_ratio: float = setting(0.75, share, "The share of the window that auto uses.")
    reserved: int | str = setting(
        "auto", auto_or_at_least(0), "Kept free for the answer.", "tokens"
    )
    keep_messages: int = setting(20, at_least(0), "The newest messages that stay as they are.")
    keep_tokens: int | str = setting(
        0, auto_or_at_least(0), "Above 0: a token budget for what stays, instead.", "tokens"
    )
    keep_tokens_min: int = setting(2_000, at_least(0), "The least auto keeps.", "tokens")
    keep_tokens_max: int = setting(8_000, at_least(0), "The most auto keeps.", "tokens")
    keep_tokens_ratio: float = setting(0.25, share, "The share of the window auto keeps.")
    flush_before_compact: bool = setting(True, yes_no, "Write facts to today's log first.")
    flush_wait: bool = setting(False, yes_no, "Wait for that flush before compacting.")
    offload_before_compact: bool = setting(True, yes_no, "Make the session's log durable first.")
    prompt_profile: str = setting(
        "four_part", one_of("four_part", "working_state"), "The form of the summary.",
        choices=("four_part", "working_state"),
    )  # fmt: skip
    check: str = setting(
        "before_request", one_of("before_request", "at_boundary", "both"),
        "When the trigger is tested.",
        choices=("before_request", "at_boundary", "both"),
    )  # fmt: skip
    summary_prompt: str | None = setting(
        None, holds("{messages}"), "Your own prompt, with {messages}."
    )
    truncate_args: TruncateArgsConfig | None = setting(None, lambda _v: "", part=TruncateArgsConfig)
    prune: PruneConfig | None = setting(None, lambda _v: "", part=PruneConfig)
    model: Any = setting(None, lambda _v: "", "The model that summarises; empty is the main model.")
    compact_fn: Callable[..., Any] | None = setting(
        None, callable_or_none, "A function that summarises in the model's place."
    )
    on_compact: Callable[..., Any] | None = setting(
        None, callable_or_none, "A function that is told of each compaction."
    )
    min_gain_ratio: float = setting(0.2, at_least(0), "An automatic run must save this share.")
    cooldown_units: int = setting(1, at_least(0), "Turn units to wait after a failure.")
    max_attempts_per_turn: int = setting(2, at_least(0), "Automatic tries in one turn.")
    extractive_fallback: bool = setting(
        False, yes_no, "When the model cannot summarise, pick sentences without it."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep_tokens_min > self.keep_tokens_max:
            raise ConfigError("CompactionConfig.keep_tokens_min must not exceed keep_tokens_max.")

    @classmethod
    def load(cls, mapping: Mapping[str, Any]) -> Self:
        """As for every config. Motus's threshold fires strictly above, ours at: it is one more."""
        changed = dict(mapping)
        for name in ("token_threshold", "tokenThreshold"):
            if name in changed:
                above_it = changed[name]
                if is_number(above_it):
                    changed[name] = above_it + 1 if above_it >= 0 else above_it
                elif above_it is None:
                    changed[name] = "auto"
        return super().load(changed)


# ---------------------------------------------------------------------------- memory


@dataclass(frozen=True)
class FlushTrigger:
    """When the flush at the end of a call runs; equal by mode and gap."""

    mode: str
    gap: timedelta = timedelta(0)

    @staticmethod
    def always() -> FlushTrigger:
        return _ALWAYS

    @staticmethod
    def never() -> FlushTrigger:
        return _NEVER

    @staticmethod
    def throttled(gap: timedelta | float | None) -> FlushTrigger:
        """At most once in each `gap` (a time span, or seconds). Zero is `always`."""
        if isinstance(gap, int | float) and not isinstance(gap, bool):
            gap = timedelta(seconds=gap)
        if not isinstance(gap, timedelta) or gap < timedelta(0):
            raise ConfigError(
                f"A throttled flush needs a gap that is not negative; {gap!r} was given."
            )
        return _ALWAYS if gap == timedelta(0) else FlushTrigger("throttled", gap)

    def plain(self) -> str | dict[str, float]:
        if self.mode != "throttled":
            return self.mode
        return {"throttled_minutes": self.gap.total_seconds() / 60}

    @staticmethod
    def from_plain(value: Any) -> FlushTrigger:
        """Read what `plain` wrote: "always", "never", {"throttled_minutes": n}."""
        if isinstance(value, FlushTrigger):
            return value
        if value in ("always", "never"):
            return _ALWAYS if value == "always" else _NEVER
        if isinstance(value, Mapping) and set(cast("Mapping[str, Any]", value)) == {
            "throttled_minutes"
        }:
            minutes = cast("Mapping[str, Any]", value)["throttled_minutes"]
            return FlushTrigger.throttled(minutes * 60 if is_number(minutes) else None)
        raise ConfigError(f"A flush trigger is always, never or throttled; {value!r} was given.")


_ALWAYS = FlushTrigger("always")
_NEVER = FlushTrigger("never")


def _trigger(value: Any) -> str:
    return "" if isinstance(value, FlushTrigger) else "must be a FlushTrigger"


@dataclass(frozen=True)
class MemoryConfig(Config):
    """Flush, consolidation and retention."""

    aliases: ClassVar[Mapping[str, str]] = {"maxMemoryTokens": "consolidation_max_tokens"}

    model: Any = setting(None, lambda _v: "", "The model for memory work; empty is the main model.")
    flush_prompt: str | None = setting(None, text_or_none, "Your own flush prompt.", kind="prompt")
    consolidation_prompt: str | None = setting(
        None, two_plain_counts, "Your own consolidation prompt, with two %d.", kind="prompt"
    )
    consolidation_max_tokens: int = setting(4_000, above(0), "How long MEMORY.md may be.", "tokens")
    consolidation_min_gap: timedelta = setting(
        timedelta(minutes=30), gap, "The least time between two consolidations.", "min"
    )
    daily_file_retention_days: int | str = setting(
        90, never_or_above(0), 'Older daily logs move to the archive; "never" keeps them.', "days"
    )
    session_retention_days: int | str = setting(
        180, never_or_above(0), 'Older sessions move to the trash; "never" keeps them.', "days"
    )
    flush_trigger: FlushTrigger = setting(
        _ALWAYS, _trigger, "When a finished turn is searched for facts.", kind="flush_trigger"
    )
    policy: str = setting(
        "auto", one_of("review", "auto", "auto_additions"), "What may be written without you.",
        choices=("review", "auto", "auto_additions"),
    )  # fmt: skip
    curator: str = setting(
        "llm", one_of("llm", "extractive"),
        "Who picks the facts: the model, or rules without a model.",
        choices=("llm", "extractive"),
    )  # fmt: skip
    never_remember: tuple[str, ...] = setting(
        (), words, "Topics that are never written down: words or phrases.", listed=True
    )
    loss_limit: float = setting(0.25, share, "The share of lines a proposal may drop unremarked.")
    source_min_overlap: float = setting(
        0.4, share, "How much of an added line must be in its sources."
    )

    @classmethod
    def from_plain(cls, name: str, value: Any) -> Any:
        if name == "flush_trigger":
            return FlushTrigger.from_plain(value)
        return super().from_plain(name, value)


@dataclass(frozen=True)
class ToolResultEvictionConfig(Config):
    """When a long tool result is put aside to a file."""

    max_result_chars: int = setting(80_000, above(0), "Longer results are put aside.", "characters")
    preview_chars: int = setting(
        2_000, at_least(0), "Kept in place of them, at each end.", "characters"
    )
    eviction_path: str = setting(
        "large_tool_results",
        lambda v: "" if isinstance(v, str) and v.strip() else "must be a path",
        "The folder they go to.",
    )  # fmt: skip
    excluded_tool_names: frozenset[str] = setting(
        DEFAULT_EXCLUDED_TOOLS, names, "Results of these tools always stay.", freeze=True
    )


@dataclass(frozen=True)
class MaintenanceConfig(Config):
    """The background scheduler."""

    interval: timedelta = setting(timedelta(hours=6), gap, "Time between two rounds.", "min")
    opportunistic_gap: timedelta | None = setting(
        None, lambda v: "" if v is None else gap(v), "Least time between rounds on request.", "min"
    )
    queue_limit: int = setting(32, above(0), "Jobs that may wait.")
    drain_timeout: float = setting(2.0, at_least(0), "Time for jobs to end when closing.", "s")
    trash_days: int = setting(30, at_least(0), "Days until the trash is emptied.", "days")
    retention_allowed: bool = setting(
        True, yes_no, "Put away what has grown too old; off: only once its list was shown."
    )


# ---------------------------------------------------------------------------- the rest


@dataclass(frozen=True)
class InjectionConfig(Config):
    """What is put before the conversation on every request."""

    max_context_tokens: int | str = setting(
        "auto",
        auto_or_at_least(1),
        "Budget of the injected block; auto is a quarter of the window.",
        "tokens",
    )
    additional_context_files: tuple[str, ...] = setting(
        (), paths, "More files to show.", listed=True
    )
    recall: bool = setting(False, yes_no, "Put lines found by search before the question.")
    recall_limit: int = setting(6, at_least(0), "How many such lines at most.")


@dataclass(frozen=True)
class AgentConfig(Config):
    """The reasoning loop and its switches (AgentScope's `disable_…`)."""

    name: str = setting(
        "palimpsest",
        lambda v: "" if isinstance(v, str) and v else "must be a name",
        "The agent's name, also that of its memory.",
    )
    strategy: str = setting(
        "background", one_of("basic", "compact", "background"), "How much the memory does.",
        choices=("basic", "compact", "background"),
    )  # fmt: skip
    max_steps: int = setting(20, above(0), "Model calls in one turn at most.")
    max_output: int | None = setting(
        None,
        lambda v: "" if v is None else above(0)(v),
        "Longest answer; empty is the server's.",
        "tokens",
    )
    compaction: bool = setting(True, yes_no, "Compact long sessions.")
    tool_result_eviction: bool = setting(True, yes_no, "Put long tool results aside.")
    memory_hooks: bool = setting(True, yes_no, "Extract facts after each turn.")
    memory_tools: bool = setting(True, yes_no, "Let the model search its memory.")
    file_tools: bool = setting(True, yes_no, "Let the model read the workspace's files.")
    workspace_context: bool = setting(True, yes_no, "Inject AGENTS.md, MEMORY.md and knowledge.")
    transcript: bool = setting(True, yes_no, "Keep sessions on disk.")
    fsync: str = setting(
        "always", one_of("always", "per_turn", "never"), "When the log is forced to the disk.",
        choices=("always", "per_turn", "never"),
    )  # fmt: skip


@dataclass(frozen=True)
class EngineConfig(Config):
    """All of it. Workspace policy is kept in `.palimpsest/config.toml`."""

    compaction: CompactionConfig = setting(
        CompactionConfig, lambda _v: "", part=CompactionConfig, factory=True
    )
    memory: MemoryConfig = setting(MemoryConfig, lambda _v: "", part=MemoryConfig, factory=True)
    eviction: ToolResultEvictionConfig = setting(
        ToolResultEvictionConfig, lambda _v: "", part=ToolResultEvictionConfig, factory=True
    )
    maintenance: MaintenanceConfig = setting(
        MaintenanceConfig, lambda _v: "", part=MaintenanceConfig, factory=True
    )
    injection: InjectionConfig = setting(
        InjectionConfig, lambda _v: "", part=InjectionConfig, factory=True
    )
    agent: AgentConfig = setting(AgentConfig, lambda _v: "", part=AgentConfig, factory=True)
    index_path: str = setting(
        "", text_or_none, "Where the search index lies; empty is the workspace."
    )


# The presets of the specification, section 1. "local_small" leaves the window-dependent eviction
# limit (10 % of the window) to the engine, which knows the window.
PRESETS: Mapping[str, CompactionConfig] = {
    "agentscope": CompactionConfig(),
    "motus": CompactionConfig(
        trigger_messages=0, trigger_tokens="auto", keep_messages=0,
        prompt_profile="working_state", check="both",
    ),
    "local_small": CompactionConfig(
        trigger_tokens="auto", keep_tokens="auto", keep_tokens_min=0, safety_ratio=0.60,
    ),
}  # fmt: skip
