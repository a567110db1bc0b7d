"""What there is."""

import subprocess
from collections.abc import Callable

import pytest

import stratasim as ss


def test_kinds_are_those_that_the_command_lists(
    run_command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    listed = run_command("list", "topologies").stdout
    for kind in ss.kinds("topology"):
        assert kind in listed
    with pytest.raises(ss.ConfigError, match="known: topology"):
        ss.kinds("colour")


def test_explanations_are_those_of_the_command(
    run_command: Callable[..., subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for words in (["fat-tree"], ["topology", "ring"], ["H100"], ["execution"]):
        assert ss.explain(*words).split() == run_command("explain", *words).stdout.split()
    with pytest.raises(ss.ConfigError, match="did you mean `fat-tree`"):
        ss.explain("fat-tre")


def test_the_schema_knows_every_section_and_every_kind() -> None:
    schema = ss.schema()
    assert {"topology", "workload", "network", "routing", "placement", "execution", "sweep"} <= set(
        schema["properties"]
    )
    text = str(schema)
    for kind in ss.kinds("topology"):
        assert f"'{kind}'" in text


def test_compute_types_have_rates_and_sources() -> None:
    types = ss.compute_types()
    names = {name for entry in types for name in [entry, *types[entry]["also"]]}
    assert {"H100", "A100", "V100", "FPGA", "ASIC"} <= names
    for name, entry in types.items():
        assert entry["source"], name
        # the machine that is built of it has its rate
    ring = ss.topology.ring(nodes=2, bandwidth="1 Gbps", latency="1 us", compute="A100")
    assert ss.Topology(ring).nodes["fp32_flop_per_s"].tolist() == [19.5e12, 19.5e12]
