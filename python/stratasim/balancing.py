"""Which of several ways switches choose for a packet: a function for each kind."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "balancing")


def __dir__() -> list[str]:
    return __all__
