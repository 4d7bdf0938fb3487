"""What the module knows of itself as a JSON document, and back. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Mapping, TypeVar

from ..mgr.records import ManagerInfo
from ..observe.growth import GrowthPoints
from ..observe.pool_rates import PoolRates
from ..observe.starts import LastStart
from ..present.answers.copies import like
from ..present.answers.report import (
    KeptEvidence,
    KeptGrowth,
    KeptManager,
    KeptMemory,
    KeptPoolRates,
    KeptStart,
    KeptState,
    KeptWorkload,
)
from ..shapes import NUMBER, Each, Shape, ShapeError, require
from ..snapshot import Mode
from ..workload.classifier import Memories
from ..workload.hysteresis import Memory
from ..workload.records import Evidence, Workload, WorkloadClass
from .records import ModuleState

_E = TypeVar('_E', bound=Enum)
_T = TypeVar('_T')

_WORKLOAD: Shape = {
    'class': str,
    'confidence': NUMBER,
    'evidence': [
        {'signal': str, 'value': NUMBER, 'unit': str, 'window_s': NUMBER, 'statement': str}
    ],
}
_MEMORY: Shape = {
    'believed': _WORKLOAD,
    'candidate': str,
    'since_s': NUMBER,
    'doubted_s': NUMBER,
}
_POOL_RATES: Shape = {
    'reads_per_s': NUMBER,
    'read_bytes_per_s': NUMBER,
    'writes_per_s': NUMBER,
    'write_bytes_per_s': NUMBER,
}
_SHAPE: Shape = {
    'taken_s': NUMBER,
    'sampled_s': NUMBER,
    'mode': str,
    'manager_version': str,
    'manager_release': str,
    'managers': [{'name': str, 'host?': str, 'active': bool, 'has_module': bool}],
    'interval_s': NUMBER,
    'tick_ms?': NUMBER,
    'orchestrated': bool,
    'rollout_under_way': bool,
    'limits': Each(NUMBER),
    'notices': [str],
    'pending_since_s': Each(NUMBER),
    'advised_on': Each(_WORKLOAD),
    'workloads_of_osds': Each(_MEMORY),
    'workloads_of_groups': Each(_MEMORY),
    'pool_rates': Each(_POOL_RATES),
    'growth': Each(
        {'times_s': [NUMBER], 'used_bytes': [int], 'total_bytes': int, 'slow_used_bytes': int}
    ),
    # Reports of before have none.
    'starts?': Each({'away_s': NUMBER, 'away_most_s': NUMBER, 'host_away?': bool}),
}


def kept_state_of(state: ModuleState) -> KeptState:
    """As it is written, for `parse_module_state`."""
    return like(
        KeptState,
        state,
        managers=tuple(like(KeptManager, manager) for manager in state.managers),
        advised_on={name: _kept(found) for name, found in state.advised_on.items()},
        workloads_of_osds={i: _kept_memory(m) for i, m in state.memories.osds.items()},
        workloads_of_groups={n: _kept_memory(m) for n, m in state.memories.groups.items()},
        pool_rates={i: like(KeptPoolRates, rates) for i, rates in state.pool_rates.items()},
        growth={i: like(KeptGrowth, points) for i, points in state.growth.items()},
        starts={i: like(KeptStart, start) for i, start in state.starts.items()},
    )


def parse_module_state(document: Any) -> ModuleState:
    """Raises ShapeError."""
    require(document, _SHAPE)
    return ModuleState(
        taken_s=float(document['taken_s']),
        sampled_s=float(document['sampled_s']),
        mode=_member(Mode, document['mode'], 'mode'),
        manager_version=document['manager_version'],
        manager_release=document['manager_release'],
        managers=tuple(
            ManagerInfo(m['name'], m.get('host'), m['active'], m['has_module'])
            for m in document['managers']
        ),
        interval_s=float(document['interval_s']),
        tick_ms=document.get('tick_ms'),
        orchestrated=document['orchestrated'],
        rollout_under_way=document['rollout_under_way'],
        limits={name: float(value) for name, value in document['limits'].items()},
        notices=tuple(document['notices']),
        pending_since_s=_by_id(document, 'pending_since_s', float),
        advised_on={name: _parse_workload(w) for name, w in document['advised_on'].items()},
        memories=Memories(
            _by_id(document, 'workloads_of_osds', _parse_memory),
            {name: _parse_memory(m) for name, m in document['workloads_of_groups'].items()},
        ),
        pool_rates=_by_id(document, 'pool_rates', _parse_pool_rates),
        growth=_by_id(document, 'growth', _parse_growth),
        starts=_by_id(document, 'starts', _parse_start),
    )


def _kept(found: Workload) -> KeptWorkload:
    evidence = tuple(like(KeptEvidence, one) for one in found.evidence)
    return KeptWorkload(found.workload_class, found.confidence, evidence)


def _kept_memory(memory: Memory) -> KeptMemory:
    believed = memory.believed
    if memory.candidate is believed.workload_class:
        # The evidence follows from the same look once more.
        believed = believed._replace(evidence=())
    return like(KeptMemory, memory, believed=_kept(believed))


def _parse_workload(document: Mapping[str, Any]) -> Workload:
    return Workload(
        _member(WorkloadClass, document['class'], 'class'),
        float(document['confidence']),
        tuple(
            Evidence(e['signal'], e['value'], e['unit'], e['window_s'], e['statement'])
            for e in document['evidence']
        ),
    )


def _parse_memory(document: Mapping[str, Any]) -> Memory:
    return Memory(
        _parse_workload(document['believed']),
        _member(WorkloadClass, document['candidate'], 'candidate'),
        float(document['since_s']),
        float(document['doubted_s']),
    )


def _parse_pool_rates(document: Mapping[str, Any]) -> PoolRates:
    return PoolRates(*(float(document[name]) for name in PoolRates._fields))


def _parse_growth(document: Mapping[str, Any]) -> GrowthPoints:
    times_s = tuple(float(t) for t in document['times_s'])
    used_bytes = tuple(document['used_bytes'])
    if not times_s or len(times_s) != len(used_bytes):
        raise ShapeError('"growth" has not as many "used_bytes" as "times_s"')
    if any(a >= b for a, b in zip(times_s, times_s[1:])):
        raise ShapeError('"growth" has "times_s" that do not rise')
    return GrowthPoints(times_s, used_bytes, document['total_bytes'], document['slow_used_bytes'])


def _parse_start(document: Mapping[str, Any]) -> LastStart:
    return LastStart(
        float(document['away_s']), float(document['away_most_s']), document.get('host_away')
    )


def _by_id(document: Mapping[str, Any], name: str, read: Callable[[Any], _T]) -> dict[int, _T]:
    found = {}
    for key, value in (document.get(name) or {}).items():
        if not (key.isascii() and key.isdigit()):
            raise ShapeError(f'"{name}.{key}" is no id: names are numbers')
        found[int(key)] = read(value)
    return found


def _member(members: type[_E], value: str, name: str) -> _E:
    try:
        return members(value)
    except ValueError:
        choices = ', '.join(str(m.value) for m in members)
        raise ShapeError(f'"{name}" is "{value}" and should be one of: {choices}') from None
