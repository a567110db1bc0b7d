"""Writes halo.goal: a stencil code on a 4 x 4 x 2 torus of ranks, standing in for LULESH.

    python experiments/atlahs/halo.py > halo.goal
    stratasim goal convert halo.goal experiments/atlahs/halo.strata

Each of the steps computes for 20 ms, of which 15 ms need nothing from others, and exchanges a face of 2 MB
with each neighbour. `--steps N` writes fewer steps. The exchange runs on a stream of its own beside the
15 ms; the last 5 ms need it.
"""

import sys

DIMENSIONS = (4, 4, 2)
STEPS = 40
FACE_BYTES = 2_000_000
INNER_NS, OUTER_NS = 15_000_000, 5_000_000


def rank(place: tuple[int, ...]) -> int:
    """The number of a place, the first dimension fastest."""
    number = 0
    for extent, at in zip(reversed(DIMENSIONS), reversed(place), strict=True):
        number = number * extent + at % extent
    return number


def neighbours(place: tuple[int, ...]) -> list[tuple[int, int]]:
    """The ranks around a place, each with the direction in which it lies."""
    found = []
    for direction in range(2 * len(DIMENSIONS)):
        dimension, step = direction // 2, 1 - 2 * (direction % 2)
        other = [at + step * (axis == dimension) for axis, at in enumerate(place)]
        found.append((direction, rank(tuple(other))))
    return found


def main() -> None:
    """Writes the schedule."""
    arguments = sys.argv[1:]
    steps = int(arguments[arguments.index("--steps") + 1]) if "--steps" in arguments else STEPS
    x, y, z = DIMENSIONS
    print(f"num_ranks {x * y * z}")
    for number in range(x * y * z):
        place = (number % x, number // x % y, number // x // y)
        print(f"rank {number} {{")
        for step in range(steps):
            needed = [f"outer{step - 1}"] if step else []
            print(f"inner{step}: calc {INNER_NS}")
            print(f"outer{step}: calc {OUTER_NS}")
            print(f"outer{step} requires inner{step}")
            for before in needed:
                print(f"inner{step} requires {before}")
            for direction, other in neighbours(place):
                # what I send to the right comes from the left there
                tag, back = step * 6 + direction, step * 6 + (direction ^ 1)
                print(f"s{tag}: send {FACE_BYTES}b to {other} tag {tag} cpu 1")
                print(f"r{tag}: recv {FACE_BYTES}b from {other} tag {back} cpu 1")
                print(f"outer{step} requires r{tag}")
                for before in needed:
                    print(f"s{tag} requires {before}")
                    print(f"r{tag} requires {before}")
        print("}")


if __name__ == "__main__":
    main()
