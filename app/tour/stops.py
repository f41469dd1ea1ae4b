"""The stops of the tour, each a state of the program that a picture shows.

Nothing is canned: the chat turn is answered by the built-in model; flush, proposal, version,
evicted result and compaction are made by the engine while the tour runs.
"""

from __future__ import annotations

from typing import Any

from app.engine.records import ToolCall
from app.tour.driving import Driver, TourFailed, say
from app.tour.scripted import Script

SAID = (
    "My deadline for the seed order is 5 December. "
    "I prefer the red tomatoes from Ruben. "
    "我们决定周六早上给柠檬树浇水。"
)
TURN_WAIT = 600.0  # seconds: the built-in model is slow beside other work on an old machine


class Tour(Driver):
    """One run: every stop, in order."""

    proposal = ""

    async def run(self) -> None:
        """All stops, in order."""
        for stop in (
            self.first_start,
            self.chat,
            self.timeline,
            self.daily_log,
            self.proposal_waits,
            self.decide,
            self.memory,
            self.search_english,
            self.search_chinese,
            self.evicted,
            self.compaction,
            self.activity,
            self.settings,
            self.dark,
        ):
            say(stop.__name__.replace("_", " "))
            await stop()

    # ------------------------------------------------------------------ stops

    async def first_start(self) -> None:
        await self.picture("first-start")
        waiting = await self.engine.ask.proposals(waiting=True)
        await self.review(waiting[0].id)
        await self.picture("review")

    async def chat(self) -> None:
        await self.go("chat", section="new")
        pane: Any = self.window.pane("chat")
        await self.until(lambda: bool(pane.session_id), "a new session")
        self.session = pane.session_id
        self.type_into(pane.foot.composer.field, SAID)
        await self.settled()
        self.press(pane.foot.composer.field, "Return")
        await self.until(lambda: self.spoke("user"), "the message in the log", TURN_WAIT)
        await self.picture("chat-running")
        await self.until(lambda: self.spoke("assistant"), "the model's answer", TURN_WAIT)
        await self.jobs_done()
        await self.picture("chat")

    async def timeline(self) -> None:
        await self.go("timeline", session_id=self.session)
        await self.picture("timeline")

    async def daily_log(self) -> None:
        days = await self.engine.ask.days()
        if not days:
            raise TourFailed("The flush wrote no daily log.")
        await self.go("daily", path=days[0].path)
        await self.picture("daily-log")

    async def proposal_waits(self) -> None:
        known = {
            p.id for p in await self.engine.ask.proposals(waiting=True) if p.model != "demo script"
        }
        if not known:
            self.act("memory.consolidate")
            await self.jobs_done()
            known = {
                p.id
                for p in await self.engine.ask.proposals(waiting=True)
                if p.model != "demo script"
            }
        if not known:
            raise TourFailed("The consolidation made no proposal.")
        self.proposal = known.pop()
        await self.review(self.proposal)
        await self.picture("proposal")

    async def review(self, proposal_id: str) -> None:
        """Open a proposal and wait until it is the one that is shown."""
        await self.go("memory", proposal=proposal_id)
        pane: Any = self.window.pane("memory")
        await self.until(
            lambda: (
                pane.review.proposal is not None and pane.review.proposal.info.id == proposal_id
            ),
            "the proposal in its place",
        )

    async def decide(self) -> None:
        proposal = await self.engine.ask.proposal(self.proposal)
        rejected = next(c for c in proposal.changes if "tomatoes" in str(c.after))
        pane: Any = self.window.pane("memory")
        for _ in proposal.changes:
            await self.settled()
            focused = pane.review.deciding.change(pane.review.deciding.focus)
            if focused is None:
                raise TourFailed("No change of the proposal has the focus.")
            self.act("memory.reject" if focused.n == rejected.n else "memory.accept")
        await self.settled()
        await self.picture("decided")
        before = len(await self.engine.ask.versions())
        self.act("memory.apply")
        await self.until_async(
            lambda: self.more_versions(before), "a new version of MEMORY.md after Apply"
        )

    async def more_versions(self, before: int) -> bool:
        return len(await self.engine.ask.versions()) > before

    async def memory(self) -> None:
        await self.go("memory")
        await self.picture("memory")

    async def search_english(self) -> None:
        await self.find("seed order", "search-english", self.session)

    async def search_chinese(self) -> None:
        await self.find("浇水", "search-chinese", "")

    async def find(self, text: str, name: str, session_id: str) -> None:
        """Type into the search field, look, and open the first hit."""
        await self.go("search")
        pane: Any = self.window.pane("search")
        pane.field.wipe()
        self.type_into(pane.field, text)
        await self.until(lambda: pane.list.current() is not None, f"hits for {text}")
        await self.picture(name)
        self.press(pane.field, "Return")
        await self.until(lambda: self.window.place() != "search", f"the place of a hit for {text}")
        await self.picture(f"{name}-opened")

    async def evicted(self) -> None:
        config = await self.engine.ask.config()
        await self.engine.do.configure(
            config.replace(
                eviction=config.eviction.replace(max_result_chars=2_000, preview_chars=300)
            )
        )
        call = ToolCall("tour-1", "read_probe", '{"bed": 2}')
        await self.scripted(
            Script((call,), "The readings of bed 2 climb at night; the probe drifts."),
            "Read the probe of bed 2, please.",
        )
        rows = [one for one in await self.engine.ask.evicted() if one.session_id == self.session]
        if not rows:
            raise TourFailed("The long result was not put aside.")
        await self.go("chat", session_id=self.session)
        await self.picture("chat-tool")
        await self.go("evicted", path=rows[0].path)
        await self.picture("evicted")

    async def compaction(self) -> None:
        config = await self.engine.ask.config()
        lowered = config.compaction.replace(trigger_messages=5, keep_tokens=160)
        await self.engine.do.configure(config.replace(compaction=lowered))
        await self.scripted(
            Script((), "Then I will remind you on Friday."), "Good. Remind me on Friday."
        )
        items = await self.engine.ask.transcript(self.session)
        if not any(item.kind == "compaction" for item in items):
            raise TourFailed("No compaction ran at the lowered trigger.")
        await self.go("timeline", session_id=self.session)
        await self.picture("compaction")
        await self.go("chat", session_id=self.session)
        await self.picture("chat-compacted")

    async def activity(self) -> None:
        await self.jobs_done()
        await self.go("activity")
        await self.picture("activity")

    async def settings(self) -> None:
        await self.go("settings")
        await self.picture("settings")
        await self.go("settings", section="memory")
        await self.picture("settings-memory")

    async def dark(self) -> None:
        self.window.appearance.choose_theme("dark")
        waiting = await self.engine.ask.proposals(waiting=True)
        for place, more in (
            ("chat", {"session_id": self.session}),
            ("memory", {"proposal": waiting[0].id} if waiting else {}),
            ("timeline", {"session_id": "s-probe"}),
            ("search", {}),
        ):
            await self.go(place, **more)
            await self.picture(f"dark-{place}")
