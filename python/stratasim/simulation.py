"""Running experiments."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from .machine import Topology, section
from .result import Result
from .spec import (
    Placed,
    assignment,
    base_of,
    called,
    encode,
    keys_of_files,
    path_of,
    path_or_none,
    recorded_ranks,
    recorded_window,
    settings,
)

if TYPE_CHECKING:
    import networkx

    _Section = Mapping[str, Any] | str
    _Path = str | os.PathLike[str]
    _Record = Literal["tasks", "messages"] | None
    _Progress = Callable[[float, int, int], object]

__all__ = ["run", "simulate"]


def simulate(
    topology: "_Section | Topology | networkx.Graph[Any]",
    workload: "_Section | networkx.DiGraph[Any]",
    network: "_Section" = "flow",
    *,
    routing: "_Section | None" = None,
    placement: "_Section | None" = None,
    execution: Mapping[str, Any] | None = None,
    seed: int = 1,
    name: str | None = None,
    base: "_Path" = "",
    record: "_Record" = "tasks",
    ranks: str | Iterable[int] | None = None,
    window: str | None = None,
    trace: "_Path | None" = None,
    over_time: bool | Iterable[str] = False,
    progress: "_Progress | None" = None,
) -> Result:
    """Runs one workload on one machine.

    Sections are what functions such as `stratasim.topology.ring` return, dicts as in a file, or the name
    of a kind. The topology may also be built already, and topology and workload may be graphs of
    NetworkX (see `stratasim.networkx`).

    Parameters
    ----------
    topology, workload, network, routing, placement
        The sections of an experiment. Routing and placement are chosen by the topology when absent.
    execution
        How tasks use nodes and memories: `memory` ("coherent" or "move-then-compute"), `roofline`,
        `timing-precision`, `eager-limit`; keys may be written with `_`.
    seed
        Seed of all random numbers. The same experiment gives the same result.
    name
        Name in titles.
    base
        Folder that relative paths in sections start from.
    record
        "tasks" keeps every finished task in `Result.tasks`, "messages" keeps messages in
        `Result.messages` too, None keeps neither.
    ranks, window
        What is recorded and traced: ranks such as "0-7,16" or numbers, and a window of simulated time
        such as "1 s..2 s".
    trace
        File for a trace that https://ui.perfetto.dev opens.
    over_time
        True keeps what the 64 fullest links carried and the 64 longest queues held over time in
        `Result.links_over_time` and `Result.queues_over_time`, names of links keep that of these links.
        Networks of flow level have links alone, those of message and flit level neither.
    progress
        Called about twenty times a second with the simulated time in seconds, the tasks done and the
        tasks altogether. What it raises ends the run.

    Raises ConfigError for bad input and SimulationError for a run that cannot go on. Other threads of
    Python run on meanwhile. Ctrl-C ends the run and raises Interrupted, a KeyboardInterrupt whose `result`
    covers what ran until then.
    """
    built = _topology(topology, seed, base)
    document: dict[str, Any] = {"topology": built, "workload": _workload(workload), "seed": seed}
    document["network"] = section(network)
    if name is not None:
        document["name"] = name
    if routing is not None:
        document["routing"] = section(routing)
    if placement is not None:
        document["placement"] = section(placement)
    if execution is not None:
        given = settings("execution", execution, "{'memory': 'coherent'}")
        document["execution"] = keys_of_files("execution", given)
    experiment = _core.Experiment.from_json(encode(document), base_of(base))
    on = built if isinstance(built, Topology) else None
    return _run(experiment, on, record, ranks, window, trace, over_time, progress)


def run(
    experiment: "_Path | bytes | Mapping[str, Any]",
    *,
    set: Mapping[str, Any] | None = None,
    base: "_Path" = "",
    record: "_Record" = "tasks",
    ranks: str | Iterable[int] | None = None,
    window: str | None = None,
    trace: "_Path | None" = None,
    over_time: bool | Iterable[str] = False,
    progress: "_Progress | None" = None,
) -> Result:
    """Runs an experiment: a file, or a dict with the sections of one, such as `Result.spec`.

    Parameters
    ----------
    experiment
        Path of a TOML or JSON file, or the experiment itself.
    set
        Values by dotted path that replace those of the experiment, as `--set` does:
        `{"topology.k": 8, "workload.bytes": "1 MB"}`.
    base
        Folder that relative paths start from when the experiment is a dict; a file's own folder
        otherwise.
    record, ranks, window, trace, over_time, progress
        As in `simulate`. Open-loop traffic has no tasks: nothing can be recorded, and `progress` is told
        of none. Its numbers are in `Result.traffic`; `stratasim.traffic` runs many loads.

    Raises what `simulate` does. Open-loop traffic that is stopped before its sample has begun has no
    result, and Ctrl-C is a plain KeyboardInterrupt.
    """
    loaded = load(experiment, set, base)
    return _run(loaded, None, record, ranks, window, trace, over_time, progress)


def load(
    experiment: "_Path | bytes | Mapping[str, Any]", set: Mapping[str, Any] | None, base: "_Path" = ""
) -> _core.Experiment:
    """The experiment with values replaced."""
    given = settings("set", set, "{'topology.k': 8}")
    sets = [assignment(path, value) for path, value in given.items()]
    if isinstance(experiment, Mapping):
        folder = base_of(base)
        if isinstance(experiment, Placed) and not folder:
            folder = experiment.base
        return _core.Experiment.from_json(encode(experiment), folder, sets)
    path = path_of("experiment", experiment, "the path of a file or the experiment as a dict")
    return _core.Experiment.load(path, sets)


def _run(
    experiment: _core.Experiment,
    topology: Topology | None,
    record: "_Record",
    ranks: str | Iterable[int] | None,
    window: str | None,
    trace: "_Path | None",
    over_time: bool | Iterable[str],
    progress: "_Progress | None",
) -> Result:
    if record not in ("tasks", "messages", None):
        raise _core.ConfigError(f"record: {record!r} is not known (known: 'tasks', 'messages', None)")
    called(progress)
    if experiment.is_traffic:
        asked = {
            "trace": trace is not None,
            "record": record == "messages",
            "ranks": ranks is not None,
            "window": window is not None,
            "over_time": over_time is not False,
        }
        for name, is_asked in asked.items():
            if is_asked:
                raise _core.ConfigError(
                    f"{name}: open-loop traffic has no tasks to show; `stratasim.traffic` draws it"
                )
        try:
            text, broken = experiment.run_traffic(progress=progress)
        except _core.Interrupted as stopped:
            stopped.result = Result(stopped.result, base=experiment.base)
            raise
        result = Result(text, base=experiment.base)
        if broken is None:
            return result
        failure = _core.SimulationError(f"a physics check is broken: {broken}")
        failure.result = result
        raise failure
    during = recorded_window(window)
    try:
        finished = experiment.run(
            topology=None if topology is None else topology._core,
            tasks=record is not None,
            messages=record == "messages",
            ranks=recorded_ranks(ranks),
            window=during,
            trace=path_or_none("trace", trace, "file"),
            over_time=_watched(over_time),
            progress=progress,
        )
    except (_core.SimulationError, _core.Interrupted) as error:
        if isinstance(left := error.result, _core.Run):
            error.result = Result._of(left, experiment.base, during)
        raise
    return Result._of(finished, experiment.base, during)


def _watched(over_time: bool | Iterable[str]) -> list[str] | None:
    """Names of links to tell of over time, none of them for the fullest; None for nothing."""
    if isinstance(over_time, bool):
        return [] if over_time else None
    if not isinstance(over_time, Iterable):
        raise _core.ConfigError(f"over_time: found {over_time!r}, expected True or names of links")
    names = [over_time] if isinstance(over_time, str) else list(over_time)
    for name in names:
        if not isinstance(name, str):
            raise _core.ConfigError(f"over_time: {name!r} is no name of a link; True stands for the fullest")
    if not names:
        raise _core.ConfigError("over_time: there is no link in the list; True stands for the fullest")
    return names


def _topology(
    topology: "_Section | Topology | networkx.Graph[Any]", seed: int, base: "_Path"
) -> "Mapping[str, Any] | Topology":
    if isinstance(topology, Topology | Mapping):
        return topology
    if isinstance(topology, str):
        return section(topology)
    return Topology(topology, seed=seed, base=base)


def _workload(workload: "_Section | networkx.DiGraph[Any]") -> Mapping[str, Any]:
    if isinstance(workload, Mapping | str):
        return section(workload)
    from .networkx import workload_from_networkx

    return workload_from_networkx(workload)
