"""What is wrong is said in the words of the command."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stratasim as ss
from conftest import ALL_REDUCE, RING

GOOD = """\
[topology]
kind = "ring"
nodes = 4
bandwidth = "100 Gbps"
latency = "1 us"

[workload]
kind = "collective"
operation = "all-reduce"
bytes = "4 MB"
"""

# what to replace, by what, and the line and column of the mistake
MISTAKES = {
    "unknown key": ("nodes = 4", "nods = 4", (3, 1)),
    "wrong unit": ('"100 Gbps"', '"100 Gs"', (4, 13)),
    "missing unit": ('"1 us"', '"1"', (5, 11)),
    "negative": ('"100 Gbps"', '"-1 Gbps"', (4, 13)),
    "wrong type": ("nodes = 4", 'nodes = "four"', (3, 9)),
    "unknown kind": ('"ring"', '"rin"', (2, 8)),
    "too few": ("nodes = 4", "nodes = 1", (3, 9)),
    "cut short": ('bytes = "4 MB"', 'bytes = "4 M', (10, 13)),
    "unknown section": ("[workload]", "[wrkload]", None),
}


def unbroken(printed: str) -> str:
    """What the command printed, its message on one line."""
    return re.sub(r"\n  │ ", " ", printed.strip())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_file_reads_as_the_command_prints_it(
    mistake: str, tmp_path: Path, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    found, wrong, place = MISTAKES[mistake]
    path = tmp_path / "experiment.toml"
    assert found in GOOD
    path.write_text(GOOD.replace(found, wrong), encoding="utf-8")
    with pytest.raises(ss.ConfigError) as raised:
        ss.run(path)
    done = run_command("run", path)
    assert done.returncode == 2
    assert str(raised.value) == unbroken(done.stderr)
    if place is not None:
        assert raised.value.position == (str(path), *place)


def test_a_file_that_is_not_there_reads_as_the_command_prints_it(
    tmp_path: Path, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    path = tmp_path / "absent.toml"
    with pytest.raises(ss.ConfigError) as raised:
        ss.run(path)
    assert str(raised.value) == unbroken(run_command("run", path).stderr)
    assert raised.value.position is None


def test_a_setting_that_does_not_fit_reads_as_the_command_prints_it(
    tmp_path: Path, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(GOOD, encoding="utf-8")
    with pytest.raises(ss.ConfigError) as raised:
        ss.run(path, set={"topology.nods": 8})
    by_command = unbroken(run_command("run", path, "--set", "topology.nods=8").stderr)
    # what the command calls `--set` is an argument `set` here
    assert "[--set topology.nods=8:1:15]" in by_command
    assert str(raised.value) == by_command.replace("--set", "set")


def test_what_set_replaces_is_called_as_in_python(tmp_path: Path) -> None:
    config = tmp_path / "mesh.cfg"
    config.write_text("topology = mesh; k = 2; n = 2; routing_function = dor;\n", encoding="utf-8")
    path = tmp_path / "experiment.toml"
    path.write_text(GOOD, encoding="utf-8")
    refused: list[Callable[[], object]] = [
        lambda: ss.run(path, set={"topology.nodes": 1}),
        lambda: ss.run({"topology": RING, "workload": ALL_REDUCE}, set={"seed": "x"}),
        lambda: ss.sweep(path, {"workload.bytes": ["1 MB"]}, set={"topology.nods": 1}),
        lambda: ss.sweep(path, {"topology.nodes": [2]}, set={"topology.nodes": 4}),
        lambda: ss.card("sw-ai", set={"bandwidth.rong": "1 GB/s"}),
        lambda: ss.card(ss.card("sw-ai").data, set={"bandwidth.rong": "1 GB/s"}),
        lambda: ss.traffic(config, semantics="booksim2", set={"packet_size": 0}),
    ]
    for call in refused:
        with pytest.raises(ss.ConfigError) as raised:
            call()
        assert "--" not in str(raised.value)
        assert "=" in str(raised.value)
    wrong: Any
    for wrong in ({"": 1}, {3: 1}, {"a=b": 1}):
        with pytest.raises(ss.ConfigError, match=r"^set: found the key .*, expected a dotted path such as"):
            ss.run(path, set=wrong)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"nods": 4}, "unknown key `nods`, did you mean `nodes`?"),
        ({"nodes": "four"}, "topology.nodes"),
        ({"nodes": 4, "bandwidth": "100"}, "the unit is missing"),
        ({"nodes": 4, "bandwidth": float("infinity")}, "infinity"),
        ({"nodes": object()}, "object"),
    ],
)
def test_a_keyword_that_does_not_fit_is_a_config_error(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(ss.ConfigError, match=words):
        ss.topology.ring(**{"bandwidth": "1 Gbps", "latency": "1 us", **keywords})


@pytest.mark.parametrize("wrong", [42, None, 1.5, [RING], b"ring", object()], ids=repr)
def test_what_is_no_topology_or_workload_is_named_with_what_is_expected(wrong: Any) -> None:
    found = f"of type {type(wrong).__name__}, expected what a function of stratasim"
    with pytest.raises(
        ss.ConfigError, match=rf"^topology: found .* {found}\.topology returns, .* a Topology"
    ):
        ss.simulate(wrong, wrong)
    with pytest.raises(ss.ConfigError, match=rf"^topology: found .* {found}\.topology returns"):
        ss.Topology(wrong)
    with pytest.raises(ss.ConfigError, match=rf"^workload: found .* {found}\.workload returns"):
        ss.simulate(RING, wrong)


def test_config_errors_are_value_errors_and_simulation_errors_are_runtime_errors() -> None:
    assert issubclass(ss.ConfigError, ValueError)
    assert issubclass(ss.SimulationError, RuntimeError)
    assert ss.ConfigError.__module__ == ss.SimulationError.__module__ == "stratasim"


def test_a_generator_and_a_dict_are_refused_in_the_same_words() -> None:
    with pytest.raises(ss.ConfigError) as by_function:
        ss.topology.ring(nodes=4, bandwidth="1 Gbps", latency="1 us", colour="red")
    with pytest.raises(ss.ConfigError) as by_dict:
        ss.simulate({**RING, "colour": "red"}, ALL_REDUCE)
    assert str(by_function.value) == str(by_dict.value)


@pytest.mark.parametrize("text", ["[1, 2]", "{", '{"topology": 3}', "[" * 100_000])
def test_a_json_file_that_is_no_experiment_is_a_config_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "experiment.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ss.ConfigError):
        ss.run(path)


def test_a_value_that_holds_itself_is_a_config_error() -> None:
    loop: dict[str, Any] = {}
    loop["of"] = loop
    with pytest.raises(ss.ConfigError):
        ss.simulate({"kind": "scaled", "of": loop}, ALL_REDUCE)


def test_machines_that_nobody_can_build_are_refused_at_once() -> None:
    for spec in (
        ss.topology.ring(nodes=4_000_000_000, bandwidth="1 Gbps", latency="1 us"),
        ss.topology.torus(dimensions=[100_000, 100_000], bandwidth="1 Gbps", latency="1 us"),
    ):
        with pytest.raises(ss.ConfigError, match="at most"):
            ss.Topology(spec)


def test_errors_are_plain_text_without_colours(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(GOOD.replace("nodes", "nods"), encoding="utf-8")
    with pytest.raises(ss.ConfigError) as raised:
        ss.run(path)
    assert "\x1b" not in str(raised.value)
    assert json.dumps(str(raised.value))


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"ranks": "0-99"}, "ranks: rank 99 is not there; this run has 4 ranks, from 0 to 3"),
        ({"ranks": [0, 4]}, "ranks: rank 4 is not there"),
        ({"ranks": [-1]}, r"ranks: found \[-1\], expected text such as '0-7,16' or a list of numbers"),
        ({"ranks": 3}, "ranks: found 3, expected text"),
        ({"window": (0, 1)}, r"window: found \(0, 1\), expected text such as '1 s..2.5 s'"),
        ({"execution": ["roofline"]}, "execution: found .* of type list, expected a dict"),
        ({"seed": float("nan")}, "^seed: nan and infinity are no values of an experiment"),
        ({"execution": {"noise": {"every": 1e999}}}, "^execution.noise.every: nan and infinity"),
    ],
)
def test_an_argument_of_a_run_that_does_not_fit_is_named_with_what_is_expected(
    keywords: dict[str, Any], words: str
) -> None:
    with pytest.raises(ss.ConfigError, match=words):
        ss.simulate(RING, ALL_REDUCE, **keywords)


def test_a_time_line_of_ranks_that_are_not_there_is_refused(result: ss.Result) -> None:
    with pytest.raises(ss.ConfigError, match="ranks: rank 99 is not there; this run has 8 ranks"):
        result.timeline(ranks="0-99")
    with pytest.raises(ss.ConfigError, match="window: found"):
        result.timeline(window=(0, 1))  # type: ignore[arg-type]


def test_arguments_that_do_not_fit_are_named_with_what_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(GOOD, encoding="utf-8")
    wrong: Any = ["topology.nodes=8"]
    expected = r"^set: found \['topology.nodes=8'\] of type list, expected a dict such as {'topology.k': 8}"
    for call in (ss.run, ss.sweep, ss.traffic):
        with pytest.raises(ss.ConfigError, match=expected):
            call(path, set=wrong)
    with pytest.raises(ss.ConfigError, match=r"^cases: found .* expected a dict"):
        ss.sweep(path, cases=wrong)
    for loads in (0.1, [None]):
        with pytest.raises(ss.ConfigError, match=r"^loads: found .*, expected a list .* \[0.1, 0.2\]"):
            ss.traffic(path, loads)  # type: ignore[arg-type]
    with pytest.raises(ss.ConfigError, match=r"^topology.nodes: nan and infinity"):
        ss.run(path, set={"topology.nodes": float("nan")})
    with pytest.raises(ss.ConfigError, match=r"^topology.bandwidth: nan and infinity"):
        ss.topology.ring(nodes=4, bandwidth=float("nan"), latency="1 us")  # type: ignore[arg-type]
    with pytest.raises(ss.ConfigError, match=r"^sweep.product.topology.nodes.1: nan and infinity"):
        ss.sweep(path, {"topology.nodes": [4, float("nan")]})


def test_numbers_that_an_argument_does_not_take_are_named_with_those_that_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(GOOD, encoding="utf-8")
    wrong: Any
    for wrong in (-1, 1.5, "2", 2**64):
        expected = f"found {wrong!r}, expected a whole number from 0 to "
        for call in (ss.sweep, ss.traffic):
            with pytest.raises(
                ss.ConfigError, match=rf"^threads: found {wrong!r}, expected a whole number from 1 to 4096"
            ):
                call(path, threads=wrong, **({} if call is ss.traffic else {"product": {"seed": [1]}}))
        with pytest.raises(ss.ConfigError, match=f"^seeds: {expected}4294967295"):
            ss.traffic(path, seeds=wrong)
        with pytest.raises(ss.ConfigError, match=f"^bytes: {expected}18446744073709551615"):
            ss.card("sw-ai").best("all-reduce", wrong)


def test_an_experiment_has_a_path_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(GOOD, encoding="utf-8")
    assert ss.run(os.fsencode(path)).digest == ss.run(str(path)).digest == ss.run(path).digest


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{}", "missing field `stratasim`"),
        (b"", "the text is no JSON, or cut short: Expecting value: line 1 column 1"),
        (b'{"title": ', "the text is no JSON, or cut short: Expecting value: line 1 column 11"),
        (b"[]", "line 1"),
        (b"\xff\xfe", "no UTF-8 text"),
    ],
)
def test_a_file_that_holds_no_result_is_named(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(ss.ConfigError, match=words) as raised:
        ss.Result.read(path)
    assert str(raised.value).startswith(f"{path}: this is no result")


def test_a_file_of_another_kind_is_told_with_what_reads_it(tmp_path: Path, result: ss.Result) -> None:
    mesh = {
        "topology": {"kind": "mesh", "dimensions": [2, 2], "bandwidth": "32 GB/s", "latency": "1 ns"},
        "network": {"kind": "flit", "flit-bytes": "32 B"},
        "traffic": {"load": 0.1, "measure": {"window": 100}},
    }
    ss.traffic(mesh, [0.1], out=tmp_path / "curve")
    ss.sweep({"topology": RING, "workload": ALL_REDUCE}, {"seed": [1, 2]}, out=tmp_path / "sweep")
    curve, sweep = (tmp_path / name / "results.json" for name in ("curve", "sweep"))
    one, several, experiment = (tmp_path / f"{name}.json" for name in ("one", "several", "experiment"))
    result.write_json(one)
    several.write_text(json.dumps([result.data, result.data]), encoding="utf-8")
    experiment.write_text(json.dumps({"topology": RING, "workload": ALL_REDUCE}), encoding="utf-8")
    kinds = {
        "the result of one run": (one, "stratasim.Result.read reads it", ss.Result.read),
        "a load-latency curve": (curve, "stratasim.Curve.read reads it", ss.Curve.read),
        "the points of a sweep": (sweep, "stratasim.Sweep.read reads them", ss.Sweep.read),
        "a list of results": (several, r"stratasim.Result\(json.dumps\(entry\)\)", None),
        "an experiment": (experiment, "stratasim.run runs it", None),
    }
    for wanted, (_, _, read) in kinds.items():
        for found, (path, remedy, _) in kinds.items():
            if read is None:
                continue
            if found == wanted:
                read(path)
                continue
            with pytest.raises(
                ss.ConfigError, match=f"^{path}: this is {found}, not {wanted}; {remedy}"
            ) as raised:
                read(path)
            assert "\n" not in str(raised.value)


@pytest.mark.parametrize("read", [ss.Curve.read, ss.Sweep.read], ids=["curve", "sweep"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"title": "x", "points": [{}]}',
        b'{"title": "x", "points": [{}], "saturation_load_flits_per_cycle": null}',
        b'{"title": "x", "points": [], "failures": [{"point": 0}]}',
        b'{"title": "x", "points": [], "failures": 7}',
    ],
    ids=lambda content: content[:50].decode(errors="replace"),
)
def test_a_file_that_holds_no_curve_or_sweep_is_named(
    read: Callable[[Path], object], content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    for given in (path, tmp_path):
        with pytest.raises(ss.ConfigError, match="this is ") as raised:
            read(given)
        assert str(raised.value).startswith(f"{path}: ")
        assert "\n" not in str(raised.value)
    with pytest.raises(ss.ConfigError, match=r"none\.json: No such file"):
        read(tmp_path / "none.json")


def test_a_file_of_a_curve_that_is_cut_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"title": "x", "points": [{"load_fl', encoding="utf-8")
    for read in (ss.Result.read, ss.Curve.read, ss.Sweep.read):
        with pytest.raises(ss.ConfigError, match=f"^{path}: this is no ") as raised:
            read(path)
        assert "the text is no JSON, or cut short: " in str(raised.value)


def test_a_result_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ss.ConfigError, match=str(path)):
            ss.Result.read(path)


def test_what_python_refuses_has_the_attributes_of_what_the_core_does(
    result: ss.Result, tmp_path: Path
) -> None:
    wrong = 3  # what no option takes
    refusals: list[tuple[Any, str]] = [
        (lambda: ss.simulate(RING, ALL_REDUCE, record=wrong), "record"),
        (lambda: ss.simulate(RING, ALL_REDUCE, over_time=wrong), "over_time: found 3"),
        (
            lambda: ss.sweep({"topology": RING, "workload": ALL_REDUCE}, {"seed": [1]}, progress=wrong),
            "progress",
        ),
        (lambda: ss.card("sw-ai", set="x"), "set: found 'x'"),
        (lambda: ss.card("sw-ai").fit(tmp_path / "none.csv", ["step"]), r"none\.csv"),
        (lambda: result.write_trace(None), "path: found None"),
        (lambda: result.timeline(width=float("nan")), "width: found nan"),
    ]
    for refused, words in refusals:
        with pytest.raises(ss.ConfigError, match=words) as raised:
            refused()
        assert raised.value.position is None
    assert ss.SimulationError("x").result is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda wrong, _: ss.run(wrong), "experiment: found 3, expected the path of a file or the exp"),
        (lambda wrong, _: ss.sweep(wrong), "experiment: found 3, expected"),
        (lambda wrong, _: ss.run({}, base=wrong), "base: found 3, expected the path of a folder"),
        (lambda wrong, _: ss.simulate(RING, ALL_REDUCE, base=wrong), "base: found 3, expected"),
        (lambda wrong, _: ss.Topology(RING, base=wrong), "base: found 3, expected"),
        (lambda wrong, _: ss.Topology(RING, seed=-wrong), "seed: found -3, expected a whole number from 0"),
        (lambda wrong, _: ss.Topology(RING).route(wrong, "host-1"), "src: found 3, expected the name of a"),
        (lambda wrong, _: ss.Topology(RING).route("host-0", "host-1", key=-wrong), "key: found -3"),
        (lambda wrong, _: ss.Topology(RING).export(wrong), "format: found 3"),
        (lambda wrong, _: ss.networkx.workload_to_networkx(wrong), "workload: found 3, expected a dict"),
        (lambda wrong, _: ss.card(wrong), "name: found 3, expected the name of a shipped card"),
        (lambda wrong, _: ss.Card.load(wrong), "path: found 3, expected the path"),
        (lambda wrong, _: ss.card("sw-ai").bench(sizes=wrong / 2), "sizes: found 1.5, expected a whole"),
        (lambda wrong, _: ss.card("sw-ai").fit(wrong, ["step"]), "measurements: found 3, expected"),
        (
            lambda wrong, _: ss.card("sw-ai").fit(["op"], ["step"]),
            "measurements: found 'op', expected a dict",
        ),
        (lambda wrong, _: ss.card("sw-ai").bench(wrong), "op: found 3, expected text"),
        (lambda wrong, _: ss.card("sw-ai").bench(algorithms=wrong), "algorithms: found 3, expected a list"),
        (lambda wrong, _: ss.card("sw-ai").fit([], ["step"], tolerance="x"), "tolerance: found 'x'"),
        (lambda wrong, _: ss.card("sw-ai").write(wrong), "path: found 3, expected the path of a file"),
        (lambda wrong, _: ss.traffic(wrong, semantics="booksim2"), "experiment: found 3, expected"),
        (lambda wrong, _: ss.traffic({}, saturation="low"), "saturation: found 'low', expected a number"),
        (lambda wrong, _: ss.kinds(wrong), "noun: found 3, expected text"),
        (lambda wrong, _: ss.explain("ring", wrong), "names: found 3, expected text"),
        (lambda wrong, _: ss.Result.read(wrong), "path: found 3, expected the path of a file"),
        (lambda wrong, _: ss.simulate(RING, ALL_REDUCE, ranks=[True, False]), "ranks: found .True, False"),
        (lambda wrong, result: result.write_json(wrong), "path: found 3, expected the path of a file"),
        (lambda wrong, result: result.write_csv(wrong), "path: found 3, expected the path of a file"),
        (
            lambda _, result: ss.Result("result.json"),
            "text: found 'result.json', .* Result.read reads a file",
        ),
        (lambda wrong, result: result.summary(width=-wrong), "width: found -3, expected a whole number"),
        (lambda wrong, result: result.timeline(width="wide"), "width: found 'wide', expected a number"),
        (lambda wrong, result: result.fullest_links(count=-wrong), "count: found -3, expected a whole"),
        (lambda wrong, result: result.breakdown(title=wrong), "title: found 3, expected text"),
        (lambda wrong, result: result.breakdown().svg("sepia"), "scheme: `sepia` is unknown"),
        (lambda wrong, result: result.breakdown().png(scale=99), "scale: a number from 0.1 to 16"),
        (lambda wrong, result: result.breakdown().save("a.jpg"), "path: .* .svg or .png, found a.jpg"),
        (lambda _, result: ss.simulate(RING, ALL_REDUCE).messages, "no messages: run with record"),
        (lambda _, result: ss.simulate(RING, ALL_REDUCE, record=None).tasks, "tasks were not recorded"),
        (lambda _, result: result.links_over_time, "nothing over time: run with over_time=True"),
    ],
)
def test_every_refusal_is_a_config_error_that_names_the_argument(
    call: Callable[[Any, ss.Result], object], words: str, result: ss.Result
) -> None:
    with pytest.raises(ss.ConfigError, match=words):
        call(3, result)


def test_half_of_a_letter_is_no_text() -> None:
    with pytest.raises(ss.ConfigError, match=r"a text holds '\\ud800', half of a letter"):
        ss.run({"name": "\ud800", "topology": RING, "workload": ALL_REDUCE})
