#!/usr/bin/env python3
"""Block storage in the manner of Azure Direct Drive: completion times at message level and by packets.

    python experiments/atlahs/storage.py [--command stratasim] [--operations 5000] [--seeds 3] [--load 0.8]
        [--picture OUT]

Each operation of a client first asks the change coordination service which server holds the block. A read is
then a request and the data. A write sends the data to the first server, which passes them to two replicas,
waits for both, and answers. Clients are 31 hosts below four ToR switches, servers 32 hosts below the other
four. Operations come in a Poisson process, the same on all trees. Its rate is `--load` of what the cables
between the servers' ToR switches and the core carry on the 8:1 tree, in the direction that carries more.
"""

import argparse
import csv
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
RANKS, CLIENTS = 64, range(1, 32)
SERVERS = range(32, 64)
COORDINATOR = 0
REQUEST_BYTES, ANSWER_BYTES = 256, 64
WRITES = 0.75
# bytes of an operation and their shares: small blocks of a database, and a few long transfers
SIZES = {4096: 0.55, 8192: 0.25, 16_384: 0.10, 65_536: 0.08, 1_048_576: 0.02}
# a ToR switch of the 8:1 tree has one link up
UPLINK_BYTES_PER_S = 25e9
TREES = {"1:1": "[1, 8]", "4:1": "[1, 2]", "8:1": "[1, 1]"}
TRANSPORTS = {
    # latencies and rates of the routes, and no cost at the hosts, as packets have none either
    "LogGOPS": [
        'network={kind="message", from-routes=true, latency="0 s", overhead="0 s", gap="0 s",'
        ' gap-per-byte="0.04 ns/B", eager-limit="1 GB"}'
    ],
    "MPRDMA": [],
    "NDP": ['network={kind="packet", congestion={kind="ndp"}, buffer="1 MiB"}'],
}


def rate_per_s(load: float) -> float:
    """Operations per second at which the fuller direction of the cables above the servers has `load`."""
    mean = sum(size * share for size, share in SIZES.items())
    # a replica is as often on each of the other 31 servers, of which 24 are below another ToR switch
    copies = WRITES * 2 * 24 / 31
    # up go what is read and the copies, down what clients write and the copies
    per_operation = mean * (copies + max(1 - WRITES, WRITES))
    return load * 4 * UPLINK_BYTES_PER_S / per_operation


def schedule(operations: int, load: float, seed: int) -> str:
    """The operations as GOAL. A message has the same label at both ends."""
    draw = random.Random(seed)
    lines: dict[int, list[str]] = {rank: [] for rank in range(RANKS)}
    clock: dict[int, float] = dict.fromkeys(CLIENTS, 0.0)
    last: dict[int, str] = {}
    count = 0

    def message(source: int, to: int, size: int, needs: str | None) -> str:
        nonlocal count
        label = f"m{count}"
        lines[source].append(f"{label}: send {size}b to {to} tag {count} cpu 1")
        if needs:
            lines[source].append(f"{label} requires {needs}")
        lines[to].append(f"{label}: recv {size}b from {source} tag {count} cpu 1")
        count += 1
        return label

    now = 0.0
    rate = rate_per_s(load)
    for number in range(operations):
        now += draw.expovariate(rate)
        client = draw.choice(CLIENTS)
        size = draw.choices(list(SIZES), list(SIZES.values()))[0]
        first, *replicas = draw.sample(SERVERS, 3)
        wait = f"w{number}"
        lines[client].append(f"{wait}: calc {max(1, round((now - clock[client]) * 1e9))}")
        if client in last:
            lines[client].append(f"{wait} requires {last[client]}")
        last[client], clock[client] = wait, now
        asked = message(client, COORDINATOR, REQUEST_BYTES, wait)
        told = message(COORDINATOR, client, REQUEST_BYTES, asked)
        if draw.random() >= WRITES:
            wanted = message(client, first, REQUEST_BYTES, told)
            message(first, client, size, wanted)
            continue
        written = message(client, first, size, told)
        kept = []
        for replica in replicas:
            copied = message(first, replica, size, written)
            kept.append(message(replica, first, ANSWER_BYTES, copied))
        answer = message(first, client, ANSWER_BYTES, kept[0])
        lines[first].append(f"{answer} requires {kept[1]}")
    text = [f"num_ranks {RANKS}"]
    for rank, own in lines.items():
        text += [f"rank {rank} {{", *own, "}"]
    return "\n".join(text) + "\n"


def completion_times_us(path: Path) -> list[float]:
    """Times from each send to the end of its receive, in microseconds, from the list of tasks."""
    starts, times = {}, []
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["operator"].startswith("m")]
    for row in rows:
        label, what = row["operator"].split(": ", 1)
        if what.startswith("send"):
            starts[label] = float(row["start_s"])
    for row in rows:
        label, what = row["operator"].split(": ", 1)
        if what.startswith("receive"):
            times.append((float(row["end_s"]) - starts[label]) * 1e6)
    return sorted(times)


def main() -> int:
    """Runs all of them on all trees and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--command", default="stratasim", help="the command to run")
    parser.add_argument("--operations", type=int, default=5000, help="block operations per run")
    parser.add_argument(
        "--seeds", type=int, default=3, help="runs with other draws, of which the mean is shown"
    )
    parser.add_argument("--load", type=float, default=0.8, help="share of the cables of the 8:1 tree")
    parser.add_argument("--picture", type=Path, help="draw distributions on the 8:1 tree here")
    options = parser.parse_args()
    if options.operations < 1 or options.seeds < 1 or not 0 < options.load <= 10:
        parser.error("operations and seeds of at least 1 and a load above 0 are expected")
    measures: dict[str, Callable[[list[float]], float]] = {
        "mean": statistics.fmean,
        "p50": lambda times: times[len(times) // 2],
        "p99": lambda times: times[len(times) * 99 // 100],
        "max": lambda times: times[-1],
    }
    print(f"{'tree':5} {'transport':9}" + "".join(f"{name:>10}" for name in measures) + "   us")
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder) / "tasks.csv"
        files = []
        for seed in range(1, options.seeds + 1):
            files.append(Path(folder) / f"storage-{seed}.goal")
            files[-1].write_text(schedule(options.operations, options.load, seed))
        for tree, up in TREES.items():
            shown: dict[str, list[float]] = {}
            for name, changes in TRANSPORTS.items():
                runs = []
                for seed, file in enumerate(files, 1):
                    sets = [f"workload.file={file}", f"topology.up={up}", f"seed={seed}", *changes]
                    arguments = [part for change in sets for part in ("--set", change)]
                    command = [options.command, "run", str(HERE / "storage.toml"), *arguments]
                    command += ["--csv", str(tasks), "--quiet"]
                    if (tree, seed) == ("8:1", 1) and name != "LogGOPS":
                        command += ["--json", str(Path(folder) / f"{name}.json")]
                    ended = subprocess.run(command, check=False)
                    if ended.returncode:
                        return ended.returncode
                    times = completion_times_us(tasks)
                    runs.append([measure(times) for measure in measures.values()])
                shown[name] = [statistics.fmean(column) for column in zip(*runs, strict=True)]
                print(f"{tree:5} {name:9}" + "".join(f"{value:10.2f}" for value in shown[name]))
            pairs = zip(shown["NDP"], shown["MPRDMA"], strict=True)
            print(f"{'':5} {'NDP/MPRDMA':10}" + "".join(f"{100 * (a / b - 1):+9.1f}%" for a, b in pairs)[1:])
        if options.picture:
            results = [str(Path(folder) / f"{name}.json") for name in ("MPRDMA", "NDP")]
            command = [options.command, "report", *results, "--cdf", str(options.picture)]
            return subprocess.run(command, check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
