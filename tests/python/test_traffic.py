"""Open-loop traffic: one load, and curves."""

import csv
import json
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stratasim as ss

MESH: dict[str, Any] = {
    "topology": {"kind": "mesh", "dimensions": [4, 4], "bandwidth": "32 GB/s", "latency": "1 ns"},
    "network": {"kind": "flit", "flit-bytes": "32 B"},
    "traffic": {"load": 0.1, "flits": 2, "measure": {"window": 100}},
}


def test_a_curve_without_packets_is_drawn() -> None:
    curve = ss.traffic(MESH, [0])
    assert np.isnan(curve.table["packet_latency_cycles"]).all()
    assert curve.data["title"] == "Traffic"


def test_one_load_gives_a_result_with_its_statistics() -> None:
    result = ss.run(MESH)
    assert result.traffic is not None
    assert result.traffic["accepted_flits_per_cycle"] == pytest.approx(0.1, rel=0.2)
    assert not result.traffic["saturated"]
    assert result.windows.rows == len(result.traffic["series"]) > 3
    assert "latency" in result.summary()
    assert result.digest == ss.run(result.spec).digest
    with pytest.raises(ValueError, match="not recorded"):
        _ = result.tasks
    with pytest.raises(ss.ConfigError, match="trace"):
        ss.run(MESH, trace="trace.perfetto")


def test_a_run_without_traffic_has_no_windows(result: ss.Result) -> None:
    assert result.traffic is None
    assert result.windows.rows == 0


def test_a_curve_has_a_row_for_each_load_and_results_for_each_seed(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    curve = ss.traffic(MESH, [0.3, 0.1], seeds=2, progress=lambda done, runs: seen.append((done, runs)))
    assert curve.loads == [0.1, 0.3]
    assert [len(results) for results in curve.results] == [2, 2]
    table = curve.table
    assert table.rows == len(curve) == 2
    assert table["seeds"].tolist() == [2, 2]
    assert table["packet_latency_cycles"][0] < table["packet_latency_cycles"][1]
    # one name for one number, that of the command's CSV
    halves = [name for name in table if "half_width" in name and name.startswith("packet_latency_cycles")]
    assert halves == ["packet_latency_cycles_half_width"]
    assert all(name.endswith("_half_width") for name in table if "half_width" in name)
    assert (table[halves[0]] > 0).all()
    curve.write(tmp_path)
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row[halves[0]]) for row in rows] == pytest.approx(table[halves[0]].tolist())
    assert curve.results[0][0].digest == ss.run(MESH).digest
    assert curve.saturation is None
    assert curve.notes == []
    assert all(runs == 4 for _, runs in seen)


def test_a_curve_tells_what_its_results_note() -> None:
    router = {"virtual-channels": 4, "speculation": "separate"}
    curve = ss.traffic(MESH, [0.1], set={"network.router": router})
    assert any("full kernel" in note for note in curve.notes), curve.notes
    assert curve.notes == curve.results[0][0].notes
    assert pickle.loads(pickle.dumps(curve)).notes == curve.notes


def test_a_curve_without_loads_has_that_of_the_experiment() -> None:
    assert ss.traffic(MESH).loads == [0.1]
    assert ss.traffic(MESH, set={"traffic.load": 0.2}).loads == [0.2]
    # where that says none, either has the usual one
    none = {**MESH, "traffic": {key: value for key, value in MESH["traffic"].items() if key != "load"}}
    assert ss.traffic(none).loads == [0.1]
    assert ss.traffic(none).results[0][0].digest == ss.run(none).digest
    assert ss.traffic(none, semantics="booksim2", set={"traffic.to-self": True}).loads == [0.1]


def test_the_saturation_load_is_found_and_drawn() -> None:
    curve = ss.traffic(MESH, saturation=0.1)
    assert curve.saturation is not None
    low, high = curve.saturation
    assert 0.3 < low < high <= 1.0
    assert high - low <= 0.1
    axes = curve.plot()
    assert axes.get_ylabel() == "packet latency cycles"
    # saturated loads have no latency
    assert np.size(axes.lines[0].get_xdata()) == (~curve.table["saturated"]).sum()
    assert np.size(curve.plot("accepted_flits_per_cycle").lines[0].get_xdata()) == len(curve)
    assert axes.get_legend() is None
    assert curve.plot(ax=axes, label="once more") is axes
    first, second = (bars.lines[0].get_color() for bars in axes.containers)
    assert first != second
    assert axes.get_title() == ""
    assert axes.get_legend().get_texts()[1].get_text() == "once more"
    assert curve.pictures["latency"].svg().startswith("<svg")
    with pytest.raises(ss.ConfigError, match="unknown number `speed`"):
        curve.plot("speed")


def test_a_folder_keeps_runs_for_the_next_call(
    tmp_path: Path, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    out = tmp_path / "curve"
    assert ss.traffic(MESH, [0.1, 0.2], out=out).found == 0
    again = ss.traffic(MESH, [0.1, 0.2, 0.3], out=out)
    assert again.found == 2
    assert json.loads((out / "results.json").read_text(encoding="utf-8")) == again.data
    assert ss.traffic(MESH, [0.1], out=out, force=True).found == 0
    assert ss.traffic(MESH, [0.1], set={"traffic.flits": 3}, out=out).found == 0
    # the command takes up what Python left
    file = tmp_path / "mesh.json"
    file.write_text(json.dumps(MESH), encoding="utf-8")
    done = run_command("traffic", file, "--load", "0.1,0.2,0.3,0.4", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "1 run ran, 3 were there" in done.stderr


def test_booksims_rules_take_its_own_configurations(tmp_path: Path) -> None:
    config = tmp_path / "torus.cfg"
    config.write_text(
        "topology = flatfly; k = 2; n = 2; c = 4; x = 2; y = 2; xr = 2; yr = 2;\n"
        "routing_function = ugal; sample_period = 200; injection_rate = 0.1; seed = 3;\n",
        encoding="utf-8",
    )
    own = ss.traffic(config, semantics="booksim2")
    assert own.loads == [0.1]
    details = own.results[0][0].traffic
    assert details is not None
    assert details["booksim2"]["verdict"] == "stable"
    fewer = ss.traffic(config, [0.1, 0.2], semantics="booksim2", set={"num_vcs": 2})
    assert fewer.loads == [0.1, 0.2]
    assert fewer.results[0][0].digest != own.results[0][0].digest
    ours = ss.traffic(MESH, [0.1], semantics="booksim2", set={"traffic.to-self": True})
    assert ours.results[0][0].traffic is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loads": []}, "which loads"),
        ({"loads": ""}, "which loads"),
        ({"loads": [1.5]}, "loads: a load of 1.5"),
        ({"loads": [float("nan")]}, "loads: a load of NaN"),
        ({"loads": ["50 Ghz"]}, "loads: `50 Ghz` is no load"),
        ({"loads": "100 TB/s"}, "loads: 800 Tbps is expected to lie between 0 and 1 flit"),
        ({"saturation": 0.0}, "saturation: 0"),
        ({"loads": [0.1], "seeds": 0}, "seeds: 0"),
        ({"loads": [0.1], "semantics": "garnet"}, "semantics"),
        ({"loads": [0.1], "out": ""}, "out: found '', expected the path of a folder"),
        ({"loads": [0.1], "out": 3}, "out: found 3, expected the path of a folder"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ss.ConfigError, match=message):
        ss.traffic(MESH, **arguments)


def test_loads_that_fail_are_named_and_the_others_are_there(tmp_path: Path, circle: dict[str, Any]) -> None:
    with pytest.raises(ss.SimulationError, match=r"load 0\.6: the network stands still") as caught:
        ss.traffic(circle, [0.02, 0.6], out=tmp_path)
    curve = caught.value.curve
    assert curve.loads == [0.02]
    assert (tmp_path / "table.csv").exists()
    for again in (curve, pickle.loads(pickle.dumps(curve))):
        assert len(again.failures) == 1
        assert again.failures[0].startswith("load 0.6: ")


def test_loads_are_rates_and_ranges_as_on_the_command_line() -> None:
    rates = ss.traffic(MESH, ["3.2 GB/s", 0.05])
    assert rates.loads == [0.05, 0.1]
    assert rates.results[1][0].digest == ss.traffic(MESH, [0.1]).results[0][0].digest
    assert ss.traffic(MESH, "0.05:0.15:0.05, 0.12").loads == [0.05, 0.1, 0.12, 0.15]


def test_a_curve_may_be_pickled(tmp_path: Path) -> None:
    curve = ss.traffic(MESH, [0.05, 0.1], saturation=0.2, seeds=2)
    again = pickle.loads(pickle.dumps(curve))
    assert again.data == curve.data
    assert again.saturation == curve.saturation is not None
    assert [[result.digest for result in seeds] for seeds in again.results] == [
        [result.digest for result in seeds] for seeds in curve.results
    ]
    assert again.pictures["latency"].svg() == curve.pictures["latency"].svg()
    pages = [path.read_bytes() for path in again.write(tmp_path / "again")]
    assert pages == [path.read_bytes() for path in curve.write(tmp_path / "curve")]


def test_a_curve_is_read_from_the_folder_that_it_was_written_to(tmp_path: Path) -> None:
    router = {"network.router": {"virtual-channels": 4, "speculation": "separate"}}
    curve = ss.traffic(MESH, [0.05, 0.1], saturation=0.2, seeds=2, set=router, out=tmp_path / "kept")
    curve.write(tmp_path / "alone")

    def check(again: ss.Curve) -> None:
        assert again.data == curve.data
        assert again.saturation == curve.saturation is not None
        assert again.notes == curve.notes != []
        assert list(again.table) == list(curve.table)
        assert again.table.rows == curve.table.rows
        drawn = {name: picture.svg() for name, picture in curve.pictures.items()}
        assert {name: picture.svg() for name, picture in again.pictures.items()} == drawn
        again.write(tmp_path / "again")
        for name in ("table.csv", "results.json"):
            written = (tmp_path / "again" / name).read_bytes()
            assert written == (tmp_path / "alone" / name).read_bytes()

    for path in (tmp_path / "kept", tmp_path / "kept" / "results.json"):
        whole = ss.Curve.read(path)
        check(whole)
        check(pickle.loads(pickle.dumps(whole)))
        assert whole.results == curve.results
        page = tmp_path / "again" / "README.md"
        assert page.read_bytes() == (tmp_path / "alone" / "README.md").read_bytes()
    alone = ss.Curve.read(tmp_path / "alone")
    for again in (alone, pickle.loads(pickle.dumps(alone))):
        check(again)
        with pytest.raises(ss.ConfigError, match="no results: this curve was read from a file, and its runs"):
            _ = again.results


def test_the_load_of_the_experiment_may_be_a_rate_or_a_search() -> None:
    rate = ss.traffic(MESH, set={"traffic.load": "3.2 GB/s"})
    assert rate.loads == [0.1]
    assert rate.results[0][0].digest == ss.traffic(MESH, [0.1]).results[0][0].digest
    found = ss.traffic(MESH, set={"traffic.load": "saturation", "traffic.saturation-precision": 0.2})
    assert found.saturation is not None
    assert found.saturation == ss.traffic(MESH, saturation=0.2).saturation


def test_what_has_no_load_is_refused() -> None:
    with pytest.raises(ss.ConfigError, match="no section `traffic`"):
        ss.traffic({"topology": MESH["topology"], "workload": {"kind": "collective"}}, [0.1])
    with pytest.raises(ss.ConfigError, match="a batch has no load"):
        ss.traffic(MESH, [0.1], set={"traffic.batch": {"packets": 10}})


def test_what_progress_raises_ends_the_curve() -> None:
    def stop(done: int, runs: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ss.traffic(MESH, [0.1], set={"traffic.measure.window": 100_000}, progress=stop)


def test_what_was_done_at_ctrl_c_is_the_result_of_the_exception(tmp_path: Path) -> None:
    def after_a_run(done: int, runs: int) -> None:
        if done:
            raise KeyboardInterrupt

    long = {"traffic.measure.window": 1000}
    loads = np.linspace(0.01, 0.3, 1000)
    with pytest.raises(ss.Interrupted) as stopped:
        ss.traffic(MESH, loads, set=long, out=tmp_path, threads=1, progress=after_a_run)
    curve = stopped.value.result
    assert 0 < len(curve) == curve.table.rows == len(curve.results) < 1000
    # those are there for the next call
    load = curve.loads[-1]
    assert ss.traffic(MESH, [load], set=long, out=tmp_path).found == 1

    def at_once(*_: float) -> None:
        raise KeyboardInterrupt

    # nothing to tell by then
    with pytest.raises(KeyboardInterrupt) as nothing:
        ss.traffic(MESH, [0.1], set={"traffic.measure.window": 100_000}, progress=at_once)
    assert not isinstance(nothing.value, ss.Interrupted)
    with pytest.raises(KeyboardInterrupt) as nothing:
        ss.run(MESH, set={"traffic.measure.window": 1_000_000}, progress=at_once)
    assert not isinstance(nothing.value, ss.Interrupted)

    def in_the_sample(simulated_s: float, *_: int) -> None:
        # a cycle takes a nanosecond
        if simulated_s > 12_000e-9:
            raise KeyboardInterrupt

    measure = {"window": 10_000, "warm-up": 1000, "windows": 30, "most-windows": 1000, "precision": 1e-6}
    with pytest.raises(ss.Interrupted) as one:
        ss.run(MESH, set={"traffic.measure": measure}, progress=in_the_sample)
    assert one.value.result.stopped
    assert one.value.result.traffic["packet_latency_cycles"]["count"] > 0


def test_progress_says_how_far_simulated_time_has_come() -> None:
    seen: list[float] = []
    longer = {"traffic.load": 0.3, "traffic.measure.window": 20_000, "traffic.measure.windows": 10}
    ss.run(MESH, set=longer, progress=lambda simulated_s, *_: seen.append(simulated_s))
    assert seen == sorted(seen)
    assert seen[-1] > 0
