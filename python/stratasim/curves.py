"""Load-latency curves of open-loop traffic."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from .notebook import table
from .result import Columns, Result, columns
from .saved import read_list
from .simulation import load
from .spec import brief, called, number, path_of, path_or_none, settings, thread_count, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    _Path = str | os.PathLike[str]

# what is there of every curve, also where nothing arrived
_LATENCIES = ("packet_latency_cycles", "network_latency_cycles", "packet_latency_p99_cycles")

__all__ = ["Curve", "traffic"]


def traffic(
    experiment: "_Path | Mapping[str, Any]",
    loads: str | Iterable[float | str] | None = None,
    *,
    saturation: float | None = None,
    seeds: int = 1,
    semantics: Literal["native", "booksim2"] = "native",
    set: Mapping[str, Any] | None = None,
    base: "_Path" = "",
    out: "_Path | None" = None,
    threads: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> "Curve":
    """Runs an experiment with open-loop traffic at many loads, as `stratasim traffic` does.

    Parameters
    ----------
    experiment
        Path of a TOML or JSON file with a section `traffic`, or the experiment itself as a dict. With
        BookSim2's rules any other file is read as one of its configurations.
    loads
        Loads in flits per cycle and terminal, rates such as "40 Gbps", or ranges of either from the first to
        the second in steps of the third, such as "0.05:0.45:0.05", as the command takes them. Where None are
        given, and no saturation is looked for, the load that the experiment or configuration has of its
        own: of an experiment that says none 0.1, as of `stratasim.run`.
    saturation
        Looks for the load at which the network saturates, by bisection, to this precision.
    seeds
        Runs of every load, each with a seed of its own, from the experiment's seed on.
    semantics
        "native" for our own rules, or "booksim2" for those of BookSim2, bit for bit.
    set
        Values by dotted path that replace those of the experiment, as in `stratasim.run`; options by name
        for a configuration of BookSim2.
    base
        Folder that relative paths start from when the experiment is a dict.
    out
        Folder for a page, pictures and tables, and for the results of runs as they finish: the next call
        with the same experiment takes them up.
    threads
        Runs at once, and where there are fewer runs than threads, several for a run; as many as there
        are cores when None.
    force
        Runs again what has a result in `out`.
    progress
        Called about twenty times a second with the runs done and the runs altogether.

    Raises ConfigError for bad input and SimulationError for a network that stands still: the other runs go
    on, and the error's `curve` has them. Ctrl-C ends the curve and raises Interrupted, a KeyboardInterrupt
    whose `result` is the curve of the loads that were done, where any was; what is finished stays in `out`.
    """
    if semantics not in ("native", "booksim2"):
        raise _core.ConfigError(f"semantics: {semantics!r} is not known (known: 'native', 'booksim2')")
    options: dict[str, Any] = {
        "loads": _loads(loads),
        "saturation": None if saturation is None else number("saturation", saturation),
        "seeds": whole("seeds", seeds, 2**32 - 1),
        "out": path_or_none("out", out, "folder"),
        "threads": thread_count(threads),
        "force": force,
        "progress": called(progress),
    }
    booksim2 = semantics == "booksim2"
    if not isinstance(experiment, Mapping):
        experiment = path_of("experiment", experiment, "the path of a file or the experiment as a dict")
    if booksim2 and not isinstance(experiment, Mapping) and Path(experiment).suffix not in (".toml", ".json"):
        given = settings("set", set, "{'injection_rate': 0.1}")
        sets = [f"{option}={value}" for option, value in given.items()]
        folder = os.fspath(Path(experiment).parent)
        return _whole(lambda: _core.booksim2_curve(os.fspath(experiment), sets, **options), folder)
    loaded = load(experiment, set, base)
    return _whole(lambda: loaded.curve(booksim2=booksim2, **options), loaded.base)


def _whole(make: Callable[[], _core.TrafficCurve], base: str) -> "Curve":
    """The curve that `make` runs, if all of its runs have a result."""
    try:
        curve = Curve(make(), base)
    except _core.Interrupted as stopped:
        stopped.result = Curve(stopped.result, base)
        raise
    if not curve.failures:
        return curve
    failure = _core.SimulationError("\n".join(curve.failures))
    failure.result = None
    failure.curve = curve
    raise failure


def _loads(loads: str | Iterable[float | str] | None) -> str | None:
    """Loads as the command takes them."""
    if loads is None:
        return None
    try:
        each = [loads] if isinstance(loads, str) else loads
        return ", ".join(load if isinstance(load, str) else repr(float(load)) for load in each)
    except (TypeError, ValueError):
        expected = "a list of flits per cycle and terminal, such as [0.1, 0.2]"
        raise _core.ConfigError(f"loads: found {brief(loads)}, expected {expected}") from None


class Curve:
    """Latency and accepted load over offered load.

    Loads are flits per cycle and terminal, latencies are cycles.
    """

    def __init__(self, core: _core.TrafficCurve, base: str) -> None:
        """A curve; made by `stratasim.traffic`."""
        self._core = core
        self._base = base

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Curve":
        """The curve in the `results.json` that `stratasim.traffic`, `write` or the command left in a folder.

        `path` is the file or its folder. Results of runs are read from the folder `points` beside it, where
        the runs of `out` are kept; without them all is there but `results`.

        Raises ConfigError when the file holds no curve.
        """
        text, _, file = read_list(path, "curve")
        try:
            core = _core.TrafficCurve.read(text, file.parent)
        except ValueError as error:
            raise _core.ConfigError(f"{file}: {error}") from None
        return cls(core, os.fspath(file.parent))

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything, as in the file `results.json` of the command."""
        return dict(json.loads(self._core.json()))

    @cached_property
    def results(self) -> list[list[Result]]:
        """The results of each load, in order of load: one for each seed.

        Raises ConfigError for a curve that was read from a file without them.
        """
        if (found := self._core.results()) is None:
            raise _core.ConfigError(
                "no results: this curve was read from a file, and its runs are not in a folder `points` "
                "beside that; `data` has their statistics"
            )
        return [[Result(text, base=self._base) for text in texts] for _, texts in found]

    @property
    def loads(self) -> list[float]:
        """The loads that were asked for or tried, in order."""
        return [float(point["load_flits_per_cycle"]) for point in self.data["points"]]

    @property
    def saturation(self) -> tuple[float, float] | None:
        """The loads between which the network saturates, where that was looked for and found."""
        found = self.data["saturation_load_flits_per_cycle"]
        return None if found is None else (float(found[0]), float(found[1]))

    @property
    def found(self) -> int:
        """How many results were in the folder `out` before."""
        return self._core.found

    @property
    def failures(self) -> list[str]:
        """Why runs have no result, each with its load; of a curve that an error has as its `curve`."""
        return self._core.failures

    @property
    def notes(self) -> list[str]:
        """What results say beside their numbers, once each, with the loads of those that do."""
        return self._core.notes

    @cached_property
    def table(self) -> Columns:
        """A row for each load: `load_flits_per_cycle`, `seeds`, `saturated`, `known` (whether the sample
        tells: where it does not, `saturated` is False and says nothing), and each number
        (`packet_latency_cycles`, `accepted_flits_per_cycle`, ...; means over seeds), with half of its 95 %
        confidence interval in `<number>_half_width` where there is one; NaN where there is none.
        """
        rows = [
            {
                "load_flits_per_cycle": point["load_flits_per_cycle"],
                "seeds": len(point["runs"]),
                "saturated": point["saturated"] is True,
                "known": point["saturated"] is not None,
                **point["numbers"],
                **{f"{name}_half_width": half for name, half in point["half_widths"].items()},
            }
            for point in self.data["points"]
        ]
        names = [name for row in rows for name in row]
        table = columns(rows, tuple(dict.fromkeys([*names, *_LATENCIES])))
        for name in ("saturated", "known"):
            table[name] = table[name].astype(bool)
        return table

    @property
    def pictures(self) -> dict[str, _core.Picture]:
        """The pictures of the page: `latency` and `throughput` over load."""
        return {"latency": self._core.latency(), "throughput": self._core.throughput()}

    def plot(
        self, y: str = "packet_latency_cycles", ax: "Axes | None" = None, label: str | None = None
    ) -> "Axes":
        """Draws a number over load on `ax`, or on new axes, with matplotlib (the extra `plot`).

        Several curves on one `ax` get colours of their own and a legend: `label`, or the title of each.

        Latencies of loads at which the network is saturated, or of which that is not known, are left
        out: they grow with the length of the run.
        """
        from .plot import curve

        return curve(self, y, ax, label)

    def write(self, out: str | os.PathLike[str]) -> list[Path]:
        """Writes page, pictures and tables into a folder; the page comes first."""
        return [Path(path) for path in self._core.write(path_of("out", out, "the path of a folder"))]

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            _restored,
            (self._core.json(), self._core.results(), self._core.found, os.path.abspath(self._base)),
        )

    def __len__(self) -> int:
        return len(self.data["points"])

    def __repr__(self) -> str:
        between = "" if self.saturation is None else f", saturates from {self.saturation[1]:g}"
        return f"<Curve of {len(self)} loads{between}>"

    def _repr_html_(self) -> str:
        return table(self.table, repr(self))


def _restored(text: str, results: list[tuple[float, list[str]]] | None, found: int, base: str) -> Curve:
    return Curve(_core.TrafficCurve.restore(text, results, found), base)
