"""Single decisions of a rollout, in tables: its state, a sample of the cluster, and what follows.

A state is made by `rollout` or `at`, a sample by `sampled`; both take what differs from an ordinary
rollout of four OSDs that nothing holds up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from itertools import islice
from typing import Any, Optional

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import OsdInfo, RunningOption
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.admission import planned
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.records import (
    UNCHANGED,
    Direction,
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
    with_osd,
)
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, same_meaning, set_profile

MACHINE = Machine(same_meaning)
FORWARD, RECOVER, BACK = Direction
DIRECTIONS = tuple(Direction)
PENDING, SETTING, DUE, RESTARTING, CHECKING, SETTLING, VERIFIED = islice(OsdStep, 7)
COLLAPSING, COLLAPSED, RESTORING, RESTORED, LEFT = islice(OsdStep, 7, None)
FAILED = Ending(Outcome.FAILED, 'it failed')
ABORTED = Ending(Outcome.ABORTED, 'aborted by client.ann')
SOAK = SoakPlan(least_s=300.0, most_s=600.0)

_OF_OSD = frozenset(field.name for field in fields(OsdProgress))
_OF_INFO = frozenset(field.name for field in fields(OsdInfo))


@cache
def cluster_of(osds: int = 4) -> FakeCluster:
    """Of single decisions: nothing changes it."""
    return FakeCluster(osds)


@cache
def _planned(osds: int) -> RolloutState:
    cluster = cluster_of(osds)
    return planned(
        'r1',
        set_profile(cluster),
        cluster=cluster.cluster_map(),
        entries={},
        running={n: RunningOption(cluster.runs(n), 'mon', False) for n in cluster.osds},
        same_meaning=same_meaning,
        now_s=1.0,
        soak=SOAK,
    )


def rollout(*steps: OsdStep, osds: Any = 4, **changes: Any) -> RolloutState:
    """A rollout whose first OSDs are that far, each by the process that it has now.

    ``before`` are the entries of before, ``request`` what differs in the request.
    """
    state, cluster = _planned(osds), cluster_of(osds)
    made = [
        OsdProgress(n, step, nonce_before=1, nonce_after=cluster.osds[n].nonce)
        for n, step in zip(state.request.order, steps)
    ]
    before = replace(state.before, entries=tuple(changes.pop('before', {}).items()))
    request = replace(state.request, **changes.pop('request', {}))
    given = {'stage': Phase.CANARY, 'before': before, 'request': request, **changes}
    return replace(state, osds=(*made, *islice(state.osds, len(made), None)), **given)


def osd(state: RolloutState, osd_id: int = 0, **changes: Any) -> RolloutState:
    """The same but for one OSD."""
    return replace(
        with_osd(state, replace(state.by_id[osd_id], **changes)),
        errors=state.errors,
        last_error=state.last_error,
    )


def at(
    step: OsdStep, direction: Direction = FORWARD, *others: OsdStep, **changes: Any
) -> RolloutState:
    """The canary is there, before its restart by its previous process; the others as given."""
    of_osd: dict[str, Any] = {name: changes.pop(name) for name in _OF_OSD & changes.keys()}
    of_osd.setdefault('restart_needed', direction is not FORWARD)
    if step in {SETTING, DUE, RESTARTING, RESTORING}:
        of_osd = {'nonce_before': cluster_of().osds[0].nonce, 'nonce_after': None, **of_osd}
    if direction is RECOVER:
        changes.setdefault('ending', FAILED)
    if direction is not FORWARD:
        changes.setdefault('stage', Phase.ROLLING_BACK)
    return osd(rollout(step, *others, direction=direction, **changes), **of_osd)


def sampled(
    state: RolloutState, /, osd: Any = 0, gone: Any = False, osds: Any = 4, **changes: Any
) -> Observation:
    """A sample with the entries that the rollout wrote; what is said of an OSD is said of ``osd``.

    ``gone``: the OSD is not in the map; 'all': no OSD is.
    """
    written = {
        f'osd.{one.osd_id}': NEW
        for one in state.osds
        if one.step not in UNCHANGED | {COLLAPSED}
        and (state.direction is FORWARD or (state.direction is RECOVER and one.step is VERIFIED))
    }
    cluster = cluster_of(osds)
    of_osd = {name: changes.pop(name) for name in _OF_INFO & changes.keys()}
    infos = (
        replace(info, **of_osd) if info.osd_id == osd else info
        for info in cluster.cluster_map().osds
        if gone is False or (gone is True and info.osd_id != osd)
    )
    given: dict[str, Any] = {
        'cluster': replace(cluster.cluster_map(), osds=tuple(infos)),
        'pgs': cluster.pg_summary(),
        'health': frozenset(),
        'entries': written,
        'ok_to_stop': dict.fromkeys(cluster.osds),
        'versions': cluster.daemon_versions(),
        'watched_s': 1000.0,
        'waited_s': 20.0,
        'before_s': 1e6,
    }
    return Observation(**{**given, **changes})


def runs(value: str, source: str = 'mon', osd_id: int = 0) -> dict[str, object]:
    """Of a sample: what that OSD runs."""
    return {'running': {osd_id: RunningOption(value, source, source == 'file')}}


def case(
    name: str,
    state: RolloutState,
    seen: Optional[Mapping[str, Any]] = None,
    /,
    **expected: Any,
) -> Any:
    """A row of a table: see `decides`."""
    return pytest.param(state, seen or {}, expected, id=name)


def table(*rows: Any) -> pytest.MarkDecorator:
    """The tables of a subject."""
    return pytest.mark.parametrize(('state', 'seen', 'expected'), rows)


def decides(state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]) -> Step:
    """The decision has what is expected: of the canary (or of ``of``), or of the rollout.

    ``does``: the one action; without it there is none. ``says``: why it waits; '' if it does not.
    ``has``: a part of that. ``same``: no OSD is anywhere else than before.
    """
    step = MACHINE.step(state, sampled(state, **seen), 2.0)
    return decided(step, state, **expected)


def decided(
    step: Step, before: RolloutState, /, does: object = None, of: int = 0, **expected: Any
) -> Step:
    assert step.actions == (() if does is None else (does,))
    state, reason = step.state, step.state.paused_reason or ''
    if expected.pop('same', False):
        assert state.osds == before.osds
    if 'says' in expected:
        assert reason == expected.pop('says')
    assert expected.pop('has', '') in reason
    for name, value in expected.items():
        found = getattr(state.by_id[of] if name in _OF_OSD else state, name)
        assert found == value, f'{name} is {found}'
    return step


def rollback_of(step: OsdStep, **changes: Any) -> RolloutState:
    """The canary is there; all entries are restored."""
    return rollout(
        step,
        **{
            'direction': BACK,
            'restoring': (ALL, 'osd.0'),
            'entries_done': 2,
            'stage': Phase.ROLLING_BACK,
            **changes,
        },
    )
