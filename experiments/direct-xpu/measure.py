#!/usr/bin/env python3
"""Latency, bandwidth, loss and the host's trigger of Direct xPU: the numbers of the page beside this file.

    python experiments/direct-xpu/measure.py [--command stratasim] [--reference ../shared/ref]

Schedules are written here and run on machine.toml; the loss table is the sweep loss.toml, 60 seeds per point.
With `--reference`, a folder with `rltp_loss_sim.json` and `directxpu.json`, the reference values stand beside
ours.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# what a read takes longer than a write, 544 - 530 cycles at 200 MHz (section 5.1),
# taken for a DRAM access of the far end
ACCESS_NS = 70
# what a register write costs the host (section 5.1, figure 15)
HOST_NS = 1_000_000
REGISTER_BYTES = 4
# the names of the recoveries in the reference simulation
MODES = {
    "selective repeat (RLTP)": "srx",
    "selective repeat (IRN)": "sr",
    "go-back-N, NAK, 1 ms": "gbn_nak_w128_rto1ms",
    "go-back-N, NAK, 67 ms": "gbn_nak",
    "go-back-N, silent, 1 ms": "gbn_to_rto1ms",
    "go-back-N, silent, 67 ms": "gbn_to_rto67ms",
}


def goal(*ranks: list[str]) -> str:
    """Operations of each rank as GOAL."""
    text = [f"num_ranks {len(ranks)}"]
    for number, lines in enumerate(ranks):
        text += [f"rank {number} {{", *lines, "}"]
    return "\n".join(text) + "\n"


def write(size: int) -> str:
    """Rank 0 writes to rank 1."""
    return goal([f"a: send {size}b to 1 tag 1"], [f"a: recv {size}b from 0 tag 1"])


def read(size: int) -> str:
    """Rank 0 asks, rank 1 fetches the data from its memory and sends them."""
    answer = ["a: recv 0b from 0 tag 1", f"b: calc {ACCESS_NS}", "b requires a"]
    answer += [f"c: send {size}b to 0 tag 2", "c requires b"]
    return goal(["a: send 0b to 1 tag 1", f"c: recv {size}b from 1 tag 2"], answer)


def triggered(size: int) -> str:
    """The host (rank 2) sets a register of rank 0, which then writes to rank 1."""
    start = [f"h: recv {REGISTER_BYTES}b from 2 tag 7", f"a: send {size}b to 1 tag 1", "a requires h"]
    host = [f"t: calc {HOST_NS}", f"h: send {REGISTER_BYTES}b to 0 tag 7", "h requires t"]
    return goal(start, [f"a: recv {size}b from 0 tag 1"], host)


class Machine:
    """Runs schedules on machine.toml."""

    def __init__(self, command: str, folder: Path) -> None:
        """`folder` is for what lies between."""
        self.command, self.folder = command, folder

    def seconds(self, schedule: str, *sets: str) -> float:
        """How long a schedule takes."""
        file, result = self.folder / "schedule.goal", self.folder / "result.json"
        file.write_text(schedule)
        changes = [part for change in (f"workload.file={file}", *sets) for part in ("--set", change)]
        arguments = ["run", str(HERE / "machine.toml"), *changes, "--json", str(result), "--quiet"]
        subprocess.run([self.command, *arguments], check=True)
        return float(json.loads(result.read_text())["makespan_s"])

    def read_seconds(self, size: int) -> float:
        """A read is over when the data are there."""
        return self.seconds(read(size), "network.completion=receiver")


def losses(command: str, folder: Path) -> dict[tuple[str, float], float]:
    """Mean goodput in Gb/s of each recovery and loss: of the mean time of all seeds."""
    out = folder / "loss"
    arguments = ["sweep", str(HERE / "loss.toml"), "--out", str(out)]
    subprocess.run([command, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    times: dict[tuple[str, float], list[float]] = {}
    with (out / "table.csv").open() as file:
        for row in csv.DictReader(file):
            times.setdefault((row["recovery"], float(row["loss"])), []).append(float(row["makespan [s]"]))
    return {key: 8e-3 / statistics.fmean(values) for key, values in times.items()}


def reference(folder: Path | None, name: str) -> list[dict]:
    """The rows of a reference file; none without the folder."""
    if folder is None:
        return []
    content = json.loads((folder / name).read_text())
    return content["rows"] if isinstance(content, dict) else content


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--command", default="stratasim", help="the command to run")
    parser.add_argument("--reference", type=Path, help="the folder with the reference values")
    options = parser.parse_args()
    rows = {row["id"]: row for row in reference(options.reference, "directxpu.json")}
    table = {
        (mode["mode"], row[0]): row[1]
        for mode in reference(options.reference, "rltp_loss_sim.json")
        for row in mode["rows"]
    }

    def beside(value: float, expected: float | None) -> str:
        return "" if expected is None else f"{expected:12.4f}{100 * (value / expected - 1):+8.1f} %"

    with tempfile.TemporaryDirectory() as name:
        machine = Machine(options.command, Path(name))
        print("latency, us")
        for size in (4, 64, 256, 1024, 1408, 4096, 8192):
            value = machine.seconds(write(size)) * 1e6
            known = rows.get("lat.write4" if size == 4 else f"lat.pred.{size}", {})
            expected = known.get("paper") or known.get("computed")
            print(f"  write {size:5} B {value:10.4f}{beside(value, expected)}")
        value = machine.read_seconds(4) * 1e6
        print(f"  read      4 B {value:10.4f}{beside(value, rows.get('lat.read4', {}).get('paper'))}")
        print("bandwidth, Gb/s")
        for bits, label in ((10**6, "1Mb"), (10**9, "1Gb")):
            for verb, seconds in (
                ("write", machine.seconds(write(bits // 8))),
                ("read", machine.read_seconds(bits // 8)),
            ):
                value = bits / seconds / 1e9
                known = rows.get(f"bw.{label}", {}).get("computed")
                print(f"  {verb:5} {label:7} {value:10.4f}{beside(value, known)}")
        print("goodput of 1 MB, Gb/s")
        for (recovery, loss), value in losses(options.command, Path(name)).items():
            known = table.get((MODES[recovery], loss))
            print(f"  {recovery:26}{100 * loss:4g} % {value:10.4f}{beside(value, known)}")
        print("started by the host, us")
        for size in (4, 125_000, 1_250_000, 125_000_000):
            alone, whole = machine.seconds(write(size)), machine.seconds(triggered(size))
            share = 100 * (1 - alone / whole)
            print(f"  {size:11} B {alone * 1e6:12.2f} {whole * 1e6:12.2f}  trigger {share:5.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
