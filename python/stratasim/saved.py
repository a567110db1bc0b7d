"""Files in which runs, curves and sweeps were written."""

import json
import os
from pathlib import Path
from typing import Any, Literal

from . import _core
from .spec import file_of

__all__ = ["instead", "parsed", "read_list", "read_text"]

_NAMES = {
    "curve": ("a load-latency curve", "stratasim.Curve.read reads it"),
    "sweep": ("the points of a sweep", "stratasim.Sweep.read reads them"),
    "result": ("the result of one run", "stratasim.Result.read reads it"),
    "results": ("a list of results", "stratasim.Result(json.dumps(entry)) is that of an entry"),
    "experiment": ("an experiment", "stratasim.run runs it"),
}


def read_text(path: Path, what: str) -> str:
    """The text of a file that holds a `what`."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _core.ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _core.ConfigError(f"{path}: this is no {what}, but no UTF-8 text") from None


def parsed(path: Path, text: str, what: str) -> Any:
    """What the JSON text of a file says that holds a `what`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = error if isinstance(error, ValueError) else "values are nested too deeply"
        raise _core.ConfigError(
            f"{path}: this is no {what}: the text is no JSON, or cut short: {why}"
        ) from None


def _kind(data: object) -> str | None:
    """Which of the files that Stratasim writes or reads has this in it, where it is one."""
    if isinstance(data, list):
        return "results" if data and all(_kind(entry) == "result" for entry in data) else None
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("points"), list) and "title" in data:
        return "curve" if "saturation_load_flits_per_cycle" in data else "sweep"
    if "digest" in data and "makespan_s" in data:
        return "result"
    return "experiment" if "topology" in data else None


def instead(data: object, wanted: str) -> str | None:
    """What a file is that is no `wanted`, and what to do with it; None where nobody knows."""
    found = _kind(data)
    if found is None or found == wanted:
        return None
    (name, remedy), (expected, _) = _NAMES[found], _NAMES[wanted]
    return f"this is {name}, not {expected}; {remedy}"


def read_list(
    path: str | os.PathLike[str], wanted: Literal["curve", "sweep"]
) -> tuple[str, dict[str, Any], Path]:
    """The text of the `results.json` that a sweep or a curve wrote, what it says, and where it is.

    `path` may be the folder that it is in.
    """
    file = Path(file_of(path))
    if file.is_dir():
        file /= "results.json"
    text = read_text(file, wanted)
    data = parsed(file, text, wanted)
    if _kind(data) != wanted:
        why = instead(data, wanted) or f"this is no {wanted} that Stratasim wrote"
        raise _core.ConfigError(f"{file}: {why}")
    return text, data, file
