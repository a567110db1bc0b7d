"""To and from graphs of NetworkX (the extra `networkx`).

Topologies: nodes have a `kind` ("compute", "memory" or "switch"), compute nodes a `compute` type such as
"H100" or rates such as `fp32="10 TFLOP/s"`, memory nodes `capacity` and `bandwidth`; other attributes
that are whole numbers or texts are groups (`rack`, `server`). Edges have `bandwidth`, `latency` and,
where wanted, `sharing`, `duplex` and `name`. What is None or NaN (as pandas has it) is absent. An edge of an
undirected graph is a cable, full duplex unless it says otherwise; one of a directed graph is one direction.
A graph knows no routing rule: routes are shortest by latency unless the run's `routing` says otherwise.

Workloads: directed graphs whose nodes are vertices with a `kind` ("compute", "communication", ...) and
the fields of the workload `graph`, and whose edges are dependencies, with `distance` iterations back. What
else the workload says (`iterations`, `precision`, `ranks`, `unit`) are attributes of the graph as a whole.
"""

import json
import os
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from .machine import Topology
from .spec import Spec, brief, encode, is_graph

if TYPE_CHECKING:
    import networkx

    _Precision = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"]

# which node or edge it is, never absent
_IDENTITY = {"id", "source", "target", "key"}

# what a workload says beside its vertices and edges
_OPTIONS = ("iterations", "precision", "ranks", "unit")

__all__ = ["from_networkx", "to_networkx", "workload_from_networkx", "workload_to_networkx"]


def from_networkx(
    graph: "networkx.Graph[Any]", *, seed: int = 1, base: str | os.PathLike[str] = ""
) -> Topology:
    """The topology that a graph describes.

    Raises ConfigError for attributes that make no topology; it names the node or edge, and says what
    to write.
    """
    return Topology(graph, seed=seed, base=base)


def to_networkx(topology: Topology | Mapping[str, Any] | str) -> "networkx.Graph[Any]":
    """A topology, built or as its spec, as a graph that `from_networkx` reads back.

    Undirected where every link is a cable with two equal directions, otherwise directed; a multigraph
    where links are parallel. `dimensions` of the graph is text such as "4,4", which all writers of
    NetworkX take.
    """
    if not isinstance(topology, Topology):
        topology = Topology(topology)
    data = json.loads(topology.export("networkx-json"))
    graph: networkx.Graph[Any] = _networkx().node_link_graph(data, edges="edges")
    if extents := graph.graph.get("dimensions"):
        graph.graph["dimensions"] = ",".join(map(str, extents))
    return graph


def workload_from_networkx(
    graph: "networkx.DiGraph[Any]",
    *,
    iterations: int | None = None,
    precision: "_Precision | None" = None,
    ranks: int | None = None,
    unit: str | None = None,
) -> Spec:
    """The workload that a directed graph describes; the keywords are those of the workload `graph`.

    Keywords that are not given are taken from the attributes of the graph as a whole (`graph.graph`), where
    they stand there. Raises ConfigError for those that do not fit; the graph itself is read when it is run.
    """
    from .workload import graph as workload

    data = node_link(graph, "workload")
    given = {"iterations": iterations, "precision": precision, "ranks": ranks, "unit": unit}
    whole = dict(data.get("graph", {}))
    said = {name: whole.pop(name, None) for name in _OPTIONS}
    options: dict[str, Any] = {name: said[name] if given[name] is None else given[name] for name in _OPTIONS}
    return workload(data={**data, "graph": whole}, **options)


def workload_to_networkx(
    workload: Mapping[str, Any], *, base: str | os.PathLike[str] = ""
) -> "networkx.DiGraph[Any]":
    """A workload of the kind `graph` as a directed graph that `workload_from_networkx` reads back.

    The graph may stand in `vertices` and `edges`, in `data`, or in the file at `path` (relative to
    `base`). Raises ConfigError for other kinds of workloads.
    """
    if not isinstance(workload, Mapping):
        raise _core.ConfigError(f"workload: found {brief(workload)}, expected a dict of the kind `graph`")
    if workload.get("kind") != "graph":
        raise _core.ConfigError(
            f"workload.kind: a workload of kind `{workload.get('kind')}` is no graph of vertices and edges"
        )
    lists = json.loads(_core.workload_node_link(encode(workload, "workload"), base))
    data = workload.get("data")
    if path := workload.get("path"):
        data = json.loads((Path(base) / path).read_text(encoding="utf-8-sig"))
    if data is None or "nodes" not in data:
        data = lists
        ends = [(edge["source"], edge["target"]) for edge in data["edges"]]
        # several edges between two vertices differ in how far they reach back
        data["multigraph"] = len(set(ends)) < len(ends)
    said = {name: workload[name] for name in _OPTIONS if workload.get(name) is not None}
    data = {**data, "graph": {**data.get("graph", {}), **said}}
    data = {"directed": True, "multigraph": False, **data}
    edges = "links" if "links" in data else "edges"
    graph: networkx.DiGraph[Any] = _networkx().node_link_graph(data, edges=edges)
    return graph


def node_link(graph: "networkx.Graph[Any]", place: str) -> dict[str, Any]:
    """The graph at `place` of an experiment as data for JSON.

    Raises ConfigError for what is no graph.
    """
    if not is_graph(graph):
        also = ", a Topology" if place == "topology" else ""
        raise _core.ConfigError(
            f"{place}: found {brief(graph)} of type {type(graph).__name__}, expected what a function "
            f"of stratasim.{place} returns, a dict with a `kind`, the name of a kind{also} or a graph of "
            "NetworkX"
        )
    data: dict[str, Any] = _networkx().node_link_data(graph, edges="edges")
    (whole,) = _without_nan([data["graph"]])
    nodes, edges = _without_nan(data["nodes"]), _without_nan(data["edges"])
    for entries, ends in ((nodes, ["id"]), (edges, ["source", "target"])):
        for entry in entries:
            entry.update({end: _name(entry[end], place) for end in ends if isinstance(entry[end], tuple)})
    return {**data, "graph": whole, "nodes": nodes, "edges": edges}


def _name(node: tuple[Any, ...], place: str) -> Any:
    """A node of a grid or product under the name that `str` gives it, where nobody below does it."""
    if place == "topology" and not any(isinstance(part, tuple) for part in node):
        return node
    return str(_plain(node))


def _plain(node: Any) -> Any:
    # NumPy's numbers say what they are, `np.int64(3)`
    if isinstance(node, tuple):
        return tuple(_plain(part) for part in node)
    return node.item() if callable(getattr(node, "item", None)) else node


def _without_nan(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nodes or edges without attributes that are NaN, the word of pandas for none. It makes floating point of
    the whole numbers beside it, which are whole again.
    """
    with_none = {key for entry in entries for key, value in entry.items() if _is_nan(value)} - _IDENTITY
    if not with_none:
        return entries

    def kept(key: str, value: Any) -> Any:
        return int(value) if key in with_none and isinstance(value, float) and value.is_integer() else value

    return [
        {key: kept(key, value) for key, value in entry.items() if key in _IDENTITY or not _is_nan(value)}
        for entry in entries
    ]


def _is_nan(value: object) -> bool:
    # nothing else differs from itself; NA of pandas does not say whether it does
    return type(value).__name__ == "NAType" or (isinstance(value, Real) and value != value)


def _networkx() -> Any:
    try:
        import networkx
    except ImportError as error:
        raise ImportError("this needs NetworkX: pip install 'stratasim[networkx]'") from error
    return networkx
