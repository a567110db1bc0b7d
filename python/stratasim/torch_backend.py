"""`torch.distributed` through the memory that the processes of one machine share.

    import torch.distributed
    from stratasim import torch_backend

    torch_backend.register()
    torch.distributed.init_process_group("stratasim")

All-reduce, all-gather, reduce-scatter, broadcast and barrier of CPU tensors; what is built on them works,
too, such as DistributedDataParallel and the collectives of objects. They are those of `stratasim.shm`:
algorithms are chosen by the calibration that STRATASIM_SHM_CALIBRATION names, and a process that dies makes
the others raise `GroupError`. A call returns when it is complete, also with `async_op`. Sending from one rank
to another is not offered.

Needs PyTorch: `pip install stratasim[torch]`.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .shm import Group

_MISSING: ImportError | None = None
try:
    import torch
    import torch.distributed as dist
    from torch._C._distributed_c10d import _create_work_from_future
except ImportError as _error:
    _MISSING = _error
    torch = dist = _create_work_from_future = None

__all__ = ["SharedMemoryGroup", "register"]

# ours by the names of torch.distributed.ReduceOp; a mean is divided afterwards
_OPERATIONS = {"SUM": "sum", "AVG": "sum", "PRODUCT": "product", "MIN": "min", "MAX": "max"}
_Base: Any = object if _MISSING else dist.ProcessGroup


def register() -> None:
    """Makes the backend `stratasim` known to `torch.distributed`; a second call does nothing.

    Raises ImportError where PyTorch is not installed.
    """
    if _MISSING:
        raise ImportError(f"the backend needs PyTorch: pip install stratasim[torch] ({_MISSING})")
    if "STRATASIM" not in dist.Backend._plugins:
        dist.Backend.register_backend("stratasim", _create, devices=["cpu"])


class SharedMemoryGroup(_Base):  # type: ignore[misc]
    """A process group whose ranks are processes of one machine; made by `init_process_group("stratasim")`.

    Raises ValueError when ranks run on different machines.
    """

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._rank, self._size = rank, size
        machine = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        if rank == 0:
            store.set("stratasim", f"{machine} torch-{secrets.token_hex(8)}")
        theirs, name = store.get("stratasim").decode().split()
        if theirs != machine:
            raise ValueError(
                f"the backend stratasim joins processes of one machine; rank {rank} and rank 0 run on two"
            )
        self._group = Group(name, rank, size, timeout=timeout.total_seconds())

    def size(self) -> int:
        """Number of ranks."""
        return self._size

    def getBackendName(self) -> str:  # noqa: N802 (PyTorch calls it so)
        """Its name in PyTorch."""
        return "stratasim"

    def allreduce(self, tensors: list[Any], opts: Any = None) -> Any:
        """The combination of a tensor of all ranks, in its place."""
        for tensor in tensors:
            operation = _operation(opts, tensor)
            dense = tensor.contiguous()
            self._group._core.all_reduce(None, _bytes(dense), _kind(dense), operation, "auto")
            _average(dense, opts, self._size)
            _put(tensor, dense)
        return _done(tensors)

    def allreduce_coalesced(self, tensors: list[Any], opts: Any = None) -> Any:
        """The same, for several tensors."""
        return self.allreduce(tensors, opts)

    def broadcast(self, tensors: list[Any], opts: Any = None) -> Any:
        """The tensor of one rank, in all."""
        for tensor in tensors:
            dense = tensor.contiguous()
            self._group._core.broadcast(_bytes(dense), opts.rootRank if opts else 0, "auto")
            _put(tensor, dense)
        return _done(tensors)

    def _allgather_base(self, output: Any, given: Any, opts: Any = None) -> Any:
        dense = output.contiguous()
        self._gather(dense, given)
        _put(output, dense)
        return _done([output])

    # since 2.15 PyTorch calls what gathers and scatters tensors by other names
    all_gather_single = _allgather_base

    def allgather(self, outputs: list[list[Any]], inputs: list[Any], opts: Any = None) -> Any:
        """The tensors of all ranks, in a list."""
        for parts, given in zip(outputs, inputs, strict=True):
            if any(part.numel() != given.numel() or part.dtype != given.dtype for part in parts):
                raise ValueError("all_gather: tensors of one size and type are expected on all ranks")
            together = given.new_empty((len(parts), *given.shape))
            self._gather(together, given)
            for part, found in zip(parts, together, strict=True):
                part.copy_(found.reshape(part.shape))
        return _done(outputs)

    def allgather_into_tensor_coalesced(self, outputs: list[Any], inputs: list[Any], opts: Any = None) -> Any:
        """The tensors of all ranks one after the other, for several tensors."""
        for output, given in zip(outputs, inputs, strict=True):
            self._allgather_base(output, given)
        return _done(outputs)

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    def _reduce_scatter_base(self, output: Any, given: Any, opts: Any = None) -> Any:
        operation = _operation(opts, given)
        _same_types("reduce_scatter", output, given)
        if given.numel() != output.numel() * self._size:
            raise ValueError(
                f"reduce_scatter: {output.numel() * self._size} elements are expected, found {given.numel()}"
            )
        dense, source = output.contiguous(), given.contiguous()
        self._group._core.reduce_scatter(_bytes(source), _bytes(dense), _kind(source), operation, "auto")
        _average(dense, opts, self._size)
        _put(output, dense)
        return _done([output])

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter(self, outputs: list[Any], inputs: list[list[Any]], opts: Any = None) -> Any:
        """A rank's part of the combination of the lists of all ranks."""
        for output, parts in zip(outputs, inputs, strict=True):
            self._reduce_scatter_base(output, torch.cat([part.reshape(-1) for part in parts]), opts)
        return _done(outputs)

    def reduce_scatter_tensor_coalesced(self, outputs: list[Any], inputs: list[Any], opts: Any = None) -> Any:
        """A rank's parts of the combinations of several tensors."""
        for output, given in zip(outputs, inputs, strict=True):
            self._reduce_scatter_base(output, given, opts)
        return _done(outputs)

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def barrier(self, opts: Any = None) -> Any:
        """All ranks are here."""
        self._group.barrier()
        return _done([])

    def _gather(self, output: Any, given: Any) -> None:
        _same_types("all_gather", output, given)
        if output.numel() != given.numel() * self._size:
            raise ValueError(
                f"all_gather: {given.numel() * self._size} elements are expected, found {output.numel()}"
            )
        self._group._core.all_gather(_bytes(given.contiguous()), _bytes(output), "auto")

    def __repr__(self) -> str:
        return f"<SharedMemoryGroup, rank {self._rank} of {self._size}>"


def _same_types(operation: str, output: Any, given: Any) -> None:
    if output.dtype != given.dtype:
        raise ValueError(f"{operation}: an output of {given.dtype} is expected, found {output.dtype}")


def _bytes(tensor: Any) -> npt.NDArray[np.uint8]:
    """The same memory, as bytes."""
    if tensor.device.type != "cpu":
        raise ValueError(f"tensors in the memory of the CPU are expected, found one on {tensor.device}")
    found: npt.NDArray[np.uint8] = tensor.detach().reshape(-1).view(torch.uint8).numpy()
    return found


def _kind(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _is(opts: Any, name: str) -> bool:
    return opts is not None and bool(opts.reduceOp == getattr(dist.ReduceOp, name))


def _operation(opts: Any, tensor: Any) -> str:
    if opts is None:
        return "sum"
    name = next((name for name in _OPERATIONS if _is(opts, name)), None)
    if name is None or (name == "AVG" and not tensor.is_floating_point()):
        raise ValueError(f"sum, product, min, max and the mean of floats are offered, found {opts.reduceOp}")
    return _OPERATIONS[name]


def _average(tensor: Any, opts: Any, size: int) -> None:
    if _is(opts, "AVG"):
        tensor.div_(size)


def _put(tensor: Any, dense: Any) -> None:
    if dense is not tensor:
        tensor.copy_(dense)


def _done(result: Any) -> Any:
    future = torch.futures.Future()
    future.set_result(result)
    return _create_work_from_future(future)


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> SharedMemoryGroup:
    return SharedMemoryGroup(store, rank, size, timeout)
