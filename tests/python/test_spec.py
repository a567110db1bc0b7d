"""Values of Python on their way into an experiment."""

import contextlib
import importlib
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import stratasim as ss
from conftest import ALL_REDUCE, RING
from stratasim import _core
from stratasim.spec import assignment, encode

PAIR = ss.topology.ring(nodes=2, bandwidth="100 Gbps", latency="1 us")

VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(name=st.text())
@example(name='"quoted" \\ \x00 \x1f \x7f \u2028 ü 🦀')
def test_any_text_passes_through_a_setting(name: str) -> None:
    experiment = {"topology": RING, "workload": ALL_REDUCE}
    loaded = _core.Experiment.from_json(encode(experiment), "", [assignment("name", name)])
    assert json.loads(loaded.resolved())["name"] == name


@given(value=VALUES)
def test_any_value_passes_through_a_setting(value: object) -> None:
    vertices = {"kind": "graph", "data": value}
    experiment = {"topology": RING, "workload": vertices}
    direct = _core.Experiment.from_json(encode(experiment), "")
    replaced = _core.Experiment.from_json(
        encode({"topology": RING, "workload": {"kind": "graph", "data": {}}}),
        "",
        [assignment("workload.data", value)],
    )
    outcomes = []
    for loaded in (direct, replaced):
        try:
            outcomes.append(json.loads(loaded.resolved()))
        except ss.ConfigError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_numbers_and_arrays_of_numpy_and_paths_are_taken(tmp_path: Path) -> None:
    torus = ss.topology.torus(
        dimensions=np.array([2, 3]), bandwidth="1 Gbps", latency="1 us", hosts_per_switch=np.int64(2)
    )
    assert ss.Topology(torus).node_count == 6 + 12
    path = tmp_path / "ring.json"
    path.write_text(ss.Topology(RING).export("networkx-json"), encoding="utf-8")
    assert ss.Topology(ss.topology.networkx_json(path=path)).node_count == 4
    assert ss.Topology(MappingProxyType(dict(RING))).node_count == 4
    assert ss.Topology({**RING, "nodes": np.int16(4)}).node_count == 4
    nested = ss.topology.scaled(of=ss.Topology(RING), bandwidth=np.longdouble(2.0))
    assert set(ss.Topology(nested).links["bandwidth_bytes_per_s"]) == {25e9}


class Table:
    """What a DataFrame does, of pandas and of polars, and a Series of polars, which has no `tolist`."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def to_numpy(self) -> Any:
        return np.array(self.rows)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.rows))


def test_tables_and_columns_of_pandas_and_polars_are_lists() -> None:
    sizes = [["0 B", "1 MB"], ["2 MB", "0 B"]]
    tables: list[Any] = [Table(sizes), [Table(row) for row in sizes]]
    for name in ("pandas", "polars"):
        with contextlib.suppress(ImportError):
            library = importlib.import_module(name)
            tables += [library.DataFrame(sizes, **({} if name == "pandas" else {"orient": "row"}))]
            tables += [[library.Series(row) for row in sizes]]
    expected = ss.simulate(PAIR, ss.workload.collective(operation="all-to-all", matrix=sizes)).digest
    for table in tables:
        work = ss.workload.collective(operation="all-to-all", matrix=table)
        assert ss.simulate(PAIR, work).digest == expected


def test_what_is_refused_is_shown_on_one_line() -> None:
    rows: Any = Table([[1, 2]] * 99)
    with pytest.raises(
        ss.ConfigError, match=r"^zip: found \[1, 2\] \[1, 2\].*\.\.\..* of type Table, expected a dict"
    ):
        ss.sweep({"topology": PAIR, "workload": ALL_REDUCE}, zip=rows)
    lines: Any = type("Lines", (), {"__repr__": lambda self: "first\nsecond"})()
    with pytest.raises(
        ss.ConfigError, match=r"^workload.bytes: first second is a Lines, which an experiment"
    ):
        ss.run({"topology": PAIR, "workload": {**ALL_REDUCE, "bytes": lines}})


def test_none_is_no_value_of_a_setting() -> None:
    with pytest.raises(ss.ConfigError, match="leave the key out"):
        ss.run({"topology": RING, "workload": ALL_REDUCE}, set={"topology.nodes": None})
