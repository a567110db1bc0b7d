"""Simulator of AI, HPC and storage systems: one workload, one topology, every level of detail.

    import stratasim as ss

    result = ss.simulate(
        topology=ss.topology.fat_tree(k=8, bandwidth="400 Gbps", latency="500 ns"),
        workload=ss.workload.collective(operation="all-reduce", bytes="64 MiB"),
    )
    print(result.summary())
    result.tasks["name"], result.tasks["start_s"]  # NumPy arrays

The functions in `topology`, `workload`, `network`, `routing`, `placement`, `collective`, `pattern`,
`injection`, `size`, `arrival`, `goal_pattern`, `job_placement`, `flit_routing`, `transport`, `recovery`,
`entropy`, `queue`, `balancing` and `card_algorithm` are the kinds of an experiment file; their keywords are
its keys, with `_` for `-`.
Quantities are text with units, as in files. What is wrong raises `ConfigError`, with the message that
the command `stratasim` prints.
"""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from . import (
    arrival,
    balancing,
    card_algorithm,
    collective,
    entropy,
    flit_routing,
    goal_pattern,
    injection,
    job_placement,
    network,
    pattern,
    placement,
    queue,
    recovery,
    routing,
    size,
    topology,
    transport,
    workload,
)
from ._core import ConfigError, Interrupted, Picture, SimulationError, __version__
from .cards import Card, CardBench, CardFit, card
from .catalogue import compute_types, explain, kinds, schema
from .curves import Curve, traffic
from .machine import Topology
from .result import Columns, Result
from .simulation import run, simulate
from .spec import Spec
from .sweeps import Sweep, sweep

__all__ = [
    "Card",
    "CardBench",
    "CardFit",
    "Columns",
    "ConfigError",
    "Curve",
    "Interrupted",
    "Picture",
    "Result",
    "SimulationError",
    "Spec",
    "Sweep",
    "Topology",
    "__version__",
    "arrival",
    "balancing",
    "card",
    "card_algorithm",
    "collective",
    "compute_types",
    "entropy",
    "explain",
    "flit_routing",
    "goal_pattern",
    "injection",
    "job_placement",
    "kinds",
    "network",
    "pattern",
    "placement",
    "queue",
    "recovery",
    "routing",
    "run",
    "schema",
    "simulate",
    "size",
    "sweep",
    "topology",
    "traffic",
    "transport",
    "workload",
]


def __getattr__(name: str) -> _ModuleType:
    # needs the package networkx, which not everybody has
    if name == "networkx":
        return _import_module(".networkx", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
