"""Plots need no display, are the same bytes each time, and label what they show."""

import re
import sys
from pathlib import Path

import pytest

from fmacost.reports.compare import Comparison
from fmacost.reports.errors import InputError
from fmacost.reports.options import PlotKind
from fmacost.reports.plots.saved import draw_table
from fmacost.reports.plots.style import check_plot
from fmacost.reports.saved import flatten
from tests.test_compare import make_comparison

pytest.importorskip("matplotlib")


def draw(comparison: Comparison, suffix: str) -> bytes:
    records = [line for record in comparison.records() for line in flatten(record)]
    return draw_table(records, PlotKind.BARS, suffix)


def test_a_plot_ignores_the_users_style() -> None:
    import matplotlib as mpl

    comparison = make_comparison("int8", "e4m3fn")
    plain = draw(comparison, ".svg")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert draw(comparison, ".svg") == plain
        assert mpl.rcParams["font.size"] == 30


def test_a_plot_needs_no_pyplot() -> None:
    draw(make_comparison("int8", "e4m3fn"), ".svg")
    assert "matplotlib.pyplot" not in sys.modules


def test_values_and_ratios_are_labelled() -> None:
    import matplotlib as mpl

    with mpl.rc_context():
        content = draw(make_comparison("int8", "e4m3fn", unproven="fma:int8"), ".svg").decode()
    labels = set(re.findall("<!-- (.*?) -->", content))
    assert {"1,200", "1.20x", "NOT VERIFIED", "e4m3fn", "32 products"} <= labels
    assert {"fma, cmos", "fma, cmos2", "transistors"} <= labels


def test_many_formats_and_missing_sides_are_drawn() -> None:
    names = ("fp32", "int8", "e5m2", "e4m3fn", "int4", "e2m1fn", "e3m2fn")
    assert draw(make_comparison(*names), ".png")


@pytest.mark.parametrize("name", ["plot", "plot.jpg", "plot.svg.txt"])
def test_another_suffix_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in one of \.png, \.svg, \.pdf"):
        check_plot(tmp_path / name)


def test_a_missing_matplotlib_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"plots need matplotlib: pip install 'fmacost\[plot\]'"):
        check_plot(tmp_path / "plot.png")


def test_a_plot_into_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        check_plot(tmp_path / "none" / "plot.png")


def test_a_pdf_holds_no_time() -> None:
    content = draw(make_comparison("int8", "e4m3fn"), ".pdf")
    assert b"CreationDate" not in content
