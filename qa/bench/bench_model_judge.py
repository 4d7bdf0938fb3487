"""What the model predicts for the runs at real size, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from bench_model_steady import RealRun


def report(runs: Sequence[RealRun]) -> list[str]:
    return [run.trial.name for run in runs]
