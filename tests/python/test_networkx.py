"""Graphs of NetworkX, in and out."""

import json
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.utils import graphs_equal

import stratasim as ss
from conftest import ALL_REDUCE, ROOT

CABLE = {"bandwidth": "100 Gbps", "latency": "500 ns"}
RING = {"kind": "ring", "nodes": 6, **CABLE}

MACHINES = {
    "switch": ss.topology.single_switch(nodes=6, **CABLE),
    "ring": ss.topology.ring(nodes=6, **CABLE),
    "torus": ss.topology.torus(dimensions=[3, 2], **CABLE),
    "hypercube": ss.topology.hypercube(dimensions=3, **CABLE),
    "fat tree": ss.topology.fat_tree(k=4, **CABLE),
    "parallel cables": ss.topology.fully_connected(nodes=4, parallel=2, **CABLE),
    "half duplex": ss.topology.ring(nodes=6, duplex="half", **CABLE),
    "lost links": ss.topology.without(of=RING, links=["host-0->host-1"]),
    "two types": ss.topology.with_compute(of=RING, compute="A100", nodes=["host-0"]),
    "memory nodes": ss.topology.hcsim_cxl(xpus=8),
    "ethernet": ss.topology.hcsim_ethernet(xpus=8),
}


def test_what_does_not_forward_is_kept() -> None:
    graph = nx.Graph()
    graph.add_node("a", kind="compute", compute="H100", forwards=False)
    graph.add_node("b", kind="compute", compute="H100")
    graph.add_node("s", kind="switch")
    graph.add_edges_from([("a", "s"), ("b", "s"), ("a", "b")], **CABLE)
    machine = ss.networkx.from_networkx(graph)
    assert machine.nodes["forwards"].tolist() == [False, True, True]
    again = machine.to_networkx()
    assert again.nodes["a"]["forwards"] is False
    assert "forwards" not in again.nodes["b"]
    assert ss.Topology(RING).nodes["forwards"].all()


def test_networkx_itself_writes_every_machine(tmp_path: Path) -> None:
    for name, machine in MACHINES.items():
        graph = ss.networkx.to_networkx(machine)
        nx.write_graphml(graph, tmp_path / "machine.graphml")
        again = ss.Topology({"kind": "graphml", "path": str(tmp_path / "machine.graphml")})
        assert again.dimensions == ss.Topology(machine).dimensions, name


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_and_its_graph_give_exactly_the_same_result(name: str) -> None:
    topology = ss.Topology(MACHINES[name])
    graph = ss.networkx.to_networkx(topology)
    again = ss.networkx.from_networkx(graph)
    assert again.nodes["name"] == topology.nodes["name"]
    # NetworkX keeps edges by node, so links come in another order
    assert sorted(again.links["latency_s"]) == sorted(topology.links["latency_s"])
    # a graph knows no routing rule
    first = ss.simulate(topology, ALL_REDUCE, routing="dijkstra")
    second = ss.simulate(graph, ALL_REDUCE, routing="dijkstra")
    assert second.digest == first.digest
    assert second.ranks["finish_s"].tolist() == first.ranks["finish_s"].tolist()
    # and once more
    assert ss.simulate(again.to_networkx(), ALL_REDUCE, routing="dijkstra").digest == first.digest


@pytest.mark.parametrize("name", ["memory nodes", "ethernet", "half duplex", "by hand"])
def test_names_of_links_keep_their_direction(name: str) -> None:
    cable = {"from": "b", "to": "a", "name": "x", **CABLE}
    by_hand = ss.topology.graph(nodes=[{"name": "a"}, {"name": "b"}], links=[cable])
    topology = ss.Topology(MACHINES.get(name, by_hand))
    again = ss.networkx.from_networkx(ss.networkx.to_networkx(topology))
    ends = [
        set(zip(it.links["name"], it.links["from"], it.links["to"], strict=True)) for it in (topology, again)
    ]
    assert ends[0] == ends[1]


def test_the_kind_of_graph_follows_the_links() -> None:
    kinds = {name: type(ss.networkx.to_networkx(machine)) for name, machine in MACHINES.items()}
    assert kinds["ring"] is nx.Graph
    assert kinds["parallel cables"] is nx.MultiGraph
    assert kinds["lost links"] is nx.DiGraph


def test_a_graph_by_hand_is_a_machine() -> None:
    graph: nx.Graph[Any] = nx.star_graph(3)
    nx.set_node_attributes(graph, {0: "switch"} | dict.fromkeys((1, 2, 3), "compute"), "kind")
    nx.set_node_attributes(graph, dict.fromkeys((1, 2, 3), "H100"), "compute")
    nx.set_edge_attributes(graph, "50 Gbps", "bandwidth")
    nx.set_edge_attributes(graph, "1 us", "latency")
    topology = ss.networkx.from_networkx(graph)
    assert topology.nodes["kind"] == ["switch", "compute", "compute", "compute"]
    assert topology.link_count == 6
    assert topology.route("1", "3").latency_s == 2e-6
    # three steps of a ring of three, twice: 1 MB thirds over two links
    result = ss.simulate(graph, ss.workload.collective(operation="all-gather", bytes="3 MB"))
    assert result.makespan_s > 0


@settings(max_examples=25)
@given(
    edges=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda e: e[0] < e[1]), min_size=1),
    rate=st.integers(1, 800),
    latency=st.integers(0, 5000),
)
def test_any_connected_graph_survives_the_round_trip(
    edges: set[tuple[int, int]], rate: int, latency: int
) -> None:
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_edges_from(sorted(edges), bandwidth=f"{rate} Gbps", latency=f"{latency} ns")
    part = graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
    nx.set_node_attributes(part, "compute", "kind")
    nx.set_node_attributes(part, "A100", "compute")
    topology = ss.networkx.from_networkx(part)
    assert topology.node_count == part.number_of_nodes()
    assert topology.link_count == 2 * part.number_of_edges()
    again = ss.networkx.to_networkx(topology)
    assert sorted(map(sorted, again.edges)) == sorted(sorted(map(str, edge)) for edge in part.edges)
    latencies = ss.networkx.from_networkx(again).links["latency_s"]
    assert latencies.tolist() == pytest.approx([latency * 1e-9] * topology.link_count)
    # hops of the routes are those of the graph
    lengths = dict(nx.all_pairs_shortest_path_length(part))
    first, *others = part.nodes
    for other in others:
        route = topology.route(str(first), str(other), routing={"kind": "dijkstra", "by": "hops"})
        assert len(route.links) == lengths[first][other]


@pytest.mark.parametrize("name", MACHINES)
def test_a_topology_is_built_from_a_graph_as_from_its_spec(name: str) -> None:
    topology = ss.Topology(MACHINES[name])
    again = ss.Topology(ss.networkx.to_networkx(topology), seed=7)
    assert again.nodes["name"] == topology.nodes["name"]
    assert sorted(again.links["latency_s"]) == sorted(topology.links["latency_s"])
    assert again.seed == 7
    # a graph and a built topology are the same to whoever draws them
    graph = ss.networkx.to_networkx(again)
    assert graphs_equal(ss.networkx.to_networkx(graph), graph)


def test_a_graph_inside_an_experiment_is_refused_with_what_to_do() -> None:
    graph: nx.Graph[Any] = nx.path_graph(2)
    with pytest.raises(ss.ConfigError, match=r"make it a topology with stratasim\.networkx\.from_networkx"):
        ss.run({"topology": graph, "workload": ALL_REDUCE})


def test_what_makes_no_machine_names_the_edge() -> None:
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_node("a", kind="compute", compute="H100")
    graph.add_node("b", kind="compute", compute="H100")
    graph.add_edge("a", "b", bandwidth="fast", latency="1 us")
    with pytest.raises(ss.ConfigError, match="fast"):
        ss.networkx.from_networkx(graph)
    graph.edges["a", "b"]["bandwidth"] = "1 Gbps"
    graph.nodes["a"]["kind"] = "computer"
    with pytest.raises(ss.ConfigError, match="computer"):
        ss.networkx.from_networkx(graph)


def workload_graph() -> "nx.DiGraph[Any]":
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_node("work", kind="compute", ranks="all", flops=1e12, precision="fp32")
    graph.add_node("sum", kind="communication", collective="all-reduce", algorithm="ring", bytes=4_000_000)
    graph.add_edge("work", "sum")
    graph.add_edge("sum", "work", distance=1)
    return graph


@pytest.mark.parametrize("none", [float("nan"), np.float32("nan"), None])
def test_nodes_of_a_table_of_pandas_have_nan_where_it_says_nothing(none: Any) -> None:
    # as of `DataFrame.to_dict("index")`: one column for nodes of all kinds, and floating point beside NaN
    whole = int if none is None else float
    host = {"kind": "compute", "compute": none, "fp32": "1 TFLOP/s", "cores": whole(4)}
    graph: nx.Graph[Any] = nx.Graph(pandas=none)
    graph.add_node("switch", kind="switch", compute=none, fp32=none, cores=none, rack=none)
    for name, rack in (("a", 1), ("b", 2)):
        graph.add_node(name, **host, rack=whole(rack))
        graph.add_edge(name, "switch", duplex=none, **CABLE)
    topology = ss.networkx.from_networkx(graph)
    assert topology.nodes["rack"].tolist() == [-1, 1, 2]
    assert topology.link_count == 4
    graph.edges["a", "switch"]["bandwidth"] = none
    with pytest.raises(ss.ConfigError, match=r'edge from .* is missing; write bandwidth = "400 Gbps"'):
        ss.networkx.from_networkx(graph)


def test_nodes_of_grids_and_products_have_the_names_that_python_gives_them() -> None:
    product = nx.cartesian_product(nx.grid_2d_graph(2, 2), nx.path_graph([np.int64(0), "b"]))
    nx.set_node_attributes(product, "switch", "kind")
    nx.set_edge_attributes(product, "1 GB/s", "bandwidth")
    nx.set_edge_attributes(product, "1 us", "latency")
    names = ss.networkx.from_networkx(product).nodes["name"]
    assert names[:2] == ["((0, 0), 0)", "((0, 0), 'b')"]
    # a wave front over a grid
    wave: nx.DiGraph[Any] = nx.DiGraph()
    for x, y in ((0, 0), (np.int64(0), 1), (1, 0), (1, 1)):
        wave.add_node((x, y), kind="compute", rank=0, flops="1 MFLOP", precision="fp32")
    wave.add_edges_from([((0, 0), (0, 1)), ((0, 0), (1, 0)), ((0, 1), (1, 1)), ((1, 0), (1, 1))])
    result = ss.simulate(MACHINES["ring"], wave)
    assert list(result.tasks["name"])[::3] == ["(0, 0)", "(1, 1)"]


def test_a_node_cannot_be_nan() -> None:
    with pytest.raises(ss.ConfigError, match=r"id: nan and infinity"):
        ss.networkx.from_networkx(nx.Graph([(float("nan"), 1.0)]))


def test_a_workload_graph_runs_as_the_same_lists_do() -> None:
    ring = ss.topology.ring(nodes=4, bandwidth="100 Gbps", latency="1 us")
    lists = ss.workload.graph(
        iterations=3,
        vertices=[
            {"name": "work", "kind": "compute", "ranks": "all", "flops": "1 TFLOP"},
            {
                "name": "sum",
                "kind": "communication",
                "collective": "all-reduce",
                "algorithm": "ring",
                "bytes": "4 MB",
            },
        ],
        edges=[{"from": "work", "to": "sum"}, {"from": "sum", "to": "work", "distance": 1}],
    )
    by_lists = ss.simulate(ring, lists)
    workload = ss.networkx.workload_from_networkx(workload_graph(), iterations=3)
    by_graph = ss.simulate(ring, workload)
    assert by_graph.digest == by_lists.digest
    h100_flop_per_s = ss.Topology(ring).nodes["fp32_flop_per_s"][0]
    step_s = 1e12 / h100_flop_per_s + 6 * (1e-6 + 1e6 / 12.5e9)
    assert by_graph.makespan_s == pytest.approx(3 * step_s, rel=1e-9)
    # out again, from either, and in
    for spec in (lists, workload):
        graph = ss.networkx.workload_to_networkx(spec)
        assert set(graph.edges) == {("work", "sum"), ("sum", "work")}
        again = ss.networkx.workload_from_networkx(graph, iterations=3)
        assert ss.simulate(ring, again).digest == by_lists.digest


def test_a_workload_says_beside_its_graph_what_it_said_before() -> None:
    ring = ss.topology.ring(nodes=3, bandwidth="100 Gbps", latency="1 us")
    spec = ss.workload.graph(
        iterations=4,
        precision="fp64",
        ranks=2,
        unit="8 MB",
        vertices=[
            {"name": "work", "kind": "compute", "ranks": "all", "flops": "1 TFLOP"},
            {"name": "sum", "kind": "communication", "collective": "all-reduce", "bytes": "0.5 unit"},
        ],
        edges=[{"from": "work", "to": "sum"}, {"from": "sum", "to": "work", "distance": 1}],
    )
    first = ss.simulate(ring, spec)
    graph = ss.networkx.workload_to_networkx(spec)
    assert graph.graph == {"iterations": 4, "precision": "fp64", "ranks": 2, "unit": "8 MB"}
    again = ss.networkx.workload_from_networkx(graph)
    assert ss.simulate(ring, again).digest == first.digest
    once = ss.networkx.workload_from_networkx(graph, iterations=1)
    assert ss.simulate(ring, once).makespan_s == pytest.approx(first.makespan_s / 4)
    # what would not count is refused
    with pytest.raises(
        ss.ConfigError, match=r"graph\.iterations: this is said of the workload.*`iterations = 4`"
    ):
        ss.simulate(ring, ss.workload.graph(data=nx.node_link_data(graph, edges="edges")))


@pytest.mark.parametrize(
    "text",
    ['{"nodes": [], "edges": [{"source": "a"}]}', '{"nodes": []', "[]", "5", '{"nodes": [{"kind": 1}]}'],
)
def test_a_damaged_workload_graph_is_a_config_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "work.json").write_text(text, encoding="utf-8")
    with pytest.raises(ss.ConfigError, match=r"workload\.path: work\.json(, line 1)?: "):
        ss.networkx.workload_to_networkx(ss.workload.graph(path="work.json"), base=tmp_path)


def test_a_workload_graph_in_a_file_is_read(tmp_path: Path) -> None:
    data = nx.node_link_data(workload_graph(), edges="edges")
    (tmp_path / "work.json").write_text(json.dumps(data), encoding="utf-8")
    spec = ss.workload.graph(path="work.json")
    graph = ss.networkx.workload_to_networkx(spec, base=tmp_path)
    assert graphs_equal(graph, workload_graph())
    with pytest.raises(ss.ConfigError, match=r"absent\.json"):
        ss.networkx.workload_to_networkx(ss.workload.graph(path="absent.json"), base=tmp_path)
    with pytest.raises(ss.ConfigError, match="no graph"):
        ss.networkx.workload_to_networkx(ALL_REDUCE)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "data" / "networkx").glob("*.json")), ids=lambda p: p.name
)
def test_files_that_networkx_wrote_are_read_as_networkx_reads_them(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    graph = nx.node_link_graph(data, edges="links" if "links" in data else "edges")
    from_file = ss.Topology(ss.topology.networkx_json(path=path.name), base=path.parent)
    from_graph = ss.networkx.from_networkx(graph)
    assert from_file.nodes["name"] == from_graph.nodes["name"]
    assert from_file.links["name"] == from_graph.links["name"]


def test_without_networkx_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"stratasim\[networkx\]"):
        ss.networkx.to_networkx(RING)
