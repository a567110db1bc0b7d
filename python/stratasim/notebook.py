"""How tables look in a notebook."""

from collections.abc import Mapping
from html import escape
from typing import Any

__all__ = ["table"]

# rows that are shown of a long table
_MOST = 10


def table(columns: Mapping[str, Any], caption: str = "") -> str:
    """The first rows of columns of one length as HTML, below the caption."""
    rows = len(next(iter(columns.values()), ()))
    shown = min(rows, _MOST)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr><th>{row}</th>{''.join(f'<td>{_cell(column[row])}</td>' for column in columns.values())}</tr>"
        for row in range(shown)
    )
    rest = f"<p>{rows:,} rows, of which {shown} are shown</p>" if shown < rows else f"<p>{rows:,} rows</p>"
    heading = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{heading}<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(value: Any) -> str:
    # floats of NumPy are those of Python, too, but for narrow ones, of which there are none
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
