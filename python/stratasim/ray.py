"""Points of a sweep as tasks on a Ray cluster (the extra `ray`)."""

from collections.abc import Generator
from typing import Any

from . import _core

__all__ = ["run_points"]


def run_points(
    experiments: list[tuple[str, str, str]],
) -> Generator[tuple[int, str, Exception | None], None, None]:
    """Runs experiments (JSON text, folder of relative paths, name), one task each.

    Yields, in the order in which they end, the place in the list, the result as JSON text, and what went
    wrong (None when nothing did). Starts Ray on this machine when no cluster has been joined. When the
    caller stops early, tasks that have not ended are cancelled.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError("this needs Ray: pip install 'stratasim[ray]'") from error
    if not ray.is_initialized():
        ray.init()
    remote: Any = ray.remote(_run)
    pending = {remote.remote(*experiment): place for place, experiment in enumerate(experiments)}
    try:
        while pending:
            (ended,), _ = ray.wait(list(pending), num_returns=1)
            place = pending.pop(ended)
            try:
                outcome = ray.get(ended)
            except ray.exceptions.RayError as failure:
                # the machine went away, or ran out of memory
                outcome = "", _core.SimulationError(str(failure))
            yield place, *outcome
    finally:
        for task in pending:
            ray.cancel(task, force=True)


def _run(text: str, base: str, name: str) -> tuple[str, Exception | None]:
    """Runs one experiment on a machine of the cluster."""
    try:
        return _core.run_point(text, base, name), None
    except (_core.ConfigError, _core.SimulationError) as error:
        return "", error
