"""Kill the program at random moments of its work, twenty times: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.helpers.crashes import crash_yard

RUNS = 20


def test_twenty_kills_lose_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with crash_yard(tmp_path, seed=20260602) as yard:
            for number in range(RUNS):
                wrong = await yard.kill()
                assert wrong == [], f"after kill {number + 1}"
            kinds = {note["kind"] for note in yard.acknowledged()}
            assert {"open", "said", "flushed", "remembered", "applied"} <= kinds

    asyncio.run(asyncio.wait_for(main(), 240))
