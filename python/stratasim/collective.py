"""Algorithms of collective operations, for the option algorithm of workloads: a function for each kind."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "collective")


def __dir__() -> list[str]:
    return __all__
