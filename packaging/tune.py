"""Installs the package tuned by what it does: profile-guided optimisation, as `make release` asks for it.

The command is compiled with counters, runs the benchmarks and the examples, and is then compiled again, with
the module, for the branches and calls that they took. What is computed stays the same, bit for bit.

    packaging/tune.py [--profile-only]

Exits with 1 when the tools of LLVM are missing or a case fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from stratasim_build import compile_command

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "target" / "tuning"
BENCHMARKS = ROOT / "benches" / "run"
TRAFFIC = ROOT / "examples" / "11-torus-traffic" / "experiment.toml"


def main() -> int:
    """Compiles, runs, merges, and installs."""
    parser = argparse.ArgumentParser(description="Install the package tuned by what it does.")
    parser.add_argument("--profile-only", action="store_true", help="write the profile and install nothing")
    only = parser.parse_args().profile_only
    host, flags = host_and_flags()
    merge = llvm_profdata(host) or added_llvm_profdata(host)
    if merge is None:
        print("llvm-profdata is missing: rustup component add llvm-tools", file=sys.stderr)
        return 1
    raw = TARGET / "raw"
    print("Compiling with counters.", flush=True)
    counting = encoded([*flags, f"-Cprofile-generate={raw}"])
    command = compile_command("--release", "--target-dir", str(TARGET), environment=counting)
    # what ran while compiling counts, too
    for old in raw.glob("*.profraw"):
        old.unlink()
    if not train(command):
        return 1
    profile = TARGET / "stratasim.profdata"
    counted = sorted(raw.glob("*.profraw"))
    subprocess.run([merge, "merge", "-o", profile, *counted], check=True)
    if only:
        print(profile)
        return 0
    print("Compiling for what was counted.", flush=True)
    environment = encoded([*flags, f"-Cprofile-use={profile}"])
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, "--force-reinstall", ROOT], env=environment, check=True)
    return 0


def train(command: Path) -> bool:
    """Runs the benchmarks, and the examples: what never ran is compiled to be small and not to be fast."""
    print("Running the benchmarks.", flush=True)
    # with code 1 it says that targets are missed, as they are by a command that counts
    ran = subprocess.run([BENCHMARKS, "--command", command, "--runs", "1"], check=False)
    if ran.returncode > 1:
        print(f"{BENCHMARKS} ended with code {ran.returncode}", file=sys.stderr)
        return False
    print("Running the examples.", flush=True)
    runs = [["run", example] for example in sorted((ROOT / "examples").rglob("*.toml"))]
    as_booksim2 = ["--semantics", "booksim2", "--set", "traffic.to-self=true"]
    as_booksim2 += ["--set", 'traffic.injection={ kind = "bernoulli" }', "--load", "0.1:0.3:0.1", "--quiet"]
    runs += [["traffic", TRAFFIC, *as_booksim2]]
    for verb, example, *options in runs:
        ran = subprocess.run([command, verb, example, *options], stdout=subprocess.DEVNULL, check=False)
        if ran.returncode != 0:
            print(f"{example} ended with code {ran.returncode}", file=sys.stderr)
            return False
    return True


def host_and_flags() -> tuple[str, list[str]]:
    """The target of rustc, and its flags of `.cargo/config.toml`, which those of the environment replace."""
    version = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
    host = next(line.removeprefix("host: ") for line in version.splitlines() if line.startswith("host: "))
    config = tomllib.loads((ROOT / ".cargo" / "config.toml").read_text())
    architecture = host.split("-", 1)[0]
    own = config["target"].get(f'cfg(target_arch = "{architecture}")', {})
    return host, list(own.get("rustflags", []))


def llvm_profdata(host: str) -> Path | None:
    """The tool of rustc's own LLVM, whose format others may not read."""
    root = subprocess.run(
        ["rustc", "--print", "sysroot"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    tool = Path(root.strip()) / "lib" / "rustlib" / host / "bin" / "llvm-profdata"
    return tool if tool.exists() else None


def added_llvm_profdata(host: str) -> Path | None:
    """The same, after rustup has added it to the toolchain; `None` where there is no rustup or it cannot."""
    if shutil.which("rustup") is None:
        return None
    print("Adding llvm-tools to the toolchain.", flush=True)
    subprocess.run(["rustup", "component", "add", "llvm-tools"], check=False)
    return llvm_profdata(host)


def encoded(flags: list[str]) -> dict[str, str]:
    """The environment with these flags for rustc."""
    return {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)}


if __name__ == "__main__":
    sys.exit(main())
