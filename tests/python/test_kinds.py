"""The functions that stand for kinds: made from the schemas, documented, typed."""

import inspect
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import stratasim as ss
from conftest import ROOT
from stratasim.spec import encode

NOUNS = [
    "topology",
    "routing",
    "placement",
    "workload",
    "collective",
    "pattern",
    "size",
    "arrival",
    "network",
    "goal_pattern",
    "job_placement",
    "injection",
    "flit_routing",
    "transport",
    "recovery",
    "entropy",
    "queue",
    "balancing",
    "card_algorithm",
]
EVERY = [(noun, name) for noun in NOUNS for name in getattr(ss, noun).__all__]


def test_there_is_a_function_for_every_kind() -> None:
    for noun in NOUNS:
        module: types.ModuleType = getattr(ss, noun)
        assert module.__all__ == [kind.replace("-", "_") for kind in ss.kinds(noun.replace("_", "-"))]
        assert dir(module) == sorted(module.__all__)


@pytest.mark.parametrize(("noun", "name"), EVERY)
def test_a_function_says_what_it_takes(noun: str, name: str) -> None:
    function = getattr(getattr(ss, noun), name)
    assert function is getattr(getattr(ss, noun), name)
    assert (function.__name__, function.__module__) == (name, f"stratasim.{noun}")
    assert len(inspect.getdoc(function) or "") > 20
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert f"{parameter.name} : " in (function.__doc__ or "")


@pytest.mark.parametrize(("noun", "name"), EVERY)
def test_a_kind_without_required_keys_is_made_without_keywords(noun: str, name: str) -> None:
    function = getattr(getattr(ss, noun), name)
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    # a graph may stand in several places, one of which must be given when it is built
    if not required:
        spec = function()
        assert spec == {"kind": name.replace("_", "-")}
        assert (spec.noun, spec.kind) == (noun.replace("_", "-"), spec["kind"])


def test_a_default_of_the_signature_is_the_default_of_the_spec() -> None:
    cable = {"bandwidth": "1 Gbps", "latency": "1 us"}
    for name, required in (
        ("fully_connected", {"nodes": 4}),
        ("leaf_spine", {"leaves": 2, "spines": 1, "hosts_per_leaf": 1}),
    ):
        function = getattr(ss.topology, name)
        resolved = ss.Topology(function(**required, **cable)).spec
        for parameter in inspect.signature(function).parameters.values():
            if parameter.default is not parameter.empty:
                assert resolved[parameter.name.replace("_", "-")] == parameter.default


def test_a_specification_is_a_dict_that_shows_how_it_was_made() -> None:
    spec = ss.topology.leaf_spine(leaves=2, spines=1, hosts_per_leaf=4, bandwidth="1 Gbps", latency="1 us")
    assert eval(repr(spec), {"stratasim": ss}) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert pickle.loads(pickle.dumps(spec)).noun == "topology"
    assert spec["hosts-per-leaf"] == 4


def test_keywords_that_are_none_are_left_out() -> None:
    assert ss.workload.graph(path=None, iterations=2) == {"kind": "graph", "iterations": 2}


def test_a_name_that_is_no_kind_is_an_attribute_error_that_knows_better() -> None:
    with pytest.raises(AttributeError, match="fat_tree") as raised:
        _ = ss.topology.fat_tre
    assert raised.value.name == "fat_tre"
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ss.nonsense


def test_a_positional_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="keywords only"):
        ss.topology.ring(4)


def test_a_key_is_given_once() -> None:
    message = "got 'eager_limit' and 'eager-limit', which are one key"
    with pytest.raises(TypeError, match=message):
        ss.network.message(eager_limit="1 kB", **{"eager-limit": "2 kB"})
    both = {"eager_limit": "1 kB", "eager-limit": "2 kB"}
    ring = ss.topology.ring(nodes=4, bandwidth="1 GB/s", latency="1 us")
    work = ss.workload.goal(pattern="gather")
    with pytest.raises(TypeError, match=f"execution {message}"):
        ss.simulate(ring, work, execution=both)


def test_paths_and_arrays_of_texts_are_taken_where_a_file_has_texts() -> None:
    for function, key in (
        (ss.topology.graphml, "path"),
        (ss.topology.networkx_json, "path"),
        (ss.topology.simgrid_xml, "path"),
        (ss.workload.goal, "file"),
        (ss.workload.graph, "path"),
        (ss.size.empirical, "path"),
    ):
        assert "PathLike[str]" in str(inspect.signature(function).parameters[key].annotation)
        assert encode(function(**{key: Path("a") / "b"})) == encode(function(**{key: "a/b"}))
    sizes = ["1 kB", "2 kB"]
    collective = ss.workload.collective
    assert encode(collective(operation="all-gather", sizes=np.array(sizes))) == encode(
        collective(operation="all-gather", sizes=sizes)
    )


def test_the_type_stubs_are_current() -> None:
    script = ROOT / "packaging" / "generate_stubs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_stubs_take_machines_and_arrays(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "from pathlib import Path\n"
        "import numpy as np\n"
        "import stratasim as ss\n"
        'ring = ss.Topology(ss.topology.ring(nodes=4, bandwidth="1 Gbps", latency="1 us"))\n'
        'ss.topology.cards(of=ring, card=ss.card("sw-ai"))\n'
        "ss.pattern.list(pairs=np.array([[0, 1], [1, 0]]))\n"
        "ss.pattern.background(excluded=np.arange(2))\n"
        "ss.size.empirical(points=np.array([[1, 0.5], [2, 1.0]]))\n"
        'ss.workload.collective(operation="all-gather", sizes=np.array(["1 kB", "2 kB"]))\n'
        'ss.workload.collective(operation="all-to-all", matrix=np.array([["0 B", "1 B"], ["1 B", "0 B"]]))\n'
        'ss.topology.graphml(path=Path("it.graphml"))\n'
        'ss.workload.goal(file=Path("it.goal"))\n'
        "ss.topology.degraded(of=3, factor=0.5)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(snippet)]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert out.splitlines()[-1].startswith("Found 1 error"), out
    assert "snippet.py:13: error" in out
