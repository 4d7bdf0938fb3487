"""Metrics as text, in Prometheus' exposition format 0.0.4.

Prometheus, Exposition formats: https://prometheus.io/docs/instrumenting/exposition_formats/

Builds metrics from their samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'


class Sample(NamedTuple):
    #: (name, value) in output order; names are trusted, values are not.
    labels: tuple[tuple[str, str], ...]
    #: Finite.
    value: float


class Metric(NamedTuple):
    """A gauge with all its label sets; no samples if the value is unknown."""

    name: str
    help: str
    samples: tuple[Sample, ...]


def exposition(metrics: Iterable[Metric]) -> str:
    """The text of a scrape, without metrics that have no samples."""
    lines: list[str] = []
    for metric in metrics:
        if not metric.samples:
            continue
        lines += (f'# HELP {metric.name} {_help(metric.help)}', f'# TYPE {metric.name} gauge')
        lines += [_line(metric.name, sample) for sample in metric.samples]
    return '\n'.join([*lines, ''])


def _line(name: str, sample: Sample) -> str:
    value = repr(sample.value)
    if not sample.labels:
        return f'{name} {value}'
    labels = ','.join([f'{label}="{_label(text)}"' for label, text in sample.labels])
    return f'{name}{{{labels}}} {value}'


def _help(text: str) -> str:
    return text.replace('\\', r'\\').replace('\n', r'\n')


def _label(text: str) -> str:
    return _help(text).replace('"', r'\"')


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
