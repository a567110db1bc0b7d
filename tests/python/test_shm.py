"""Collectives between real processes, from Python."""

import gc
import os
import signal
import time
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stratasim import shm

ALGORITHMS: tuple[Any, ...] = ("auto", "ring", "ring-two-sided", "csc", "direct")
UFUNCS = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum}


def _given(rank: int, shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    values = np.random.default_rng(rank).normal(0, 40, shape)
    return values.astype(dtype)


def _combined(size: int, shape: tuple[int, ...], dtype: str, op: str) -> npt.NDArray[Any]:
    """Part by part, from the rank behind its owner round to the owner."""
    arrays = [np.array_split(_given(rank, shape, dtype).reshape(-1), size) for rank in range(size)]
    parts = [
        reduce(UFUNCS[op], [arrays[(owner + steps) % size][owner] for steps in range(1, size + 1)])
        for owner in range(size)
    ]
    return np.concatenate(parts).reshape(shape)


def _everything(group: shm.Group, shapes: list[tuple[int, ...]]) -> int:
    rank, size = group.rank, group.size
    for shape in shapes:
        for dtype in ("float16", "float32", "int8"):
            stacked = np.stack([_given(other, shape, dtype) for other in range(size)])
            for shared in (False, True):
                mine = _given(rank, shape, dtype)
                if shared:
                    array = group.empty(shape, dtype)
                    array[...] = mine
                else:
                    array = mine.copy()
                for algorithm in ALGORITHMS:
                    gathered = group.all_gather(array, algorithm=algorithm)
                    np.testing.assert_array_equal(gathered, stacked, strict=True)
                    for op in ("sum", "max"):
                        whole = _combined(size, shape, dtype, op)
                        np.testing.assert_array_equal(
                            group.all_reduce(array, op=op, algorithm=algorithm), whole, strict=True
                        )
                        part = np.array_split(whole.reshape(-1), size)[rank]
                        np.testing.assert_array_equal(
                            group.reduce_scatter(array, op=op, algorithm=algorithm), part, strict=True
                        )
                    np.testing.assert_array_equal(array, mine)
                    data = array.copy()
                    assert group.broadcast(data, root=size - 1, algorithm=algorithm) is data
                    np.testing.assert_array_equal(data, stacked[-1])
                whole = _combined(size, shape, dtype, "sum")
                assert group.all_reduce(array, out=array) is array
                np.testing.assert_array_equal(array, whole)
    return rank


def test_every_collective_gives_the_bits_of_the_documented_order() -> None:
    shapes = [(), (0,), (1,), (7,), (3, 5), (101, 31)]
    assert shm.spawn(_everything, 3, shapes) == [0, 1, 2]


def test_a_group_of_one_is_a_copy() -> None:
    with shm.Group("python-alone", 0, 1) as group:
        array = np.arange(6, dtype="int16").reshape(2, 3)
        np.testing.assert_array_equal(group.all_gather(array), array[None], strict=True)
        np.testing.assert_array_equal(group.all_reduce(array.T), array.T)
        np.testing.assert_array_equal(group.reduce_scatter(array), array.reshape(-1))
        group.barrier()
        assert (group.rank, group.size, group.pids) == (0, 1, [os.getpid()])
        assert group.algorithm("all-gather", 1000) == "direct"
    with pytest.raises(shm.GroupError, match="the group is closed"):
        group.barrier()


def test_shared_arrays_go_back_when_their_last_view_goes() -> None:
    with shm.Group("python-memory", 0, 1, local_bytes=6 << 20, staging_bytes=1 << 20) as group:
        first = group.empty((1024, 1024), "uint16")
        first[...] = 7
        view = first[5, ::2]
        del first
        gc.collect()
        with pytest.raises(MemoryError, match=r"out of memory: 3145728 B were asked for.*more `local_bytes`"):
            group.empty(3 << 20, "uint8")
        assert (view == 7).all()
        del view
        gc.collect()
        assert group.empty(3 << 20, "uint8").size == 3 << 20
    survivor = group.empty(0, "float32")
    assert survivor.size == 0


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="rank: 0 to 1 is expected, found 2"):
        shm.Group("python-mistakes", 2, 2)
    with pytest.raises(ValueError, match="name: 1 to 100 letters"):
        shm.Group("a/b", 0, 1)
    with pytest.raises(TimeoutError, match="not complete after 100ms: rank 1 missing"):
        shm.Group("python-mistakes", 0, 2, timeout=0.1)
    with shm.Group("python-mistakes", 0, 1) as group:
        with pytest.raises(ValueError, match="unknown algorithm `csr`, did you mean `csc`"):
            group.all_gather(np.zeros(3), algorithm="csr")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="unknown reduction `mean`"):
            group.all_reduce(np.zeros(3), op="mean")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="unknown type of elements `complex64`"):
            group.all_reduce(np.zeros(3, "complex64"))
        with pytest.raises(ValueError, match="out: 3 elements of float64 are expected, found 4 of float64"):
            group.all_reduce(np.zeros(3), out=np.zeros(4))
        with pytest.raises(ValueError, match="contiguous"):
            group.broadcast(np.zeros((4, 4))[:, 1])
        with pytest.raises(ValueError, match="Python objects cannot be shared"):
            group.all_gather(np.array([None]))
        with pytest.raises(ValueError, match="order of bytes"):
            group.all_gather(np.zeros(3, ">f4"))
        with pytest.raises(ValueError, match="root: 0 to 0 is expected, found 3"):
            group.broadcast(np.zeros(3), root=3)
    assert not [entry for entry in os.listdir("/dev/shm") if "python-mistakes" in entry]


def test_a_calibration_chooses(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text('{"choices": {"all-gather": [[0, "csc"], [65536, "ring"]]}}')
    with shm.Group("python-calibrated", 0, 1, calibration=file) as group:
        chosen = [group.algorithm("all-gather", nbytes) for nbytes in (0, 65535, 65536)]
        assert chosen == ["csc", "csc", "ring"]
    file.write_text('{"choices": {"all-gather": [[0, "cs"]]}}')
    with pytest.raises(ValueError, match=r"machine.json: choices.all-gather: unknown algorithm `cs`"):
        shm.Group("python-calibrated", 0, 1, calibration=file)


def _dies(group: shm.Group) -> float:
    group.barrier()
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    started = time.monotonic()
    with pytest.raises(shm.GroupError, match=r"rank 1 \(process \d+\) has died|has ended"):
        group.all_reduce(np.ones(1000))
    waited = time.monotonic() - started
    assert waited < 1, waited
    raise RuntimeError(f"raised in time, rank {group.rank}")


def test_a_killed_rank_is_an_error_of_the_others_and_of_spawn() -> None:
    with pytest.raises(shm.SpawnError, match=r"rank (0|2) of 3 failed:(?s:.)*raised in time") as caught:
        shm.spawn(_dies, 3)
    assert caught.value.rank in (0, 2)


def _interrupted(group: shm.Group) -> bool:
    if group.rank == 1:
        group.barrier()
        time.sleep(0.6)
        return True
    group.barrier()
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyError("alarm")))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    started = time.monotonic()
    with pytest.raises(KeyError, match="alarm"):
        group.all_reduce(np.ones(10))
    assert time.monotonic() - started < 0.5
    raise ZeroDivisionError("the signal came through")


def test_a_signal_ends_the_wait() -> None:
    with pytest.raises(shm.SpawnError, match="the signal came through"):
        shm.spawn(_interrupted, 2)
