"""Built topologies: looked at, exported, and run on."""

import json
import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from .result import Columns
from .spec import Spec, base_of, encode, whole, words

if TYPE_CHECKING:
    import networkx

__all__ = ["Route", "Topology"]


class Route(NamedTuple):
    """The way of a message."""

    links: list[str]
    """Names of the links, in order."""
    latency_s: float
    """Sum of their latencies in seconds."""


class Topology:
    """A frozen graph of compute, memory and switch nodes.

    Built from a spec (`stratasim.topology.fat_tree(...)`, or a dict as in a file) or from a graph of
    NetworkX, once; it can then be used for any number of runs. Nodes and links are numbered from 0.
    """

    def __init__(
        self,
        spec: "Mapping[str, Any] | str | networkx.Graph[Any]",
        *,
        seed: int = 1,
        base: str | os.PathLike[str] = "",
    ) -> None:
        """Builds the topology of `spec`: a spec, the name of a kind, or a graph (see `stratasim.networkx`).

        `seed` feeds what is drawn at random, such as the links that fail; a run with another seed
        builds the topology again. Relative paths start from the folder `base`.

        Raises ConfigError when the spec makes no topology.
        """
        if not isinstance(spec, Mapping | str | Topology):
            from .networkx import node_link

            spec = {"kind": "networkx-json", "data": node_link(spec, "topology")}
        self._core = _core.Topology(
            encode(section(spec), "topology"), whole("seed", seed, 2**64 - 1), base_of(base)
        )

    @property
    def spec(self) -> Spec:
        """The spec with every default; a new one each time, whose changes change no topology."""
        return Spec("topology", json.loads(self._core.spec()))

    @property
    def seed(self) -> int:
        """The seed that it was built with."""
        return self._core.seed

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self._core.node_count

    @property
    def link_count(self) -> int:
        """Number of links; both directions of a full-duplex cable count."""
        return self._core.link_count

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Extents of the dimensions that the compute nodes fill, innermost first; empty for none."""
        return tuple(self._core.dimensions)

    @cached_property
    def nodes(self) -> Columns:
        """The nodes, a column for each property.

        `name`, `kind` (compute, memory or switch) and `compute` (type, or empty) are lists of text;
        `fp32_flop_per_s` and so on (per core), `memory_bytes` (infinite without bound), `home_memory`
        (a node's number, or -1), `forwards` (whether messages of others may go through it) and a column for
        each grouping (rack, server; -1 for none) are NumPy arrays.
        """
        return Columns(self._core.nodes())

    @cached_property
    def links(self) -> Columns:
        """The links, a column for each property.

        `name` and `sharing` are lists of text; `from` and `to` (numbers of nodes, -1 for a link that
        only routes know), `bandwidth_bytes_per_s`, `latency_s`, `half_duplex` and `reverse` (number of
        the other direction, or -1) are NumPy arrays.
        """
        return Columns(self._core.links())

    def route(self, src: str, dst: str, *, routing: Mapping[str, Any] | str = "auto", key: int = 0) -> Route:
        """The way from node `src` to node `dst`; `key` chooses among equal paths where routing spreads.

        Raises ConfigError for unknown nodes, and when there is no way.
        """
        src, dst = (words(end, node, "the name of a node") for end, node in (("src", src), ("dst", dst)))
        rule = encode(section(routing), "routing")
        links, latency_s = self._core.route(src, dst, rule, whole("key", key, 2**64 - 1))
        names = self.links["name"]
        return Route([names[link] for link in links], latency_s)

    def export(self, format: str, *, routing: Mapping[str, Any] | str = "auto") -> str:
        """The topology as text: `simgrid-xml`, `networkx-json` or `graphml`.

        `routing` gives the routes where the format holds routes.
        """
        return self._core.export(words("format", format), encode(section(routing), "routing"))

    def to_networkx(self) -> "networkx.Graph[Any]":
        """The topology as a graph of NetworkX; see `stratasim.networkx`."""
        from .networkx import to_networkx

        return to_networkx(self)

    def _to_spec(self) -> dict[str, Any]:
        return self.spec

    def __repr__(self) -> str:
        return f"<Topology {self.spec.kind}: {self.node_count} nodes, {self.link_count} links>"

    def __reduce__(self) -> tuple[Any, ...]:
        # built again where it is unpickled; the same spec and seed give the same topology
        return (_rebuilt, (self._core.spec(), self.seed, os.path.abspath(self._core.base)))


def _rebuilt(spec: str, seed: int, base: str) -> Topology:
    return Topology(json.loads(spec), seed=seed, base=base)


def section(value: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """A section of an experiment; a word alone is its kind."""
    return {"kind": value} if isinstance(value, str) else value
