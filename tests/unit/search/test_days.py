"""Days a question speaks of."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.search.days import days_meant, fit

TODAY = date(2026, 9, 16)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("What did we say on 16 June, 2023?", "2023-06-16", "2023-06-15"),
        ("on June 16th 2023", "2023-06-16", "2022-06-16"),
        ("What happened in May?", "2019-05-31", "2019-04-30"),
        ("in October of 2025", "2025-10-01", "2024-10-01"),
        ("What changed in 2024?", "2024-12-31", "2023-12-31"),
        ("yesterday", "2026-09-15", "2026-09-14"),
        ("the day before yesterday", "2026-09-14", "2026-09-13"),
        ("3 days ago", "2026-09-13", "2026-09-12"),
        ("last week", "2026-09-07", "2026-09-06"),
        ("this week", "2026-09-14", "2026-09-13"),
        ("last month", "2026-08-31", "2026-07-31"),
        ("2026-09-12", "2026-09-12", "2026-09-11"),
        ("5月12日说了什么", "2020-05-12", "2020-05-11"),
        ("2025年10月的会议", "2025-10-31", "2025-09-30"),
        ("昨天谁来过", "2026-09-15", "2026-09-14"),
        ("上周的周报", "2026-09-13", "2026-09-06"),
        ("上个月", "2026-08-01", "2026-07-31"),
    ],
)
def test_a_day_is_understood(text: str, inside: str, outside: str) -> None:
    spans = days_meant(text, TODAY)
    assert fit(spans, date.fromisoformat(inside)) == 1
    assert fit(spans, date.fromisoformat(outside)) == 0


@pytest.mark.parametrize("text", ["You may go", "march on", "mar the wood", "31 February 2024", ""])
def test_what_is_no_day_is_none(text: str) -> None:
    assert days_meant(text, TODAY) == []


def test_what_is_told_soon_after_counts_a_little() -> None:
    spans = days_meant("on 16 June 2023", TODAY)
    weights = [fit(spans, date(2023, 6, 16) + timedelta(days=n)) for n in range(14)]
    assert weights[0] == 1
    assert weights == sorted(weights, reverse=True)
    assert weights[5] > 0
    assert weights[-1] == 0


def test_december_reaches_into_the_year_after() -> None:
    spans = days_meant("in December", TODAY)
    assert fit(spans, date(2025, 12, 31)) == 1
    assert 0 < fit(spans, date(2026, 1, 3)) < 1


@given(st.text(max_size=80), st.dates())
def test_any_text_has_days_or_none(text: str, today: date) -> None:
    for span in days_meant(text + " yesterday 999 days ago last week last month", today):
        assert span.first < span.end
        assert 0 <= span.fit(today) <= 1
