"""How often an automatic compaction may be tried.

One `Pace` belongs to one session and lives as long as it is open. Invariant: a compaction that
fails or does not help is not tried again at each unit: one retry after a failure, then a pause of
some units; after a run that did not help, silence until the context has grown (B65, MOT-89).
"""

from __future__ import annotations

from app.engine.config import CompactionConfig


class Pace:
    """Counts tries, failures and what did not help."""

    def __init__(self) -> None:
        self._tries = 0
        self._failures = 0
        self._resume_units = 0
        self._resume_tokens = 0

    def new_turn(self) -> None:
        """A person's message begins a turn: the tries of a turn are counted anew."""
        self._tries = 0

    def refuses(self, config: CompactionConfig, units: int, tokens: int) -> str:
        """Why no automatic run may start now, in a sentence; "" when one may."""
        if not self.may_try(config):
            return f"Compaction was tried {self._tries} times in this turn."
        if units < self._resume_units:
            return f"After a failure it waits for {self._resume_units - units} more steps."
        if tokens < self._resume_tokens:
            return "The last compaction could not help; it waits until the conversation has grown."
        return ""

    def may_try(self, config: CompactionConfig) -> bool:
        """Whether this turn has a try left."""
        return self._tries < config.max_attempts_per_turn

    def started(self) -> None:
        self._tries += 1

    def failed(self, config: CompactionConfig, units: int) -> None:
        """No usable summary came. The second failure in a row begins the pause."""
        self._failures += 1
        if self._failures > 1:
            self._resume_units = units + config.cooldown_units
            self._failures = 0

    def did_not_help(self, config: CompactionConfig, units: int, tokens: int) -> None:
        """The context stays above the threshold whatever is summarised."""
        self._failures = 0
        self._resume_units = units + config.cooldown_units
        self._resume_tokens = int(tokens * (1 + config.min_gain_ratio)) + 1

    def succeeded(self) -> None:
        self._failures = self._resume_units = self._resume_tokens = 0
