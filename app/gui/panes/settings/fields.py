"""The settings as a form: sections, groups, and for each field what kind of control it wants. Pure.

Generated from the configuration's own dataclasses: title from the name, sentence, unit and choices
from the field's metadata. Only the order of things is written here. Every field of every part
belongs to exactly one section (a test holds that), except what only a program can give.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.engine.config import EngineConfig
from app.engine.config_form import Config, callable_or_none, share
from app.gui.look.text import tr

Path = tuple[str, ...]


@dataclass(frozen=True)
class Spec:
    """One field of the form. `kind`: switch, segments, choice, number, whole, word (a number or
    the word `word`), maybe (a number or nothing), minutes, maybe_minutes, text, names, listed,
    prompt, trigger, part (an optional part: its fields follow while it is on), model."""

    path: Path
    title: str
    help: str
    kind: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    word: str = ""

    @property
    def id(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True)
class Group:
    title: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One entry of the list. Sections without groups are made by hand (`models`, `agents`, …)."""

    id: str
    title: str
    sentence: str = ""
    groups: tuple[Group, ...] = ()


SECTIONS: tuple[Section, ...] = (
    Section("models", "Models"),
    Section(
        "context", "Chat and context", "What the model is shown, and what it may do.",
        (
            Group("The agent", (
                "agent.name", "agent.strategy", "agent.max_steps", "agent.max_output",
                "agent.memory_tools", "agent.file_tools",
            )),
            Group("Before the conversation", (
                "agent.workspace_context", "injection.max_context_tokens",
                "injection.additional_context_files", "injection.recall", "injection.recall_limit",
            )),
            Group("On disk", ("agent.transcript", "agent.fsync")),
        ),
    ),
    Section(
        "compaction", "Compaction", "When older messages give way to a summary, and what stays.",
        (
            Group("When", (
                "agent.compaction", "compaction.trigger_tokens", "compaction.trigger_messages",
                "compaction.safety_ratio", "compaction.reserved", "compaction.check",
            )),
            Group("What stays word for word", (
                "compaction.keep_messages", "compaction.keep_tokens",
                "compaction.keep_tokens_min", "compaction.keep_tokens_max",
                "compaction.keep_tokens_ratio",
            )),
            Group("Before it", (
                "compaction.flush_before_compact", "compaction.flush_wait",
                "compaction.offload_before_compact", "compaction.truncate_args",
                "compaction.prune",
            )),
            Group("The summary", (
                "compaction.prompt_profile", "compaction.summary_prompt", "compaction.model",
                "compaction.extractive_fallback", "compaction.min_gain_ratio",
                "compaction.cooldown_units", "compaction.max_attempts_per_turn",
            )),
        ),
    ),
    Section(
        "memory", "Memory", "What is kept, who picks it, and what may be written without you.",
        (
            Group("Deciding", (
                "memory.policy", "memory.never_remember", "memory.loss_limit",
                "memory.source_min_overlap",
            )),
            Group("Flush: from the talk to the daily log", (
                "agent.memory_hooks", "memory.flush_trigger", "memory.curator",
                "memory.flush_prompt",
            )),
            Group("Consolidation: from the daily logs to MEMORY.md", (
                "memory.consolidation_max_tokens", "memory.consolidation_min_gap",
                "memory.consolidation_prompt", "memory.model",
            )),
        ),
    ),
    Section(
        "evicted", "Evicted results", "When a long tool result is put aside to a file.",
        (
            Group("", (
                "agent.tool_result_eviction", "eviction.max_result_chars",
                "eviction.preview_chars", "eviction.excluded_tool_names",
                "eviction.eviction_path",
            )),
        ),
    ),
    Section(
        "upkeep", "Retention", "What is put away when it grows old, and how often.",
        (
            Group("How long things stay in place", (
                "memory.daily_file_retention_days", "memory.session_retention_days",
                "maintenance.trash_days", "maintenance.retention_allowed",
            )),
            Group("Rounds of maintenance", (
                "maintenance.interval", "maintenance.opportunistic_gap",
                "maintenance.queue_limit", "maintenance.drain_timeout",
            )),
            Group("Search index", ("index_path",)),
        ),
    ),
    Section("agents", "AGENTS.md", "Who the agent is: the first thing it reads in every session."),
    Section("look", "Look", "How the window looks. These are yours, not the workspace's."),
    Section("about", "About"),
)  # fmt: skip

_TITLES = {
    "agent.max_output": "Longest answer",
    "agent.memory_hooks": "Extract facts",
    "agent.workspace_context": "Workspace context",
    "agent.compaction": "Compaction",
    "agent.tool_result_eviction": "Put long results aside",
    "agent.transcript": "Keep sessions",
    "agent.fsync": "Force to the disk",
    "agent.max_steps": "Steps in one turn",
    "injection.max_context_tokens": "Budget of what is shown first",
    "injection.additional_context_files": "More files",
    "injection.recall": "Recall before the question",
    "compaction.trigger_tokens": "From tokens",
    "compaction.trigger_messages": "From messages",
    "compaction.reserved": "Kept free",
    "compaction.check": "Checked",
    "compaction.keep_messages": "Keep at the end",
    "compaction.flush_before_compact": "Flush before it",
    "compaction.offload_before_compact": "Make the log durable",
    "compaction.truncate_args": "Cut long arguments",
    "compaction.prune": "Shorten old output",
    "compaction.prompt_profile": "Form of the summary",
    "compaction.extractive_fallback": "Without a model",
    "compaction.model": "Model",
    "compaction.min_gain_ratio": "Least gain",
    "compaction.cooldown_units": "Wait after a failure",
    "compaction.max_attempts_per_turn": "Tries in one turn",
    "memory.model": "Model",
    "memory.policy": "What may be written without you",
    "memory.never_remember": "Never remember",
    "memory.curator": "Who picks the facts",
    "memory.flush_trigger": "When",
    "memory.source_min_overlap": "Least overlap with sources",
    "memory.consolidation_max_tokens": "Length of MEMORY.md",
    "memory.consolidation_min_gap": "Least time between two",
    "memory.consolidation_prompt": "Prompt",
    "memory.flush_prompt": "Prompt",
    "memory.daily_file_retention_days": "Daily logs",
    "memory.session_retention_days": "Sessions",
    "maintenance.trash_days": "Trash",
    "maintenance.retention_allowed": "Put away by itself",
    "maintenance.interval": "Every",
    "maintenance.opportunistic_gap": "Least gap after a flush",
    "maintenance.drain_timeout": "Time to end when closing",
    "eviction.max_result_chars": "Put aside from",
    "eviction.preview_chars": "Preview",
    "eviction.eviction_path": "Folder",
    "eviction.excluded_tool_names": "Never these tools",
    "index_path": "Place of the index",
    "compaction.keep_tokens_min": "At least, with auto",
    "compaction.keep_tokens_max": "At most, with auto",
    "compaction.keep_tokens_ratio": "Share of the window, with auto",
    "compaction.flush_wait": "Wait for that flush",
    "compaction.prune.protect_tokens": "Newest output kept",
    "compaction.prune.minimum_tokens": "Only when it saves",
    "compaction.prune.max_output_chars": "Longer output is cut",
    "compaction.prune.excluded_tools": "Never of these tools",
    "compaction.truncate_args.trigger_messages": "From messages",
    "compaction.truncate_args.trigger_tokens": "From tokens",
    "compaction.truncate_args.keep_messages": "Newest messages kept",
    "compaction.truncate_args.keep_tokens": "Newest tokens kept",
    "compaction.truncate_args.max_arg_length": "Longer arguments",
    "compaction.truncate_args.truncation_text": "Words in their place",
    "text_percent": "Text size",
    "follow_review": "Go on in a review",
}
_HELP = {
    "agent.max_output": "Empty leaves it to the server.",
    "agent.memory_hooks": "After each turn, what is worth keeping goes to the daily log.",
    "agent.compaction": "Long sessions get a summary in place of their oldest messages.",
    "agent.tool_result_eviction": "A placeholder takes their place; the text stays readable.",
    "injection.additional_context_files": "Paths in the workspace, shown after MEMORY.md.",
    "injection.max_context_tokens": "Of rules, memory and knowledge; auto is a quarter of the "
    "window.",
    "compaction.reserved": "Room for the answer.",
    "compaction.flush_wait": "Compact only when it is done; replies take longer then.",
    "compaction.offload_before_compact": "The session's log is forced to the disk first.",
    "compaction.prompt_profile": "Which of the two built-in prompts is used.",
    "compaction.prune.max_output_chars": "Of each, this much stays.",
    "compaction.check": "When it is looked at whether a session is too long.",
    "compaction.extractive_fallback": "When no model can summarise, sentences are picked by rules.",
    "maintenance.interval": "Archive, clean up and re-index; 0 is off.",
    "maintenance.drain_timeout": "What is not done then is taken up at the next start.",
    "memory.flush_trigger": "How often a finished turn is searched for facts.",
    "agent.name": "Its name, also that of its memory.",
    "compaction.trigger_tokens": "Compact from this many tokens; auto follows the window.",
    "compaction.truncate_args": "Arguments of old calls are cut before anything is summarised.",
    "compaction.prune": "Old tool output is shortened before anything is summarised.",
    "memory.policy": "With Nothing every change waits for your review; Additions lets in what only "
    "adds a line.",
    "memory.curator": "A model that is fit for it, or rules that pick your own sentences.",
    "memory.model": "Only for this workspace; else the one chosen in Models.",
    "compaction.model": "Only for this workspace; else the one chosen in Models.",
    "memory.flush_prompt": "Your own words for what is worth keeping.",
    "memory.consolidation_prompt": "Must hold %d twice: the budget in tokens, then in characters.",
    "compaction.summary_prompt": "Must hold {messages}, where the old messages go.",
    "memory.daily_file_retention_days": "Older ones move to the archive, where they stay readable.",
    "memory.session_retention_days": "Older ones move to the trash with their evicted results.",
}
_ORDER = {"memory.policy": ("review", "auto_additions", "auto")}
# Words of choices; what is missing is made from the value.
WORDS = {
    "four_part": "Four parts",
    "working_state": "Working state",
    "before_request": "Before requests",
    "at_boundary": "Between turns",
    "review": "Nothing",
    "auto_additions": "Additions",
    "auto": "All that passes",
    "llm": "A model",
    "extractive": "Rules",
    "per_turn": "Per turn",
    "system": "As the system",
}


def word_of(choice: str) -> str:
    """A choice's value as a word."""
    return tr(WORDS.get(choice, choice.replace("_", " ").capitalize()))


def title_of(path: Path) -> str:
    known = _TITLES.get(".".join(path))
    return tr(known or path[-1].replace("_", " ").capitalize())


def field_at(root: Config, path: Path) -> dataclasses.Field[Any]:
    """The dataclass field of a path; parts that are off are looked up in their class."""
    made: type[Config] = type(root)
    for name in path[:-1]:
        field = _field(made, name)
        made = field.metadata["part"]
    return _field(made, path[-1])


def _field(made: type[Config], name: str) -> dataclasses.Field[Any]:
    return next(f for f in dataclasses.fields(made) if f.name == name)


def spec_at(root: Config, path: Path) -> Spec | None:
    """The form field of a path; None for what only a program can give."""
    field = field_at(root, path)
    kind, word = _kind(field)
    if not kind:
        return None
    meta = field.metadata
    said = _HELP.get(".".join(path), meta.get("help", ""))
    return Spec(
        path, title_of(path), tr(said) if said else "", kind,
        "of 1" if meta.get("check") is share else str(meta.get("unit", "")),
        _ORDER.get(".".join(path), tuple(meta.get("choices", ()))), word,
    )  # fmt: skip


def _kind(field: dataclasses.Field[Any]) -> tuple[str, str]:
    """(kind, its word): decided by metadata first, then by the type."""
    meta, of = field.metadata, str(field.type)
    check = meta.get("check")
    if check is callable_or_none:
        return "", ""
    if meta.get("part"):
        return "part", ""
    if meta.get("choices"):
        return ("segments" if len(meta["choices"]) <= 4 else "choice"), ""
    if meta.get("kind") == "flush_trigger":
        return "trigger", ""
    if meta.get("kind") == "prompt" or field.name.endswith("_prompt"):
        return "prompt", ""
    if field.name == "model":
        return "model", ""
    if meta.get("freeze"):
        return "names", ""
    if meta.get("listed"):
        return "listed", ""
    if "timedelta" in of:
        return ("maybe_minutes" if "None" in of else "minutes"), ""
    if of == "int | str":
        return "word", "never" if check is not None and not check("never") else "auto"
    if of == "int | None":
        return "maybe", ""
    plain = {"bool": "switch", "int": "whole", "float": "number"}
    return plain.get(of, "text"), ""


def specs(root: Config, paths: Sequence[str]) -> Iterator[Spec]:
    """The form fields of these paths; an optional part that is on is followed by its own."""
    for text in paths:
        path = tuple(text.split("."))
        spec = spec_at(root, path)
        if spec is None:
            continue
        yield spec
        value = value_at(root, path)
        if spec.kind == "part" and isinstance(value, Config):
            for field in dataclasses.fields(value):
                inner = spec_at(root, (*path, field.name))
                if inner is not None:
                    yield inner


def value_at(root: Config, path: Path) -> Any:
    """The value of a path; None behind a part that is off."""
    value: Any = root
    for name in path:
        value = getattr(value, name, None)
    return value


def default_at(defaults: Config, path: Path) -> Any:
    """The default of a path; that of its class behind a part that is off by default."""
    value: Any = defaults
    for i, name in enumerate(path):
        value = getattr(value, name, None)
        if value is None and i < len(path) - 1:
            made: type[Config] = field_at(defaults, path[: i + 1]).metadata["part"]
            value = made.defaults()
    return value


def with_value(root: EngineConfig, path: Path, value: Any) -> EngineConfig:
    """A copy with one value changed. Raises `ConfigError` with the rule it breaks."""
    return _put(root, path, value)


def _put(at: Any, path: Path, value: Any) -> Any:
    if len(path) == 1:
        return at.replace(**{path[0]: value})
    return at.replace(**{path[0]: _put(getattr(at, path[0]), path[1:], value)})


def switched_part(root: EngineConfig, path: Path, on: bool) -> EngineConfig:
    """A copy with an optional part on (with its defaults) or off."""
    made: type[Config] = field_at(root, path).metadata["part"]
    return with_value(root, path, made.defaults() if on else None)


def changed_in(section: Section, config: EngineConfig, defaults: EngineConfig) -> int:
    """How many rows of a section differ from their defaults."""
    return sum(
        value_at(config, spec.path) != default_at(defaults, spec.path)
        for group in section.groups
        for spec in specs(config, group.paths)
        if spec.kind != "part" or value_at(config, spec.path) is None
        or default_at(defaults, spec.path) is None
    )  # fmt: skip


def matches(spec: Spec, words: str) -> bool:
    """Whether a field is meant by these words: all of them, in title, sentence or name."""
    text = f"{spec.title} {spec.help} {spec.id}".lower().replace("_", " ")
    return all(word in text for word in words.lower().replace("_", " ").split())
