"""Settings of the engine: frozen objects with checked values.

Every class here is immutable. `Class.builder()` gives a builder whose setters are the field names
and raise `ConfigError` at once; `replace(**changes)` gives a changed copy. `load(mapping)` accepts
snake case, AgentScope's camelCase and Motus's names. Defaults and rules: specification, section 4
("Configuration"); each field's `help` is the sentence the settings pane shows.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from app.engine.errors import ConfigError

Check = Callable[[Any], str]  # "" when the value is fine, else what it must be
C = TypeVar("C", bound="Config")

DEFAULT_EXCLUDED_TOOLS = frozenset(
    {
        "read_file", "write_file", "edit_file", "grep_files", "glob_files", "list_files",
        "memory_search", "memory_get", "session_search",
    }
)  # fmt: skip


# ---------------------------------------------------------------------------- checks


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def at_least(low: float) -> Check:
    return lambda v: "" if _is_number(v) and v >= low else f"must be a number of at least {low:g}"


def above(low: float) -> Check:
    return lambda v: "" if _is_number(v) and v > low else f"must be a number above {low:g}"


def auto_or_at_least(low: float) -> Check:
    inner = at_least(low)
    return lambda v: (
        "" if v == "auto" or not inner(v) else f'must be "auto" or a number of at least {low:g}'
    )


def never_or_above(low: float) -> Check:
    inner = above(low)
    return lambda v: (
        "" if v == "never" or not inner(v) else f'must be "never" or a number above {low:g}'
    )


def share(value: Any) -> str:
    return "" if _is_number(value) and 0 <= value <= 1 else "must be a number from 0 to 1"


def one_of(*names: str) -> Check:
    return lambda v: "" if v in names else "must be one of " + ", ".join(names)


def text_or_none(value: Any) -> str:
    return "" if value is None or isinstance(value, str) else "must be a text"


def yes_no(value: Any) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


def gap(value: Any) -> str:
    good = isinstance(value, timedelta) and value >= timedelta(0)
    return "" if good else "must be a time span that is not negative"


def callable_or_none(value: Any) -> str:
    return "" if value is None or callable(value) else "must be a function"


def names(value: Any) -> str:
    good = isinstance(value, frozenset) and all(
        isinstance(v, str) for v in cast("frozenset[Any]", value)
    )
    return "" if good else "must be a set of names"


def paths(value: Any) -> str:
    good = isinstance(value, tuple) and all(
        isinstance(v, str) and v.strip() for v in cast("tuple[Any, ...]", value)
    )
    return "" if good else "must be a list of paths"


def holds(placeholder: str) -> Check:
    return lambda v: (
        ""
        if v is None or (isinstance(v, str) and placeholder in v)
        else f"must hold the placeholder {placeholder}"
    )


def two_plain_counts(value: Any) -> str:
    """Exactly two `%d`: they become the token budget and the character budget (CFG-6, CFG-11)."""
    if value is None:
        return ""
    good = isinstance(value, str) and value.count("%d") == 2
    return "" if good else "must hold exactly two %d: tokens, then characters"


def setting(default: Any, check: Check, help: str = "", unit: str = "", **kind: Any) -> Any:
    """A field with its rule and its sentence. `choices=` names the values of a choice."""
    meta = {"check": check, "help": help, "unit": unit, **kind}
    if kind.get("factory"):
        return dataclasses.field(default_factory=default, metadata=meta)
    return dataclasses.field(default=default, metadata=meta)


# ---------------------------------------------------------------------------- the common form


class Builder(Generic[C]):
    """Collects values for one config class: `Class.builder().field(value).build()`."""

    def __init__(self, made: type[C], values: Mapping[str, Any] | None = None) -> None:
        self._made = made
        self._values: dict[str, Any] = dict(values or {})

    def __getattr__(self, name: str) -> Callable[[Any], Builder[C]]:
        field = self._made.field_named(name)
        if field is None:
            raise AttributeError(f"{self._made.__name__} has no setting {name!r}")

        def put(value: Any) -> Builder[C]:
            self._values[field] = self._made.checked(field, value)
            return self

        return put

    def build(self) -> C:
        """A new immutable object; the builder can go on and never changes it."""
        return self._made(**self._values)


@dataclass(frozen=True)
class Config:
    """What all settings objects share: checks, builder, replace, loading."""

    aliases: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = self.checked(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)

    @classmethod
    def defaults(cls) -> Self:
        return cls()

    @classmethod
    def builder(cls) -> Builder[Self]:
        return Builder(cls)

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed, checked again."""
        return dataclasses.replace(self, **changes)

    @classmethod
    def field_named(cls, name: str) -> str | None:
        """The field behind a snake-case, camelCase or foreign name; None when there is none."""
        known = {f.name for f in dataclasses.fields(cls)}
        name = cls.aliases.get(name, name)
        snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
        return snake if snake in known else None

    @classmethod
    def checked(cls, name: str, value: Any) -> Any:
        """The value as it is kept. Raises `ConfigError` naming the setting and the rule."""
        field = next(f for f in dataclasses.fields(cls) if f.name == name)
        if field.metadata.get("freeze") and isinstance(value, str | list | set | tuple):
            value = frozenset([value] if isinstance(value, str) else cast("list[Any]", value))
        if field.metadata.get("paths") and isinstance(value, list):
            value = tuple(cast("list[Any]", value))
        check: Check | None = field.metadata.get("check")
        problem = check(value) if check else ""
        if problem:
            raise ConfigError(f"{cls.__name__}.{name} {problem}; {value!r} was given.")
        return value

    @classmethod
    def load(cls, mapping: Mapping[str, Any]) -> Self:
        """Read a mapping (TOML, JSON, another system's). Unknown names raise `ConfigError`."""
        values: dict[str, Any] = {}
        for key, value in mapping.items():
            name = cls.field_named(key)
            if name is None:
                raise ConfigError(f"{cls.__name__} has no setting {key!r}.")
            values[name] = cls.from_plain(name, value)
        return cls(**values)

    def overlaid(self, mapping: Mapping[str, Any]) -> Self:
        """A copy in which the values of a mapping stand over these; nested tables likewise."""
        changes: dict[str, Any] = {}
        for key, value in mapping.items():
            name = self.field_named(key)
            if name is None:
                raise ConfigError(f"{type(self).__name__} has no setting {key!r}.")
            here = getattr(self, name)
            if isinstance(here, Config) and isinstance(value, Mapping):
                changes[name] = here.overlaid(cast("Mapping[str, Any]", value))
            else:
                changes[name] = self.from_plain(name, value)
        return self.replace(**changes)

    @classmethod
    def from_plain(cls, name: str, value: Any) -> Any:
        """One value of a file as the field wants it (nested tables, minutes)."""
        field = next(f for f in dataclasses.fields(cls) if f.name == name)
        part: type[Config] | None = field.metadata.get("part")
        if part is not None and isinstance(value, Mapping):
            return part.load(cast("Mapping[str, Any]", value))
        if field.metadata.get("unit") == "min" and _is_number(value):
            return timedelta(minutes=value)
        return value

    def plain(self, *, defaults: bool = False) -> dict[str, Any]:
        """The values in the form `load` reads: numbers, texts, tables; what is unset is left out.

        Without `defaults` only values that differ from them.
        """
        out: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Config):
                inner = value.plain(defaults=defaults)
                if inner or getattr(type(self).defaults(), field.name) is None:
                    out[field.name] = inner  # an empty table turns an optional part on
            elif defaults or value != getattr(type(self).defaults(), field.name):
                simple = _simple(value)
                if simple is not None:
                    out[field.name] = simple
        return out


def _simple(value: Any) -> Any:
    """A value as TOML holds it; None for what only a program can give (functions, objects)."""
    if isinstance(value, timedelta):
        return value.total_seconds() / 60
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    if isinstance(value, tuple):
        return list(cast("tuple[Any, ...]", value))
    if isinstance(value, FlushTrigger):
        return value.plain()
    return value if isinstance(value, str | int | float | bool) else None


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
    compact_fn: Callable[..., Any] | None = setting(None, callable_or_none)
    on_compact: Callable[..., Any] | None = setting(None, callable_or_none)
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
                if _is_number(above_it):
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
            return FlushTrigger.throttled(minutes * 60 if _is_number(minutes) else None)
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
        (), paths, "More files to show.", paths=True
    )
    recall: bool = setting(False, yes_no, "Put lines found by search before the question.")
    recall_limit: int = setting(6, at_least(0), "How many such lines at most.")


@dataclass(frozen=True)
class AgentConfig(Config):
    """The reasoning loop and its switches (AgentScope's `disable_…`)."""

    name: str = setting(
        "palimpsest", lambda v: "" if isinstance(v, str) and v else "must be a name"
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
