"""Plots with matplotlib."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib import pyplot

import stratasim as ss


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.mark.parametrize("kind", ["breakdown", "timeline", "links"])
def test_plots_are_drawn_and_saved(result: ss.Result, kind: str, tmp_path: Path) -> None:
    axes = result.plot(kind)
    assert axes.get_title() == "two layers"
    figure = axes.get_figure()
    assert figure is not None
    figure.savefig(tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 1000


def test_bars_of_the_breakdown_are_as_long_as_the_run(result: ss.Result) -> None:
    axes = result.plot("breakdown")
    ends = [patch.get_x() + patch.get_width() for patch in axes.patches]
    assert max(ends) == pytest.approx(result.makespan_s)
    # four parts of eight ranks
    assert len(axes.patches) == 32


def test_a_plot_goes_where_it_is_asked_to(result: ss.Result) -> None:
    axes = pyplot.subplots()[1]
    assert result.plot("links", ax=axes) is axes


def test_an_unknown_plot_says_which_there_are(result: ss.Result) -> None:
    with pytest.raises(ss.ConfigError, match="breakdown, timeline, links"):
        result.plot("pie")


def test_without_matplotlib_the_message_says_what_to_install(
    result: ss.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"stratasim\[plot\]"):
        result.plot()
