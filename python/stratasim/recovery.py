"""What senders at packet level send again, and when: a function for each kind."""

from ._generate import functions as _functions

__getattr__, __all__ = _functions(__name__, "recovery")


def __dir__() -> list[str]:
    return __all__
