"""What reports of a server teach: believed within bounds, kept with the workspace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.engine.llm.gauge import Gauge, corrected_limit
from app.engine.records import Window


def gauge(folder: Path, tokenizer: str = "o200k", *, read_only: bool = False) -> Gauge:
    made = Gauge()
    made.attach(lambda _request: 0, lambda: tokenizer)
    made.keep_in(folder / "windows.json", folder / "windows.lock", read_only=read_only)
    return made


def test_a_ratio_is_learned_per_model_and_tokenizer(tmp_path: Path) -> None:
    one = gauge(tmp_path)
    assert one.ratio("small") == 1.0
    one.learn("small", 1_000, 1_400)
    assert one.ratio("small") == 1.4
    assert one.ratio("other") == 1.0
    one.learn("small", 1_000, 1_500)
    assert 1.42 < one.ratio("small") < 1.44, "one report moves it a little"
    assert gauge(tmp_path).ratio("small") == pytest.approx(one.ratio("small"), abs=0.001)
    assert gauge(tmp_path, "heuristic").ratio("small") == 1.0


@pytest.mark.parametrize(
    ("counted", "reported"),
    [
        pytest.param(1_000, 0, id="no count"),
        pytest.param(1_000, -5, id="nonsense"),
        pytest.param(0, 900, id="nothing counted"),
        pytest.param(20, 70, id="a short request is mostly the server's template"),
        pytest.param(6_000, 2_050, id="a cut prompt"),
        pytest.param(6_000, 12, id="only what no cache held"),
        pytest.param(1_000, 90_000, id="absurd"),
    ],
)
def test_what_is_not_believed(tmp_path: Path, counted: int, reported: int) -> None:
    fresh, taught = gauge(tmp_path), gauge(tmp_path)
    taught.learn("m", 1_000, 1_400)
    for one in (fresh, taught):
        before = one.ratio("m")
        one.learn("m", counted, reported)
        assert one.ratio("m") == before


def test_a_window_that_was_named_is_kept_and_a_suspected_one_is_not(tmp_path: Path) -> None:
    one, default = gauge(tmp_path), Window(4_096, "default")
    assert one.window("host m", default) == default
    one.learn_window("host m", 6_000)
    one.suspect_window("host m", 2_500)
    assert one.window("host m", default) == Window(2_500, "learned")
    assert gauge(tmp_path).window("host m", default) == Window(6_000, "learned")
    for source in ("setting", "loaded", "reported"):
        assert one.window("host m", Window(8_192, source)) == Window(8_192, source)
    one.learn_window("host m", 7_000)
    assert one.window("host m", default) == Window(7_000, "learned"), "named after the suspicion"
    assert one.window("other m", default) == default


def test_two_programs_on_one_workspace_keep_what_both_learned(tmp_path: Path) -> None:
    here, there = gauge(tmp_path), gauge(tmp_path)
    here.learn("a", 1_000, 1_200)
    there.learn("b", 1_000, 1_300)
    here.learn_window("host a", 6_000)
    again = gauge(tmp_path)
    assert (again.ratio("a"), again.ratio("b")) == (1.2, 1.3)
    assert again.window("host a", Window(4_096)).tokens == 6_000


def test_nothing_is_written_for_a_ratio_that_stays(tmp_path: Path) -> None:
    one = gauge(tmp_path)
    one.learn("m", 1_000, 1_400)
    (tmp_path / "windows.json").unlink()
    one.learn("m", 10_000, 14_010)
    assert not (tmp_path / "windows.json").exists()


@pytest.mark.parametrize(
    "data", [b"{", b"[1]", b"\xff\xfe\x00", b"nonsense", b"[" * 200_000, b'{"a":' * 200_000]
)
def test_a_damaged_file_is_put_aside(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "windows.json").write_bytes(data)
    one = gauge(tmp_path)
    assert one.ratio("m") == 1.0
    one.learn("m", 1_000, 1_400)
    assert (tmp_path / "windows.json.damaged").read_bytes() == data
    assert gauge(tmp_path).ratio("m") == 1.4


def test_values_nobody_could_have_learned_are_ignored_and_other_keys_stay(tmp_path: Path) -> None:
    file = tmp_path / "windows.json"
    odd = {"version": 1, "ratios": {"a by o200k": 99, "b by o200k": "1.2", "c by o200k": True},
           "windows": {"host a": -3, "host b": None, "host c": float("inf"), "host d": 10**400},
           "later": {"x": 1}}  # fmt: skip
    file.write_text(json.dumps(odd), "utf-8")
    one = gauge(tmp_path)
    assert [one.ratio(name) for name in "abc"] == [1.0, 1.0, 1.0]
    assert {one.window(f"host {n}", Window(4_096)) for n in "abcd"} == {Window(4_096)}
    one.learn("d", 1_000, 1_200)
    assert json.loads(file.read_text("utf-8"))["later"] == {"x": 1}


def test_a_workspace_that_is_only_read_is_not_written(tmp_path: Path) -> None:
    one = gauge(tmp_path, read_only=True)
    one.learn("m", 1_000, 1_400)
    assert one.ratio("m") == 1.4
    assert list(tmp_path.iterdir()) == []


def test_a_cut_is_only_suspected_below_what_this_model_has_made_of_any_language(
    tmp_path: Path,
) -> None:
    one = gauge(tmp_path)
    for reported in (1_900, 1_900, 1_100, 1_900):
        one.learn("m", 1_000, reported)
    assert one.ratio("m") > 1.5
    assert one.least("m") == 1.0, "few reports tell little"
    for _ in range(8):
        one.learn("m", 1_000, 1_900)
    assert one.least("m") == 1.9
    one.learn("m", 1_000, 1_400)
    assert one.least("m") == 1.4
    ratio = one.ratio("m")
    one.learn("m", 1_000, 900)
    assert one.ratio("m") == ratio, "that one was cut"
    assert one.least("unknown") == 1.0
    again = gauge(tmp_path)
    assert again.least("m") == 1.0


@pytest.mark.parametrize(
    ("requested", "limit"),
    [(10_000, 2_000), (20_000, 1_000), (20_001, 4_000), (10**12, 4_000), (1, 4_000), (0, 4_000)],
)
def test_the_limit_in_our_own_count(requested: int, limit: int) -> None:
    assert corrected_limit(4_000, estimated=5_000, requested=requested) == limit


def test_what_another_program_learned_later_is_not_put_back(tmp_path: Path) -> None:
    here, there = gauge(tmp_path), gauge(tmp_path)
    here.learn_window("host m", 100_000)
    there.learn_window("host m", 50_000)
    here.learn("other", 1_000, 1_300)
    again = gauge(tmp_path)
    assert again.window("host m", Window(8_192, "assumed")).tokens == 50_000
    assert again.ratio("other") == 1.3
