"""What there is: kinds, schemas, compute types."""

import json
from typing import Any

from . import _core
from .spec import whole, words

__all__ = ["compute_types", "explain", "kinds", "schema"]


def kinds(noun: str) -> list[str]:
    """The kinds of a noun: `topology`, `workload`, `network`, `transport` or another one that has a module
    in this package, with `-` for `_`.
    """
    return _core.kinds(words("noun", noun))


def explain(*names: str, width: int = 100) -> str:
    """What `stratasim explain` prints about a kind: what it is, its keys, units and defaults.

    Where two lists have the kind, the noun goes in front: `explain("topology", "ring")`. Compute types
    and the sections `experiment`, `execution` and `sweep` are explained, too. Raises ConfigError for what
    does not exist.
    """
    return _core.explain([words("names", name) for name in names], whole("width", width, 2**32 - 1))


def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file."""
    return dict(json.loads(_core.experiment_schema()))


def compute_types() -> dict[str, dict[str, Any]]:
    """The compute types that `compute = "H100"` may name, with their properties and sources.

    By name, in the order of the catalogue; `also` lists other names of the same type.
    """
    return {entry.pop("name"): entry for entry in json.loads(_core.compute_types())}
