"""Which paths senders at packet level choose: a function for each kind."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "entropy")


def __dir__() -> list[str]:
    return __all__
