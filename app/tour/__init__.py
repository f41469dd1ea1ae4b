"""The tour: the real window, driven through every place, with a picture of each state.

It has its own data, settings and keyring below `DIR/data`, so that a person's own are never
touched. The same tour is the end-to-end test, which looks at the files it leaves.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from app import places

if TYPE_CHECKING:
    from app.engine.engine import Engine


class _Faults(logging.Handler):
    """Whatever is logged as an error while the tour runs: a tour with one has failed."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


def run_tour(out: Path) -> int:
    """The whole tour; the exit code. Off screen when there is no display."""
    out = out.expanduser().absolute()
    data = out / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    models = places.models_dir()
    os.environ["PALIMPSEST_MODELS"] = str(models)
    os.environ["PALIMPSEST_DATA"] = str(data)
    os.environ["PALIMPSEST_CONFIG"] = str(data / "config")
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

    from app.gui.bridge import run
    from app.program import application

    application()
    return run(_tour(out))


async def _tour(out: Path) -> int:
    from app.engine.errors import UserError
    from app.showing import Showing, demo_folder
    from app.tour.driving import TourFailed, say
    from app.tour.scripted import probe_tool
    from app.tour.stops import Tour

    async def open_engine(folder: Path) -> Engine:
        from app.startup import open_engine

        return await open_engine(folder, watch=True, tools=[probe_tool()])

    show = Showing(demo_folder(), demo=True, open_engine=open_engine)
    show.window.resize(1280, 800)
    show.show()
    tour = Tour(show, out)
    faults = _Faults()
    logging.getLogger().addHandler(faults)
    code = 0
    try:
        await show.begin()
        await tour.run()
    except (TourFailed, UserError) as error:
        say(f"The tour stopped: {error}")
        code = 1
    finally:
        show.window.close()
        await show.end()
    logging.getLogger().removeHandler(faults)
    for fault in faults.said:
        say(fault)
    say(f"{len(tour.pictures)} pictures in {out}")
    return code or (1 if faults.said else 0)
