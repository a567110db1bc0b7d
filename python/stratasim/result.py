"""What a run says about itself."""

import html
import json
import os
from collections.abc import Iterable
from copy import deepcopy
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from . import _core
from .notebook import table
from .saved import instead, parsed, read_text
from .spec import Placed, brief, file_of, number, path_or_none, recorded_ranks, recorded_window, whole, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Columns", "Result"]

# a run gives its columns once: of several threads that ask, the others wait for the first
_TAKING = Lock()


class Columns(dict[str, Any]):
    """A table as a dict: a NumPy array for each column, all of one length.

    `pandas.DataFrame(columns)` and `polars.DataFrame(columns)` take it as it is.
    """

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.values()), ()))

    def __missing__(self, name: object) -> Any:
        close = get_close_matches(str(name), self, 1)
        hint = f", did you mean `{close[0]}`?" if close else ""
        raise KeyError(f"no column `{name}`{hint} (known: {', '.join(self)})")

    def __repr__(self) -> str:
        return f"<{self.rows} rows: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        return table(self)


class Result:
    """The outcome of a run: numbers, columns, pictures.

    Times are seconds of simulated time, amounts are bytes. Printed, it is the table that the command
    shows. It can be pickled, and read from what the command writes with `--json`.
    """

    def __init__(self, text: str, *, base: str = "") -> None:
        """A result from its JSON text. Relative paths in its spec start from the folder `base`."""
        if not isinstance(text, str) or not text.lstrip().startswith("{"):
            raise _core.ConfigError(
                f"text: found {brief(text)}, expected a result as JSON text; Result.read reads a file"
            )
        self._text = text
        self._base = base
        # what was recorded, as it comes from the core
        self._tasks: dict[str, Any] | None = None
        self._messages: dict[str, Any] | None = None
        self._flows: dict[str, Any] | None = None
        self._vertex_names: list[str] = []
        self._rank_nodes: list[str] = []
        # the window of time that was recorded
        self._window: str | None = None
        # a run that has not been asked for its columns yet
        self._run: _core.Run | None = None

    @classmethod
    def _of(cls, run: _core.Run, base: str, window: str | None) -> "Result":
        result = cls(run.json(), base=base)
        result._run = run
        result._window = window
        return result

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Result":
        """The result in a file that `write_json`, or the command with `--json`, wrote.

        Raises ConfigError when the file holds none. `Curve.read` and `Sweep.read` read what curves and
        sweeps wrote.
        """
        path = Path(file_of(path))
        text = read_text(path, "result")
        try:
            _core.check_result(text)
        except ValueError as error:
            why = instead(parsed(path, text, "result"), "result") or error
            raise _core.ConfigError(f"{path}: {why}") from None
        return cls(text, base=os.fspath(path.parent))

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything, as in the JSON text."""
        return dict(json.loads(self._text))

    # -- numbers

    @property
    def stopped(self) -> bool:
        """Whether somebody stopped the run before its end: its figures cover what ran until then."""
        return bool(self.data.get("stopped", False))

    @property
    def makespan_s(self) -> float:
        """End of the last task; of a run that was stopped, how far it got."""
        return float(self.data["makespan_s"])

    @property
    def step_s(self) -> float:
        """The makespan divided by the number of iterations."""
        return self.makespan_s / max(len(self.data["iterations"]), 1)

    @property
    def batches_per_s(self) -> float | None:
        """Batches that the whole machine processes per second; None where there are none."""
        rate = self.data.get("batches_per_s")
        return None if rate is None else float(rate)

    @property
    def digest(self) -> str:
        """Digest of what ended when: equal runs have equal digests."""
        return str(self.data["digest"])

    @cached_property
    def finish_ns(self) -> Any:
        """When the last operation of each rank ended, in nanoseconds, as a NumPy array; None for a run that
        is no GOAL schedule. Where there are several jobs, a rank of the whole is a compute node.
        """
        import numpy as np

        finish = self.data.get("finish_ns")
        return None if finish is None else np.array(finish, dtype=np.float64)

    @property
    def spec(self) -> dict[str, Any]:
        """The experiment with every default: `stratasim.run(result.spec)` gives the same result.

        Relative paths in it start from the experiment's folder, which it remembers.
        A result of `stratasim goal run` has no experiment: `goal` holds the options of that command.
        """
        return Placed(deepcopy(self.data["spec"]), self._base)

    @property
    def title(self) -> dict[str, str]:
        """What ran, in words: `experiment`, `topology`, `workload`, `network`."""
        return dict(self.data["title"])

    @property
    def counters(self) -> dict[str, int]:
        """What the run cost inside, by name."""
        return dict(self.data["counters"])

    @property
    def bounds(self) -> list[dict[str, Any]]:
        """Lower bounds on the makespan that hold for any schedule: `name`, `kind`, `seconds`, `where`."""
        return list(self.data.get("bounds", []))

    @property
    def binding(self) -> dict[str, Any] | None:
        """The largest of the bounds, with `ratio`, the makespan over it.

        None where there is no bound: of a run that was stopped, of open-loop traffic, of points of a sweep of
        forecasts, of `stratasim goal run`, which has no machine, and where no bound sees what takes the
        time, such as a collective at constant rate, which has no links, or a barrier, which has no bytes.
        """
        return self.data.get("binding")

    @property
    def checks(self) -> list[dict[str, Any]]:
        """Physics checks that were made: `name`, `checked` (how many things), `ok`."""
        return list(self.data.get("checks", []))

    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        return list(self.data.get("notes", []))

    @property
    def traffic(self) -> dict[str, Any] | None:
        """Statistics of open-loop traffic: `packet_latency_cycles` with mean and percentiles,
        `accepted_flits_per_cycle`, `saturated`, `channels`, `classes`, ...; None for a run without.
        """
        return self.data.get("traffic")

    # -- columns

    @cached_property
    def windows(self) -> Columns:
        """What happened in each window of open-loop traffic: `end_cycle`, `injected_flits_per_cycle`,
        `accepted_flits_per_cycle`, `packet_latency_cycles`, `source_wait_cycles`.
        """
        names = ("injected_flits_per_cycle", "accepted_flits_per_cycle")
        cycles = ("packet_latency_cycles", "source_wait_cycles")
        return columns((self.traffic or {}).get("series") or [], ("end_cycle", *names, *cycles))

    @cached_property
    def iterations(self) -> Columns:
        """When each iteration ran: `start_s`, `end_s`. Iterations may overlap."""
        return columns(self.data["iterations"], ("start_s", "end_s"))

    @cached_property
    def ranks(self) -> Columns:
        """Where the time of each rank went: `finish_s`, and `compute_s`, `comm_exposed_s`, `memory_s` and
        `idle_s`, which add up to the makespan.
        """
        parts = ("finish_s", "compute_s", "comm_exposed_s", "memory_s", "idle_s")
        return columns(self.data["ranks"], parts)

    @cached_property
    def links(self) -> Columns:
        """What each link carried that carried something: `name`, `from`, `to`, `bytes`, `utilisation` (1 is
        a link that was full all the time), `busy_s`; the busiest first, and 1,000 at most.

        Where more links than that carried something, the others are left out, so sums over these rows are
        no totals of the machine; `counters["network.links_used"]` is how many there were.
        """
        names = ("name", "from", "to", "bytes", "utilisation", "busy_s")
        return columns(self.data.get("links") or [], names)

    @cached_property
    def queues(self) -> Columns:
        """The queues of a packet network in which anything waited, the fullest first, and 64 at most: `link`
        (its name), `from` (the node, of a half-duplex cable, which has a queue at either end),
        `capacity_bytes`, `most_bytes` (data in it at once), `drops`, `trims`, `marks`, `pauses`. Empty for
        other networks.
        """
        names = ("link", "from", "capacity_bytes", "most_bytes", "drops", "trims", "marks", "pauses")
        return columns(self.data.get("queues") or [], names)

    @cached_property
    def links_over_time(self) -> Columns:
        """What links carried over time, a row for each link and stretch of time: `link` (its name),
        `start_s`, `end_s`, `bytes`, `utilisation` (1 is a full link; NaN where it has no rate). There are up
        to 256 stretches of equal length; the last one may be shorter.

        Raises ConfigError when the run was not asked for it.
        """
        return self._over_time("links_over_time", ("bytes", "utilisation"))

    @cached_property
    def queues_over_time(self) -> Columns:
        """What queues of a packet network held over time, a row for each queue and stretch of time: `link`
        (its name), `start_s`, `end_s`, `mean_bytes` and `most_bytes` (data that waited), and how often in
        it `drops`, `trims`, `marks` and `pauses` happened. There are up to 256 stretches of equal length;
        the last one may be shorter. Empty for other networks.

        Raises ConfigError when the run was not asked for it.
        """
        counts = ("drops", "trims", "marks", "pauses")
        return self._over_time("queues_over_time", ("mean_bytes", "most_bytes", *counts))

    @cached_property
    def jobs(self) -> Columns:
        """How each of several jobs fared: `name`, `ranks`, `nodes`, `start_s`, `finish_s`, `duration_s`,
        `alone_s` (the same without the others) and `slowdown` (`duration_s` / `alone_s`); NaN where the
        jobs did not run alone, too. Empty for a run without jobs.
        """
        numbers = ("ranks", "nodes", "start_s", "finish_s", "duration_s", "alone_s", "slowdown")
        return columns(self.data.get("jobs") or [], ("name", *numbers))

    @cached_property
    def vertices(self) -> Columns:
        """How the tasks of each vertex fared, of a workload `graph` with at most 256 vertices: `name`,
        `tasks` that ended, `mean_s` and `longest_s` of one of them, and `comm_exposed_s`, what it has of the
        exposed communication of a rank in the mean. Empty for other workloads, and for a run that was
        stopped.
        """
        names = ("name", "tasks", "mean_s", "longest_s", "comm_exposed_s")
        return columns(self.data.get("vertices") or [], names)

    @cached_property
    def memory(self) -> Columns:
        """What lives where, by ranges of ranks: `first_rank`, `ranks`, `local_bytes`, `remote_bytes`."""
        names = ("first_rank", "ranks", "local_bytes", "remote_bytes")
        return columns(self.data.get("memory") or [], names)

    @cached_property
    def tasks(self) -> Columns:
        """Every recorded task, in the order in which they ended.

        `rank`, `node` (name of its node), `stream` (-1 for none), `kind` ("compute", "memory",
        "communication"), `name` (of its vertex), `iteration`, `start_s`, `end_s`, `bytes`; exactly,
        `start_ps` and `end_ps` in picoseconds; and `vertex`, the number of its vertex.

        Raises ConfigError when tasks were not recorded.
        """
        import numpy as np

        raw = self._recorded_tasks()
        stream = raw["stream"].astype(np.int32)
        stream[raw["stream"] == np.iinfo(np.uint16).max] = -1
        return Columns(
            rank=raw["rank"],
            node=_text(self._rank_nodes)[raw["rank"]],
            stream=stream,
            kind=_text(["compute", "memory", "communication"])[raw["activity"]],
            name=_text(self._vertex_names)[raw["vertex"]],
            iteration=raw["iteration"],
            start_s=raw["start_ps"] / 1e12,
            end_s=raw["end_ps"] / 1e12,
            bytes=raw["bytes"],
            start_ps=raw["start_ps"],
            end_ps=raw["end_ps"],
            vertex=raw["vertex"],
        )

    @cached_property
    def messages(self) -> Columns:
        """Every recorded message, in the order in which they arrived.

        `src` and `dst` (ranks), `start_s`, `end_s`, `bytes`; exactly, `start_ps` and `end_ps`.

        Raises ConfigError when messages were not recorded.
        """
        self._take()
        if (raw := self._messages) is None:
            raise _core.ConfigError('no messages: run with record="messages" (result files hold none)')
        return Columns(
            src=raw["src"],
            dst=raw["dst"],
            start_s=raw["start_ps"] / 1e12,
            end_s=raw["end_ps"] / 1e12,
            bytes=raw["bytes"],
            start_ps=raw["start_ps"],
            end_ps=raw["end_ps"],
        )

    @cached_property
    def flows(self) -> Columns:
        """How every message that crossed a network of packet level fared, in the order in which they
        were complete.

        `from` and `to` (names of nodes), `bytes`, `start_s` (handed over), `end_s` (complete),
        `duration_s` (from the one to the other), `slowdown` (times the least time that it needs alone),
        `packets`, `retransmissions`, `timeouts`, `trims`, `marks`, and `path`, the names of the links from
        the first one on that all of its packets took, with "; " between them: as far as they go one way,
        and where they are sprayed not beyond. Other networks have no such messages.

        Raises ConfigError when messages were not recorded.
        """
        self._take()
        if (raw := self._flows) is None:
            raise _core.ConfigError('no messages: run with record="messages" (result files hold none)')
        made = Columns()
        for name, column in raw.items():
            if name in ("from", "to", "path"):
                made[name] = _text(column)
            elif name in ("start_ps", "end_ps"):
                made[name.replace("_ps", "_s")] = column / 1e12
                if name == "end_ps":
                    # of whole picoseconds, so that the difference is exact
                    made["duration_s"] = (column - raw["start_ps"]) / 1e12
            else:
                made[name] = column
        return made

    # -- text and files

    def summary(self, *, width: int = 80, unicode: bool = True, colour: bool = False) -> str:
        """The table that the command prints."""
        return _core.summary(self._text, whole("width", width, 2**32 - 1), unicode, colour)

    def to_json(self) -> str:
        """The result as JSON text, as the command writes it."""
        return self._text

    def write_json(self, path: str | os.PathLike[str]) -> None:
        """Writes the result to a file, as the command does with `--json`."""
        Path(file_of(path)).write_text(self._text, encoding="utf-8")

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes the recorded tasks to a file, as the command does with `--csv`."""
        raw = self._recorded_tasks()
        _core.write_csv(file_of(path), raw, self._vertex_names, self._rank_nodes)

    def write_trace(
        self,
        path: str | os.PathLike[str],
        *,
        ranks: str | Iterable[int] | None = None,
        window: str | None = None,
    ) -> None:
        """Writes a trace for https://ui.perfetto.dev, as the command does with `--trace`.

        A trace is written while a run goes on, so the experiment runs once more; give `trace` to
        `stratasim.simulate` where that takes too long. `ranks` and `window` limit what is drawn.

        Raises SimulationError when the second run differs, because files that it reads have changed.
        """
        from .simulation import run

        if path_or_none("path", path, "file") is None:
            raise _core.ConfigError("path: found None, expected the path of a file")
        again = run(self.spec, base=self._base, record=None, ranks=ranks, window=window, trace=path)
        if again.digest != self.digest:
            raise _core.SimulationError(
                f"{os.fspath(path)} shows another run: files that the experiment reads have changed"
            )

    # -- pictures

    def timeline(
        self,
        *,
        ranks: str | Iterable[int] | None = None,
        window: str | None = None,
        title: str | None = None,
        width: float = 960,
    ) -> _core.Picture:
        """What each rank did when, from the recorded tasks; at most 48 ranks are drawn.

        The axis goes over `window`; when None, over the one that was recorded. `width` is in pixels. Raises
        ConfigError when tasks were not recorded.
        """
        raw = self._recorded_tasks()
        shown = recorded_ranks(ranks)
        during = self._window if window is None else recorded_window(window)
        said = self.title
        heading = words("title", title) if title is not None else said["experiment"] or "Time line"
        subtitle = f"{said['topology']} · {said['workload']}"
        pixels = number("width", width, "a number of pixels")
        names, nodes = self._vertex_names, self._rank_nodes
        # streams of a schedule are what the user wrote: a row each
        by_stream = self.finish_ns is not None and bool((raw["stream"] != 0).any())
        return _core.timeline(heading, subtitle, raw, names, nodes, shown, during, pixels, by_stream)

    def breakdown(self, *, title: str | None = None) -> _core.Picture:
        """Where the time of ranks went, as bars.

        Raises ConfigError for open-loop traffic, which has no ranks.
        """
        self._check_drawn("ranks")
        return _core.breakdown(self._heading("Where the time goes", title), self._text)

    def fullest_links(self, *, count: int = 16, title: str | None = None) -> _core.Picture:
        """How full the fullest links were, as bars.

        Raises ConfigError when the network counted none: the message level has no links, those of
        open-loop traffic are in `traffic`.
        """
        self._check_drawn("links")
        return _core.link_bars(
            self._heading("Fullest links", title), self._text, whole("count", count, 2**32 - 1, 1)
        )

    def plot(self, kind: str = "breakdown", *, ax: "Axes | None" = None) -> "Axes":
        """Draws "breakdown", "timeline" or "links" with matplotlib (the extra `plot`).

        Raises ConfigError where there is nothing to draw, as the pictures of those names do.
        """
        if kind in (drawn := {"breakdown": "ranks", "links": "links"}):
            self._check_drawn(drawn[kind])
        from .plot import plot

        return plot(self, kind, ax)

    def _check_drawn(self, what: str) -> None:
        """Refuses a picture without anything on it: `what` is the list of the result that it shows."""
        if not self.data.get(what):
            why = "open-loop traffic" if self.data.get("traffic") else "this run"
            raise _core.ConfigError(f"no {what} to draw: {why} has none in its result")

    def _heading(self, what: str, title: str | None) -> str:
        name = self.title["experiment"]
        if title is not None:
            return words("title", title)
        return f"{what} of {name}" if name else what

    # -- inside

    def _over_time(self, key: str, names: tuple[str, ...]) -> Columns:
        """The rows of all links, one link after the other."""
        import numpy as np

        if not self.data.get("links_over_time"):
            raise _core.ConfigError(
                "nothing over time: run with over_time=True, or the command with --over-time; "
                "where no link carried anything, there is nothing either"
            )
        made: dict[str, list[Any]] = {
            "link": [_text([])],
            **{name: [np.empty(0)] for name in ("start_s", "end_s", *names)},
        }
        for entry in self.data.get(key, []):
            count = len(entry[names[0]])
            starts = entry["start_s"] + entry["step_s"] * np.arange(count)
            ends = np.append(starts[1:], entry["end_s"])
            made["link"].append(_text([entry["link"]] * count))
            made["start_s"].append(starts)
            made["end_s"].append(ends)
            for name in names:
                made[name].append(np.array(entry[name] if entry[name] else [float("nan")] * count))
        return Columns({name: np.concatenate(parts) for name, parts in made.items()})

    def _take(self) -> None:
        """Takes the columns out of the run, which is let go."""
        with _TAKING:
            if (run := self._run) is not None:
                self._tasks, self._messages = run.take_tasks(), run.take_messages()
                self._flows = run.take_flows()
                self._vertex_names, self._rank_nodes = run.vertex_names(), run.rank_nodes()
                self._run = None

    def _recorded_tasks(self) -> dict[str, Any]:
        self._take()
        if self._tasks is None:
            has_tasks = not self.data.get("traffic")
            remedy = 'run with record="tasks"' if has_tasks else "open-loop traffic has none"
            raise _core.ConfigError(f"tasks were not recorded; {remedy}")
        return self._tasks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        name = self.title["experiment"] or self.title["workload"]
        what = "stopped at" if self.stopped else "makespan"
        return f"<Result of {name}: {what} {self.makespan_s:.6g} s>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    def __getstate__(self) -> dict[str, Any]:
        self._take()
        # what is derived is made again when it is asked for
        kept = (
            "_text",
            "_base",
            "_tasks",
            "_messages",
            "_flows",
            "_vertex_names",
            "_rank_nodes",
            "_window",
            "_run",
        )
        # another process may have another current folder
        return {key: self.__dict__[key] for key in kept} | {"_base": os.path.abspath(self._base)}


def _text(words: list[Any]) -> Any:
    """The words as an array of Python's own."""
    import numpy as np

    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array


def columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> Columns:
    """A column for each name from a list of dicts: numbers where all are, NaN where one is missing."""
    import numpy as np

    made = Columns()
    for name in names:
        values = [row.get(name) for row in rows]
        if all(isinstance(value, int | float | None) for value in values):
            # without a type, as None is no number
            made[name] = np.array([float("nan") if value is None else value for value in values])
        else:
            made[name] = _text(values)
    return made
