"""Results: numbers, columns, pictures, files."""

import copy
import csv
import json
import pickle
import threading
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stratasim as ss
from conftest import ALL_REDUCE, RING, ROOT


def test_numbers_are_those_of_the_json_text(result: ss.Result) -> None:
    data = json.loads(result.to_json())
    assert result.data == data
    assert result.makespan_s == data["makespan_s"]
    assert result.step_s == data["makespan_s"] / 2
    assert result.batches_per_s == data["batches_per_s"]
    assert (result.digest, result.spec, result.title) == (data["digest"], data["spec"], data["title"])
    assert (result.counters, result.bounds, result.checks) == (
        data["counters"],
        data["bounds"],
        data["checks"],
    )
    assert all(check["ok"] for check in result.checks)
    assert result.binding is not None
    assert result.binding["ratio"] >= 1


def test_the_spec_of_a_result_finds_its_files(tmp_path: Path) -> None:
    goal = "num_ranks 2\nrank 0 {\nl1: send 1000b to 1\n}\nrank 1 {\nl1: recv 1000b from 0\n}\n"
    (tmp_path / "a.goal").write_text(goal, encoding="utf-8")
    text = json.dumps({"topology": RING, "workload": {"kind": "goal", "file": "a.goal"}})
    (tmp_path / "experiment.json").write_text(text, encoding="utf-8")
    result = ss.run(tmp_path / "experiment.json")
    for spec in (
        result.spec,
        result.spec.copy(),
        result.spec | {"seed": 3},
        pickle.loads(pickle.dumps(result.spec)),
    ):
        assert ss.run(spec).makespan_s == result.makespan_s
    with pytest.raises(ss.ConfigError, match=r"a\.goal"):
        ss.run(dict(result.spec))


def test_what_is_pickled_finds_its_files_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "ring.json").write_text(ss.Topology(RING).export("networkx-json"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    machine = ss.Topology(ss.topology.networkx_json(path="ring.json"))
    result = ss.run({"topology": machine.spec, "workload": ALL_REDUCE})
    pickled = pickle.dumps((machine, result, result.spec))
    monkeypatch.chdir("there")
    machine, again, spec = pickle.loads(pickled)
    assert machine.node_count == 4
    assert ss.run(again.spec).digest == ss.run(spec).digest == result.digest


def test_changes_of_a_spec_change_nothing_else(result: ss.Result) -> None:
    changed = result.spec
    changed["workload"]["layers"] = 1
    assert result.spec["workload"]["layers"] != 1
    machine = ss.Topology(RING)
    machine.spec["nodes"] = 99
    assert machine.spec["nodes"] == RING["nodes"]
    work = ss.workload.collective(operation="all-reduce", bytes="1 MB")
    assert ss.simulate(machine, work).digest == ss.simulate(RING, work).digest


def test_vertices_of_a_graph_have_their_times() -> None:
    flop = {"name": "work", "kind": "compute", "rank": 0, "flops": "67 GFLOP"}
    send = {"name": "send", "kind": "communication", "source": 0, "destination": 1, "bytes": "1 MB"}
    edges = [{"from": "work", "to": "send"}]
    graph = {"kind": "graph", "vertices": [flop, send], "edges": edges, "iterations": 3}
    result = ss.run({"topology": RING, "workload": graph})
    assert list(result.vertices["name"]) == ["work", "send"]
    assert result.vertices["tasks"].tolist() == [3, 3]
    exposed = result.vertices["comm_exposed_s"]
    assert exposed[0] == 0
    assert exposed[1] == pytest.approx(result.ranks["comm_exposed_s"].mean(), rel=1e-9)
    assert ss.run({"topology": RING, "workload": ALL_REDUCE}).vertices.rows == 0


def test_columns_of_ranks_add_up_to_the_makespan(result: ss.Result) -> None:
    ranks = result.ranks
    assert ranks.rows == 8
    parts = ranks["compute_s"] + ranks["memory_s"] + ranks["comm_exposed_s"] + ranks["idle_s"]
    np.testing.assert_allclose(parts, result.makespan_s, rtol=1e-9)
    assert ranks["finish_s"].max() == pytest.approx(result.makespan_s)


def test_a_column_that_is_not_there_is_told_with_those_that_are(result: ss.Result) -> None:
    with pytest.raises(KeyError, match=r"no column `end_p`, did you mean `end_ps`.* .known: rank, node,"):
        result.tasks["end_p"]
    assert result.tasks.get("foo") is None


def test_columns_of_tasks_agree_with_the_account_of_ranks(result: ss.Result) -> None:
    tasks = result.tasks
    assert {len(column) for column in tasks.values()} == {tasks.rows}
    assert tasks["end_ps"].max() / 1e12 == pytest.approx(result.makespan_s)
    assert (tasks["start_ps"] <= tasks["end_ps"]).all()
    np.testing.assert_array_equal(tasks["start_s"], tasks["start_ps"] / 1e12)
    assert set(tasks["kind"]) == {"compute", "memory", "communication"}
    assert set(tasks["iteration"]) == {0, 1}
    # one computation at a time runs on a rank, so their lengths add up to its compute time
    computing = tasks["kind"] == "compute"
    length_s = tasks["end_s"] - tasks["start_s"]
    for rank in range(8):
        mine = computing & (tasks["rank"] == rank)
        assert length_s[mine].sum() == pytest.approx(result.ranks["compute_s"][rank], rel=1e-9)
        assert len(set(tasks["node"][tasks["rank"] == rank])) == 1


def test_columns_of_links_agree_with_what_messages_carried() -> None:
    result = ss.simulate(RING, ALL_REDUCE, record="messages")
    messages, links = result.messages, result.links
    # six steps of a quarter each, on four ranks, over one link each
    assert messages.rows == 24
    assert messages["bytes"].sum() == 24e6
    assert links["bytes"].sum() == 24e6
    assert (messages["dst"] == (messages["src"] + 1) % 4).all()
    np.testing.assert_allclose(links["busy_s"], 6e6 / 12.5e9)
    np.testing.assert_allclose(links["utilisation"] * result.makespan_s, links["busy_s"])
    assert links["from"].tolist() == [name.partition("->")[0] for name in links["name"]]


def test_a_link_under_two_routes_of_a_ring_counts_each_byte_once() -> None:
    # shortest paths on this torus lead two neighbours of the ring over one link
    torus = ss.topology.torus(dimensions=[3, 3], bandwidth="100 Gbps", latency="500 ns")
    ring = ss.workload.collective(operation="all-reduce", bytes="9 MB", algorithm=ss.collective.ring())
    for pipelines in (True, False):
        network = ss.network.flow(shortcuts={"pipelines": pipelines})
        result = ss.simulate(torus, ring, network, routing="dijkstra", record="messages")
        topology, carried = ss.Topology(torus), dict.fromkeys(result.links["name"], 0)
        for src, dst, size in zip(*(result.messages[key] for key in ("src", "dst", "bytes")), strict=True):
            for link in topology.route(f"host-{src}", f"host-{dst}", routing="dijkstra").links:
                carried[link] += int(size)
        assert dict(zip(result.links["name"], result.links["bytes"], strict=True)) == carried


def test_columns_are_taken_by_data_frames(result: ss.Result) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(result.tasks)
    assert len(frame) == result.tasks.rows
    assert list(frame.columns) == list(result.tasks)


def test_a_pickled_result_keeps_what_was_recorded(result: ss.Result) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert hash(again) == hash(result)
    for table in ("tasks", "messages", "links", "ranks"):
        ours, theirs = getattr(result, table), getattr(again, table)
        assert list(ours) == list(theirs)
        for name, column in ours.items():
            np.testing.assert_array_equal(column, theirs[name])
    assert again.timeline().svg() == result.timeline().svg()


def test_threads_that_ask_at_once_all_get_the_columns() -> None:
    result = ss.simulate(RING, ALL_REDUCE)
    run: Any = result._run
    other_came = threading.Event()

    class SlowRun:
        """Gives its tasks once, as a run does, and slowly enough for another thread to ask meanwhile."""

        first = True

        def take_tasks(self) -> Any:
            if not self.first:
                other_came.set()
                return None
            self.first = False
            tasks = run.take_tasks()
            other_came.wait(0.3)
            return tasks

        def __getattr__(self, name: str) -> Any:
            return getattr(run, name)

    result._run = SlowRun()  # type: ignore[assignment]
    with ThreadPoolExecutor(2) as threads:
        # `cached_property` of Python 3.11 lets one thread at a time into the same table
        table, picture = threads.submit(lambda: result.tasks), threads.submit(result.timeline)
    assert table.result().rows > 0
    assert picture.result().title


def test_files_hold_what_the_command_writes(result: ss.Result, tmp_path: Path) -> None:
    result.write_json(tmp_path / "out.json")
    assert ss.Result.read(tmp_path / "out.json") == result
    result.write_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == result.tasks.rows
    result.write_trace(tmp_path / "out.perfetto-trace", ranks=[0], window="0 s..1 s")
    everything = tmp_path / "all.perfetto-trace"
    result.write_trace(everything)
    # field 1 of the protobuf, length-delimited: a packet
    assert everything.read_bytes()[:1] == b"\x0a"
    assert everything.stat().st_size > (tmp_path / "out.perfetto-trace").stat().st_size > 0
    with pytest.raises(OSError, match="nowhere"):
        result.write_csv(tmp_path / "nowhere" / "out.csv")


def test_a_trace_of_a_run_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ring.graphml"
    path.write_text(ss.Topology(RING).export("graphml"), encoding="utf-8")
    result = ss.simulate(ss.topology.graphml(path="ring.graphml"), ALL_REDUCE, base=tmp_path)
    slower = ss.topology.scaled(of=RING, bandwidth=0.5)
    path.write_text(ss.Topology(slower).export("graphml"), encoding="utf-8")
    with pytest.raises(ss.SimulationError, match="have changed"):
        result.write_trace(tmp_path / "out.perfetto-trace")


def test_the_summary_is_the_table_of_the_command(result: ss.Result) -> None:
    text = result.summary()
    assert str(result) == text
    for words in ("step time", "batches/s", "compute", "memory", "exposed comm.", "idle", "bound", "physics"):
        assert words in text
    assert "\x1b[" in result.summary(colour=True)
    assert result.summary(unicode=False).isascii()
    assert max(map(len, result.summary(width=40).splitlines())) <= 40
    assert "makespan" in repr(result)
    assert "two layers" in repr(result)


def test_names_do_not_drive_the_terminal() -> None:
    ring = ss.topology.ring(nodes=4, bandwidth="1 GB/s", latency="1 us")
    result = ss.simulate(ring, ss.workload.goal(pattern="gather", ranks=4), name="a\x1b]0;title\x07 run")
    assert "a\ufffd]0;title\ufffd run" in str(result)
    assert "\x1b" not in str(result)


def test_the_busiest_thousand_links_are_listed_and_a_counter_says_how_many_were_used() -> None:
    ring = ss.topology.ring(nodes=1100, bandwidth="100 Gbps", latency="1 us")
    # every rank once, to the next one: each message has a link of its own
    work = ss.workload.traffic(
        flows=1100, size=ss.size.fixed(bytes="1 MB"), pattern=ss.pattern.shift(offset=1)
    )
    result = ss.simulate(ring, work)
    assert result.links.rows == 1000
    assert result.counters["network.links_used"] == 1100
    assert result.links["bytes"].tolist() == [1e6] * 1000


@pytest.mark.parametrize("name", ["timeline", "breakdown", "fullest_links"])
def test_pictures_are_well_formed_in_every_form(result: ss.Result, name: str, tmp_path: Path) -> None:
    picture = getattr(result, name)()
    width, height = picture.size
    root = ElementTree.fromstring(picture.svg())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert picture._repr_svg_() == picture._repr_html_() == picture.svg()
    png = picture.png(scale=1.0)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    # width and height stand in the first chunk
    assert int.from_bytes(png[16:20]) == pytest.approx(width, abs=1)
    assert int.from_bytes(png[20:24]) == pytest.approx(height, abs=1)
    assert picture.svg("dark") != picture.svg("light")
    for end in ("svg", "png"):
        picture.save(tmp_path / f"out.{end}")
        assert (tmp_path / f"out.{end}").stat().st_size > 500
    with pytest.raises(ValueError, match=r"\.svg or \.png"):
        picture.save(tmp_path / "out.jpg")
    with pytest.raises(ValueError, match="scheme"):
        picture.svg("sepia")
    assert picture.title in repr(picture)


def test_pictures_without_anything_on_them_are_refused() -> None:
    torus = ss.topology.torus(dimensions=[4], bandwidth="16 GB/s", latency="1 ns")
    measure = {"window": 100, "warm-up": 100, "windows": 2}
    open_loop = ss.run({"topology": torus, "network": "flit", "traffic": {"load": 0.1, "measure": measure}})
    for name in ("ranks", "links"):
        draw = open_loop.breakdown if name == "ranks" else open_loop.fullest_links
        with pytest.raises(ss.ConfigError, match=f"no {name} to draw: open-loop traffic has none"):
            draw()
    with pytest.raises(ss.ConfigError, match="no links to draw"):
        open_loop.plot("links")
    work = ss.workload.collective(operation="all-reduce", bytes="1 kB")
    with pytest.raises(ss.ConfigError, match="no links to draw: this run has none"):
        ss.simulate(torus, work, "message").fullest_links()


def test_a_stopped_run_says_so(result: ss.Result) -> None:
    assert not result.stopped
    assert "makespan" in repr(result)
    stopped = ss.Result(json.dumps({**result.data, "stopped": True}))
    assert stopped.stopped
    assert "stopped at" in repr(stopped)


@pytest.mark.parametrize("name", ["timeline", "breakdown", "fullest_links"])
def test_a_picture_goes_to_other_processes_and_is_copied(result: ss.Result, name: str) -> None:
    picture = getattr(result, name)()
    pickled = [
        pickle.loads(pickle.dumps(picture, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]
    for again in (*pickled, copy.copy(picture), copy.deepcopy(picture)):
        assert (again.svg(), again.title, again.size) == (picture.svg(), picture.title, picture.size)
        assert again.png("dark", 1.0) == picture.png("dark", 1.0)


def test_a_time_line_shows_the_ranks_that_were_asked_for(result: ss.Result) -> None:
    few, all_ = result.timeline(ranks=[0, 1]), result.timeline()
    assert few.size[1] < all_.size[1]
    assert result.timeline(ranks="0-1").svg() == few.svg()
    assert "rank 1" in few.svg()
    assert "rank 2" not in few.svg()


def test_a_time_line_goes_over_the_window_that_was_recorded() -> None:
    step = {"topology": RING, "workload": {**ALL_REDUCE, "iterations": 3}}
    end = ss.run(step).makespan_s
    window = f"{0.4 * end} s..{0.6 * end} s"
    some = ss.run(step, window=window)
    assert some.timeline().svg() == ss.run(step).timeline(window=window).svg()
    assert pickle.loads(pickle.dumps(some)).timeline().svg() == some.timeline().svg()
    assert some.timeline(window="0 s..").svg() != some.timeline().svg()


def test_a_result_of_the_examples_reads_well_in_a_notebook(result: ss.Result) -> None:
    html = result._repr_html_()
    assert html.startswith("<pre>")
    assert "<b" not in html.removeprefix("<pre>").removesuffix("</pre>")
    assert str(ROOT) not in html


def test_tables_are_shown_as_tables_in_a_notebook() -> None:
    columns = ss.Columns(
        {"a <b>": np.array([1.23456789, np.nan]), "c": np.array(["<x>", None], dtype=object)}
    )
    root = ElementTree.fromstring(f"<div>{columns._repr_html_()}</div>")
    rows = [[cell.text or "" for cell in row] for row in root.iter("tr")]
    assert rows == [["", "a <b>", "c"], ["0", "1.23457", "<x>"], ["1", "nan", "None"]]
    many = ss.Columns(number=np.arange(12_345))._repr_html_()
    assert many.count("<tr>") == 11
    assert "12,345 rows, of which 10 are shown" in many
    assert "0 rows" in ss.Columns(number=np.empty(0))._repr_html_()
    swept = ss.sweep({"topology": RING, "workload": ALL_REDUCE}, {"seed": [1, 2]})
    assert "Sweep of 2 points over seed" in swept._repr_html_()
    assert swept._repr_html_().count("<tr>") == 3
    assert "host-3" in ss.Topology(RING).nodes._repr_html_()


def test_a_run_without_a_bound_has_none_that_binds() -> None:
    # as `Result.binding` says
    assert ss.simulate(RING, ALL_REDUCE).binding is not None
    assert ss.simulate(RING, ALL_REDUCE, ss.network.constant_rate(bandwidth="100 Gbps")).binding is None
    barrier = ss.workload.collective(operation="barrier", algorithm=ss.collective.dissemination())
    assert ss.simulate(RING, barrier).binding is None
    flits = {"topology": RING, "network": {"kind": "flit", "flit-bytes": "16 B"}, "traffic": {"load": 0.1}}
    assert ss.run(flits).binding is None


def test_columns_of_flows_are_those_of_the_csv_at_packet_level() -> None:
    incast = {"kind": "traffic", "flows": 3, "size": {"kind": "fixed", "bytes": "250 kB"}}
    workload = incast | {"pattern": {"kind": "list", "pairs": [[1, 0], [2, 0], [3, 0]]}}
    machine = {"kind": "single-switch", "nodes": 4, "bandwidth": "100 Gbps", "latency": "500 ns"}
    result = ss.simulate(machine, workload, {"kind": "packet"}, record="messages")
    flows = result.flows
    assert flows.rows == 3
    assert sorted(flows["from"]) == ["host-1", "host-2", "host-3"]
    assert set(flows["to"]) == {"host-0"}
    assert flows["bytes"].sum() == 750_000
    assert flows["packets"].sum() == result.data["flows"]["packets"]
    assert flows["trims"].sum() == result.data["flows"]["trims"] > 0
    assert flows["end_s"].max() == pytest.approx(result.makespan_s)
    # between the columns that it comes of, as in the CSV of the command
    assert list(flows)[3:6] == ["start_s", "end_s", "duration_s"]
    assert flows["duration_s"] == pytest.approx(flows["end_s"] - flows["start_s"], rel=1e-9)
    assert max(flows["duration_s"]) == result.data["flows"]["duration_s"]["max"]
    assert {it["duration_s"] for it in result.data["flows"]["slowest"]} == {*flows["duration_s"].tolist()}
    assert all(path.endswith("switch->host-0") for path in flows["path"])
    queues = result.queues
    assert queues["link"][0] == "switch->host-0"
    assert queues["most_bytes"][0] == result.counters["network.longest_queue_bytes"]
    assert queues["trims"].sum() == result.counters["network.trims"]
    assert (queues["most_bytes"] <= queues["capacity_bytes"]).all()
    assert ss.simulate(machine, workload, {"kind": "flow"}).queues.rows == 0
    with pytest.raises(ValueError, match="record="):
        _ = ss.simulate(machine, workload, {"kind": "packet"}).flows
    assert ss.simulate(machine, workload, {"kind": "flow"}, record="messages").flows.rows == 0


def test_queues_and_links_over_time_add_up_to_those_of_the_whole_run(tmp_path: Path) -> None:
    work = ss.workload.collective(operation="gather", bytes="2 MB", algorithm=ss.collective.direct())
    machine = {"kind": "single-switch", "nodes": 4, "bandwidth": "100 Gbps", "latency": "500 ns"}
    result = ss.simulate(machine, work, {"kind": "packet"}, over_time=True)
    links, queues = result.links_over_time, result.queues_over_time
    whole = dict(zip(result.links["name"], result.links["bytes"], strict=True))
    assert set(links["link"]) == set(whole)
    for name, carried in whole.items():
        of_it = links["link"] == name
        assert links["bytes"][of_it].sum() == pytest.approx(carried, abs=1e-2)
        starts, ends = links["start_s"][of_it], links["end_s"][of_it]
        assert 128 < len(starts) <= 256
        assert starts[0] == 0
        assert (starts[1:] == ends[:-1]).all()
        assert ends[-1] == result.makespan_s
    assert links["utilisation"].max() == 1
    for name, trims, most in zip(
        result.queues["link"], result.queues["trims"], result.queues["most_bytes"], strict=True
    ):
        of_it = queues["link"] == name
        assert queues["trims"][of_it].sum() == trims
        assert queues["most_bytes"][of_it].max() <= most
    assert queues["trims"].sum() > 0

    # the file has them, too, and one link may be asked for
    result.write_json(tmp_path / "result.json")
    assert (ss.Result.read(tmp_path / "result.json").links_over_time["bytes"] == links["bytes"]).all()
    one = ss.run(result.spec, over_time=["switch->host-0"], window="20 us..40 us")
    assert set(one.links_over_time["link"]) == set(one.queues_over_time["link"]) == {"switch->host-0"}
    assert one.links_over_time["start_s"].min() == 20e-6
    assert one.links_over_time["end_s"].max() == 40e-6
    assert (one.links_over_time["utilisation"] > 0.99).all()
    flows = ss.simulate(machine, work, "flow", over_time=True)
    assert flows.links_over_time.rows > 128
    assert flows.queues_over_time.rows == 0
    assert flows.digest == ss.simulate(machine, work, "flow").digest


def test_what_cannot_be_told_over_time_is_said(result: ss.Result) -> None:
    with pytest.raises(ValueError, match="over_time=True"):
        _ = result.links_over_time
    machine = {"kind": "single-switch", "nodes": 4, "bandwidth": "100 Gbps", "latency": "500 ns"}
    work = ss.workload.collective(operation="gather", bytes="2 MB")
    for network, asked, words in [
        ("message", True, "over_time is about links over time"),
        ("packet", ["nope"], "over_time: `nope` is none of the 8 links"),
        ("packet", [], "no link in the list"),
        ("packet", [3], "3 is no name of a link"),
    ]:
        with pytest.raises(ss.ConfigError, match=words):
            ss.simulate(machine, work, network, over_time=asked)
