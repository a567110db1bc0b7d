"""Plots with matplotlib (the extra `plot`)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .cards import CardBench
    from .curves import Curve
    from .result import Result

__all__ = ["card_bench", "curve", "plot"]

# Okabe and Ito, "Color Universal Design" (2008), as in the pictures of the core
_COLOURS = {"compute": "#0072b2", "memory": "#009e73", "communication": "#d55e00", "idle": "#c8c8c8"}
_CURVE_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]


def plot(result: "Result", kind: str = "breakdown", ax: "Axes | None" = None) -> "Axes":
    """Draws a result on `ax`, or on new axes.

    `kind` is "breakdown" (where the time of each rank went), "timeline" (what each rank did when) or
    "links" (how full the fullest links were).
    """
    known: dict[str, Callable[[Result, Any], None]] = {
        "breakdown": _breakdown,
        "timeline": _timeline,
        "links": _links,
    }
    if kind not in known:
        raise _core.ConfigError(f"unknown plot `{kind}` (known: {', '.join(known)})")
    ax = _new_axes() if ax is None else ax
    known[kind](result, ax)
    return ax


def curve(
    curve: "Curve", y: str = "packet_latency_cycles", ax: "Axes | None" = None, label: str | None = None
) -> "Axes":
    """Draws a number of a load-latency curve over load on `ax`, beside others there, or on new axes."""
    table = curve.table
    if y not in table:
        known = ", ".join(name for name in table if not name.endswith("_half_width"))
        raise _core.ConfigError(f"unknown number `{y}` (known: {known})")
    ax = _new_axes() if ax is None else ax
    # latencies of a saturated network grow with the length of the run
    kept = (table["known"] & ~table["saturated"]) | ("latency" not in y)
    half = table.get(f"{y}_half_width")
    others = len(ax.containers)
    title = curve.data["title"]
    ax.errorbar(
        table["load_flits_per_cycle"][kept],
        table[y][kept],
        yerr=None if half is None else half[kept],
        marker="o",
        capsize=3,
        color=_CURVE_COLOURS[others % len(_CURVE_COLOURS)],
        label=label or title or f"curve {others + 1}",
    )
    ax.set(xlabel="load (flits per cycle and terminal)", ylabel=y.replace("_", " "))
    if others == 0:
        ax.set_title(title)
    else:
        # the title is that of the first one
        ax.set_title("")
    if others > 0 or label is not None:
        ax.legend()
    return ax


def card_bench(bench: "CardBench", y: str = "bandwidth", ax: "Axes | None" = None) -> "Axes":
    """Draws bandwidth or time of a collective on a card over size on `ax`, or on new axes."""
    columns = {"bandwidth": "bandwidth_bytes_per_s", "time": "time_s"}
    if y not in columns:
        raise _core.ConfigError(f"unknown number `{y}` (known: {', '.join(columns)})")
    ax = _new_axes() if ax is None else ax
    table = bench.table
    colours = dict(zip(bench.algorithms, _COLOURS.values(), strict=False))
    for algorithm in bench.algorithms:
        # a size of 0 has no place on a logarithmic axis
        mine = (table["algorithm"] == algorithm) & (table["bytes"] > 0)
        colour = colours.get(algorithm)
        ax.plot(table["bytes"][mine], table[columns[y]][mine], marker="o", label=algorithm, color=colour)
    ax.set(xscale="log", yscale="log", xlabel="vector (bytes)")
    ylabel = {"bandwidth": "bandwidth (bytes/s)", "time": "time (s)"}[y]
    ax.set(ylabel=ylabel, title=f"{bench.data['card']}: {bench.data['operation']}")
    ax.legend()
    return ax


def _new_axes() -> "Axes":
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("this needs matplotlib: pip install 'stratasim[plot]'") from error
    axes: Axes = pyplot.subplots(layout="constrained")[1]
    return axes


def _breakdown(result: "Result", ax: Any) -> None:
    ranks = result.ranks
    parts = {
        "compute": ranks["compute_s"],
        "memory": ranks["memory_s"],
        "communication": ranks["comm_exposed_s"],
        "idle": ranks["idle_s"],
    }
    labels = {"communication": "exposed communication"}
    left = 0 * ranks["compute_s"]
    for part, seconds in parts.items():
        label = labels.get(part, part)
        ax.barh(range(ranks.rows), seconds, left=left, height=0.9, color=_COLOURS[part], label=label)
        left = left + seconds
    _time_by_rank(result, ax)


def _timeline(result: "Result", ax: Any) -> None:
    import numpy as np
    from matplotlib.collections import PolyCollection

    tasks = result.tasks
    # memory beside computation, communication below
    rows = {"compute": (-0.4, 0.3), "memory": (-0.1, 0.2), "communication": (0.1, 0.3)}
    for kind, (offset, height) in rows.items():
        chosen = tasks["kind"] == kind
        if not chosen.any():
            continue
        left, right = tasks["start_s"][chosen], tasks["end_s"][chosen]
        above = tasks["rank"][chosen] + offset
        below = above + height
        # one collection for all ranks: a call for each takes seconds where there are many
        corners: Any = np.stack([left, above, left, below, right, below, right, above], axis=1).reshape(
            -1, 4, 2
        )
        ax.add_collection(PolyCollection(corners, facecolors=_COLOURS[kind], label=kind, linewidths=0))
    ax.autoscale_view()
    _time_by_rank(result, ax)


def _time_by_rank(result: "Result", ax: Any) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    ax.set(xlabel="time (s)", ylabel="rank", title=result.title["experiment"])
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6))
    ax.xaxis.set_major_formatter(EngFormatter(unit="s"))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.invert_yaxis()
    # beside the axes, where nothing is hidden
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def _links(result: "Result", ax: Any) -> None:
    links = result.links
    fullest = (-links["utilisation"]).argsort(kind="stable")[:16]
    ax.barh(range(len(fullest)), links["utilisation"][fullest], color=_COLOURS["communication"])
    ax.set_yticks(range(len(fullest)), links["name"][fullest])
    ax.set(xlabel="utilisation", xlim=(0, 1), title=result.title["experiment"])
    ax.invert_yaxis()
