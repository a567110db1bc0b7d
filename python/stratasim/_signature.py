"""From the JSON Schema of a kind to the signature and the documentation of its function."""

import inspect
import json
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

from .spec import Array, Part, Spec


@dataclass(frozen=True)
class Parameter:
    """A keyword of a function."""

    name: str
    annotation: str
    """Its type as source text."""
    required: bool
    default: Any
    """What a file means that leaves it out; None when the kind decides."""
    text: str


def parameters(schema: dict[str, Any]) -> list[Parameter]:
    """The keywords of a kind, those that must be given first."""
    required = schema.get("required", [])
    found = []
    for key, value in schema.get("properties", {}).items():
        name = key.replace("-", "_")
        if not name.isidentifier() or keyword.iskeyword(name):
            raise AssertionError(f"`{key}` cannot be a keyword")
        default = value.get("default")
        found.append(
            Parameter(
                name=name,
                annotation=annotation(value, schema.get("$defs", {})),
                required=key in required,
                default=default if isinstance(default, str | int | float) else None,
                text=value.get("description", ""),
            )
        )
    return sorted(found, key=lambda parameter: not parameter.required)


def annotation(schema: dict[str, Any] | bool, definitions: dict[str, Any]) -> str:
    """The Python type of what a schema describes, as source text, without None."""
    types = list(dict.fromkeys(_alternatives(schema, definitions)))
    if "Any" in types:
        return "Any"
    words = [kind.removeprefix("Literal[").removesuffix("]") for kind in types if kind.startswith("Literal[")]
    # a text that may be anything may be any of the words, too
    literals = [f"Literal[{', '.join(words)}]"] if words and "str" not in types else []
    others = [kind for kind in types if kind != "None" and not kind.startswith("Literal[")]
    return " | ".join(literals + others)


def _alternatives(schema: dict[str, Any] | bool, definitions: dict[str, Any]) -> Iterator[str]:
    """The types that a value may have, one by one."""
    if isinstance(schema, bool):
        yield "Any"
    elif (name := schema.get("$ref", "").rpartition("/")[2]) in definitions:
        yield from _alternatives(definitions[name], definitions)
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        for choice in choices:
            yield from _alternatives(choice, definitions)
    elif "const" in schema:
        yield f"Literal[{_quoted(schema['const'])}]"
    elif "enum" in schema:
        for value in schema["enum"]:
            yield "None" if value is None else f"Literal[{_quoted(value)}]"
    elif isinstance(names := schema.get("type"), list):
        for name in names:
            yield from _alternatives({**schema, "type": name}, definitions)
    elif names == "array":
        items = annotation(schema.get("items", True), definitions)
        yield f"Sequence[{items}]"
        if items == "Any" or set(items.split(" | ")) <= _IN_ARRAYS or items.endswith("| Array"):
            yield "Array"
    elif names == "string" and schema.get("format") == "path":
        yield from ("str", "PathLike[str]")
    else:
        yield _TYPES.get(names, "Any")


_IN_ARRAYS = {"bool", "int", "float", "str"}
"""What the values of an array may be."""

_TYPES: dict[str | None, str] = {
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "null": "None",
    "object": "Part",
    "string": "str",
}


def _quoted(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else str(value)


def signature(known: list[Parameter]) -> inspect.Signature:
    """Keywords only; those that may be left out have a default."""
    names = {
        "Any": Any,
        "Array": Array,
        "Literal": Literal,
        "Part": Part,
        "PathLike": PathLike,
        "Sequence": Sequence,
    }
    found = []
    for parameter in known:
        text = parameter.annotation
        kind = eval(text if parameter.required or text == "Any" else f"{text} | None", {}, names)
        default = inspect.Parameter.empty if parameter.required else parameter.default
        found.append(
            inspect.Parameter(
                parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )
        )
    return inspect.Signature(found, return_annotation=Spec)


def documentation(schema: dict[str, Any], known: list[Parameter]) -> str:
    """What the kind is, and what its keywords mean."""
    text = str(schema.get("description", "")).strip()
    if known:
        text += "\n\nParameters\n----------"
    for parameter in known:
        optional = "" if parameter.required else ", optional"
        kind = (
            parameter.annotation.replace("Part", "dict")
            .replace("Array", "array")
            .replace("PathLike[str]", "path")
        )
        text += f"\n{parameter.name} : {kind}{optional}"
        text += "".join(f"\n    {line}" for line in parameter.text.splitlines())
    return text + "\n"
