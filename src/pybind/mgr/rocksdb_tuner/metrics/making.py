"""Builds metrics from their samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Optional

from .exposition import Metric, Sample

PREFIX = 'ceph_rocksdb_tuner_'


def states(name: str, text: str, states: Sequence[str], current: str) -> Metric:
    """A sample per state, since Prometheus has no enumerations."""
    label = name.rsplit('_', 1)[-1]
    return metric(name, text, [labeled(s == current, **{label: s}) for s in states])


def single(name: str, text: str, value: Optional[float]) -> Metric:
    return metric(name, text, [] if value is None else [labeled(value)])


def labeled(value: float, **labels: str) -> Sample:
    # A bool is an int in Python; its text is not a number for Prometheus.
    return Sample(tuple(labels.items()), float(value))


def metric(name: str, text: str, samples: Sequence[Sample]) -> Metric:
    # A ratio with a zero denominator is unknown.
    return Metric(PREFIX + name, text, tuple(s for s in samples if math.isfinite(s.value)))
