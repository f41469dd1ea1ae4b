"""What holds of the house as a whole, whatever is built in it."""

from __future__ import annotations

import dataclasses
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from app.engine.config import (
    AgentConfig,
    CompactionConfig,
    Config,
    EngineConfig,
    InjectionConfig,
    MaintenanceConfig,
    MemoryConfig,
    PruneConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
)
from app.engine.llm.roles import EndpointSettings, RoleSettings

ROOT = Path(__file__).parents[2]
SETTINGS: tuple[type[Config], ...] = (
    EngineConfig, AgentConfig, CompactionConfig, InjectionConfig, MaintenanceConfig, MemoryConfig,
    PruneConfig, ToolResultEvictionConfig, TruncateArgsConfig, EndpointSettings, RoleSettings,
)  # fmt: skip

EVERY_MODULE = """
import importlib, pkgutil, sys, app.engine
for found in pkgutil.walk_packages(app.engine.__path__, "app.engine."):
    importlib.import_module(found.name)
print(sorted({name.split(".")[0] for name in sys.modules} & {"PySide6", "shiboken6", "qasync"}))
print(sorted({"openai", "tiktoken", "pygit2", "keyring", "xllamacpp"} & set(sys.modules)))
"""


def test_the_whole_engine_is_imported_without_qt_and_without_what_is_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERY_MODULE], capture_output=True, text=True, timeout=90
    )
    assert done.stdout.split("\n")[:2] == ["[]", "[]"], done.stderr


def test_the_folder_packaging_never_stands_before_the_library_of_that_name() -> None:
    assert not list((ROOT / "packaging").rglob("__init__.py"))
    found = importlib.util.find_spec("packaging")
    assert found is not None
    assert found.origin is not None
    assert not Path(found.origin).is_relative_to(ROOT / "packaging")


@pytest.mark.parametrize("part", SETTINGS, ids=lambda part: part.__name__)
def test_every_setting_has_a_sentence(part: type[Config]) -> None:
    bare = [
        field.name
        for field in dataclasses.fields(part)
        if "part" not in field.metadata and not field.metadata.get("help", "").endswith((".", "?"))
    ]
    assert bare == []
