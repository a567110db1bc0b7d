"""Running experiments."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import stratasim as ss
from conftest import ALL_REDUCE, RING, ROOT

# six steps of a ring of four: latency and a quarter of 4 MB at 100 Gbps
ALL_REDUCE_S = 6 * (1e-6 + 1e6 / 12.5e9)

LONG = ROOT / "benches" / "cases" / "hc-fine-1024.toml"
Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_ring_all_reduce_takes_its_closed_form() -> None:
    assert ss.simulate(RING, ALL_REDUCE).makespan_s == pytest.approx(ALL_REDUCE_S, rel=1e-9)


def test_sections_may_be_words_dicts_specs_built_topologies_and_graphs() -> None:
    spec = ss.simulate(RING, ALL_REDUCE, "flow")
    built = ss.Topology(RING)
    dicts = ss.simulate(dict(RING), dict(ALL_REDUCE), {"kind": "flow"}, routing={"kind": "auto"})
    assert {spec.digest, dicts.digest, ss.simulate(built, ALL_REDUCE).digest} == {spec.digest}
    again = ss.simulate(built.to_networkx(), ALL_REDUCE)
    assert again.digest == spec.digest


def test_a_workload_may_be_a_directed_graph_of_networkx() -> None:
    graph = nx.DiGraph()
    graph.add_node("work", kind="delay", ranks="all", duration="10 us")
    graph.add_node("sum", kind="communication", collective="all-reduce", algorithm="ring", bytes="4 MB")
    graph.add_edge("work", "sum")
    result = ss.simulate(RING, graph)
    assert result.makespan_s == pytest.approx(10e-6 + ALL_REDUCE_S, rel=1e-9)
    assert set(result.tasks["name"]) >= {"sum"}


def test_every_option_reaches_the_run(tmp_path: Path) -> None:
    result = ss.simulate(
        RING,
        ALL_REDUCE,
        ss.network.constant_rate(bandwidth="100 Gbps"),
        routing=ss.routing.dijkstra(by="hops"),
        placement=ss.placement.random(),
        execution={"memory": "move-then-compute", "eager_limit": "1 kB"},
        seed=7,
        name="all options",
        trace=tmp_path / "out.perfetto-trace",
    )
    spec = result.spec
    assert (spec["network"]["kind"], spec["routing"]["by"], spec["placement"]["kind"]) == (
        *("constant-rate", "hops", "random"),
    )
    assert spec["execution"]["memory"] == "move-then-compute"
    assert spec["execution"]["eager-limit"] == "1 kB"
    assert (spec["seed"], result.title["experiment"]) == (7, "all options")
    assert (tmp_path / "out.perfetto-trace").stat().st_size > 100


def test_a_seed_decides_what_is_drawn() -> None:
    workload = ss.workload.traffic(
        flows=50,
        size=ss.size.exponential(mean="1 MB"),
        arrivals=ss.arrival.poisson(rate="100 Gbps"),
        pattern=ss.pattern.uniform_random(),
    )
    digests = [ss.simulate(RING, workload, seed=seed).digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_a_built_topology_of_another_seed_is_built_again() -> None:
    spec = ss.topology.without(
        of=ss.topology.fully_connected(nodes=8, bandwidth="100 Gbps", latency="1 us"), fraction_of_links=0.3
    )
    direct = ss.simulate(spec, ALL_REDUCE, seed=5)
    assert ss.simulate(ss.Topology(spec, seed=1), ALL_REDUCE, seed=5).digest == direct.digest


def test_what_is_recorded_is_chosen() -> None:
    assert ss.simulate(RING, ALL_REDUCE, record=None, ranks=None).makespan_s > 0
    with pytest.raises(ValueError, match='record="tasks"'):
        _ = ss.simulate(RING, ALL_REDUCE, record=None).tasks
    with pytest.raises(ValueError, match='record="messages"'):
        _ = ss.simulate(RING, ALL_REDUCE).messages
    some = ss.simulate(RING, ALL_REDUCE, ranks=[1, 3])
    assert sorted(set(some.tasks["rank"].tolist())) == [1, 3]
    assert ss.simulate(RING, ALL_REDUCE, ranks="1,3").tasks["rank"].tolist() == some.tasks["rank"].tolist()
    assert ss.simulate(RING, ALL_REDUCE, window="1 s..2 s").tasks.rows == 0
    with pytest.raises(ss.ConfigError, match="record"):
        ss.simulate(RING, ALL_REDUCE, record="everything")
    with pytest.raises(ss.ConfigError, match="window"):
        ss.simulate(RING, ALL_REDUCE, window="tomorrow")


def test_a_file_gives_what_the_command_gives(run_command: Run, tmp_path: Path) -> None:
    path = tmp_path / "experiment.json"
    path.write_text(json.dumps({"topology": RING, "workload": ALL_REDUCE}), encoding="utf-8")
    done = run_command("run", path, "--json", "-", "--set", "workload.bytes='8 MB'")
    assert done.returncode == 0, done.stderr
    ours = ss.run(path, set={"workload.bytes": "8 MB"}).data
    theirs = json.loads(done.stdout)
    for key in ("wall_s", "peak_rss_bytes"):
        assert ours.pop(key) >= 0
        theirs.pop(key)
    assert ours == theirs


def test_the_spec_of_a_result_gives_the_result_again() -> None:
    result = ss.simulate(ss.topology.fat_tree(k=4, bandwidth="1 Gbps", latency="1 us"), ALL_REDUCE)
    again = ss.run(result.spec)
    assert (again.digest, again.spec) == (result.digest, result.spec)


def test_a_path_in_a_file_starts_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ring.graphml").write_text(ss.Topology(RING).export("graphml"), encoding="utf-8")
    text = '[topology]\nkind = "graphml"\npath = "ring.graphml"\n[workload]\nkind = "collective"\n'
    (tmp_path / "experiment.toml").write_text(
        f'{text}operation = "barrier"\nbytes = "0 B"\n', encoding="utf-8"
    )
    monkeypatch.chdir(ROOT)
    result = ss.run(tmp_path / "experiment.toml")
    assert len(result.ranks["finish_s"]) == 4
    # also for what is done with the result later
    result.write_trace(tmp_path / "again.perfetto-trace")


def test_a_run_that_waits_for_ever_names_who_waits() -> None:
    vertices = [
        {"name": f"{kind}-{rank}", "kind": kind, "rank": rank, other: 1 - rank, "bytes": "1 kB"}
        if kind == "send"
        else {"name": f"{kind}-{rank}", "kind": kind, "rank": rank, other: 1 - rank}
        for rank in (0, 1)
        for kind, other in (("receive", "source"), ("send", "destination"))
    ]
    edges = [{"from": f"receive-{rank}", "to": f"send-{rank}"} for rank in (0, 1)]
    workload = ss.workload.graph(vertices=vertices, edges=edges, ranks=2)
    with pytest.raises((ss.SimulationError, ss.ConfigError), match="receive-0"):
        ss.simulate(RING, workload)


def test_progress_is_called_and_what_it_raises_ends_the_run() -> None:
    class EnoughError(Exception):
        pass

    seen: list[tuple[float, int, int]] = []

    def progress(simulated_s: float, done: int, tasks: int) -> None:
        seen.append((simulated_s, done, tasks))
        if len(seen) == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        ss.run(LONG, set={"workload.iterations": 1000}, record=None, progress=progress)
    assert len(seen) == 2
    assert seen[0] <= seen[1]
    assert seen[1][2] > 0


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_a_run() -> None:
    press = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    press.start()
    # thousands of iterations, so minutes
    with pytest.raises(KeyboardInterrupt) as stopped:
        ss.run(LONG, set={"workload.iterations": 1000}, record=None)
    assert time.monotonic() - started < 20
    assert isinstance(stopped.value, ss.Interrupted)
    assert stopped.value.result.stopped
    # and the process goes on
    assert ss.simulate(RING, ALL_REDUCE).makespan_s > 0


def test_what_ran_until_ctrl_c_is_the_result_of_the_exception() -> None:
    def progress(simulated_s: float, done: int, tasks: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(ss.Interrupted) as stopped:
        ss.run(LONG, set={"workload.iterations": 1000}, progress=progress)
    result = stopped.value.result
    assert result.stopped
    assert result.binding is None
    assert "stopped at" in str(result)
    # with the columns that were asked for, as far as they go
    assert 0 < result.tasks["end_s"].max() <= result.makespan_s
    assert result.spec["workload"]["iterations"] == 1000
    assert ss.Interrupted("x").result is None


def test_threads_run_side_by_side_and_agree() -> None:
    experiment = {"topology": RING, "workload": ALL_REDUCE}
    expected = ss.run(experiment).digest
    with ThreadPoolExecutor(4) as pool:
        assert {result.digest for result in pool.map(lambda _: ss.run(experiment), range(32))} == {expected}


def test_other_threads_go_on_during_a_run() -> None:
    counted = 0
    running = True

    def count() -> None:
        nonlocal counted
        while running:
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted
        ss.run(LONG.with_name("hc-fine-64.toml"), set={"workload.iterations": 5}, record=None)
        assert counted > before + 5
    finally:
        running = False
        thread.join()


def test_a_trace_that_cannot_be_written_is_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ss.run(LONG, set={"workload.iterations": 1000}, trace=tmp_path / "nowhere" / "x.perfetto-trace")


@pytest.mark.parametrize(
    "asked", [{"record": "messages"}, {"ranks": [0]}, {"window": "0 s..1 us"}, {"trace": "t"}], ids=str
)
def test_open_loop_traffic_has_nothing_to_record(asked: dict[str, Any]) -> None:
    machine = ss.topology.mesh(dimensions=[2, 2], bandwidth="100 Gbps", latency="10 ns")
    spec = {"topology": machine, "network": ss.network.flit(), "traffic": {"load": 0.1}}
    with pytest.raises(ss.ConfigError, match=f"^{next(iter(asked))}: open-loop traffic has no tasks"):
        ss.run(spec, **asked)


def test_what_cannot_be_called_is_no_progress() -> None:
    with pytest.raises(ss.ConfigError, match="progress: 5 cannot be called"):
        ss.run(LONG, progress=5)  # type: ignore[arg-type]


def test_a_list_of_values_in_order_is_no_table() -> None:
    network = {"kind": "flit", "router": [4, 8]}
    experiment = {"topology": RING, "workload": ALL_REDUCE, "network": network}
    with pytest.raises(ss.ConfigError, match=r"network\.router: a table is expected, found a list"):
        ss.run(experiment)
    # a word is expected, and the list is called what it is
    with pytest.raises(ss.ConfigError, match=r"network\.kind: .* is expected, found a list"):
        ss.run(experiment | {"network": {"kind": ["flit"]}})
