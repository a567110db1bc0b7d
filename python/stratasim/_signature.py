"""From the JSON Schema of a kind to the signature and the documentation of its function."""

import inspect
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .spec import Spec


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
        assert name.isidentifier() and not keyword.iskeyword(name), f"`{key}` cannot be a keyword"
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


def annotation(schema: dict[str, Any] | bool, definitions: dict[str, Any], depth: int = 0) -> str:
    """The Python type of what a schema describes, as source text, without None."""
    if isinstance(schema, bool):
        return "Any"
    if (name := schema.get("$ref", "").rpartition("/")[2]) in definitions:
        return annotation(definitions[name], definitions, depth)
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return _union(f"Literal[{value!r}]" for value in schema["enum"])
    for alternatives in ("anyOf", "oneOf"):
        if alternatives in schema:
            return _union(annotation(choice, definitions, depth) for choice in schema[alternatives])
    match schema.get("type"):
        case list() as names:
            return _union(annotation({**schema, "type": name}, definitions, depth) for name in names)
        case "array":
            items = annotation(schema.get("items", True), definitions, depth + 1)
            return f"Sequence[{items}]"
        case str() as name:
            return _TYPES[name]
        case _:
            return "Any"


_TYPES = {
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "null": "None",
    "object": "Mapping[str, Any]",
    "string": "str",
}


def _union(types: Any) -> str:
    """The types without repetition and without None; literals in one."""
    distinct = [kind for kind in dict.fromkeys(" | ".join(types).split(" | ")) if kind != "None"]
    literals = [kind.removeprefix("Literal[").removesuffix("]") for kind in distinct if "Literal" in kind]
    others = [kind for kind in distinct if "Literal" not in kind]
    # a text that may be anything may be any of the words, too
    words = [f"Literal[{', '.join(literals)}]"] if literals and "str" not in others else []
    return "Any" if "Any" in others else " | ".join(words + others)


def signature(known: list[Parameter]) -> inspect.Signature:
    """Keywords only; those that may be left out have a default."""
    names = {"Any": Any, "Literal": Literal, "Mapping": Mapping, "Sequence": Sequence}
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
    text = schema.get("description", "").strip()
    if known:
        text += "\n\nParameters\n----------"
    for parameter in known:
        optional = "" if parameter.required else ", optional"
        text += f"\n{parameter.name} : {parameter.annotation}{optional}"
        text += "".join(f"\n    {line}" for line in parameter.text.splitlines())
    return text + "\n"
