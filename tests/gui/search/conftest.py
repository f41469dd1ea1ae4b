"""The search place on screen, before an engine whose answers a test chooses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.gui.panes.search.pane import SearchPane
from tests.helpers.found import Ask, asked_on, shown_search


@pytest.fixture
def ask(desk) -> Ask:
    return asked_on(desk)


@pytest.fixture
def pane(qtbot, qloop, desk, ask) -> Iterator[SearchPane]:
    yield from shown_search(desk, qtbot, qloop)
