"""Collectives between the core groups of a card, as forecasts time them: a function for each kind."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "card-algorithm")


def __dir__() -> list[str]:
    return __all__
