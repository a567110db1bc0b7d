"""Plots with matplotlib."""

import sys
from collections.abc import Iterator
from itertools import pairwise
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


def test_labels_of_an_axis_of_time_can_be_read(result: ss.Result) -> None:
    for kind in ("breakdown", "timeline"):
        axes = result.plot(kind)
        figure = axes.get_figure()
        assert figure is not None
        figure.canvas.draw()
        labels = [label for label in axes.get_xticklabels() if label.get_text()]
        # as in the pictures of the core, with a prefix
        assert any("ms" in label.get_text() or "s" in label.get_text() for label in labels)
        boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes)), kind
        assert all(float(rank).is_integer() for rank in axes.get_yticks()), kind


def test_bars_of_the_breakdown_are_as_long_as_the_run(result: ss.Result) -> None:
    axes = result.plot("breakdown")
    ends = [patch.get_x() + patch.get_width() for patch in axes.patches]
    assert max(ends) == pytest.approx(result.makespan_s)
    # four parts of eight ranks
    assert len(axes.patches) == 32


def test_the_time_line_has_a_box_for_each_task(result: ss.Result) -> None:
    axes, tasks = result.plot("timeline"), result.tasks
    drawn = {
        (str(part.get_label()), *(float(number) for number in path.get_extents().extents))
        for part in axes.collections
        for path in part.get_paths()
    }
    # upper and lower edge beside the rank
    edges = {"compute": (-0.4, -0.1), "memory": (-0.1, 0.1), "communication": (0.1, 0.4)}
    columns = (tasks[name] for name in ("kind", "rank", "start_s", "end_s"))
    expected = [
        (kind, start, rank + edges[kind][0], end, rank + edges[kind][1])
        for kind, rank, start, end in zip(*columns, strict=True)
    ]
    assert len(drawn) == len(set(expected)) > 0
    for (kind, *box), (name, *wanted) in zip(sorted(drawn), sorted(set(expected)), strict=True):
        assert kind == name
        assert box == pytest.approx(wanted)
    assert {kind for kind, *_ in drawn} == {text.get_text() for text in axes.get_legend().get_texts()}
    assert axes.get_xlim()[1] >= tasks["end_s"].max()
    assert axes.get_ylim()[0] > tasks["rank"].max()


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
