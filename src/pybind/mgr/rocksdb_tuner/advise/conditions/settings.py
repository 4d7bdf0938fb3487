"""Conditions of configured options other than the option string.

`check` reports the same about these options: both use `options/advice.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Mapping, NamedTuple, Optional

from ...options.advice import related_options_advice
from ...options.problems import Problem
from ..facts import (
    BUFFERED_IO,
    COMPACT_ON_START,
    ITERATOR_BOUNDS,
)
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts, Setting, Severity
from .declaration import Condition, condition
from .facts import ClusterFacts, is_enabled

AUTOTUNE = 'bluestore_cache_autotune'


#: BlueStore::_set_cache_sizes() aborts OSD startup if either is outside of 0..1, or their sum is
#: above 1.
_RATIOS = ('bluestore_cache_kv_ratio', 'bluestore_cache_meta_ratio')


#: The default of both in all releases.
_RATIO = 0.45


class _Set(NamedTuple):
    """An option with its value and entry; None: not from the config store."""

    name: str
    value: str
    who: Optional[str]


@condition('buffered-io-off')
def buffered_io_off(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """BlueFS bypasses the page cache."""
    for who, ids in _set_to(cluster, BUFFERED_IO, enabled=False).items():
        yield condition.finding(
            f'{name_osds(ids)} read RocksDB without the page cache',
            tuple(ids),
            (FindingEvidence(BUFFERED_IO, 'false', 'option', None),),
            who=who or '<who>',
        )


@condition('iterator-bounds-off')
def iterator_bounds_off(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Omap iterators scan the tombstones of neighboring objects."""
    for who, ids in _set_to(cluster, ITERATOR_BOUNDS, enabled=False).items():
        yield condition.finding(
            f'{name_osds(ids)} iterate over omap without bounds',
            tuple(ids),
            (FindingEvidence(ITERATOR_BOUNDS, 'false', 'option', None),),
            who=who or '<who>',
        )


@condition('compact-on-start')
def compact_on_start(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """OSD startup waits for a full compaction."""
    for who, ids in _set_to(cluster, COMPACT_ON_START, enabled=True).items():
        yield condition.finding(
            f'{name_osds(ids)} compact RocksDB at every start, before they are up',
            tuple(ids),
            (FindingEvidence(COMPACT_ON_START, 'true', 'option', None),),
            who=who or '<who>',
        )


@condition('short-pg-log')
def short_pg_log(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """PG logs so short, as in benchmarks, that a restarted OSD is backfilled."""
    for option, ids in _with_problem(cluster, 'short-pg-log').items():
        yield condition.finding(
            f'PGs of {name_osds(ids)} log only {option.value} writes ({option.name})',
            tuple(ids),
            (FindingEvidence(option.name, _number(option.value), 'entries', None),),
            who=option.who or '<who>',
            option=option.name,
        )


@condition('cache-autotune-off')
def cache_autotune_off(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """The caches do not follow osd_memory_target."""
    for option, ids in _with_problem(cluster, 'cache-autotune-off').items():
        yield condition.finding(
            f'{name_osds(ids)} do not size their caches by osd_memory_target',
            tuple(ids),
            (FindingEvidence(AUTOTUNE, 'false', 'option', None),),
            who=option.who or '<who>',
            option=AUTOTUNE,
        )


@condition('cache-ratios')
def cache_ratios(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Configured cache ratios: an error if BlueStore rejects them."""
    alike: dict[tuple[_Set, ...], list[int]] = {}
    for osd in cluster.osds:
        found = tuple(option for option in _set_for(osd) if option.name in (*_RATIOS, AUTOTUNE))
        if any(option.name in _RATIOS for option in found):
            alike.setdefault(found, []).append(osd.info.osd_id)
    for options, ids in alike.items():
        values = {option.name: option.value for option in options}
        severity, what = _judge_ratios(values)
        ratios = [option for option in options if option.name in _RATIOS]
        yield condition.finding(
            f'{name_osds(ids)} {what}',
            tuple(ids),
            tuple(
                FindingEvidence(option.name, _number(option.value), 'ratio', None)
                for option in ratios
            ),
            severity=severity,
            kv_who=_who_sets(_RATIOS[0], ratios),
            meta_who=_who_sets(_RATIOS[1], ratios),
        )


def _who_sets(name: str, ratios: Sequence[_Set]) -> str:
    """The entry of a ratio, or else of the other ratio."""
    own = [option.who for option in ratios if option.name == name]
    return (own or [ratios[0].who])[0] or '<who>'


def _judge_ratios(values: Mapping[str, str]) -> tuple[Severity, str]:
    ratios = [_number(values[name]) if name in values else _RATIO for name in _RATIOS]
    known = [ratio for ratio in ratios if isinstance(ratio, (int, float))]
    if any(ratio < 0 for ratio in known) or sum(known) > 1:
        return Severity.ERROR, 'would not start again: their cache ratios are out of range'
    if not is_enabled(values.get(AUTOTUNE, 'true')):
        return Severity.WARNING, 'keep fixed cache ratios, since autotuning is disabled'
    return Severity.INFO, 'start with custom cache ratios until autotuning changes them'


def _with_problem(cluster: ClusterFacts, rule: str) -> Mapping[_Set, list[int]]:
    """The options with a problem by this rule of `check`, with their OSDs."""
    found: dict[_Set, list[int]] = {}
    for osd in cluster.osds:
        # The usual case.
        if not osd.settings:
            continue
        values = {name: setting.value for name, setting in osd.settings.items()}
        problems: Iterable[Problem] = related_options_advice(values)
        names = {problem.option for problem in problems if problem.rule == rule}
        for option in _set_for(osd):
            if option.name in names:
                found.setdefault(option, []).append(osd.info.osd_id)
    return found


def _set_to(
    cluster: ClusterFacts, name: str, *, enabled: bool
) -> Mapping[Optional[str], list[int]]:
    """OSDs for which this option is set to ``enabled``, by the entry that sets it."""
    found: dict[Optional[str], list[int]] = {}
    for osd in cluster.osds:
        setting = osd.settings.get(name) if osd.settings else None
        if setting is not None and is_enabled(setting.value) is enabled:
            found.setdefault(setting.who, []).append(osd.info.osd_id)
    return found


def _set_for(osd: OsdFacts) -> Iterator[_Set]:
    settings: Mapping[str, Setting] = osd.settings or {}
    for name in sorted(settings):
        yield _Set(name, *settings[name])


def _number(value: str) -> object:
    """The value as a number, or else the value itself."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and '.' not in value else number
