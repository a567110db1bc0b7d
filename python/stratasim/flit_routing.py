"""Which way packets take at flit level: a function for each kind."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "flit-routing")


def __dir__() -> list[str]:
    return __all__
