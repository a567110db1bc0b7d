"""Collectives between processes of one machine through shared memory, on NumPy arrays.

    from stratasim import shm

    def train(group):
        gradient = group.empty(1_000_000, "float32")  # in shared memory: read by the others where it is
        gradient[:] = group.rank
        group.all_reduce(gradient, out=gradient)
        return float(gradient[0])

    if __name__ == "__main__":
        print(shm.spawn(train, 4, local_bytes=16 << 20))  # [6.0, 6.0, 6.0, 6.0]

Every process is a rank of a `Group`, and all ranks call the same collectives in the same order. Any array
will do; those of `Group.empty` lie in the memory that the processes share and save a copy. The algorithms
are `ring`, `ring-two-sided`, `csc` and `direct`; `auto` is what a calibration (`stratasim card bench --real
--save`) says, or `direct`. Sums are the same to the last bit by every algorithm: part `p` of the vector is
summed from rank `p + 1` round to rank `p`, and rounded to the type of the array after every step.

A process that dies makes the others raise `GroupError` within a second. Nothing stays behind in /dev/shm.
"""

from __future__ import annotations

import itertools
import math
import mmap
import multiprocessing
import operator
import os
import secrets
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ._core import GroupError, ShmGroup

__all__ = ["Group", "GroupError", "SpawnError", "spawn"]

_Array: TypeAlias = npt.NDArray[Any]
_T = TypeVar("_T")
if TYPE_CHECKING:
    _Algorithm: TypeAlias = Literal["auto", "ring", "ring-two-sided", "csc", "direct"]
    _Reduction: TypeAlias = Literal["sum", "product", "min", "max"]


class Group:
    """A process's place in a group of processes: `rank` of `size`, found by `name`.

    Returns when all ranks are there. `local_bytes` is the shared memory of each rank, for arrays of
    `empty`. In it lie also `staging_bytes`, through which goes what lies elsewhere, and 512 KiB of bounce
    buffers. As much as for staging is shared on top; all is reserved at once. `timeout` is in seconds, for
    joining and for each wait within a collective. `calibration` is a file of `stratasim card bench --real
    --save` for the algorithm `auto`; the environment variable STRATASIM_SHM_CALIBRATION names one for all
    groups. Rank 0's holds for all.

    Raises `GroupError` when the name or the rank is taken, or settings differ, and TimeoutError when ranks
    do not come.
    """

    def __init__(
        self,
        name: str,
        rank: int,
        size: int,
        *,
        local_bytes: int = 8 << 20,
        staging_bytes: int = 4 << 20,
        timeout: float = 60.0,
        calibration: str | os.PathLike[str] | None = None,
    ) -> None:
        if calibration is None:
            calibration = os.environ.get("STRATASIM_SHM_CALIBRATION") or None
        for what, value in (("rank", rank), ("size", size)):
            if not 0 <= value < 2**32:
                raise ValueError(f"{what}: a number from 0 on is expected, found {value}")
        self._core = ShmGroup(name, rank, size, local_bytes, staging_bytes, timeout, calibration)
        self._rank, self._size = rank, size
        self._memory: mmap.mmap | None = None

    @property
    def rank(self) -> int:
        """Which of the processes, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """How many processes there are."""
        return self._size

    @property
    def pids(self) -> list[int]:
        """The processes, by rank."""
        return self._core.pids()

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = "float32") -> _Array:
        """A new array in the memory that this rank shares, with any content.

        The others read it where it is, which saves a copy in each collective. Its memory goes back when the
        array and all views of it are gone. Raises MemoryError when `local_bytes` is too little.
        """
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise ValueError(f"dtype: Python objects cannot be shared, found {kind}")
        try:
            lengths: tuple[int, ...] = (operator.index(shape),)  # type: ignore[arg-type]
        except TypeError:
            lengths = tuple(shape)  # type: ignore[arg-type]
        if any(length < 0 for length in lengths):
            raise ValueError(f"shape: lengths from 0 on are expected, found {lengths}")
        length = kind.itemsize
        for each in lengths:
            length *= each
        if self._memory is None:
            descriptor, total = self._core.file()
            self._memory = mmap.mmap(descriptor, total)
            self._core.mapped_at(np.frombuffer(self._memory, np.uint8).ctypes.data)
        if length == 0:
            return np.empty(lengths, kind)
        try:
            block = self._core.allocate(length)
        except MemoryError as error:
            remedy = "give the group more `local_bytes`, in which `staging_bytes` lie, too"
            raise MemoryError(f"{error}; {remedy}") from None
        # of its own, so that it goes when the last view of it goes
        root = np.frombuffer(self._memory, np.uint8, length, block.offset)
        weakref.finalize(root, block.free)
        return root.view(kind).reshape(lengths)

    def barrier(self) -> None:
        """Waits until all ranks are here."""
        self._core.barrier()

    def all_gather(
        self, array: npt.ArrayLike, out: _Array | None = None, algorithm: _Algorithm = "auto"
    ) -> _Array:
        """The arrays of all ranks, stacked along a new first axis.

        All ranks give the same shape and dtype. `out` has shape `(size, *array.shape)`, or any other with
        as many elements.
        """
        given = _contiguous(array)
        given, out = _apart(given, out, (self._size, *given.shape))
        self._core.all_gather(_bytes(given), _bytes(out), algorithm)
        return out

    def reduce_scatter(
        self,
        array: npt.ArrayLike,
        out: _Array | None = None,
        op: _Reduction = "sum",
        algorithm: _Algorithm = "auto",
    ) -> _Array:
        """The rank's part of the combination of all arrays, flattened.

        Parts follow one another; when the number of elements is no multiple of the size, the first ranks
        have one more.
        """
        given = _contiguous(array)
        each, more = divmod(given.size, self._size)
        given, out = _apart(given, out, (each + (self._rank < more),))
        self._core.reduce_scatter(_bytes(given), _bytes(out), given.dtype.name, op, algorithm)
        return out

    def all_reduce(
        self,
        array: npt.ArrayLike,
        out: _Array | None = None,
        op: _Reduction = "sum",
        algorithm: _Algorithm = "auto",
    ) -> _Array:
        """The combination of all arrays, element by element. `out` may be `array` itself."""
        given = _contiguous(array)
        if out is None:
            out = np.empty(given.shape, given.dtype)
        _check_out(out, given.dtype, given.size)
        core = self._core
        if given is out or (given.size and given.ctypes.data == out.ctypes.data):
            core.all_reduce(None, _bytes(out), out.dtype.name, op, algorithm)
            return out
        if np.may_share_memory(given, out):
            given = given.copy()
        core.all_reduce(_bytes(given), _bytes(out), out.dtype.name, op, algorithm)
        return out

    def broadcast(self, array: _Array, root: int = 0, algorithm: _Algorithm = "auto") -> _Array:
        """Overwrites the array with that of rank `root`, and returns it."""
        _check_out(array, array.dtype, array.size)
        if not 0 <= root < self._size:
            raise ValueError(f"root: 0 to {self._size - 1} is expected, found {root}")
        self._core.broadcast(_bytes(array), root, algorithm)
        return array

    def algorithm(self, operation: str, nbytes: int) -> str:
        """What `auto` means for a vector of so many bytes: `all-gather`, `reduce-scatter`, `all-reduce` or
        `broadcast`.

        The vector is the whole one: what all-gather gives, what reduce-scatter takes.
        """
        return self._core.choose(operation, nbytes)

    def close(self) -> None:
        """Leaves the group. Ranks that call a collective afterwards raise `GroupError`."""
        self._core.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<rank {self._rank} of {self._size}>"


def _contiguous(array: npt.ArrayLike) -> _Array:
    given = np.asarray(array, order="C")
    if given.dtype.hasobject:
        raise ValueError(f"Python objects cannot be shared, found an array of {given.dtype}")
    if not given.dtype.isnative:
        raise ValueError(f"the machine's order of bytes is expected, found {given.dtype.str}")
    return given


def _apart(given: _Array, out: _Array | None, shape: tuple[int, ...]) -> tuple[_Array, _Array]:
    """`given`, and `out`, which is made when there is none; in memory of their own."""
    if out is None:
        out = np.empty(shape, given.dtype)
    _check_out(out, given.dtype, math.prod(shape))
    return (given.copy() if np.may_share_memory(given, out) else given), out


def _check_out(out: _Array, dtype: np.dtype[Any], count: int) -> None:
    if out.dtype != dtype or out.size != count:
        raise ValueError(f"out: {count} elements of {dtype} are expected, found {out.size} of {out.dtype}")
    if dtype.hasobject:
        raise ValueError(f"Python objects cannot be shared, found an array of {dtype}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError("out: an array that is contiguous and can be written is expected")


def _bytes(array: _Array) -> npt.NDArray[np.uint8]:
    """The same memory, as bytes."""
    return array.reshape(-1).view(np.uint8)


class SpawnError(RuntimeError):
    """A rank that `spawn` started has failed: `rank`, and the text of what it raised."""

    rank: int
    """The first rank that failed for a reason of its own."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


_COUNT = itertools.count()


def spawn(
    function: Callable[..., _T],
    size: int,
    *args: object,
    method: Literal["spawn", "fork", "forkserver"] = "spawn",
    **options: Any,
) -> list[_T]:
    """Starts `size` processes, and gives what `function(group, *args)` returns in each, by rank.

    Further keywords are those of `Group`. `function` and what it returns must be picklable; as with every
    use of `multiprocessing`, a script that calls this does so under `if __name__ == "__main__":`. Raises
    `SpawnError` when a rank raises or dies.
    """
    if size < 1:
        raise ValueError(f"size: 1 or more processes are expected, found {size}")
    context = multiprocessing.get_context(method)
    name = f"spawn-{os.getpid()}-{next(_COUNT)}-{secrets.token_hex(4)}"
    processes, pipes = [], []
    for rank in range(size):
        ours, theirs = context.Pipe(duplex=False)
        target = (theirs, name, rank, size, function, args, options)
        process = context.Process(target=_child, args=target, daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        processes.append(process)
        pipes.append(ours)
    results: list[Any] = []
    failures: list[tuple[bool, int, str]] = []
    try:
        for rank, (process, pipe) in enumerate(zip(processes, pipes, strict=True)):
            try:
                fine, value, own = pipe.recv()
            except EOFError:
                process.join()
                fine, value, own = False, f"the process ended with code {process.exitcode}", True
            if not fine:
                failures.append((not own, rank, value))
            results.append(value)
    finally:
        for process in processes:
            if failures:
                process.join(2)
            if process.exitcode is None and (failures or len(results) < size):
                process.terminate()
            process.join()
    if failures:
        _, rank, text = min(failures)
        raise SpawnError(f"rank {rank} of {size} failed:\n{text}", rank)
    return results


def _child(
    pipe: Connection,
    name: str,
    rank: int,
    size: int,
    function: Callable[..., Any],
    args: tuple[object, ...],
    options: dict[str, Any],
) -> None:
    try:
        with Group(name, rank, size, **options) as group:
            value = function(group, *args)
            pipe.send((True, value, True))
            # nobody leaves while another is in its last collective
            group.barrier()
    except BaseException as error:
        # an error of the group is mostly what another rank's failure looks like from here
        pipe.send((False, traceback.format_exc(), not isinstance(error, GroupError)))
