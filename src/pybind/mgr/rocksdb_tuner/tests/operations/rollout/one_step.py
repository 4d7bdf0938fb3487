"""Rollouts in given states, and samples of a cluster that differ in one respect."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import OsdInfo, RunningOption
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.admission import planned
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.records import (
    Direction,
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, same_meaning, set_profile

MACHINE = Machine(same_meaning)
FORWARD, BACK, RECOVER = Direction.FORWARD, Direction.BACK, Direction.RECOVER
VERIFIED, PENDING = OsdStep.VERIFIED, OsdStep.PENDING
FAILED = Ending(Outcome.FAILED, 'it failed')
ABORTED = Ending(Outcome.ABORTED, 'aborted by client.ann')
SOAK = SoakPlan(least_s=300.0, most_s=600.0)


def observed(cluster: FakeCluster, **changes: object) -> Observation:
    """One that holds up nothing."""
    ids = tuple(cluster.osds)
    fields: dict[str, object] = {
        'cluster': cluster.cluster_map(),
        'pgs': cluster.pg_summary(),
        'health': frozenset(cluster.health_codes()),
        'entries': cluster.entries_of(),
        'ok_to_stop': dict.fromkeys(ids),
        'versions': cluster.daemon_versions(),
        'watched_s': 1000.0,
        'waited_s': 20.0,
        'before_s': 1e6,
        **changes,
    }
    return Observation(**fields)  # type: ignore[arg-type]


def other(seen: Observation, osd_id: int, **changes: object) -> Observation:
    """The same except for one OSD in the map."""

    def changed(osd: OsdInfo) -> OsdInfo:
        return replace(osd, **changes) if osd.osd_id == osd_id else osd  # type: ignore[arg-type]

    osds = tuple(map(changed, seen.cluster.osds))
    return replace(seen, cluster=replace(seen.cluster, osds=osds))


def without(seen: Observation, osd_id: int) -> Observation:
    osds = tuple(osd for osd in seen.cluster.osds if osd.osd_id != osd_id)
    return replace(seen, cluster=replace(seen.cluster, osds=osds))


def rollout(cluster: FakeCluster, *steps: OsdStep, **changes: object) -> RolloutState:
    """A rollout whose OSDs are that far, each by the process that it has now."""
    request = set_profile(cluster)
    running = {n: RunningOption(cluster.runs(n), 'mon', ignores_mon=False) for n in cluster.osds}
    started = planned(
        'r1',
        request,
        cluster=cluster.cluster_map(),
        entries=cluster.entries_of(),
        running=running,
        same_meaning=same_meaning,
        now_s=1.0,
        soak=SOAK,
    )
    osds = tuple(
        OsdProgress(n, step, nonce_before=1, nonce_after=cluster.osds[n].nonce)
        for n, step in zip(request.order, steps)
    )
    osds += tuple(islice(started.osds, len(osds), None))
    return replace(started, osds=osds, stage=Phase.CANARY, **changes)  # type: ignore[arg-type]


def rollback_of(cluster: FakeCluster, step: OsdStep, **changes: object) -> RolloutState:
    fields: dict[str, object] = {
        'direction': Direction.BACK,
        'restoring': (ALL, 'osd.0'),
        'entries_done': 2,
        **changes,
    }
    return replace(rollout(cluster, step), stage=Phase.ROLLING_BACK, **fields)  # type: ignore[arg-type]


def canary(step: Step) -> OsdProgress:
    return step.state.osds[0]


def stepped(state: RolloutState, seen: Observation) -> Step:
    return MACHINE.step(state, seen, 2.0)


def reason(step: Step) -> str:
    return step.state.paused_reason or ''
