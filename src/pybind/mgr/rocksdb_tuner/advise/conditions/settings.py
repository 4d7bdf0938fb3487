"""Conditions of configured options other than the option string.

`check` reports the same about these options: both use `options/advice.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Mapping, NamedTuple, Optional

from ...options.advice import related_options_advice
from ..records import FindingEvidence, OsdFacts, Severity
from .declaration import At, Case, case, each_osd
from .facts import is_enabled

_AUTOTUNE = 'bluestore_cache_autotune'
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


def _set_for(osd: OsdFacts) -> list[_Set]:
    settings = osd.settings or {}
    return [_Set(name, *settings[name]) for name in sorted(settings)]


def _set_wrongly(osd: OsdFacts, at: At) -> Iterator[Case]:
    """The option is set to this boolean."""
    (name,), (value,) = at['option'], at['value']
    setting = osd.settings.get(name) if osd.settings else None
    if setting is not None and is_enabled(setting.value) is is_enabled(value):
        evidence = FindingEvidence(name, value, 'option')
        yield case(evidence, group=setting.who, who=setting.who or '<who>')


buffered_io_off = each_osd('buffered-io-off')(_set_wrongly)
iterator_bounds_off = each_osd('iterator-bounds-off')(_set_wrongly)
compact_on_start = each_osd('compact-on-start')(_set_wrongly)


@each_osd('short-pg-log')
def short_pg_log(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """PG logs so short, as in benchmarks, that a restarted OSD is backfilled."""
    for found in _with_problem(osd, 'short-pg-log'):
        evidence = FindingEvidence(found.name, _number(found.value), 'entries')
        yield case(
            evidence,
            group=found,
            who=found.who or '<who>',
            option=found.name,
            value=found.value,
        )


@each_osd('cache-autotune-off')
def cache_autotune_off(osd: OsdFacts, _at: At) -> Iterator[Case]:
    for found in _with_problem(osd, 'cache-autotune-off'):
        evidence = FindingEvidence(found.name, 'false', 'option')
        yield case(evidence, group=found, who=found.who or '<who>')


def _with_problem(osd: OsdFacts, rule: str) -> list[_Set]:
    """The options with a problem by this rule of `check`."""
    found = _set_for(osd)
    if not found:
        return found
    problems = related_options_advice({option.name: option.value for option in found})
    names = {problem.option for problem in problems if problem.rule == rule}
    return [option for option in found if option.name in names]


@each_osd('cache-ratios')
def cache_ratios(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Configured cache ratios: an error if BlueStore rejects them."""
    options = {o.name: o for o in _set_for(osd) if o.name in (*_RATIOS, _AUTOTUNE)}
    ratios = [options[name] for name in _RATIOS if name in options]
    if ratios:
        severity, variant = _judged({o.name: o.value for o in options.values()})
        kv, meta = (options.get(name, ratios[0]).who or '<who>' for name in _RATIOS)
        yield case(
            *(FindingEvidence(o.name, _number(o.value), 'ratio') for o in ratios),
            group=tuple(options.values()),
            severity=severity,
            variant=variant,
            kv_who=kv,
            meta_who=meta,
        )


def _judged(values: Mapping[str, str]) -> tuple[Severity, str]:
    ratios = [_number(values[name]) if name in values else _RATIO for name in _RATIOS]
    known = [ratio for ratio in ratios if isinstance(ratio, (int, float))]
    if any(ratio < 0 for ratio in known) or sum(known) > 1:
        return Severity.ERROR, 'invalid'
    if not is_enabled(values.get(_AUTOTUNE, 'true')):
        return Severity.WARNING, 'fixed'
    return Severity.INFO, 'initial'


def _number(value: str) -> object:
    """The value as a number, or else the value itself."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and '.' not in value else number
