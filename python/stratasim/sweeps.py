"""Sweeps: one experiment, many settings, on threads or on a Ray cluster."""

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core
from .notebook import table
from .result import Columns, Result, columns
from .saved import read_list
from .simulation import load
from .spec import called, encode, path_or_none, settings, thread_count

if TYPE_CHECKING:
    from .spec import Array

    _Values = Mapping[str, Sequence[Any] | Array]

__all__ = ["Sweep", "sweep"]


def sweep(
    experiment: str | os.PathLike[str] | Mapping[str, Any],
    product: "_Values | None" = None,
    *,
    zip: "_Values | None" = None,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    set: Mapping[str, Any] | None = None,
    base: str | os.PathLike[str] = "",
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    force: bool = False,
    backend: Literal["threads", "ray"] = "threads",
    progress: Callable[[int, int], object] | None = None,
) -> "Sweep":
    """Runs an experiment with many settings.

    Parameters
    ----------
    experiment
        Path of a TOML or JSON file, or the experiment itself as a dict. It may have a section `sweep`,
        of which `product`, `zip` and `cases` replace the parts of that name. Its labels, pictures and
        numbers (`"sweep": {"metrics": ["makespan_s", "flows.duration_s.p99", "network.drops"]}`) are
        kept where all of them fit what varies then; a number that no result has is refused.
    product
        Lists of values by dotted path; all combinations are run, the last path varies fastest:
        `{"topology.k": [8, 16], "workload.bytes": ["1 MB", "1 GB"]}`.
    zip
        Lists of one length by dotted path; their values change together.
    cases
        Named settings: `{"ring": {"workload.algorithm": {"kind": "ring"}}}`.
    set
        Values by dotted path for all points, as in `stratasim.run`.
    base
        Folder that relative paths start from when the experiment is a dict.
    out
        Folder for results, tables, pictures and a page about them. Without it results are kept in
        memory only.
    force
        Runs points again whose results are in `out` already.
    threads
        Points that run at once here; as many as there are cores when None.
    backend
        "threads" of this machine, or "ray": one task per point on the Ray cluster that `ray.init` has
        joined (the extra `ray`). Files that the experiment names must be there on every machine.
    progress
        Called now and then with the points done and the points altogether.

    Points that fail are in `Sweep.failures`. Ctrl-C ends the sweep and raises Interrupted, a
    KeyboardInterrupt whose `result` is the sweep with the points that were done, where any was; what is
    finished stays in `out`.
    """
    folder = path_or_none("out", out, "folder")
    if backend not in ("threads", "ray"):
        raise _core.ConfigError(f"backend: {backend!r} is not known (known: 'threads', 'ray')")
    lists = "{'topology.k': [4, 8]}"
    section: dict[str, Any] = {
        name: settings(name, value, lists)
        for name, value in (("product", product), ("zip", zip))
        if value is not None
    }
    if cases is not None:
        named = settings("cases", cases, "{'ring': {'workload.algorithm': {'kind': 'ring'}}}")
        section["case"] = [{"name": name, "set": values} for name, values in named.items()]
    replaced = [(key, encode(value, f"sweep.{key}")) for key, value in section.items()]
    called(progress)
    threads = thread_count(threads)
    loaded = load(experiment, set, base)
    plan = loaded.sweep(replaced)
    errors: dict[int, Exception] = {}
    with contextlib.ExitStack() as stack:
        made = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="stratasim-"))
        try:
            _fill(loaded, plan, Path(made), threads, force, backend, progress, errors)
        except KeyboardInterrupt:
            swept = Sweep._of(plan, Path(made), loaded.base, errors)
            if not any(swept.results):
                raise
            stopped = _core.Interrupted("stopped; `result` has what there was by then")
            stopped.result = swept
            raise stopped from None
        swept = Sweep._of(plan, Path(made), loaded.base, errors)
        if folder is not None:
            plan.write(folder, sorted(errors.items()))
        _tell_absent(plan, made)
    return swept


def _tell_absent(plan: _core.SweepPlan, out: str) -> None:
    """Warns of numbers that the experiment asks for and that no point has."""
    for name in plan.absent(out):
        warnings.warn(f"no point has a number `{name}`: it is left out", stacklevel=3)


def _fill(
    experiment: _core.Experiment,
    plan: _core.SweepPlan,
    out: Path,
    threads: int | None,
    force: bool,
    backend: str,
    progress: Callable[[int, int], object] | None,
    errors: dict[int, Exception],
) -> None:
    """Runs what has no result in `out` yet. What goes wrong is in `errors`, by point, however it ends."""
    if backend == "threads":
        failed, raised = plan.run(os.fspath(out), threads=threads, force=force, progress=progress)
        errors.update(failed)
        if raised is not None:
            raise raised
        return
    there = {} if force else dict.fromkeys(plan.finished(os.fspath(out)))
    # equal points are run once
    missing = {digest: index for index, digest in reversed(list(enumerate(plan.digests)))}
    indices = sorted(index for digest, index in missing.items() if digest not in there)
    from .ray import run_points

    # processes of the cluster have current folders of their own
    base = os.path.abspath(experiment.base)
    experiments = [(plan.spec(index), base, experiment.name) for index in indices]
    # what is under way is cancelled at once, whatever holds on to an exception
    with contextlib.closing(run_points(experiments)) as ended:
        for done, (place, text, error) in enumerate(ended, 1):
            if error is not None:
                errors[indices[place]] = error
            else:
                plan.keep(os.fspath(out), indices[place], text)
            if progress is not None:
                progress(len(plan.digests) - len(indices) + done, len(plan.digests))


class Sweep(Sequence[Result]):
    """The outcome of a sweep: its results, in the order of its points.

    `sweep[i]` is the result of point `i`; a point that failed raises its error, which is that of the same
    run alone: ConfigError where its settings make no experiment, SimulationError where it could not go on.
    """

    def __init__(
        self,
        settings: list[dict[str, Any]],
        results: list[Result | None],
        errors: dict[int, Exception],
        absent: dict[int, Exception],
        numbers: dict[str, Any],
        notes: list[str],
    ) -> None:
        """The parts of a sweep; made by `stratasim.sweep`."""
        self.settings = settings
        """The settings of each point, by dotted path; `case` is the name of its case."""
        self.failures = {index: str(error) for index, error in errors.items()}
        """What went wrong, by point."""
        # why points have no result: these, and those that did not run
        self._errors = {**absent, **errors}
        self.notes = notes
        """What the results say beside their numbers, once each, with the settings of those that say it."""
        self._results = results
        self._numbers = numbers

    @classmethod
    def _of(cls, plan: _core.SweepPlan, out: Path, base: str, errors: dict[int, Exception]) -> "Sweep":
        paths = [path for path, _ in plan.columns]
        digests = plan.digests
        points = range(len(digests))
        settings = [dict(zip(paths, json.loads(plan.settings(index)), strict=True)) for index in points]
        # equal points were run once
        failed = {digests[index]: error for index, error in errors.items()}
        folder = os.fspath(out)
        there = set(plan.finished(folder))
        results: list[Result | None] = []
        every: dict[int, Exception] = {}
        absent: dict[int, Exception] = {}
        for index, digest in enumerate(digests):
            if digest in there and digest not in failed:
                path = Path(plan.result_path(folder, index))
                results.append(Result(path.read_text(encoding="utf-8"), base=base))
                continue
            results.append(None)
            if digest in failed:
                every[index] = failed[digest]
            else:
                absent[index] = _core.SimulationError("this point did not run: the sweep was stopped before")
        return cls(settings, results, every, absent, json.loads(plan.numbers(folder)), plan.notes(folder))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Sweep":
        """The sweep in the `results.json` that `stratasim.sweep` or the command wrote into a folder.

        `path` is the file or its folder. Results are read from the folder `points` beside it; a point whose
        file is gone has none, and says so when it is asked for.

        Raises ConfigError when the file holds no sweep.
        """
        _, data, file = read_list(path, "sweep")
        settings: list[dict[str, Any]] = []
        results: list[Result | None] = []
        errors: dict[int, Exception] = {}
        absent: dict[int, Exception] = {}
        try:
            failures = {failure["point"]: failure for failure in data.get("failures", [])}
            points = [
                {"settings": {**row["settings"]}, "numbers": {**row["numbers"]}} for row in data["points"]
            ]
            rows = iter(data["points"])
            for index in range(len(failures) + len(points)):
                if index in failures:
                    failure = failures[index]
                    kind = _core.ConfigError if failure["exit_code"] == 2 else _core.SimulationError
                    errors[index] = kind(str(failure["error"]))
                    settings.append({**failure["settings"]})
                    results.append(None)
                    continue
                row = next(rows)
                settings.append({**row["settings"]})
                point = file.parent / "points" / f"{row['digest']}.json"
                try:
                    results.append(Result.read(point))
                except _core.ConfigError as error:
                    absent[index] = error
                    results.append(None)
            notes = data.get("notes") or [note for row in data["points"] for note in row.get("notes", [])]
            return cls(settings, results, errors, absent, {"points": points}, list(dict.fromkeys(notes)))
        except (AttributeError, KeyError, StopIteration, TypeError) as error:
            raise _core.ConfigError(f"{file}: this is no sweep of this version: {error!r}") from None

    @property
    def results(self) -> list[Result | None]:
        """The result of each point; None for one that failed, did not run, or whose file is gone."""
        return list(self._results)

    @cached_property
    def table(self) -> Columns:
        """A row for each point with a result: a column for each setting, by dotted path, and for each
        number (`makespan_s`, `batches_per_s`, `compute_s`, ...; means over ranks for parts of the time).
        """
        points = self._numbers["points"]
        rows = [{**point["settings"], **point["numbers"]} for point in points]
        return columns(rows, tuple(dict.fromkeys(name for row in rows for name in row)))

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> Result: ...

    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...

    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if (result := self._results[index]) is None:
            raise copy(self._errors[index % len(self)])
        return result

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        if left := len(self._errors) - len(self.failures):
            failed += f", {left} without a result"
        varied = ", ".join(self.settings[0]) if self.settings else "nothing"
        return f"<Sweep of {len(self)} points over {varied}{failed}>"

    def _repr_html_(self) -> str:
        return table(self.table, repr(self))
