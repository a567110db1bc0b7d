"""The inside of an accelerator card: core groups, their memories, and collectives between them."""

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from .notebook import table
from .result import Columns, columns
from .spec import assignment, brief, encode, file_of, number, path_of, settings, whole, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    _Path = str | os.PathLike[str]
    _Operation = Literal["all-gather", "reduce-scatter", "all-reduce", "broadcast"]
    _Fidelity = Literal["f0", "f1", "f2"]

__all__ = ["Card", "CardBench", "CardFit", "card"]

_ALGORITHMS = ("ring", "csc", "direct")


def card(name: "_Path | bytes | Mapping[str, Any]", *, set: Mapping[str, Any] | None = None) -> "Card":
    """A card: a shipped one by name, a file (TOML or JSON), or a description as a dict.

    `set` replaces values by dotted path: `ss.card("sw-ai", set={"bandwidth.ring": "200 GB/s"})`.
    `Card.shipped()` names the cards that come with the package. Raises ConfigError for what is no card.
    """
    sets = _assignments(set)
    if isinstance(name, Mapping):
        return Card(_core.CardModel.of(encode(name), sets))
    path = path_of("name", name, "the name of a shipped card, the path of a file or a dict")
    return Card(_core.CardModel.load(path, sets))


class Card:
    """An accelerator card with core groups: fixed costs, bandwidths and memories.

    Times are those of the card's own models. As `card` of `stratasim.topology.cards` it becomes a part of
    a machine that runs.
    """

    def __init__(self, core: _core.CardModel) -> None:
        """A card; made by `stratasim.card` or `Card.load`."""
        self._core = core

    @classmethod
    def load(cls, path: "_Path", *, set: Mapping[str, Any] | None = None) -> "Card":
        """The card in a file, or a shipped one, with values by dotted path that replace its own."""
        return cls(_core.CardModel.load(path_of("path", path, "the path of a file"), _assignments(set)))

    @staticmethod
    def shipped() -> list[str]:
        """Names of the cards that come with the package."""
        return _core.CardModel.shipped()

    @cached_property
    def data(self) -> dict[str, Any]:
        """The description, as in a file."""
        return dict(json.loads(self._core.json()))

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.data["name"])

    @property
    def core_groups(self) -> int:
        """How many core groups it has: the members of a collective."""
        return int(self.data["core-groups"])

    def changed(self, set: Mapping[str, Any]) -> "Card":
        """The same card with other values, by dotted path."""
        return Card(_core.CardModel.of(self._core.json(), _assignments(set)))

    def show(self, width: int = 100) -> str:
        """What it consists of, as `stratasim card show` prints it."""
        return self._core.show(width)

    def to_toml(self) -> str:
        """The text of a file that describes it."""
        return self._core.toml()

    def write(self, path: "_Path") -> Path:
        """Writes a file that describes it."""
        written = Path(file_of(path))
        written.write_text(self.to_toml(), encoding="utf-8")
        return written

    def bench(
        self,
        op: "_Operation" = "all-gather",
        sizes: "str | int | Sequence[str | int]" = "16KiB:64MiB",
        algorithms: Sequence[str] = _ALGORITHMS,
        fidelity: "_Fidelity" = "f1",
    ) -> "CardBench":
        """Times a collective between the core groups over many sizes, as `stratasim card bench` does.

        Parameters
        ----------
        op
            "all-gather", "reduce-scatter", "all-reduce" or "broadcast".
        sizes
            Lengths of the vector: bytes, texts such as "8 MB", or ranges such as "16KiB:64MiB" (doubled
            each time) and "1MB:1GB:10" (times 10).
        algorithms
            "ring", "csc", "csc-equation" or "direct".
        fidelity
            "f0" for closed forms, "f1" for the task graph, "f2" for tiles through the scratch-pads.
        """
        return CardBench(
            self._core.bench(
                words("op", op), _sizes(sizes), _names("algorithms", algorithms), words("fidelity", fidelity)
            )
        )

    def best(
        self,
        op: "_Operation",
        bytes: int,
        algorithms: Sequence[str] = _ALGORITHMS,
        fidelity: "_Fidelity" = "f1",
    ) -> tuple[str, float]:
        """The fastest algorithm for a vector of so many bytes, and its seconds.

        Raises ConfigError where no algorithm can do it, as with a vector that is larger than the memory.
        """
        operation, names = words("op", op), _names("algorithms", algorithms)
        size, level = whole("bytes", bytes, 2**64 - 1), words("fidelity", fidelity)
        found = self._core.fastest(operation, size, names, level)
        if found is None:
            times = json.loads(self._core.bench(operation, f"{size} B", names, level).json())
            reasons = "; ".join(time["reason"] for time in times["rows"][0]["times"])
            raise _core.ConfigError(f"no algorithm does this: {reasons}")
        return found

    def fit(
        self,
        measurements: "_Path | Iterable[Mapping[str, Any]]",
        free: Sequence[str],
        *,
        tolerance: float = 0.1,
        fidelity: "_Fidelity" = "f0",
    ) -> "CardFit":
        """Fits parameters to measurements, as `stratasim card fit` does.

        Parameters
        ----------
        measurements
            Path of a CSV file, or a dict for each measurement, with `op`, `algorithm`, `bytes` and
            `time_us` or `bandwidth`; `groups`, `scope` ("total" or "kernel") and `source` where wanted.
        free
            Parameters to fit: "step", "ring-step", "csc-step", "launch", "sync", "kernel", "ring",
            "global", "local", "reduce-ring", "reduce-csc".
        tolerance
            Relative residual up to which a measurement is met.
        fidelity
            Level of detail of the model.
        """
        if isinstance(measurements, str | os.PathLike):
            name = os.fspath(measurements)
            try:
                text = Path(name).read_text(encoding="utf-8")
            except OSError as error:
                raise _core.ConfigError(f"{name}: {error.strerror}") from None
            except UnicodeDecodeError:
                raise _core.ConfigError(f"{name}: CSV in UTF-8 is expected") from None
        else:
            name, text = "measurements", _csv(measurements)
        names, share = _names("free", free), number("tolerance", tolerance)
        core, found = self._core.fit(name, text, names, share, words("fidelity", fidelity))
        return CardFit(Card(core), dict(json.loads(found)))

    def _to_spec(self) -> dict[str, Any]:
        # a table in an experiment begins with another card; this gives every value of it
        return {"base": "sw-ai", **self.data}

    def __reduce__(self) -> tuple[Any, ...]:
        return (card, (self.data,))

    def __repr__(self) -> str:
        return f"<Card {self.name}: {self.core_groups} core groups>"


class CardBench:
    """Times of a collective on a card, by size and algorithm."""

    def __init__(self, core: _core.CardTimes) -> None:
        """Times; made by `Card.bench`."""
        self._text = core.json()
        self._core = core

    @cached_property
    def _picture(self) -> _core.Picture:
        return self._core.picture()

    def __getstate__(self) -> dict[str, Any]:
        return {"_text": self._text, "_picture": self._picture}

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything, as the command writes it with `--json`."""
        return dict(json.loads(self._text))

    @property
    def algorithms(self) -> list[str]:
        """The algorithms, in the order in which they were given."""
        rows = self.data["rows"]
        return [str(time["algorithm"]) for time in rows[0]["times"]] if rows else []

    @cached_property
    def table(self) -> Columns:
        """A row for each size and algorithm: `bytes`, `algorithm`, `time_s`, `bandwidth_bytes_per_s`
        (vector over time; both NaN where the algorithm cannot do it) and `best`, whether it is the fastest.
        """
        names = ("bytes", "algorithm", "time_s", "bandwidth_bytes_per_s", "best")
        rows = [
            {**time, "bytes": row["bytes"], "best": time["algorithm"] == row["best"]}
            for row in self.data["rows"]
            for time in row["times"]
        ]
        table = columns(rows, names)
        table["best"] = table["best"].astype(bool)
        return table

    @property
    def best(self) -> dict[int, str | None]:
        """The fastest algorithm by size; None where no algorithm can do it."""
        return {int(row["bytes"]): row["best"] for row in self.data["rows"]}

    @property
    def reasons(self) -> list[str]:
        """Why algorithms have no time at some sizes."""
        found = [time.get("reason") for row in self.data["rows"] for time in row["times"]]
        return list(dict.fromkeys(reason for reason in found if reason is not None))

    @property
    def picture(self) -> _core.Picture:
        """Bandwidth over size, as the command draws it."""
        return self._picture

    def plot(self, y: Literal["bandwidth", "time"] = "bandwidth", ax: "Axes | None" = None) -> "Axes":
        """Draws bandwidth or time over size on `ax`, or on new axes, with matplotlib (the extra `plot`)."""
        from .plot import card_bench

        return card_bench(self, y, ax)

    def __len__(self) -> int:
        return len(self.data["rows"])

    def __repr__(self) -> str:
        return f"<CardBench of {self.data['operation']} on {self.data['card']}: {len(self)} sizes>"

    def _repr_html_(self) -> str:
        return table(self.table, repr(self))


class CardFit:
    """A card with parameters that were fitted to measurements."""

    def __init__(self, card: Card, data: dict[str, Any]) -> None:
        """A fit; made by `Card.fit`."""
        self.card = card
        self.data = data

    @cached_property
    def parameters(self) -> Columns:
        """A row for each parameter: `name`, `unit`, `before`, `fitted`, and `determined`, whether any
        measurement depends on it.
        """
        return columns(self.data["parameters"], ("name", "unit", "before", "fitted", "determined"))

    @cached_property
    def anchors(self) -> Columns:
        """A row for each measurement: `line`, `name`, `measured_s`, `model_s`, `residual` (relative)."""
        return columns(self.data["anchors"], ("line", "name", "measured_s", "model_s", "residual"))

    @property
    def rms_residual(self) -> float:
        """Root of the mean squared relative residual."""
        return float(self.data["rms_residual"])

    @property
    def conflicts(self) -> list[list[int]]:
        """Sets of measurements, by line, that no choice of the parameters meets together."""
        return [list(lines) for lines in self.data["conflicting_lines"]]

    def __repr__(self) -> str:
        return f"<CardFit to {self.anchors.rows} measurements: {self.rms_residual:.2%}>"

    def _repr_html_(self) -> str:
        return table(self.parameters, repr(self))


def _assignments(set: Mapping[str, Any] | None) -> list[str]:
    given = settings("set", set, "{'bandwidth.ring': '200 GB/s'}")
    return [assignment(path, value) for path, value in given.items()]


def _names(argument: str, names: Sequence[str]) -> list[str]:
    each = names if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    return [words(argument, name, "a list of names") for name in each]


def _sizes(sizes: "str | int | Sequence[str | int]") -> str:
    each = sizes if isinstance(sizes, Iterable) and not isinstance(sizes, str) else [sizes]
    return ",".join(
        size if isinstance(size, str) else f"{whole('sizes', size, 2**64 - 1)} B" for size in each
    )


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    if not isinstance(rows, Iterable):
        raise _core.ConfigError(f"measurements: found {brief(rows)}, expected the path of a file or dicts")
    given = []
    for row in rows:
        if not isinstance(row, Mapping):
            # a table of pandas or polars gives its columns
            raise _core.ConfigError(f"measurements: found {brief(row)}, expected a dict for each of them")
        given.append(dict(row))
    names = list(dict.fromkeys(name for row in given for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(given)
    return out.getvalue()
