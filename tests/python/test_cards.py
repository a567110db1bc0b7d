"""Cards: description, times, fits."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stratasim as ss


def test_a_card_is_shipped_a_file_or_a_dict(tmp_path: Path) -> None:
    card = ss.card("sw-ai")
    assert (card.name, card.core_groups) == ("sw-ai", 4)
    assert "sw-ai" in ss.Card.shipped()
    assert "Local memory" in card.show()
    path = card.write(tmp_path / "mine.toml")
    for same in (ss.Card.load(path), ss.card(path), ss.card(card.data), pickle.loads(pickle.dumps(card))):
        assert same.data == card.data
    changed = card.changed({"bandwidth.ring": "200 GB/s"})
    assert changed.data["bandwidth"]["ring"] == "1.6 Tbps"
    assert changed.data == ss.card("sw-ai", set={"bandwidth.ring": "200 GB/s"}).data
    assert card.data["bandwidth"]["ring"] == "800 Gbps"
    assert repr(card) == "<Card sw-ai: 4 core groups>"


@pytest.mark.parametrize(
    ("name", "sets", "message"),
    [
        ("sw-aj", {}, "did you mean `sw-ai`"),
        ("sw-ai", {"bandwidth.rng": "1 GB/s"}, "did you mean `ring`"),
        ("sw-ai", {"bandwidth.ring": "0 GB/s"}, "more than nothing is expected"),
        ("sw-ai", {"core-groups": 65}, "1 to 64 are expected"),
        ({"name": "x"}, {}, "missing"),
        ({"name": float("nan")}, {}, "nan"),
        ("missing.toml", {}, "missing.toml"),
    ],
)
def test_what_is_no_card_is_refused(name: Any, sets: dict[str, Any], message: str) -> None:
    with pytest.raises(ss.ConfigError, match=message):
        ss.card(name, set=sets)


def test_times_are_those_of_equation_3() -> None:
    bench = ss.card("sw-ai").bench("all-gather", [8_000_000, "4 MB"], ["ring", "csc-equation"], "f0")
    table = bench.table
    assert table.rows == 4
    mine = (table["bytes"] == 8_000_000) & (table["algorithm"] == "ring")
    # 3 x (25 + 15 + 20 + 5) us
    np.testing.assert_allclose(table["time_s"][mine], [195e-6], rtol=1e-12)
    np.testing.assert_allclose(table["bandwidth_bytes_per_s"][mine], [8e6 / 195e-6], rtol=1e-12)
    assert bench.best == {4_000_000: "csc-equation", 8_000_000: "csc-equation"}
    assert table["best"].sum() == len(bench) == 2
    assert bench.algorithms == ["ring", "csc-equation"]
    assert "GB/s" in bench.picture.svg()
    assert "all-gather" in repr(bench)


def test_what_does_not_fit_has_a_reason() -> None:
    card = ss.card("sw-ai")
    bench = card.bench("all-reduce", "8MB,100GB", ["csc-equation", "ring"])
    assert bench.best == {8_000_000: "ring", 100_000_000_000: None}
    assert np.isnan(bench.table["time_s"]).sum() == 3
    assert any("no all-reduce" in reason for reason in bench.reasons)
    with pytest.raises(ss.ConfigError, match="Local memory, the card has"):
        card.best("all-reduce", 100_000_000_000)
    for wrong, message in (
        ({"op": "allgather"}, "did you mean `all-gather`"),
        ({"sizes": "8"}, "sizes"),
        ({"sizes": "-1 MB"}, "sizes"),
        ({"sizes": []}, "sizes"),
        ({"algorithms": ["rin"]}, "did you mean `ring`"),
        ({"algorithms": []}, "at least one"),
        ({"fidelity": "f9"}, "fidelity"),
    ):
        with pytest.raises(ss.ConfigError, match=message):
            card.bench(**wrong)  # type: ignore[arg-type]


def test_a_bench_may_be_pickled() -> None:
    bench = ss.card("sw-ai").bench("all-gather", "1MB:4MB", ["ring", "direct"])
    again = pickle.loads(pickle.dumps(bench))
    assert again.data == bench.data
    assert again.best == bench.best
    assert again.picture.svg() == bench.picture.svg()


def test_the_best_algorithm_changes_with_the_size() -> None:
    card = ss.card("sw-ai")
    assert card.best("all-gather", 1 << 20, ["ring", "csc"])[0] == "csc"
    name, seconds = card.best("all-gather", 64 << 20, ["ring", "csc"])
    assert name == "ring"
    bench = card.bench("all-gather", 64 << 20, "ring")
    assert seconds == bench.table["time_s"][0]


def test_a_fit_finds_what_made_the_measurements(tmp_path: Path) -> None:
    truth = ss.card("sw-ai", set={"cost.ring-step": "18.2 us", "bandwidth.ring": "80 GB/s"})
    bench = truth.bench("all-gather", "1MB:64MB", ["ring"], "f0").table
    rows = [
        {"op": "all-gather", "algorithm": "ring", "bytes": int(size), "time_us": 1e6 * float(seconds)}
        for size, seconds in zip(bench["bytes"], bench["time_s"], strict=True)
    ]
    fit = ss.card("sw-ai").fit(rows, ["ring-step", "ring"])
    found = dict(zip(fit.parameters["name"], fit.parameters["fitted"], strict=True))
    assert found["ring-step"] == pytest.approx(18.2e-6, rel=1e-3)
    assert found["ring"] == pytest.approx(80e9, rel=1e-3)
    assert fit.rms_residual < 1e-4
    assert fit.conflicts == []
    assert fit.anchors.rows == len(rows)
    assert fit.card.bench("all-gather", "8MB", ["ring"]).table["time_s"][0] == pytest.approx(
        truth.bench("all-gather", "8MB", ["ring"]).table["time_s"][0], rel=1e-3
    )
    # one measurement that contradicts the others is named
    path = tmp_path / "rows.csv"
    path.write_text("op,algorithm,bytes,time_us\nall-gather,ring,8MB,200\nall-gather,ring,8MB,300\n")
    assert ss.card("sw-ai").fit(path, ["step"]).conflicts == [[2, 3]]
    for rows_, free, message in (
        ([{"op": "all-gather"}], ["ring"], "measurements: line 1: the column `algorithm` is missing"),
        ([], ["ring"], "measurements"),
        (rows, ["rng"], "did you mean `ring`"),
        (rows, [], "free parameters are expected"),
        ([{**rows[0], "time_us": "nan"}], ["ring"], "time_us"),
    ):
        with pytest.raises(ss.ConfigError, match=message):
            ss.card("sw-ai").fit(rows_, free)
    with pytest.raises(ss.ConfigError, match=r"none\.csv"):
        ss.card("sw-ai").fit(tmp_path / "none.csv", ["ring"])


def test_a_card_becomes_part_of_a_machine() -> None:
    card = ss.card("sw-ai").changed({"cost.launch": "50 us"})
    machine = ss.topology.single_switch(nodes=1, bandwidth="100 Gbps", latency="1 us")
    result = ss.simulate(
        ss.topology.cards(card=card, of=machine),
        ss.workload.collective(operation="all-gather", bytes="8 MB", algorithm=ss.collective.card_csc()),
    )
    seconds = card.bench("all-gather", "8 MB", ["csc"], "f0").table["time_s"][0]
    assert result.makespan_s == pytest.approx(seconds, abs=1e-10)


def test_a_bench_is_drawn_with_matplotlib() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    bench = ss.card("two-die-gpu").bench("broadcast", "1MB:16MB")
    axes = bench.plot("time")
    assert [line.get_label() for line in axes.get_lines()] == bench.algorithms
    assert axes.get_xscale() == "log"
    # 0 has no place on a logarithmic axis
    with_nothing = ss.card("sw-ai").bench("all-gather", "0 B,1MB", ["ring"]).plot("time")
    assert [line.get_xdata().tolist() for line in with_nothing.get_lines()] == [[1e6]]  # type: ignore[union-attr]
    with pytest.raises(ss.ConfigError, match="unknown number"):
        bench.plot("tme")  # type: ignore[arg-type]
    pyplot.close("all")
