"""The compiled half of the package; see crates/py."""

import os
from collections.abc import Callable
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "CardModel",
    "CardTimes",
    "ConfigError",
    "Experiment",
    "GroupError",
    "Interrupted",
    "Picture",
    "Run",
    "ShmBlock",
    "ShmGroup",
    "SimulationError",
    "SweepPlan",
    "Topology",
    "TrafficCurve",
    "__version__",
    "booksim2_curve",
    "breakdown",
    "check",
    "check_result",
    "compute_types",
    "experiment_schema",
    "explain",
    "kinds",
    "link_bars",
    "main",
    "restored_picture",
    "run_point",
    "schema",
    "summary",
    "timeline",
    "workload_node_link",
    "write_csv",
]

__version__: Final[str]

class ConfigError(ValueError):
    """Bad input: what was found, what was expected, and where."""

    position: tuple[str, int, int] | None
    """File, line and column, both counted from 1; None when the input is not a text."""

class SimulationError(RuntimeError):
    """A run that could not go on, or broke a physical invariant."""

    result: Any
    """The Result of a run that ended but violates an invariant, None otherwise."""
    curve: Any
    """The Curve of the loads that did run, where one of `stratasim.traffic` did not; not set otherwise."""

class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a call that had something to tell by then."""

    result: Any
    """What the call would have returned: the Result of a run, up to the moment in which it was stopped (its
    `stopped` is True); a Curve of the loads that were done; a Sweep whose other points have no result.
    """

class GroupError(RuntimeError):
    """A group of processes that cannot be made, or cannot go on."""

@final
class ShmBlock:
    """Memory of the rank's Local segment."""

    @property
    def offset(self) -> int: ...
    def free(self) -> None: ...

@final
class ShmGroup:
    """A process's place in a group of processes; vectors are arrays of bytes."""

    def __new__(
        cls,
        name: str,
        rank: int,
        size: int,
        local_bytes: int,
        staging_bytes: int,
        timeout_s: float,
        calibration: str | os.PathLike[str] | None,
    ) -> ShmGroup: ...
    def pids(self) -> list[int]: ...
    def file(self) -> tuple[int, int]: ...
    def mapped_at(self, address: int) -> None: ...
    def allocate(self, bytes: int) -> ShmBlock: ...
    def choose(self, operation: str, bytes: int) -> str: ...
    def barrier(self) -> None: ...
    def all_gather(
        self, input: npt.NDArray[np.uint8], output: npt.NDArray[np.uint8], algorithm: str
    ) -> None: ...
    def reduce_scatter(
        self,
        input: npt.NDArray[np.uint8],
        output: npt.NDArray[np.uint8],
        element: str,
        reduction: str,
        algorithm: str,
    ) -> None: ...
    def all_reduce(
        self,
        input: npt.NDArray[np.uint8] | None,
        output: npt.NDArray[np.uint8],
        element: str,
        reduction: str,
        algorithm: str,
    ) -> None: ...
    def broadcast(self, data: npt.NDArray[np.uint8], root: int, algorithm: str) -> None: ...
    def close(self) -> None: ...

@final
class Experiment:
    """An experiment that can be run."""

    @staticmethod
    def load(path: str | os.PathLike[str], sets: list[str] = ...) -> Experiment: ...
    @staticmethod
    def from_json(
        text: str, base: str | os.PathLike[str], sets: list[str] = ..., name: str = ""
    ) -> Experiment: ...
    @property
    def name(self) -> str: ...
    @property
    def base(self) -> str: ...
    def resolved(self) -> str: ...
    def sweep(self, section: list[tuple[str, str]]) -> SweepPlan: ...
    @property
    def is_traffic(self) -> bool: ...
    def run_traffic(
        self, *, progress: Callable[[float, int, int], object] | None = None
    ) -> tuple[str, str | None]: ...
    def curve(
        self,
        *,
        booksim2: bool = False,
        loads: str | None = None,
        saturation: float | None = None,
        seeds: int = 1,
        out: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        force: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> TrafficCurve: ...
    def run(
        self,
        *,
        topology: Topology | None = None,
        tasks: bool = False,
        messages: bool = False,
        ranks: str | list[int] | None = None,
        window: str | None = None,
        trace: str | os.PathLike[str] | None = None,
        over_time: list[str] | None = None,
        progress: Callable[[float, int, int], object] | None = None,
    ) -> Run: ...

@final
class Run:
    """The outcome of one run."""

    def json(self) -> str: ...
    def take_tasks(self) -> dict[str, Any] | None: ...
    def take_messages(self) -> dict[str, Any] | None: ...
    def take_flows(self) -> dict[str, Any] | None: ...
    def vertex_names(self) -> list[str]: ...
    def rank_nodes(self) -> list[str]: ...

@final
class SweepPlan:
    """A sweep, ready to run."""

    @property
    def columns(self) -> list[tuple[str, str]]: ...
    @property
    def digests(self) -> list[str]: ...
    def spec(self, index: int) -> str: ...
    def settings(self, index: int) -> str: ...
    def describe(self, index: int) -> str: ...
    def result_path(self, out: str | os.PathLike[str], index: int) -> os.PathLike[str]: ...
    def keep(self, out: str | os.PathLike[str], index: int, result: str) -> None: ...
    def run(
        self,
        out: str | os.PathLike[str],
        *,
        threads: int | None = None,
        force: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> tuple[list[tuple[int, Exception]], BaseException | None]: ...
    def absent(self, out: str | os.PathLike[str]) -> list[str]: ...
    def finished(self, out: str | os.PathLike[str]) -> list[str]: ...
    def notes(self, out: str | os.PathLike[str]) -> list[str]: ...
    def numbers(self, out: str | os.PathLike[str]) -> str: ...
    def pictures(self, out: str | os.PathLike[str]) -> list[tuple[str, Picture, str]]: ...
    def write(
        self, out: str | os.PathLike[str], failures: list[tuple[int, Exception]]
    ) -> list[os.PathLike[str]]: ...

@final
class TrafficCurve:
    """A load-latency curve."""

    @staticmethod
    def restore(json: str, results: list[tuple[float, list[str]]] | None, found: int) -> TrafficCurve: ...
    @staticmethod
    def read(json: str, out: str | os.PathLike[str]) -> TrafficCurve: ...
    def json(self) -> str: ...
    def results(self) -> list[tuple[float, list[str]]] | None: ...
    @property
    def found(self) -> int: ...
    @property
    def failures(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    def latency(self) -> Picture: ...
    def throughput(self) -> Picture: ...
    def write(self, out: str | os.PathLike[str]) -> list[os.PathLike[str]]: ...

def booksim2_curve(
    path: str | os.PathLike[str],
    sets: list[str],
    *,
    loads: str | None = None,
    saturation: float | None = None,
    seeds: int = 1,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> TrafficCurve: ...

@final
class Topology:
    """A frozen graph of compute, memory and switch nodes, with its spec."""

    def __new__(cls, spec: str, seed: int, base: str | os.PathLike[str]) -> Topology: ...
    @property
    def seed(self) -> int: ...
    @property
    def base(self) -> str: ...
    @property
    def node_count(self) -> int: ...
    @property
    def link_count(self) -> int: ...
    @property
    def dimensions(self) -> list[int]: ...
    def spec(self) -> str: ...
    def nodes(self) -> dict[str, Any]: ...
    def links(self) -> dict[str, Any]: ...
    def route(self, src: str, dst: str, routing: str, key: int = 0) -> tuple[list[int], float]: ...
    def export(self, format: str, routing: str) -> str: ...
    @staticmethod
    def formats() -> list[str]: ...

@final
class Picture:
    """A finished picture.

    In a notebook it shows itself, in colours that follow the reader's light or dark scheme.
    """

    @property
    def title(self) -> str:
        """What it shows, in a few words."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""

    def svg(self, scheme: str | None = None) -> str:
        """The picture as SVG text: without background, in colours that follow the reader's scheme, or
        with background in the scheme "light" or "dark".
        """

    def png(self, scheme: str = "light", scale: float = 2.0) -> bytes:
        """The picture as a PNG file, `scale` times as large as the SVG."""

    def save(self, path: str | os.PathLike[str], *, scheme: str | None = None, scale: float = 2.0) -> None:
        """Writes the picture to a file whose name ends with .svg or .png."""

    def __reduce__(self) -> tuple[Any, ...]: ...
    def _repr_html_(self) -> str: ...
    def _repr_svg_(self) -> str: ...

@final
class CardModel:
    """An accelerator card."""

    @staticmethod
    def load(name: str, sets: list[str]) -> CardModel: ...
    @staticmethod
    def of(json: str, sets: list[str]) -> CardModel: ...
    @staticmethod
    def shipped() -> list[str]: ...
    def json(self) -> str: ...
    def toml(self) -> str: ...
    def show(self, width: int) -> str: ...
    def bench(self, operation: str, sizes: str, algorithms: list[str], fidelity: str) -> CardTimes: ...
    def fastest(
        self, operation: str, bytes: int, algorithms: list[str], fidelity: str
    ) -> tuple[str, float] | None: ...
    def fit(
        self,
        name: str,
        measurements: str,
        free: list[str],
        tolerance: float,
        fidelity: str,
    ) -> tuple[CardModel, str]: ...

@final
class CardTimes:
    """Times of a collective on a card."""

    def json(self) -> str: ...
    def picture(self) -> Picture: ...

def main(args: list[str]) -> int: ...
def explain(words: list[str], width: int = 100) -> str: ...
def kinds(noun: str) -> list[str]: ...
def schema(noun: str, kind: str) -> str: ...
def experiment_schema() -> str: ...
def check(noun: str, spec: str) -> None: ...
def compute_types() -> str: ...
def workload_node_link(workload: str, base: str | os.PathLike[str]) -> str: ...
def check_result(text: str) -> None: ...
def restored_picture(text: str) -> Picture: ...
def run_point(text: str, base: str | os.PathLike[str], name: str) -> str: ...
def summary(result: str, width: int, unicode: bool, colour: bool) -> str: ...
def breakdown(title: str, result: str) -> Picture: ...
def link_bars(title: str, result: str, most: int) -> Picture: ...
def timeline(
    title: str,
    subtitle: str,
    tasks: dict[str, Any],
    vertex_names: list[str],
    rank_nodes: list[str],
    ranks: str | list[int] | None,
    window: str | None,
    width: float,
    by_stream: bool,
) -> Picture: ...
def write_csv(
    path: str | os.PathLike[str], tasks: dict[str, Any], vertex_names: list[str], rank_nodes: list[str]
) -> None: ...
