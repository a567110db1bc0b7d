"""The command that comes with the package."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import stratasim as ss
from conftest import ROOT

LONG = ROOT / "benches" / "cases" / "hc-fine-1024.toml"


def module(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stratasim", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_and_the_package_are_of_one_version(
    run_command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    assert run_command("--version").stdout == f"stratasim {ss.__version__}\n"
    assert ss.__version__ == version("stratasim")


def test_the_command_is_the_program_itself(command: str) -> None:
    with Path(command).open("rb") as file:
        start = file.read(4)
    # ELF, Mach-O or PE, rather than a script
    assert start[:2] != b"#!"


@pytest.mark.parametrize(
    "args", [["--version"], ["list", "networks"], ["explain", "ring"], ["run", "absent.toml"], ["rnu"], []]
)
def test_python_m_stratasim_is_the_same_command(
    args: list[str], run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    ours, theirs = module(*args), run_command(*args)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_python_m_stratasim() -> None:
    command = [sys.executable, "-m", "stratasim", "run", LONG, "--set", "workload.iterations=1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        time.sleep(1.5)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert b"Traceback" not in errors


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_is_a_keyboard_interrupt_in_a_program() -> None:
    program = (
        "import stratasim as ss, sys\n"
        "try:\n"
        f"    ss.run({str(LONG)!r}, set={{'workload.iterations': 1000}}, record=None,\n"
        "           progress=lambda *_: print('running', flush=True))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "running\n"
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=30)
    assert running.returncode == 0
    assert output.endswith("interrupted\n")
