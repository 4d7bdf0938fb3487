"""Converts the module's own state to a JSON document and back. Pure."""

from __future__ import annotations

from ..mgr.records import ManagerInfo
from ..observe.growth import GrowthPoints
from ..observe.pool_rates import PoolRates
from ..observe.slow_events import AlertingOsd
from ..observe.starts import LastStart
from ..present.answers.copies import like
from ..present.answers.report import (
    KeptAlert,
    KeptEvidence,
    KeptGrowth,
    KeptManager,
    KeptMemory,
    KeptPoolRates,
    KeptStart,
    KeptState,
    KeptWorkload,
)
from ..store.codec import decode
from ..version import VERSION
from ..workload.classifier import Memories
from ..workload.hysteresis import Memory
from ..workload.records import Evidence, Workload
from .records import ModuleState
from .shapes import ShapeError


def kept_state_of(state: ModuleState) -> KeptState:
    """The document for `parse_module_state`."""
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
        alerting={i: like(KeptAlert, osd) for i, osd in state.alerting.items()},
        module_version=VERSION,
    )


def parse_module_state(document: object) -> ModuleState:
    """Raises StoredStateError, or ShapeError if values contradict each other."""
    kept = decode(KeptState, document)
    return like(
        ModuleState,
        kept,
        managers=tuple(like(ManagerInfo, manager) for manager in kept.managers),
        advised_on={name: _workload(found) for name, found in kept.advised_on.items()},
        memories=Memories(
            {i: _memory(found) for i, found in kept.workloads_of_osds.items()},
            {name: _memory(found) for name, found in kept.workloads_of_groups.items()},
        ),
        pool_rates={i: like(PoolRates, rates) for i, rates in kept.pool_rates.items()},
        growth={i: _growth(i, points) for i, points in kept.growth.items()},
        starts={i: like(LastStart, start) for i, start in kept.starts.items()},
        alerting={i: like(AlertingOsd, osd) for i, osd in kept.alerting.items()},
    )


def _kept(found: Workload) -> KeptWorkload:
    evidence = tuple(like(KeptEvidence, one) for one in found.evidence)
    return KeptWorkload(found.workload_class, found.confidence, evidence)


def _kept_memory(memory: Memory) -> KeptMemory:
    believed = memory.believed
    if memory.candidate is believed.workload_class:
        # The next evaluation of the same data recreates the evidence.
        believed = believed._replace(evidence=())
    return like(KeptMemory, memory, believed=_kept(believed))


def _workload(kept: KeptWorkload) -> Workload:
    evidence = (
        Evidence(one.signal, one.value, one.unit, one.window_s, one.statement)
        for one in kept.evidence
    )
    return Workload(kept.class_, kept.confidence, tuple(evidence))


def _memory(kept: KeptMemory) -> Memory:
    return like(Memory, kept, believed=_workload(kept.believed))


def _growth(osd_id: int, kept: KeptGrowth) -> GrowthPoints:
    times_s = kept.times_s
    if not times_s or len(times_s) != len(kept.used_bytes):
        raise ShapeError(f'"growth.{osd_id}" has different numbers of "used_bytes" and "times_s"')
    if any(a >= b for a, b in zip(times_s, times_s[1:])):
        raise ShapeError(f'"growth.{osd_id}" has "times_s" that are not ascending')
    return like(GrowthPoints, kept)
