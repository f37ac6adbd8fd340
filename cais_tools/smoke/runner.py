"""Runs the plan: every operation on all ranks at once, compared with the reference before the next one begins."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from cais_tools.errors import CaisError, CheckFailed
from cais_tools.links.faults import FaultCounts
from cais_tools.smoke import verify
from cais_tools.smoke.capture import Chunk, save_chunk
from cais_tools.smoke.collective import layer_of, plan_of
from cais_tools.smoke.fabric import Fabric, open_fabric
from cais_tools.smoke.gloo import Gloo, float_tolerance
from cais_tools.smoke.pace import patience_of, timing_of
from cais_tools.smoke.plan import Step, Tensor
from cais_tools.smoke.refused import explain_refused
from cais_tools.smoke.report import Comparison, Failure, OperationRow, Report
from cais_tools.smoke.settings import Settings
from cais_tools.worker import Counters, Endpoint, LocalGroup, ResultRefused

__all__ = ["run_smoke"]

Progress = Callable[[int, int], None]
"""Called with the operations done and those to do."""


def run_smoke(settings: Settings, progress: Progress) -> Report:
    """Run the whole test. What it started or added is gone when this returns or raises.

    What goes wrong once it runs is in the report: wrong results, and as its `failure` what ended it early (Unreachable
    when the switch dies, DeadlineExceeded when an operation gets no results, CheckFailed when all its results are bad).
    Raises what `open_fabric` raises.
    """
    plan = settings.plan
    gloo = Gloo(plan.ranks) if settings.against_gloo else None
    with contextlib.ExitStack() as stack:
        if gloo is not None:
            stack.callback(gloo.close)
        fabric = stack.enter_context(open_fabric(settings))
        report = Report(fabric.address, plan.seed, plan.ranks, plan.size)
        runner = _Runner(settings, fabric, report, gloo)
        stack.callback(runner.close)
        stack.enter_context(fabric.watched(runner.interrupt))
        started = time.perf_counter()
        for done, step in enumerate(plan, 1):
            try:
                runner.run(step)
            except CaisError as error:
                report.failure = Failure(step.number, step.operation.name, error)
                break
            progress(done, plan.total)
        report.seconds = time.perf_counter() - started
        if settings.faults.any:
            report.faults = _fault_counts(fabric)
    return report


class _Runner:
    def __init__(self, settings: Settings, fabric: Fabric, report: Report, gloo: Gloo | None) -> None:
        self._settings = settings
        self._fabric = fabric
        self._report = report
        self._gloo = gloo
        self._corrupt = settings.faults.corrupt > 0
        job = fabric.new_job()
        timing = timing_of(settings)
        self._endpoints = [
            Endpoint(link, member, job, timing=timing)
            for link, member in zip(fabric.links, fabric.members, strict=True)
        ]
        self._group = LocalGroup(
            self._endpoints, renew=fabric.new_job, heard=fabric.heard, patience=patience_of(settings)
        )

    def close(self) -> None:
        self._group.close()

    def interrupt(self) -> None:
        """End what runs: the switch has gone. Called from another thread."""
        self._group.stop()

    def run(self, step: Step) -> None:
        """Run one operation and enter what came of it into the report."""
        for link in self._fabric.links:
            link.forget()
        row = self._report.rows.setdefault(step.operation.name, OperationRow(step.operation.name))
        started = time.perf_counter()
        with self._counted(row):
            results = self._collective(step)
        row.latencies.append(time.perf_counter() - started)
        row.steps += 1
        row.bytes += step.operation.element_bytes * self._settings.plan.elements(step.operation)
        self._check(step, results, row)
        if self._gloo is not None:
            self._compare(step, results, self._gloo)

    @contextlib.contextmanager
    def _counted(self, row: OperationRow) -> Generator[None]:
        """Count what is sent and repeated inside, also when it fails."""
        before, repeats = self._counters(), self._group.repeats
        try:
            yield
        finally:
            counters = self._counters()
            row.packets += counters.sent - before.sent
            row.retransmissions += counters.retransmitted - before.retransmitted
            row.duplicates += counters.duplicates + counters.late - before.duplicates - before.late
            row.repeated += self._group.repeats - repeats

    def _collective(self, step: Step) -> list[Tensor | None]:
        try:
            return self._group.run(lambda endpoint: endpoint.run(plan_of(step, endpoint.member)))
        except CaisError as error:
            # A switch that has gone explains everything else.
            self._fabric.check()
            if isinstance(error, ResultRefused):
                raise self._refused(step, error) from error
            raise

    def _refused(self, step: Step, error: ResultRefused) -> CheckFailed:
        """The tag never came out right: more than bad luck on the way."""
        fabric = self._fabric
        chunk = Chunk(fabric.group_id, error.op, error.layer_id, error.chunk_id)
        saved, header_group_id = self._save(step, error.member.rank, chunk)
        self._report.mismatch = self._report.mismatch or explain_refused(
            step, error, fabric.members, header_group_id=header_group_id, frame=saved
        )
        hints = [f"the frames are in {saved}"] if saved else []
        if self._settings.device is not None:
            hints.append("does each link of --ports lead to its port?")
        return CheckFailed(
            f"step {step.number}, {step.operation.name}: {error}, however often it was repeated",
            hint="; ".join(hints) or error.hint,
        )

    def _save(self, step: Step, rank: int, chunk: Chunk) -> tuple[Path | None, int | None]:
        """The frames of a chunk, and the group that the header of its result names."""
        name = f"step{step.number}-{step.operation.name}"
        capture = save_chunk(self._settings.folder, name, self._fabric.links, rank, chunk)
        return capture.path, capture.result.group_id if capture.result else None

    def _counters(self) -> Counters:
        return sum((endpoint.counters for endpoint in self._endpoints), Counters())

    def _check(self, step: Step, results: list[Tensor | None], row: OperationRow) -> None:
        wrong = verify.first_wrong(step, results, self._fabric.lanes)
        if wrong is None:
            return
        if self._corrupt and not step.operation.values_are_covered:
            row.undetected += 1
            return
        row.mismatches += 1
        if self._report.mismatch is not None:
            return
        fabric = self._fabric
        place = verify.locate(step, wrong.rank, wrong.index, fabric.lanes)
        chunk = Chunk(fabric.group_id, step.operation.op, layer_of(step), place.chunk)
        saved, header_group_id = self._save(step, wrong.rank, chunk)
        self._report.mismatch = verify.explain(
            step,
            wrong,
            lanes=fabric.lanes,
            ports=fabric.ports,
            group_id=fabric.group_id,
            header_group_id=header_group_id,
            frame=saved,
        )

    def _compare(self, step: Step, results: list[Tensor | None], gloo: Gloo) -> None:
        row = self._report.against.setdefault(step.operation.name, Comparison(step.operation.name))
        theirs, seconds = gloo.run(step)
        row.steps += 1
        row.latencies.append(seconds)
        tolerance = 0.0
        if step.operation.dtype is np.float32:
            tolerance = float_tolerance(step) + float(np.max(verify.float_bound(step, self._fabric.lanes)))
        row.differences += any(not _agree(mine, other, tolerance) for mine, other in zip(results, theirs, strict=True))


def _agree(mine: Tensor | None, theirs: Tensor | None, tolerance: float) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    if not tolerance:
        return bool(np.array_equal(mine, theirs))
    return mine.shape == theirs.shape and bool((np.abs(mine - theirs.astype(np.float64)) <= tolerance).all())


def _fault_counts(fabric: Fabric) -> dict[str, int]:
    return asdict(sum((link.counts for link in fabric.faulty), FaultCounts()))
