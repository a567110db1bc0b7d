"""When sources of open-loop traffic make their packets: a function for each kind."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "injection")


def __dir__() -> list[str]:
    return __all__
