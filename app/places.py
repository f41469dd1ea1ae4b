"""Where a person's data, settings and models lie on this system.

One answer per question, so that the window, the command line and the scripts of `packaging/` agree.
Tests, tours and portable installs move the folders with `PALIMPSEST_DATA`, `PALIMPSEST_CONFIG` and
`PALIMPSEST_MODELS`. Nothing is made here: whoever writes makes the folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

NAME = "palimpsest"


def _moved(variable: str) -> Path | None:
    value = os.environ.get(variable, "").strip()
    return Path(value).expanduser().absolute() if value else None


def data_dir() -> Path:
    """The folder of what the program keeps for a person: models, the demo, window state."""
    if moved := _moved("PALIMPSEST_DATA"):
        return moved
    import platformdirs

    return Path(platformdirs.user_data_dir(NAME, appauthor=False))


def config_dir() -> Path:
    """The folder of a person's settings."""
    if moved := _moved("PALIMPSEST_CONFIG"):
        return moved
    import platformdirs

    return Path(platformdirs.user_config_dir(NAME, appauthor=False))


def models_dir() -> Path:
    """The folder of model files. It may be shared by several data folders."""
    return _moved("PALIMPSEST_MODELS") or data_dir() / "models"


def resources_dir() -> Path:
    """The folder `resources/` that the program brings along (frozen builds unpack it)."""
    base = getattr(sys, "_MEIPASS", None)
    return Path(base) / "resources" if base else Path(__file__).resolve().parents[1] / "resources"
