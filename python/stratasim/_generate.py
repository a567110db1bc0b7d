"""Functions for the kinds of a noun, made from their schemas when they are first asked for."""

import json
import sys
from collections.abc import Callable
from typing import Any

from . import _core
from .spec import Spec, encode, keys_of_files


def functions(module: str, noun: str) -> tuple[Callable[[str], Callable[..., Spec]], list[str]]:
    """`__getattr__` and `__all__` of the module that has a function per kind of `noun`."""
    kinds = {kind.replace("-", "_"): kind for kind in _core.kinds(noun)}
    made: dict[str, Callable[..., Spec]] = {}

    def find(name: str) -> Callable[..., Spec]:
        if name not in kinds:
            text = f"module {module!r} has no attribute {name!r} (known: {', '.join(kinds)})"
            # with what Python needs for `Did you mean`
            raise AttributeError(text, name=name, obj=sys.modules[module])
        if name not in made:
            made[name] = _function(module, noun, name, kinds[name])
        return made[name]

    return find, list(kinds)


def _function(module: str, noun: str, name: str, kind: str) -> Callable[..., Spec]:
    def build(*positional: object, **options: Any) -> Spec:
        if positional:
            raise TypeError(f"{name}() takes keywords only")
        given = {key: value for key, value in options.items() if value is not None}
        values = keys_of_files(f"{name}()", given)
        spec = Spec(noun, {"kind": kind, **values})
        _core.check(noun, encode(spec, noun))
        return spec

    # imports `inspect`, which takes longer than the rest of the package
    from ._signature import documentation, parameters, signature

    schema = json.loads(_core.schema(noun, kind))
    known = parameters(schema)
    build.__name__ = build.__qualname__ = name
    build.__module__ = module
    build.__doc__ = documentation(schema, known)
    build.__dict__["__signature__"] = signature(known)
    return build
