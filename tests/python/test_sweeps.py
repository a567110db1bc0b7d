"""Sweeps on threads and on Ray."""

import importlib
import json
import os
import pickle
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stratasim as ss
from conftest import ALL_REDUCE, RING, ROOT

EXPERIMENT = {"topology": RING, "workload": ALL_REDUCE}
PRODUCT = {"topology.nodes": [4, 8], "workload.bytes": ["8 MB", "16 MB"]}


def closed_form(nodes: int, megabytes: int) -> float:
    """A ring all-reduce: steps, each with latency and one part at 100 Gbps."""
    return 2 * (nodes - 1) * (1e-6 + megabytes * 1e6 / nodes / 12.5e9)


def test_a_product_runs_all_combinations_the_last_fastest() -> None:
    seen: list[tuple[int, int]] = []
    swept = ss.sweep(EXPERIMENT, PRODUCT, progress=lambda done, points: seen.append((done, points)))
    assert len(swept) == 4
    assert [tuple(point.values()) for point in swept.settings] == [
        *((4, "8 MB"), (4, "16 MB"), (8, "8 MB"), (8, "16 MB")),
    ]
    expected = [closed_form(4, 8), closed_form(4, 16), closed_form(8, 8), closed_form(8, 16)]
    assert [result.makespan_s for result in swept] == pytest.approx(expected, rel=1e-9)
    table = swept.table
    assert table.rows == 4
    assert table["makespan_s"].tolist() == pytest.approx(expected, rel=1e-9)
    assert table["topology.nodes"].tolist() == [4, 4, 8, 8]
    assert swept.failures == {}
    assert all(points == 4 for _, points in seen)


def test_a_point_is_what_a_run_with_its_settings_is() -> None:
    swept = ss.sweep(EXPERIMENT, PRODUCT)
    for settings, result in zip(swept.settings, swept, strict=True):
        assert result.digest == ss.run(EXPERIMENT, set=settings).digest


def test_notes_of_results_are_told_once_with_those_who_say_it() -> None:
    swept = ss.sweep(EXPERIMENT, cases={"flows": {}, "constants": {"network": {"kind": "message"}}})
    (note,) = (note for note in swept.notes if "LogGOPSim" in note)
    assert note.startswith("constants: ")
    assert swept[1].notes == [note.removeprefix("constants: ")]


def test_lists_go_in_step_and_cases_have_names() -> None:
    swept = ss.sweep(
        EXPERIMENT,
        zip={"topology.nodes": [4, 8], "workload.bytes": ["8 MB", "16 MB"]},
        cases={
            "ring": {"workload.algorithm": ss.collective.ring()},
            "direct": {"workload.algorithm.kind": "direct"},
        },
        set={"topology.latency": "1 us"},
    )
    assert [point["case"] for point in swept.settings] == ["ring", "ring", "direct", "direct"]
    assert swept[0].makespan_s == pytest.approx(closed_form(4, 8), rel=1e-9)
    assert swept[1].makespan_s == pytest.approx(closed_form(8, 16), rel=1e-9)
    assert swept[2].spec["workload"]["algorithm"]["kind"] == "direct"


def test_results_in_a_folder_are_not_run_again(tmp_path: Path) -> None:
    first = ss.sweep(EXPERIMENT, PRODUCT, out=tmp_path)
    points = sorted((tmp_path / "points").glob("*.json"))
    assert len(points) == 4
    for name in ("index.html", "README.md", "table.csv", "results.json"):
        assert (tmp_path / name).stat().st_size > 0
    written = [path.stat().st_mtime_ns for path in points]
    again = ss.sweep(EXPERIMENT, PRODUCT, out=tmp_path)
    assert [path.stat().st_mtime_ns for path in points] == written
    assert list(again) == list(first)
    ss.sweep(EXPERIMENT, PRODUCT, out=tmp_path, force=True)
    assert [path.stat().st_mtime_ns for path in points] != written


def test_what_a_file_says_of_its_own_settings_does_not_stand_in_the_way_of_others() -> None:
    file = ROOT / "examples" / "03-collectives" / "experiment.toml"
    swept = ss.sweep(file, {"topology.bandwidth": ["100 Gbps", "200 Gbps"]}, set={"workload.bytes": "1 MB"})
    # its cases are kept, its labels and pictures of sizes are not
    assert [list(point) for point in swept.settings[:1]] == [["case", "topology.bandwidth"]]
    assert len(swept) == 2 * len({point["case"] for point in swept.settings}) > 2
    with pytest.raises(ss.ConfigError, match="is set by case"):
        ss.sweep(file, {"workload.algorithm": [ss.collective.ring()]})


def test_a_point_that_fails_leaves_the_others_alone() -> None:
    swept = ss.sweep(EXPERIMENT, {"topology.nodes": [4, 1, 8]}, threads=1)
    assert list(swept.failures) == [1]
    assert "topology.nodes" in swept.failures[1]
    assert [result is None for result in swept.results] == [False, True, False]
    with pytest.raises(ss.ConfigError, match=r"topology\.nodes"):
        _ = swept[1]
    assert len(swept[::2]) == 2
    assert swept.table.rows == 2
    assert "1 failed" in repr(swept)


def test_a_folder_says_what_failed_and_keeps_the_page_of_earlier_results(tmp_path: Path) -> None:
    endless = {"topology.latency": ["1000000 s"]}
    ss.sweep(EXPERIMENT, {"topology.nodes": [4, 8]}, out=tmp_path)
    before = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "stratasim sweep" not in before, "no command has this experiment"
    assert list(ss.sweep(EXPERIMENT, endless, out=tmp_path).failures) == [0]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == before
    ss.sweep(EXPERIMENT, {"topology.latency": ["1000000 s", "1 us"]}, out=tmp_path)
    (failure,) = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["failures"]
    assert failure["point"] == 0
    assert failure["error"].startswith("`")


def test_a_sweep_is_read_from_the_folder_that_it_was_written_to(
    tmp_path: Path, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    out = tmp_path / "swept"
    cases = {"flows": {}, "constants": {"network": {"kind": "message"}}}
    # of one node there is no ring, also where that is said twice
    swept = ss.sweep(EXPERIMENT, {"topology.nodes": [4, 1, 8]}, cases=cases, out=out)
    file = tmp_path / "sweep.json"
    section = {
        "product": {"topology.nodes": [4, 1, 8]},
        "case": [{"name": name, "set": values} for name, values in cases.items()],
    }
    file.write_text(json.dumps({**EXPERIMENT, "sweep": section}), encoding="utf-8")
    assert run_command("sweep", file, "--out", tmp_path / "by command").returncode == 2
    for path in (out, out / "results.json", tmp_path / "by command"):
        again = ss.Sweep.read(path)
        assert again.settings == swept.settings
        assert [it and it.digest for it in again.results] == [it and it.digest for it in swept.results]
        assert list(again.failures) == list(swept.failures) == [1, 4]
        assert all("topology.nodes" in failure for failure in again.failures.values())
        with pytest.raises(ss.ConfigError, match=r"topology\.nodes"):
            _ = again[4]
        assert again.notes == swept.notes != []
        assert list(again.table) == list(swept.table)
        assert again.table["makespan_s"].tolist() == swept.table["makespan_s"].tolist()
        assert repr(again) == repr(swept)
    # of results that are gone the numbers are still there
    points = sorted((out / "points").glob("*.json"))
    for point in points:
        point.unlink()
    again = ss.Sweep.read(out)
    assert again.table.rows == swept.table.rows == len(points) == 4
    assert "2 failed, 4 without a result" in repr(again)
    with pytest.raises(ss.ConfigError, match=r"points.*\.json: No such file"):
        _ = again[0]


def test_a_bad_value_is_where_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    path.write_text(json.dumps(EXPERIMENT), encoding="utf-8")
    with pytest.raises(ss.ConfigError, match="found integer `1`") as caught:
        ss.sweep(path, {"workload.bytes": [1]})
    assert "base.json" not in str(caught.value)


def test_a_path_that_is_no_setting_is_a_config_error() -> None:
    with pytest.raises(ss.ConfigError, match=r"did you mean `bytes`"):
        ss.sweep(EXPERIMENT, {"workload.byte": ["8 MB"]})
    with pytest.raises(ss.ConfigError, match="backend"):
        ss.sweep(EXPERIMENT, PRODUCT, backend="dask")


def test_ctrl_c_in_progress_ends_the_sweep_and_keeps_what_is_finished(tmp_path: Path) -> None:
    def progress(done: int, points: int) -> None:
        if done:
            raise KeyboardInterrupt

    values = list(range(1, 4000))
    for out in (tmp_path, None):
        with pytest.raises(ss.Interrupted) as stopped:
            # the second point is none
            ss.sweep(EXPERIMENT, {"workload.iterations": [1, 0, *values[1:]]}, out=out, progress=progress)
        swept = stopped.value.result
        assert len(swept) == len(swept.settings) == 4000
        ran = [result for result in swept.results if result is not None]
        assert 0 < len(ran) < 3999
        assert swept.table.rows == len(ran)
        assert swept[0].makespan_s > 0
        with pytest.raises(ss.SimulationError, match="did not run: the sweep was stopped"):
            _ = swept[-1]
        assert f"{4000 - len(ran) - len(swept.failures)} without a result" in repr(swept)
    kept = len(list((tmp_path / "points").glob("*.json")))
    assert 0 < kept < 3999


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"stratasim\[ray\]"):
        ss.sweep(EXPERIMENT, PRODUCT, backend="ray")


class StandIn(types.ModuleType):
    """The five calls of Ray that a sweep makes; tasks run when they are waited for."""

    class exceptions:  # noqa: N801
        class RayError(Exception):
            """What Ray raises when a machine goes away."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.started = False
        self.lost: set[int] = set()
        self.cancelled: list[object] = []
        self.tasks: list[object] = []

    def is_initialized(self) -> bool:
        return self.started

    def init(self) -> None:
        self.started = True

    def remote(self, function: Callable[..., Any]) -> Any:
        def start(*args: Any) -> object:
            task = types.SimpleNamespace(run=lambda: function(*args), number=len(self.tasks))
            handle = Handle(task)
            self.tasks.append(handle)
            return handle

        return types.SimpleNamespace(remote=start)

    def wait(self, handles: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        assert num_returns == 1
        # the last one ends first
        return [handles[-1]], handles[:-1]

    def get(self, handle: Any) -> Any:
        if handle.task.number in self.lost:
            raise self.exceptions.RayError("the machine went away")
        return handle.task.run()

    def cancel(self, handle: object, force: bool) -> None:
        assert force
        self.cancelled.append(handle)


class Handle:
    """A task under way."""

    def __init__(self, task: Any) -> None:
        self.task = task


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    module = StandIn()
    monkeypatch.setitem(sys.modules, "ray", module)
    importlib.import_module("stratasim.ray")
    return module


def test_a_point_that_fails_raises_what_its_run_alone_does(ray: StandIn, circle: dict[str, Any]) -> None:
    task = {"kind": "compute", "flops": "1 TFLOP", "precision": "fp32"}
    vertices = [{**task, "name": "first", "ranks": [0]}, {**task, "name": "last", "ranks": [3]}]
    steps = {"topology": {**RING, "compute": "H100"}, "workload": {"kind": "graph", "vertices": vertices}}
    for experiment, settings, kind, words in [
        (steps, {"topology.nodes": 2}, ss.ConfigError, "rank 3 does not exist"),
        (circle, {"traffic.load": 0.6}, ss.SimulationError, "the network stands still"),
    ]:
        with pytest.raises(kind, match=words):
            ss.run(experiment, set=settings)
        for backend in ("threads", "ray"):
            swept = ss.sweep(experiment, cases={"good": {}, "bad": settings}, backend=backend)  # type: ignore[arg-type]
            for again in (swept, pickle.loads(pickle.dumps(swept))):
                assert again[0].digest
                assert words in again.failures[1]
                # each time an error of its own, not one with the places of the last time
                with pytest.raises(kind, match=words) as first:
                    _ = again[1]
                with pytest.raises(kind, match=words) as second:
                    _ = again[-1]
                assert first.value is not second.value


def test_points_on_ray_are_those_on_threads(ray: StandIn, tmp_path: Path) -> None:
    on_threads = ss.sweep(EXPERIMENT, PRODUCT)
    seen: list[tuple[int, int]] = []
    on_ray = ss.sweep(EXPERIMENT, PRODUCT, backend="ray", out=tmp_path, progress=lambda *p: seen.append(p))
    assert ray.started
    assert [result.digest for result in on_ray] == [result.digest for result in on_threads]
    assert on_ray.settings == on_threads.settings
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    # what is there is not run again
    ss.sweep(EXPERIMENT, PRODUCT, backend="ray", out=tmp_path)
    assert len(ray.tasks) == 4


def test_ray_finds_files_from_another_folder(
    ray: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    ring = ss.Topology(EXPERIMENT["topology"])
    (tmp_path / "ring.json").write_text(ring.export("networkx-json"), encoding="utf-8")
    experiment = {**EXPERIMENT, "topology": ss.topology.networkx_json(path="ring.json")}
    monkeypatch.chdir(tmp_path)
    # a process of the cluster is where Ray was started
    get = ray.get
    monkeypatch.setattr(ray, "get", lambda task: (os.chdir("there"), get(task), os.chdir(".."))[1])
    assert ss.sweep(experiment, {"seed": [1, 2]}, backend="ray").failures == {}


def test_traffic_and_forecasts_run_on_ray(ray: StandIn) -> None:
    machine = {"kind": "mesh", "dimensions": [4, 4], "bandwidth": "16 GB/s", "latency": "2 ns"}
    traffic = {
        "topology": machine,
        "network": {"kind": "flit", "flit-bytes": "16 B"},
        "traffic": {"load": 0.1, "measure": {"window": 100, "warm-up": 100, "windows": 3}},
    }
    forecast = ROOT / "experiments/sw-intracc/table5.toml"
    for experiment, product in [
        (traffic, {"traffic.flits": range(1, 3)}),
        (forecast, {"forecast.fidelity": ["f0", "f1"]}),
    ]:
        on_ray, here = (ss.sweep(experiment, product, backend=kind) for kind in ("ray", "threads"))
        assert on_ray.failures == {} == here.failures
        assert [ours.digest for ours in on_ray] == [theirs.digest for theirs in here]
        assert [str(ours).split("cost")[0] for ours in on_ray] == [str(it).split("cost")[0] for it in here]
    # the table of a forecast, as the command has it
    assert "step time" not in str(here[0])


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"metrics": ["makespan"]}, r"sweep\.metrics\.0: a result has no number `makespan`, did you mean"),
        ({"plot": [{"x": "seed", "y": "speed"}]}, r"sweep\.plot\.0\.y: a result has no number `speed`"),
        ({"reference": [{"at": {}, "metric": "speed", "value": 1, "source": "us"}]}, r"sweep\.reference\.0"),
        (
            {"derived": [{"name": "gain", "of": "speed", "over": {"seed": 1}}]},
            r"sweep\.derived\.0\.of: a result has no number `speed` \(known: makespan_s, step_s, .*",
        ),
        ({"plot": [{"x": "seed", "z": "makespan_s"}]}, r"unknown key `z`"),
    ],
)
def test_numbers_that_no_result_has_are_refused_whatever_varies(section: dict[str, Any], words: str) -> None:
    # neither do labels fit what varies: a wrong name does not go with them
    section = {"product": {"seed": [1, 2]}, "labels": {"seed": "draw"}, **section}
    for given in ({"product": PRODUCT}, {"cases": {"a": {}, "b": {"seed": 2}}}, {}):
        with pytest.raises(ss.ConfigError, match=words):
            ss.sweep({**EXPERIMENT, "sweep": section}, **given)  # type: ignore[arg-type]


def test_numbers_that_no_point_has_are_warned_of(tmp_path: Path) -> None:
    experiment = {**EXPERIMENT, "sweep": {"metrics": ["makespan_s", "network.nonsense"]}}
    with pytest.warns(UserWarning, match=r"no point has a number `network\.nonsense`"):
        ss.sweep(experiment, PRODUCT, out=tmp_path)
    assert "No point has a number network.nonsense" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_machine_that_goes_away_is_a_failure_of_its_point(ray: StandIn) -> None:
    ray.lost = {2}
    swept = ss.sweep(EXPERIMENT, PRODUCT, backend="ray")
    assert swept.failures == {2: "the machine went away"}


def test_a_sweep_that_is_stopped_cancels_what_is_under_way(ray: StandIn) -> None:
    def progress(done: int, points: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(ss.Interrupted) as stopped:
        ss.sweep(EXPERIMENT, PRODUCT, backend="ray", progress=progress)
    assert len(ray.cancelled) == 3
    assert [result is None for result in stopped.value.result.results] == [True, True, True, False]
