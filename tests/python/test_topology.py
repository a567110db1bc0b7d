"""Topologies: every generator, and what is built."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stratasim as ss
from conftest import ROOT

CABLE = {"bandwidth": "100 Gbps", "latency": "500 ns"}
RING = {"kind": "ring", "nodes": 4, **CABLE}
NODES = [{"name": "a", "compute": "H100"}, {"name": "b", "compute": "H100"}]
DATA = ROOT / "tests" / "data"

# what must be given, and how many nodes and links come of it
GENERATORS: dict[str, tuple[dict[str, Any], int, int]] = {
    "single_switch": ({"nodes": 4, **CABLE}, 5, 8),
    "star": ({"nodes": 4, **CABLE}, 4, 6),
    "ring": ({"nodes": 4, **CABLE}, 4, 8),
    "fully_connected": ({"nodes": 4, **CABLE}, 4, 12),
    "mesh": ({"dimensions": [3, 2], **CABLE}, 6, 14),
    "torus": ({"dimensions": [3, 3], **CABLE}, 9, 36),
    "hypercube": ({"dimensions": 3, **CABLE}, 8, 24),
    "hyperx": ({"dimensions": [2, 2], "hosts_per_switch": 2, **CABLE}, 12, 24),
    # 2 groups of 2 routers, 1 host each: 4 + 4 nodes; cables to 4 hosts, 2 local, 1 or more global
    "dragonfly": (
        {"hosts_per_router": 1, "routers_per_group": 2, "global_links_per_router": 1, **CABLE},
        12,
        24,
    ),
    "multi_dimensional": ({"dimensions": [{"shape": "ring", "nodes": 4, **CABLE}]}, 4, 8),
    "fat_tree": ({"k": 4, **CABLE}, 36, 96),
    "leaf_spine": ({"leaves": 2, "spines": 2, "hosts_per_leaf": 2, **CABLE}, 8, 16),
    "k_ary_n_fly": ({"k": 2, "n": 2, **CABLE}, 8, 12),
    "k_ary_n_tree": ({"k": 2, "n": 2, **CABLE}, 8, 16),
    "hcsim_cxl": ({"xpus": 8}, 0, 0),
    "hcsim_ethernet": ({"xpus": 8}, 0, 0),
    "graph": ({"nodes": NODES, "links": [{"from": "a", "to": "b", **CABLE}]}, 2, 2),
    # what it makes is counted where it is built
    "cards": ({"of": RING, "card": "sw-ai"}, 0, 0),
    "scaled": ({"of": RING, "bandwidth": 2.0}, 4, 8),
    "degraded": ({"of": RING, "factor": 0.5, "links": ["*"]}, 4, 8),
    "without": ({"of": RING, "links": ["host-0->host-1"]}, 4, 7),
    "with_compute": ({"of": RING, "compute": "A100", "nodes": ["host-0"]}, 4, 8),
    "simgrid_xml": ({}, 0, 0),
    "networkx_json": ({}, 0, 0),
    "graphml": ({}, 0, 0),
}


def test_every_generator_is_tried() -> None:
    assert list(GENERATORS) == ss.topology.__all__


@pytest.mark.parametrize("name", [name for name, (_, nodes, _) in GENERATORS.items() if nodes])
def test_a_generator_takes_what_its_signature_requires(name: str) -> None:
    keywords, nodes, links = GENERATORS[name]
    function = getattr(ss.topology, name)
    required = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    assert set(required) <= set(keywords)
    topology = ss.Topology(function(**keywords))
    assert (topology.node_count, topology.link_count) == (nodes, links)


@pytest.mark.parametrize("name", ["hcsim_cxl", "hcsim_ethernet"])
def test_the_machines_of_the_paper_have_as_many_accelerators_as_asked(name: str) -> None:
    topology = ss.Topology(getattr(ss.topology, name)(**GENERATORS[name][0]))
    accelerators = [kind == "H100" for kind in topology.nodes["compute"]]
    assert sum(accelerators) == 8


@pytest.mark.parametrize("name", [name for name, (keywords, *_) in GENERATORS.items() if keywords])
def test_a_missing_keyword_is_a_config_error_that_names_it(name: str) -> None:
    keywords = GENERATORS[name][0]
    function = getattr(ss.topology, name)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is parameter.empty:
            rest = {key: value for key, value in keywords.items() if key != parameter.name}
            with pytest.raises(ss.ConfigError, match=parameter.name.replace("_", "-")):
                function(**rest)


@pytest.mark.parametrize(
    ("function", "format", "end"),
    [
        ("simgrid_xml", "simgrid-xml", "xml"),
        ("networkx_json", "networkx-json", "json"),
        ("graphml", "graphml", "graphml"),
    ],
)
def test_an_exported_file_reads_back_as_the_same_machine(
    function: str, format: str, end: str, tmp_path: Path
) -> None:
    topology = ss.Topology(ss.topology.torus(dimensions=[3, 3], **CABLE))
    path = tmp_path / f"machine.{end}"
    path.write_text(topology.export(format, routing="dijkstra"), encoding="utf-8")
    again = ss.Topology(getattr(ss.topology, function)(path=path.name), base=tmp_path)
    assert sorted(again.nodes["name"]) == sorted(topology.nodes["name"])
    links = zip(again.links["name"], again.links["bandwidth_bytes_per_s"], strict=True)
    # SimGrid gives a host a way to itself
    rates = [rate for name, rate in links if name != "__loopback__"]
    np.testing.assert_allclose(rates, topology.links["bandwidth_bytes_per_s"], rtol=1e-12)
    # a file may have its own order of nodes, so ranks are placed by name
    workload = ss.workload.collective(operation="all-reduce", bytes="9 MB", algorithm=ss.collective.ring())
    ranks = ss.placement.list(nodes=sorted(topology.nodes["name"]))
    # a file of SimGrid holds the routes themselves
    routing = "auto" if format == "simgrid-xml" else "dijkstra"
    first = ss.simulate(topology, workload, routing="dijkstra", placement=ranks)
    second = ss.simulate(again, workload, routing=routing, placement=ranks, base=tmp_path)
    assert second.makespan_s == pytest.approx(first.makespan_s, rel=1e-9)


def test_columns_describe_nodes_and_links() -> None:
    topology = ss.Topology(ss.topology.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2, **CABLE))
    nodes, links = topology.nodes, topology.links
    assert nodes["kind"] == ["compute"] * 4 + ["switch"] * 3
    assert nodes["rack"].tolist()[:4] == [0, 0, 1, 1]
    assert all(len(column) == topology.node_count for column in nodes.values())
    assert all(len(column) == topology.link_count for column in links.values())
    assert set(links["bandwidth_bytes_per_s"]) == {12.5e9}
    assert set(links["latency_s"]) == {5e-7}
    # the other direction of the other direction is the link itself
    assert links["reverse"][links["reverse"]].tolist() == list(range(topology.link_count))
    names = np.array(nodes["name"])
    ends = [f"{a}->{b}" for a, b in zip(names[links["from"]], names[links["to"]], strict=True)]
    assert ends == links["name"]


def test_a_route_climbs_and_descends() -> None:
    topology = ss.Topology(ss.topology.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2, **CABLE))
    route = topology.route("host-0", "host-3")
    assert route.links == ["host-0->leaf-0", "leaf-0->spine-0", "spine-0->leaf-1", "leaf-1->host-3"]
    assert route.latency_s == 4 * 500e-9
    with pytest.raises(ss.ConfigError, match="no node `host-9`"):
        topology.route("host-0", "host-9")


def test_a_topology_is_built_again_when_unpickled() -> None:
    spec = ss.topology.without(of=RING, fraction_of_links=0.25, seed=7)
    topology = ss.Topology(spec, seed=3)
    again = pickle.loads(pickle.dumps(topology))
    assert again.links["name"] == topology.links["name"]
    assert (again.seed, again.spec) == (3, topology.spec)


def test_what_makes_no_topology_says_why() -> None:
    with pytest.raises(ss.ConfigError, match=r"topology\.nodes"):
        ss.Topology(ss.topology.ring(nodes=1, **CABLE))
    with pytest.raises(ss.ConfigError, match="did you mean `ring`"):
        ss.Topology({"kind": "rin"})
    with pytest.raises(ss.ConfigError, match="simgrid-xml"):
        ss.Topology(RING).export("gml")
