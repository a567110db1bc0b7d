"""Writes the files of this folder; run in it with NetworkX 3.6.1."""

import json
from pathlib import Path

import networkx as nx

# an undirected multigraph: two servers, parallel cables, a half-duplex memory cable
G = nx.MultiGraph(name="two servers", dimensions=[2, 2])
for s in range(2):
    for g in range(2):
        G.add_node(
            f"gpu-{s}-{g}",
            kind="compute",
            compute="H100",
            server=s,
            home_memory=f"memory-{s}",
        )
    G.add_node(f"switch-{s}", kind="switch", server=s)
    G.add_node(f"memory-{s}", kind="memory", capacity="1 TiB", bandwidth="128 GB/s")
for s in range(2):
    for g in range(2):
        G.add_edge(
            f"gpu-{s}-{g}", f"switch-{s}", bandwidth="450 GB/s", latency="100 ns"
        )
    G.add_edge(
        f"memory-{s}",
        f"switch-{s}",
        bandwidth="64 GB/s",
        latency="200 ns",
        duplex="half",
        name=f"cxl-{s}",
    )
for k in range(2):
    G.add_edge(
        "switch-0", "switch-1", bandwidth="400 Gbps", latency="1 us", name=f"uplink-{k}"
    )
Path("servers.json").write_text(
    json.dumps(nx.node_link_data(G, edges="edges"), indent=1)
)
Path("servers-links.json").write_text(
    json.dumps(nx.node_link_data(G, edges="links"), indent=1)
)
H = G.copy()
H.graph["dimensions"] = "2,2"
nx.write_graphml(H, "servers.graphml")
# a directed graph: one-way links, rates written out, other attributes
G = nx.DiGraph()
G.add_node(
    1,
    kind="compute",
    compute="mine",
    fp32="10 TFLOP/s",
    bf16="40 TFLOP/s",
    cores=4,
    memory="16 GiB",
    **{"memory-bandwidth": "900 GB/s"},
    rack="left",
    weight=1.5,
)
G.add_node(2, kind="compute", fp64="1 TFLOP/s", rack="right", note=True)
G.add_node(3, kind="switch", rack="left")
G.add_edge(1, 3, bandwidth="10 Gbps", latency="5 us", sharing="fat-pipe")
G.add_edge(3, 1, bandwidth="40 Gbps", latency="4 us")
G.add_edge(2, 3, bandwidth="10 Gbps", latency="5 us", cable=7)
G.add_edge(3, 2, bandwidth="10 Gbps", latency="5 us", cable=7)
Path("directed.json").write_text(json.dumps(nx.node_link_data(G), indent=1))
nx.write_graphml(G, "directed.graphml")
# a generator of NetworkX: nodes are tuples
G = nx.grid_2d_graph(2, 3)
nx.set_node_attributes(G, "compute", "kind")
nx.set_node_attributes(G, "A100", "compute")
nx.set_edge_attributes(G, "25 GB/s", "bandwidth")
nx.set_edge_attributes(G, "150 ns", "latency")
Path("grid.json").write_text(json.dumps(nx.node_link_data(G), indent=1))
nx.write_graphml(G, "grid.graphml")
