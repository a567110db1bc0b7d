"""`torch.distributed` over shared memory; needs PyTorch, which the tests of every day do without."""

import multiprocessing
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stratasim import torch_backend

SIZE = 3


def test_without_pytorch_the_error_says_what_to_install() -> None:
    if "torch" in sys.modules:
        pytest.skip("PyTorch is installed")
    with pytest.raises(ImportError, match=r"pip install stratasim\[torch\]"):
        torch_backend.register()


def _rank(rank: int, store: str, results: Any) -> None:
    import torch
    import torch.distributed as dist

    torch_backend.register()
    torch_backend.register()
    dist.init_process_group("stratasim", init_method=f"file://{store}", rank=rank, world_size=SIZE)
    given = torch.arange(12, dtype=torch.float32) * (rank + 1)
    found: dict[str, Any] = {}

    whole = given.clone()
    dist.all_reduce(whole)
    found["sum"] = whole
    mean = given.to(torch.bfloat16)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    found["mean"] = mean.float()
    # a view with gaps
    table = given.reshape(3, 4).clone()
    dist.all_reduce(table[:, 1], op=dist.ReduceOp.MAX)
    found["max"] = table
    parts = [torch.empty(12) for _ in range(SIZE)]
    dist.all_gather(parts, given)
    found["parts"] = torch.stack(parts)
    together = torch.empty(SIZE * 12)
    dist.all_gather_into_tensor(together, given)
    found["together"] = together
    part = torch.empty(4)
    dist.reduce_scatter_tensor(part, given)
    found["part"] = part
    listed = torch.empty(4)
    dist.reduce_scatter(listed, list(given.chunk(SIZE)))
    found["listed"] = listed
    root = given.clone()
    work = dist.broadcast(root, src=1, async_op=True)
    work.wait()
    found["root"] = root
    objects: list[Any] = [None] * SIZE
    dist.all_gather_object(objects, {"rank": rank})
    dist.barrier()
    refused = ""
    try:
        dist.all_reduce(torch.arange(3), op=dist.ReduceOp.BAND)
    except ValueError as error:
        refused = str(error)

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1, bias=False))
    torch.nn.init.ones_(model.module.weight)
    model(torch.full((1, 4), float(rank))).sum().backward()
    found["gradient"] = model.module.weight.grad
    dist.destroy_process_group()
    results.put((rank, {name: tensor.numpy() for name, tensor in found.items()}, objects, refused))


def test_collectives_and_a_step_of_data_parallel_training(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    ranks = [context.Process(target=_rank, args=(rank, tmp_path / "store", results)) for rank in range(SIZE)]
    for process in ranks:
        process.start()
    outcome = sorted(results.get(timeout=120) for _ in ranks)
    for process in ranks:
        process.join()
        assert process.exitcode == 0
    given = [np.arange(12, dtype=np.float32) * (rank + 1) for rank in range(SIZE)]
    total = sum(given)
    for rank, found, objects, refused in outcome:
        np.testing.assert_array_equal(found["sum"], total)
        np.testing.assert_array_equal(found["mean"], total / SIZE)
        table = given[rank].reshape(3, 4).copy()
        table[:, 1] = given[-1].reshape(3, 4)[:, 1]
        np.testing.assert_array_equal(found["max"], table)
        np.testing.assert_array_equal(found["parts"], np.stack(given))
        np.testing.assert_array_equal(found["together"], np.concatenate(given))
        for name in ("part", "listed"):
            np.testing.assert_array_equal(found[name], np.split(total, SIZE)[rank])
        np.testing.assert_array_equal(found["root"], given[1])
        np.testing.assert_array_equal(found["gradient"], np.full((1, 4), 1.0))
        assert objects == [{"rank": other} for other in range(SIZE)]
        assert "sum, product, min, max" in refused
