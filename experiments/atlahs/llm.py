"""Writes a schedule: one training step of a language model on 32 accelerators.

    python experiments/atlahs/llm.py data > data.goal           # 32 replicas
    python experiments/atlahs/llm.py pipeline > pipeline.goal    # 8 replicas of a pipeline of four stages
    stratasim goal convert data.goal experiments/atlahs/llm-data.strata

- `data`: GPT-3 Small (12 decoders of 768 hidden units, 85 million parameters in them), 32,768 tokens per
  accelerator.
- `small`: three of these decoders, for tests.
- `pipeline`: GPT-3 Medium (24 decoders of 1,024 hidden units, 302 million parameters), half a million
  tokens in all, eight micro-batches per replica; all go forward, then all go backward (GPipe).

The last backward pass hands over gradients in buckets of 25 MB (the default of PyTorch's
DistributedDataParallel), and the replicas sum each bucket around a ring, one bucket after the other, beside
the rest of the pass.
"""

import sys
from typing import NamedTuple

BF16_BYTES = 2
BUCKET_BYTES = 25_000_000
# what matrix products reach on an H100 in bf16, about 40 % of its peak
FLOP_PER_S = 400e12
# bytes per parameter that the optimiser reads and writes, and the rate of the memory
OPTIMISER_BYTES, MEMORY_BYTES_PER_S = 16, 2e12
COMPUTE, PIPELINE, GRADIENTS = 0, 1, 2


class Model(NamedTuple):
    """A model, how it is split, and what a micro-batch is."""

    stages: int
    replicas: int
    micro_batches: int
    decoders: int
    hidden: int
    tokens: int


MODELS = {
    "data": Model(1, 32, 4, 12, 768, 8192),
    "small": Model(1, 32, 4, 3, 768, 8192),
    "pipeline": Model(4, 8, 8, 24, 1024, 8192),
}


class Rank:
    """The operations of one rank: lines of GOAL."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.lines: list[str] = []
        self.count = 0

    def add(self, what: str, cpu: int, *after: str | None) -> str:
        """An operation that needs others; its label."""
        label = f"o{self.count}"
        self.count += 1
        self.lines.append(f"{label}: {what} cpu {cpu}")
        self.lines += [f"{label} requires {other}" for other in after if other]
        return label


def all_reduce(rank: Rank, members: list[int], own: int, size: int, tag: int, after: list[str | None]) -> str:
    """A ring all-reduce of `size` bytes among `members`; this rank is number `own`. Its last receive."""
    count = len(members)
    to, source = members[(own + 1) % count], members[own - 1]
    for step in range(2 * (count - 1)):
        rank.add(f"send {size // count}b to {to} tag {tag + step}", GRADIENTS, *after)
        after = [rank.add(f"recv {size // count}b from {source} tag {tag + step}", GRADIENTS, *after)]
    return after[0] or ""


def training_step(model: Model, number: int) -> Rank:
    """What a rank does."""
    rank = Rank()
    stage, replica = divmod(number, model.replicas)
    members = [stage * model.replicas + other for other in range(model.replicas)]
    parameters = 12 * model.hidden**2 * model.decoders // model.stages
    forward_ns = round(2 * parameters * model.tokens / FLOP_PER_S * 1e9)
    activation = model.tokens * model.hidden * BF16_BYTES
    gradient = parameters * BF16_BYTES
    buckets = -(-gradient // BUCKET_BYTES)
    before = number - model.replicas if stage else None
    behind = number + model.replicas if stage < model.stages - 1 else None
    last = ring = None
    for batch in range(model.micro_batches):
        got = None
        if before is not None:
            got = rank.add(f"recv {activation}b from {before} tag {batch}", PIPELINE)
        last = rank.add(f"calc {forward_ns}", COMPUTE, last, got)
        if behind is not None:
            rank.add(f"send {activation}b to {behind} tag {batch}", PIPELINE, last)
    for batch in range(model.micro_batches):
        got = None
        if behind is not None:
            got = rank.add(f"recv {activation}b from {behind} tag {1000 + batch}", PIPELINE)
        hands_over = batch == model.micro_batches - 1
        pieces = buckets if hands_over else 1
        for piece in range(pieces):
            last = rank.add(f"calc {2 * forward_ns // pieces}", COMPUTE, last, None if piece else got)
            if hands_over:
                tag = 10_000 + 1000 * piece
                ring = all_reduce(rank, members, replica, gradient // pieces, tag, [last, ring])
        if before is not None:
            rank.add(f"send {activation}b to {before} tag {1000 + batch}", PIPELINE, last)
    update_ns = round(OPTIMISER_BYTES * parameters / MEMORY_BYTES_PER_S * 1e9)
    rank.add(f"calc {update_ns}", COMPUTE, last, ring)
    return rank


def main() -> int:
    """Writes the schedule."""
    if len(sys.argv) != 2 or sys.argv[1] not in MODELS:
        print(f"which schedule: {' or '.join(MODELS)}", file=sys.stderr)
        return 2
    model = MODELS[sys.argv[1]]
    ranks = model.stages * model.replicas
    print(f"num_ranks {ranks}")
    for number in range(ranks):
        print(f"rank {number} {{")
        print("\n".join(training_step(model, number).lines))
        print("}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
