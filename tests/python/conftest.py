"""What the tests share."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import stratasim as ss

ROOT = Path(__file__).resolve().parents[2]

# the same cases everywhere, however slow the machine is
settings.register_profile("stratasim", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("stratasim")

# a shell starts jobs in the background deaf to Ctrl-C, and so would be all that is started here
signal.signal(signal.SIGINT, signal.default_int_handler)

# pictures are drawn without a screen
os.environ["MPLBACKEND"] = "Agg"

RING = ss.topology.ring(nodes=4, bandwidth="100 Gbps", latency="1 us")
ALL_REDUCE = ss.workload.collective(operation="all-reduce", bytes="4 MB", algorithm=ss.collective.ring())


@pytest.fixture(scope="session")
def command() -> str:
    """The command that was installed with the package, or the one in STRATASIM."""
    beside = Path(sys.executable).with_name("stratasim")
    found = os.environ.get("STRATASIM") or (
        os.fspath(beside) if beside.is_file() else shutil.which("stratasim")
    )
    assert found, "the command stratasim is not installed"
    return found


@pytest.fixture(scope="session")
def run_command(command: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command with arguments."""

    def run(*args: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run([command, *args], capture_output=True, text=True, timeout=60, check=False)

    return run


@pytest.fixture(scope="session")
def result() -> ss.Result:
    """A training step with computation, memory and communication, everything recorded."""
    topology = ss.topology.hcsim_cxl(xpus=8)
    workload = ss.workload.transformer(
        model="llama2-13b", layers=2, precision="fp32", storage="fp32", memory="home", iterations=2
    )
    return ss.simulate(topology, workload, name="two layers", record="messages")


@pytest.fixture
def circle() -> dict[str, Any]:
    """A ring without an order of channels: at a load of 0.6 its packets wait for each other for ever."""
    return {
        "topology": {"kind": "ring", "nodes": 6, "bandwidth": "32 GB/s", "latency": "2 ns"},
        "network": {
            "kind": "flit",
            "deadlock-check": False,
            "flit-bytes": "32 B",
            "router": {"virtual-channels": 1, "buffer-flits": 2},
            "routing": {"kind": "shortest-path", "layers": 1},
        },
        "traffic": {"load": 0.02, "flits": 8},
    }
