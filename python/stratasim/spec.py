"""Parts of an experiment as Python values."""

import contextlib
import json
import operator
import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Protocol

from . import _core

__all__ = ["Spec"]


class Spec(dict[str, Any]):
    """A part of an experiment: a dict as it stands in a file, with the noun that it belongs to.

    Made by functions such as `stratasim.topology.fat_tree`. It can be changed like any dict; keys are
    those of files, with `-`.
    """

    noun: str

    def __init__(self, noun: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.noun = noun

    @property
    def kind(self) -> str:
        """The kind, such as `fat-tree`."""
        return str(self["kind"])

    def __repr__(self) -> str:
        options = ", ".join(f"{_name(key)}={value!r}" for key, value in self.items() if key != "kind")
        return f"stratasim.{_name(self.noun)}.{_name(self.kind)}({options})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Spec, (self.noun, dict(self)))


_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 60


def brief(value: object) -> str:
    """`value` as errors show it: on one line, whatever a table says of itself."""
    return " ".join(_BRIEF.repr(value).split())


class Described(Protocol):
    """What can say how it was described: `Topology` and `Card`."""

    def _to_spec(self) -> dict[str, Any]: ...


class Array(Protocol):
    """What can say its values as a list: arrays of NumPy, columns of pandas, tensors."""

    def tolist(self) -> Any: ...


Part = Mapping[str, Any] | Described
"""A part of an experiment: a dict, or what was made from one."""


class Placed(dict[str, Any]):
    """An experiment as a dict, whose relative paths start from the folder `base`.

    Copies and unions with `|` keep the folder.
    """

    base: str

    def __init__(self, values: Mapping[str, Any], base: str) -> None:
        super().__init__(values)
        self.base = base

    def copy(self) -> "Placed":
        return Placed(self, self.base)

    def __or__(self, other: Any) -> Any:
        return Placed({**self, **other}, self.base) if isinstance(other, Mapping) else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        # another process may have another current folder
        return (Placed, (dict(self), os.path.abspath(self.base)))


def encode(value: object, at: str = "") -> str:
    """`value` as JSON text; what JSON does not know is turned into what is meant. `at` is the path of `value`
    in errors.
    """
    try:
        text = json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False)
        text.encode()
        return text
    except UnicodeEncodeError as error:
        found = ascii(error.object[error.start])
        raise _core.ConfigError(f"a text holds {found}, half of a letter: no UTF-8 can say it") from None
    except RecursionError:
        raise _core.ConfigError("a value holds itself, or is nested too deep") from None
    except TypeError as error:
        raise _core.ConfigError(f"{_place(value, at)}{error}") from None
    except ValueError as error:
        if "Circular" in str(error):
            raise _core.ConfigError("a value holds itself") from None
        text = "nan and infinity are no values of an experiment; a finite number is expected"
        raise _core.ConfigError(f"{_place(value, at)}{text}") from None


def _place(value: object, at: str) -> str:
    """Where in `value` the first part is that JSON does not take, for the beginning of a message."""
    parts: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    for key, part in parts:
        try:
            json.dumps(part, default=_plain, allow_nan=False)
        except (TypeError, ValueError):
            return _place(part, f"{at}.{key}" if at else str(key))
    return f"{at}: " if at else ""


def settings(name: str, value: object, example: str) -> Mapping[str, Any]:
    """`value` of the argument `name`, which is a dict or None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        raise _core.ConfigError(
            f"{name}: found {brief(value)} of type {kind}, expected a dict such as {example}"
        )
    return value


def keys_of_files(where: str, options: Mapping[Any, Any]) -> dict[str, Any]:
    """Options by the keys of files, with `-` where Python has `_`; TypeError where two are one key."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        key = str(name).replace("_", "-")
        if key in found:
            raise TypeError(f"{where} got {_name(key)!r} and {key!r}, which are one key")
        found[key] = value
    return found


def called(progress: Any) -> Any:
    """The argument `progress`, which can be called, or None."""
    if progress is not None and not callable(progress):
        raise _core.ConfigError(f"progress: {brief(progress)} cannot be called")
    return progress


def recorded_ranks(ranks: object) -> str | list[int] | None:
    """The argument `ranks`: text, or numbers as a list."""
    if ranks is None or isinstance(ranks, str):
        return ranks
    numbers = [-1]
    if isinstance(ranks, Iterable):
        with contextlib.suppress(TypeError):
            # True and False of a mask are no ranks, though Python counts with them
            numbers = [-1 if isinstance(rank, bool) else operator.index(rank) for rank in ranks]
    if any(not 0 <= number < 2**32 for number in numbers):
        text = f"ranks: found {brief(ranks)}, expected text such as '0-7,16' or a list of numbers from 0 on"
        raise _core.ConfigError(text)
    return numbers


def whole(name: str, value: object, most: int, least: int = 0) -> int:
    """The argument `name`, which is a whole number."""
    number = least - 1
    with contextlib.suppress(TypeError):
        number = operator.index(value)  # type: ignore[arg-type]
    if not least <= number <= most:
        raise _core.ConfigError(
            f"{name}: found {brief(value)}, expected a whole number from {least} to {most}"
        )
    return number


def thread_count(threads: object) -> int | None:
    """The argument `threads`."""
    return None if threads is None else whole("threads", threads, 4096, least=1)


def path_or_none(name: str, value: object, what: str) -> str | None:
    """The argument `name`, which is the path of a `what` or None."""
    if value is None:
        return None
    found = None
    with contextlib.suppress(TypeError):
        found = os.fspath(value)  # type: ignore[call-overload]
    if not isinstance(found, str) or not found:
        raise _core.ConfigError(f"{name}: found {brief(value)}, expected the path of a {what}")
    return found


def path_of(name: str, value: object, expected: str) -> str:
    """The argument `name`, which is a path of any kind; `expected` says what may stand there."""
    found = None
    with contextlib.suppress(TypeError):
        found = os.fsdecode(value)  # type: ignore[arg-type]
    if found is None:
        raise _core.ConfigError(f"{name}: found {brief(value)}, expected {expected}")
    return found


def base_of(base: object) -> str:
    """The argument `base`, a folder; "" is the current one."""
    return path_of("base", base, "the path of a folder")


def file_of(path: object) -> str:
    """The argument `path`, of a file that is written or read."""
    return path_of("path", path, "the path of a file")


def number(name: str, value: object, expected: str = "a number") -> float:
    """The argument `name`, which is a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _core.ConfigError(f"{name}: found {brief(value)}, expected {expected}")
    return float(value)


def words(name: str, value: object, expected: str = "text") -> str:
    """The argument `name`, which is text."""
    if not isinstance(value, str):
        raise _core.ConfigError(f"{name}: found {brief(value)}, expected {expected}")
    return value


def recorded_window(window: object) -> str | None:
    """The argument `window`, which is text."""
    if window is None or isinstance(window, str):
        return window
    text = f"window: found {brief(window)}, expected text such as '1 s..2.5 s' or '..200 ms'"
    raise _core.ConfigError(text)


def assignment(path: str, value: object) -> str:
    """`path=value` as `--set` of the command takes it: the value is TOML."""
    if not isinstance(path, str) or not path or "=" in path:
        raise _core.ConfigError(
            f"set: found the key {brief(path)}, expected a dotted path such as 'topology.k'"
        )
    # what has passed through JSON is plain
    return f"{path}={_toml(path, json.loads(encode(value, path)))}"


def _toml(path: str, value: Any) -> str:
    match value:
        case None:
            raise _core.ConfigError(f"{path}: None is no value; leave the key out")
        case dict():
            entries = (f"{_quoted(key)} = {_toml(path, item)}" for key, item in value.items())
            return "{ " + ", ".join(entries) + " }"
        case list():
            return "[" + ", ".join(_toml(path, item) for item in value) + "]"
        case str():
            return _quoted(value)
        case _:
            return json.dumps(value)


def _quoted(text: str) -> str:
    # TOML takes the escapes of JSON but for halves of characters, and wants DEL escaped, too
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(value: Any) -> Any:
    """Topologies, paths, NumPy scalars and arrays, tables and columns of pandas and polars (their values,
    without labels), and mappings that are no dicts.
    """
    # by method rather than by type: NumPy is not imported for this
    if callable(to_spec := getattr(value, "_to_spec", None)):
        return to_spec()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if callable(to_list := getattr(value, "tolist", None)):
        # what Python has no type for, such as longdouble, comes back as itself
        return float(plain) if type(plain := to_list()) is type(value) else plain
    if callable(to_numpy := getattr(value, "to_numpy", None)):
        return to_numpy().tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return list(value)
    remedy = ""
    if is_graph(value):
        remedy = (
            "; make it a topology with stratasim.networkx.from_networkx, or a workload with "
            "stratasim.networkx.workload_from_networkx"
        )
    raise TypeError(f"{brief(value)} is a {type(value).__name__}, which an experiment cannot hold{remedy}")


def is_graph(value: object) -> bool:
    """Whether `value` is a graph of NetworkX."""
    # by method rather than by type: NetworkX is not imported for this
    return callable(getattr(value, "is_multigraph", None))


def _name(kind: str) -> str:
    return kind.replace("-", "_")
