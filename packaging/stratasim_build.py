"""Builds the package: the Python module through maturin, and the native command beside it.

A PEP 517 backend that adds one step to maturin's: the command `stratasim` is compiled and put where
maturin takes scripts from, so that an installed wheel has the binary itself, which starts in a few
milliseconds, and not a Python script that calls it.
"""

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import maturin

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "python" / "stratasim.data" / "scripts"

# `release`, or another profile of cargo: tests use the one whose dependencies cargo test has compiled
PROFILE = os.environ.get("STRATASIM_PROFILE", "release")
os.environ["MATURIN_PEP517_ARGS"] = f"--profile {PROFILE}"

# maturin is called as a command, which an environment that nobody activated does not find
os.environ["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ.get("PATH", "")

# maturin wants the folder before anything is built
SCRIPTS.mkdir(parents=True, exist_ok=True)

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
build_sdist = maturin.build_sdist


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds a wheel with the module and the command."""
    build_command()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds a wheel that points to the sources in `python`, with the command."""
    build_command()
    return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))


def build_command() -> None:
    """Compiles the command and puts it where maturin takes scripts from."""
    binary = compile_command("--profile", PROFILE)
    script = SCRIPTS / binary.name
    # replaced rather than written to: the old one may be running
    script.unlink(missing_ok=True)
    shutil.copy2(binary, script)


def compile_command(*options: str, environment: dict[str, str] | None = None) -> Path:
    """Compiles the command with these options of `cargo build`, and says where it is."""
    # the package of the module is named, too, so that both are built on dependencies with one set of
    # features: maturin then finds them compiled, and counters of one build know the functions of another
    packages = ["--package", "stratasim-cli", "--package", "stratasim-py", "--bin", "stratasim"]
    command = ["cargo", "build", "--locked", *packages, *options]
    command.append("--message-format=json-render-diagnostics")
    built = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    # cargo knows best where it put the binary
    artefacts = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    (binary,) = (Path(found) for message in artefacts if (found := message.get("executable")))
    return binary
