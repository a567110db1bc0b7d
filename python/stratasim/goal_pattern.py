"""Schedules that workload `goal` generates: a function for each kind of pattern."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "goal-pattern")


def __dir__() -> list[str]:
    return __all__
