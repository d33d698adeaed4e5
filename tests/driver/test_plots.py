"""The plots: made-up figures become pictures that show them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from benchmarks.pictures import PICTURES, draw
from benchmarks.plot import Plot

SVG = "{http://www.w3.org/2000/svg}"
CALLS = ("start", "claim", "complete")


def details() -> dict[str, Any]:
    sides = {"fresh": dict.fromkeys(CALLS, 10.0), "full": dict.fromkeys(CALLS, 11.0)}
    return {
        "curves": {
            "curve_workers": [{"workers": n, "instances_per_s": 600.0 * n} for n in (1, 2, 4)],
            "curve_batch": [{"batch": n, "instances_per_s": 100.0 * n} for n in (1, 10)],
            "curve_table": [{"finished": 100, "claim_ms": 5.0, "complete_ms": 6.0}],
        },
        "flat": {"finished": {"tasks": 900}, "median_ms": [{"100": sides, "1": sides}]},
        "held_all": {"points": [{"churned": n, "claim_ms": 4.0 + n} for n in range(5)]},
        "held": {"runs": [{"tasks": 60, "steps_per_s": [90.0, 80.0, 70.0]}]},
    }


def circles(svg: str) -> list[tuple[float, float]]:
    return [(float(c.get("cx", "")), float(c.get("cy", "")))
            for c in ET.fromstring(svg).iter(f"{SVG}circle")]  # fmt: skip


def words(svg: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(svg).iter(f"{SVG}text")]


def test_every_picture_is_drawn(tmp_path: Path) -> None:
    drawn = draw(details(), tmp_path / "new")
    assert [path.stem for path in drawn] == list(PICTURES)
    for path in drawn:
        assert ET.parse(path).getroot().tag == f"{SVG}svg"


@pytest.mark.parametrize("left_out", ["curves", "held", "held_all"])
def test_what_was_not_measured_is_not_drawn(tmp_path: Path, left_out: str) -> None:
    measured = details()
    del measured[left_out]
    assert 0 < len(draw(measured, tmp_path)) < len(PICTURES)


def test_a_result_of_nothing_is_no_picture(tmp_path: Path) -> None:
    assert draw({}, tmp_path) == []


def test_points_stand_where_they_belong() -> None:
    spots = circles(Plot("t", "x", "y", {"": [(0, 0), (50, 50), (100, 100)]}).svg())
    (x0, y0), (x1, y1), (x2, y2) = spots
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    assert y0 > y1 > y2


def test_places_are_even_where_asked() -> None:
    spots = circles(Plot("t", "x", "y", {"": [(1, 5), (10, 5), (1000, 5)]}, even=True).svg())
    assert spots[1][0] - spots[0][0] == pytest.approx(spots[2][0] - spots[1][0], abs=0.2)


def test_the_table_plot_joins_the_curve_and_its_ends(tmp_path: Path) -> None:
    draw(details(), tmp_path)
    svg = (tmp_path / "calls-by-table-size.svg").read_text()
    assert {"0", "100", "900", *CALLS} <= set(words(svg))
    assert len(circles(svg)) == 3 + 3 + 2  # claim and complete at three sizes, start at two


def test_a_call_under_a_snapshot_is_compared_with_itself(tmp_path: Path) -> None:
    draw(details(), tmp_path)
    svg = (tmp_path / "calls-under-a-snapshot.svg").read_text()
    assert "2" in words(svg)  # the top of an axis that holds 8/4


def test_names_are_escaped() -> None:
    svg = Plot("a < b", "x & y", "z", {"<1>": [(1, 1)], "two": [(1, 2)]}).svg()
    assert {"a < b", "x & y", "<1>"} <= set(words(svg))
