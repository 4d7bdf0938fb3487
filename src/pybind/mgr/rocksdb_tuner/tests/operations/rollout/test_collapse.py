"""Single decisions on the way from entries of single OSDs to a shared one, and back from there."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.collapse import collapse
from rocksdb_tuner.operations.rollout.osd_step import drive
from rocksdb_tuner.operations.rollout.records import Ending, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.plan.commands import Action, RemoveEntry, SetEntry
from rocksdb_tuner.plan.records import ChangeKind
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, NEW, OLD
from .one_step import MACHINE, canary, observed, other, rollout, without

DEFAULT = DEFAULTS['pacific']
VERIFIED, COLLAPSED = OsdStep.VERIFIED, OsdStep.COLLAPSED
SINGLE = {f'osd.{n}': NEW for n in range(4)}
STAY = (
    'the entries of single OSDs are kept: the entry of osd would also change {}, which this '
    'rollout has not checked'
)


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


def collapsing(cluster: FakeCluster, *steps: OsdStep, **changes: object) -> RolloutState:
    state = rollout(cluster, *steps, **{'shared_touched': True, 'entries_done': 1, **changes})
    return replace(state, stage=Phase.COLLAPSING)


def sampled(state: RolloutState, seen: Observation) -> Step:
    return collapse(MACHINE, state, seen)


def drop_override(state: RolloutState) -> RolloutState:
    """The same of a rollout after which each OSD runs the default of its release."""
    targets = tuple((n, DEFAULT) for n, _ in state.request.targets)
    request = replace(
        state.request,
        kind=ChangeKind.REMOVE_OVERRIDE,
        targets=targets,
        final_entries=((ALL, None),),
    )
    return replace(state, request=request)


# -- whose OSDs it would reach


def joined(seen: Observation, **changes: object) -> Observation:
    """With one more OSD, which the rollout does not know."""
    more: OsdInfo = replace(seen.cluster.osds[0], osd_id=7, device_class='hdd')
    more = replace(more, **changes)  # type: ignore[arg-type]
    return replace(seen, cluster=replace(seen.cluster, osds=(*seen.cluster.osds, more)))


@pytest.mark.parametrize(
    ('up', 'in_cluster', 'entries', 'before', 'reached'),
    [
        (True, True, {}, {}, True),
        (False, True, {}, {}, True),
        (True, False, {}, {}, True),
        # It only returns by an operator, if ever.
        (False, False, {}, {}, False),
        # Its own entry applies, whatever is shared.
        (True, True, {'osd.7': OLD}, {}, False),
        # It would start with another string, or with one in other words.
        (True, True, {}, {ALL: OLD}, True),
        (True, True, {}, {ALL: ';'.join(reversed(NEW.split(',')))}, False),
        # The previous state counts, not the rollout's later writes.
        (True, True, {ALL: NEW}, {}, True),
        (True, True, {ALL: NEW}, {ALL: NEW}, False),
        (True, True, {'global': NEW}, {}, False),
        (True, True, {'global': OLD}, {}, True),
    ],
)
def test_own_entries_stay_if_the_shared_one_would_change_an_unchecked_osd(
    cluster: FakeCluster,
    up: bool,
    in_cluster: bool,
    entries: dict[str, str],
    before: dict[str, str],
    reached: bool,
) -> None:
    state = collapsing(cluster, *[VERIFIED] * 4, errors=2)
    state = replace(state, before=replace(state.before, entries=tuple(before.items())))
    seen = joined(observed(cluster, entries={**SINGLE, **entries}), up=up, in_cluster=in_cluster)
    step = sampled(replace(state, entries_done=0), seen)
    assert (step.state.own_entries_stay is not None) == reached
    if reached:
        assert (step.actions, step.state.own_entries_stay) == ((), STAY.format('osd.7'))
        # From the start: every write is rolled back.
        again = sampled(state, seen).state
        assert (again.entries_done, again.errors) == (0, 0)


def test_osd_left_behind_may_return(cluster: FakeCluster) -> None:
    state = collapsing(cluster, VERIFIED, OsdStep.LEFT_BEHIND, *[VERIFIED] * 2)
    seen = observed(cluster, entries=SINGLE)
    del (entries := dict(SINGLE))['osd.1']
    out = other(replace(seen, entries=entries), 1, up=False, in_cluster=False)
    assert sampled(state, out).state.own_entries_stay == STAY.format('osd.1')
    assert sampled(state, without(out, 1)).state.own_entries_stay is None


HOST, OTHER_HOST = 'osd/host:node0', 'osd/host:node9'


@pytest.mark.parametrize(
    ('masked', 'stay'),
    [
        ({}, False),
        ({HOST: OLD}, True),
        # The name of a CRUSH bucket that may contain any OSD.
        ({OTHER_HOST: OLD}, True),
        ({HOST: ';'.join(NEW.split(','))}, False),
        ({'osd/class:hdd': OLD}, False),
        ({'osd/class:hdd': OLD, 'osd/class:ssd': OLD}, True),
    ],
)
def test_own_entries_stay_if_an_osd_may_start_with_a_masked_entry_without_them(
    cluster: FakeCluster, masked: dict[str, str], stay: bool
) -> None:
    """OSDs ignore masks at startup, but one that names its host in its ceph.conf does not."""
    state = collapsing(cluster, *[VERIFIED] * 4)
    state = replace(state, before=replace(state.before, entries=tuple(masked.items())))
    found = sampled(state, observed(cluster, entries={**SINGLE, **masked})).state
    reason = (
        'the entries of single OSDs are kept: without them OSDs may start with the entry of '
        f'{list(masked)[-1]}'
        if stay
        else None
    )
    assert found.own_entries_stay == reason


# -- back to entries of single OSDs


def test_own_entries_are_written_back_before_their_shared_entry_is_removed(
    cluster: FakeCluster,
) -> None:
    state = collapsing(cluster, COLLAPSED, VERIFIED, COLLAPSED, VERIFIED, own_entries_stay='why')
    state = replace(
        state, request=replace(state.request, final_entries=((ALL, NEW), ('osd.0', NEW)))
    )
    held = sampled(
        replace(collapsing(cluster, *[VERIFIED] * 4), paused_by='client.ann'),
        observed(cluster, entries={ALL: NEW, **SINGLE}),
    )
    assert (held.actions, held.state.osds[0].step) == ((), VERIFIED)
    state = replace(state, before=replace(state.before, entries=((ALL, OLD),)))
    seen = observed(cluster, entries={ALL: NEW, **SINGLE})
    first = sampled(state, seen)
    # The entry of osd.0 was to stay anyhow.
    assert [osd.step for osd in first.state.osds] == [
        COLLAPSED,
        VERIFIED,
        OsdStep.COLLAPSING,
        VERIFIED,
    ]
    assert first.actions == ()
    shielded = replace(state, osds=(*state.osds[:2], *rollout(cluster, *[VERIFIED] * 4).osds[2:]))
    assert sampled(shielded, seen).actions == (SetEntry(ALL, OLD),)
    held = sampled(replace(shielded, paused_by='client.ann'), seen)
    assert (held.actions, held.state.paused_reason) == ((), 'paused by client.ann')
    nothing = replace(shielded, before=replace(state.before, entries=()))
    assert sampled(nothing, seen).actions == (RemoveEntry(ALL),)
    done = sampled(shielded, replace(seen, entries={ALL: OLD, **SINGLE})).state
    assert (done.stage, done.outcome) == (Phase.DONE, Outcome.DONE)


LATER = 'once that has changed: {}, then "ceph config rm" for each single OSD'
SET = '"ceph config set osd bluestore_rocksdb_options" with the same string'


def test_commands_to_remove_an_override_later_are_shown(cluster: FakeCluster) -> None:
    state = drop_override(collapsing(cluster, *[VERIFIED] * 4, own_entries_stay='they stay'))
    state = replace(state, before=replace(state.before, entries=((ALL, OLD),)))
    done = sampled(state, observed(cluster, entries={ALL: OLD})).state
    rm = '"ceph config rm osd bluestore_rocksdb_options"'
    assert done.failure == f'they stay; {LATER.format(rm)}'
    two = replace(state.request, final_entries=(('osd/class:ssd', NEW), (ALL, None)))
    done = sampled(replace(state, request=two), observed(cluster, entries={ALL: OLD})).state
    both = f'{SET.replace("set osd", "set osd/class:ssd")}, then {rm}'
    assert done.failure == f'they stay; {LATER.format(both)}'


# -- the entry of one OSD


def of(state: RolloutState, seen: Observation) -> Step:
    return drive(MACHINE, state, state.osds[0], seen)


@pytest.mark.parametrize(
    ('before', 'entries', 'action'),
    [
        ({}, {'osd.0': NEW}, RemoveEntry('osd.0')),
        ({'osd.0': OLD}, {'osd.0': NEW}, SetEntry('osd.0', OLD)),
        ({'osd.0': OLD}, {}, SetEntry('osd.0', OLD)),
        ({'osd.0': OLD}, {'osd.0': OLD}, None),
        ({}, {ALL: NEW}, None),
    ],
)
@pytest.mark.parametrize('reported', [None, 'osd.0 was removed from the cluster'])
def test_osd_left_behind_has_the_previous_entry_of_its_id(
    cluster: FakeCluster,
    before: dict[str, str],
    entries: dict[str, str],
    action: Optional[Action],
    reported: Optional[str],
) -> None:
    state = collapsing(cluster, OsdStep.RESTORING, *[VERIFIED] * 3)
    state = replace(state, before=replace(state.before, entries=tuple(before.items())))
    state = replace(state, osds=(replace(state.osds[0], left_reason=reported), *state.osds[1:]))
    seen = observed(cluster, entries=entries)
    step = of(state, seen)
    assert step.actions == (() if action is None else (action,))
    held = of(replace(state, paused_by='client.ann'), seen)
    assert held.actions == ()
    if action is None:
        assert canary(step).step is OsdStep.LEFT_BEHIND
        assert canary(step).left_reason == (reported or 'osd.0 is a different OSD now')
    else:
        assert canary(step).step is OsdStep.RESTORING


@pytest.mark.parametrize('restart', [True, False])
def test_osd_whose_entry_stays_has_its_own_entry_again(cluster: FakeCluster, restart: bool) -> None:
    """Its target; where only entries are changed what it had before, which means the same."""
    state = collapsing(cluster, OsdStep.COLLAPSING, *[VERIFIED] * 3, own_entries_stay='why')
    state = replace(state, request=replace(state.request, restart=restart))
    state = replace(state, before=replace(state.before, entries=(('osd.0', OLD),)))
    value = NEW if restart else OLD
    seen = observed(cluster, entries={})
    assert of(state, seen).actions == (SetEntry('osd.0', value),)
    # Until then the shared entry means the same.
    assert of(replace(state, paused_by='client.ann'), seen).actions == ()
    tried = of(replace(state, errors=3, last_error='EROFS'), seen).state
    assert tried.paused_reason == '3 attempts failed, retrying: EROFS'
    there = of(state, observed(cluster, entries={'osd.0': value}))
    assert (there.actions, canary(there).step) == ((), VERIFIED)
    ending = Ending(Outcome.ABORTED, 'why')
    assert of(replace(state, ending=ending), seen).actions == (SetEntry('osd.0', value),)
    # One that was removed gets none again: a later OSD of this id would inherit it.
    # The same goes for one that was recreated.
    for away in (without(seen, 0), other(seen, 0, device_class='hdd')):
        gone = of(replace(state, ending=ending), away)
        assert (gone.actions, canary(gone).step) == ((), OsdStep.RESTORING)


HOST, OTHER_HOST = 'osd/host:node0', 'osd/host:node1'
