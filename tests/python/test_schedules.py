"""GOAL schedules, the message level and jobs from Python."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stratasim as ss

SWITCH = ss.topology.single_switch(nodes=4, bandwidth="100 Gbps", latency="500 ns")
MESSAGE = ss.network.message(
    latency="1 us", overhead="100 ns", gap="10 ns", gap_per_byte="0.1 ns/B", eager_limit="1 GB"
)
TEXT = """\
num_ranks 2
rank 0 {
work: calc 500
s: send 1001b to 1 cpu 1
s requires work
}
rank 1 {
r: recv 1001b from 0 cpu 1
}
"""
# o, L, 1000 G, o
MESSAGE_NS = 100 + 1000 + 100 + 100


def jobs(**options: Any) -> dict[str, Any]:
    """Two jobs of two ranks with a message each."""
    work = ss.workload.goal(pattern=ss.goal_pattern.gather(), ranks=2, bytes="1001 B")
    return {
        "topology": SWITCH,
        "job": [{"name": name, "workload": work} for name in ("first", "second")],
        "jobs": options,
        "network": MESSAGE,
    }


def test_a_schedule_from_a_file_runs_and_says_when_each_rank_finished(tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text(TEXT, encoding="utf-8")
    result = ss.simulate(SWITCH, ss.workload.goal(file="x.goal"), MESSAGE, base=tmp_path)
    np.testing.assert_array_equal(result.finish_ns, [600, 500 + MESSAGE_NS])
    assert sorted(result.tasks["name"]) == ["r: receive from 0", "s: send to 1", "work: calc"]
    assert set(result.tasks["stream"].tolist()) == {0, 1}
    assert result.jobs.rows == 0
    # the same from an absolute path, and from its own spec
    again = ss.simulate(SWITCH, ss.workload.goal(file=str(tmp_path / "x.goal")), MESSAGE)
    assert again.digest == result.digest == ss.run(result.spec, base=tmp_path).digest


def test_a_time_line_of_streams_names_them(tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text(TEXT, encoding="utf-8")
    result = ss.simulate(SWITCH, ss.workload.goal(file="x.goal"), MESSAGE, base=tmp_path)
    assert ">cpu 1<" in result.timeline().svg()
    one_stream = ss.workload.goal(pattern=ss.goal_pattern.linear_alltoall(), ranks=3)
    assert ">cpu 0<" not in ss.simulate(SWITCH, one_stream, MESSAGE).timeline().svg()


def test_other_workloads_have_no_finish_and_no_jobs() -> None:
    result = ss.simulate(SWITCH, ss.workload.collective(operation="all-reduce", bytes="1 MB"))
    assert result.finish_ns is None
    assert result.jobs.rows == 0
    assert next(iter(result.jobs)) == "name"


def test_jobs_share_what_they_share() -> None:
    apart = ss.run(jobs())
    assert apart.jobs["name"].tolist() == ["first", "second"]
    np.testing.assert_allclose(apart.jobs["duration_s"], MESSAGE_NS * 1e-9)
    np.testing.assert_array_equal(apart.jobs["slowdown"], [1, 1])
    together = ss.run(jobs(shared=True))
    np.testing.assert_allclose(together.jobs["alone_s"], MESSAGE_NS * 1e-9)
    # one of the two waits for the other's bytes and the gap
    np.testing.assert_allclose(sorted(together.jobs["duration_s"] * 1e9), [MESSAGE_NS, MESSAGE_NS + 110])
    assert "slowdown" in together.summary()
    alone = ss.run(jobs(shared=True, alone=False))
    assert alone.digest == together.digest
    assert np.isnan(alone.jobs["slowdown"]).all()


def test_a_result_with_jobs_survives_a_file_and_a_pickle(tmp_path: Path) -> None:
    result = ss.run(jobs(placement=ss.job_placement.round_robin()))
    result.write_json(tmp_path / "result.json")
    for other in (ss.Result.read(tmp_path / "result.json"), pickle.loads(pickle.dumps(result))):
        assert other.jobs["nodes"].tolist() == [2, 2]
        np.testing.assert_array_equal(other.finish_ns, result.finish_ns)


def test_a_sweep_reads_numbers_of_jobs_by_name(tmp_path: Path) -> None:
    metrics = ["jobs.first.duration_s", "jobs.1.slowdown"]
    swept = ss.sweep({**jobs(), "sweep": {"metrics": metrics}}, {"jobs.shared": [False, True]}, out=tmp_path)
    durations = [result.jobs["duration_s"][0] for result in swept]
    assert swept.table["jobs.first.duration_s"].tolist() == durations
    apart, together = swept.table["jobs.1.slowdown"].tolist()
    # one of the two is slowed down
    assert apart == 1
    assert together * durations[1] > durations[0]


def test_nccl_s_collectives_are_schedules_too() -> None:
    nccl = {"operation": "all-reduce", "ranks": 4, "ranks-per-node": 2, "bytes": "1 MB", "protocol": "ll"}
    result = ss.simulate(SWITCH, ss.workload.goal(nccl=nccl), ss.network.flow())
    assert len(result.finish_ns) == 4


def test_noise_takes_time_and_is_drawn_from_the_seed() -> None:
    noise = {"noise": {"every": "5 us", "length": "1 us"}}
    work = ss.workload.goal(pattern=ss.goal_pattern.dissemination(), ranks=4, bytes="1 kB", repetitions=50)
    quiet = ss.simulate(SWITCH, work, MESSAGE)
    noisy = [ss.simulate(SWITCH, work, MESSAGE, execution=noise, seed=seed) for seed in (1, 1, 2)]
    assert noisy[0].makespan_s > quiet.makespan_s
    assert noisy[0].digest == noisy[1].digest != noisy[2].digest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"job": []}, "what should run"),
        ({"jobs": {"placement": {"kind": "packt"}}}, "did you mean `packed`"),
        ({"jobs": {"placement": ss.job_placement.list(nodes=[[0, 1]])}}, "1 lists for 2 jobs"),
        ({"workload": ss.workload.goal()}, r"beside `\[\[job\]\]`"),
    ],
)
def test_what_is_wrong_with_jobs_is_a_config_error(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ss.ConfigError, match=words):
        ss.run({**jobs(), **change})


def test_a_misspelt_key_is_found_when_the_spec_is_made() -> None:
    with pytest.raises(ss.ConfigError, match="did you mean `file`"):
        ss.workload.goal(fiel="x.goal")
    with pytest.raises(ss.ConfigError, match=r"0\.04 ns/B"):
        ss.network.message(gap_per_byte="200 Gbps")


def test_a_schedule_that_cannot_end_is_a_simulation_error(tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text(TEXT.replace("from 0", "from 0 tag 7"), encoding="utf-8")
    with pytest.raises(ss.SimulationError, match="stalled"):
        ss.simulate(SWITCH, ss.workload.goal(file="x.goal"), base=tmp_path)
