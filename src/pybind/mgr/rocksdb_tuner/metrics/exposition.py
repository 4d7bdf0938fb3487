"""Metrics as text, in Prometheus' exposition format 0.0.4.

Prometheus, Exposition formats: https://prometheus.io/docs/instrumenting/exposition_formats/
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
    for name, text, samples in metrics:
        if samples:
            lines += (f'# HELP {name} {_escaped(text)}', f'# TYPE {name} gauge')
        for labels, value in samples:
            pairs = ','.join([f'{label}="{_label(text)}"' for label, text in labels])
            lines.append(f'{name}{{{pairs}}} {value!r}' if pairs else f'{name} {value!r}')
    return '\n'.join([*lines, ''])


def _escaped(text: str) -> str:
    return text.replace('\\', r'\\').replace('\n', r'\n')


def _label(text: str) -> str:
    return _escaped(text).replace('"', r'\"')


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
