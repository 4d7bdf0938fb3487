"""On the way from entries of single OSDs to a shared one, and back from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.collapse import collapse
from rocksdb_tuner.operations.rollout.osd_step import drive
from rocksdb_tuner.operations.rollout.records import Ending, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Step
from rocksdb_tuner.plan.commands import RemoveEntry, SetEntry
from rocksdb_tuner.plan.records import ChangeKind
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import ALL, NEW, OLD
from .one_step import (
    COLLAPSED,
    COLLAPSING,
    LEFT,
    MACHINE,
    RESTORING,
    VERIFIED,
    cluster_of,
    decided,
    osd,
    rollout,
    sampled,
)

SINGLE = {f'osd.{n}': NEW for n in range(4)}
TURNED = ';'.join(reversed(NEW.split(',')))
STAY = (
    'the entries of single OSDs are kept: the entry of osd would also change {}, which this '
    'rollout has not checked'
)


def collapsing(*steps: OsdStep, **changes: Any) -> RolloutState:
    given = {'shared_touched': True, 'entries_done': 1, 'stage': Phase.COLLAPSING, **changes}
    return rollout(*(steps or [VERIFIED] * 4), **given)


def collapsed(state: RolloutState, entries: Mapping[str, str], **seen: Any) -> Step:
    return collapse(MACHINE, state, sampled(state, entries=entries, **seen))


# -- whose OSDs a shared entry would reach


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
        (True, True, {}, {ALL: TURNED}, False),
        # The previous state counts, not the rollout's later writes.
        (True, True, {ALL: NEW}, {}, True),
        (True, True, {ALL: NEW}, {ALL: NEW}, False),
        (True, True, {'global': NEW}, {}, False),
        (True, True, {'global': OLD}, {}, True),
    ],
)
def test_own_entries_stay_if_the_shared_one_would_change_an_unchecked_osd(
    up: bool, in_cluster: bool, entries: dict[str, str], before: dict[str, str], reached: bool
) -> None:
    state = collapsing(errors=2, before=before)
    seen = sampled(state, entries={**SINGLE, **entries})
    joined = replace(cluster_of().cluster_map().osds[0], osd_id=7, device_class='hdd')
    joined = replace(joined, up=up, in_cluster=in_cluster)
    seen = replace(seen, cluster=replace(seen.cluster, osds=(*seen.cluster.osds, joined)))
    step = collapse(MACHINE, replace(state, entries_done=0), seen)
    assert (step.state.own_entries_stay is not None) == reached
    if reached:
        assert (step.actions, step.state.own_entries_stay) == ((), STAY.format('osd.7'))
        # From the start: every write is rolled back.
        again = collapse(MACHINE, state, seen).state
        assert (again.entries_done, again.errors) == (0, 0)


def test_osd_left_behind_may_return() -> None:
    state = collapsing(VERIFIED, LEFT, VERIFIED, VERIFIED)
    entries = {who: value for who, value in SINGLE.items() if who != 'osd.1'}
    out = collapsed(state, entries, osd=1, up=False, in_cluster=False).state
    assert out.own_entries_stay == STAY.format('osd.1')
    assert collapsed(state, entries, osd=1, gone=True).state.own_entries_stay is None


HDD, SSD = 'osd/class:hdd', 'osd/class:ssd'


@pytest.mark.parametrize(
    ('masked', 'stay'),
    [
        ({}, False),
        ({'osd/host:node0': OLD}, True),
        # The name of a CRUSH bucket that may contain any OSD.
        ({'osd/host:node9': OLD}, True),
        ({'osd/host:node0': NEW.replace(',', ';')}, False),
        ({HDD: OLD}, False),
        ({HDD: OLD, SSD: OLD}, True),
    ],
)
def test_own_entries_stay_if_an_osd_may_start_with_a_masked_entry_without_them(
    masked: dict[str, str], stay: bool
) -> None:
    """OSDs ignore masks at startup, but one that names its host in its ceph.conf does not."""
    found = collapsed(collapsing(before=masked), {**SINGLE, **masked}).state
    assert found.own_entries_stay == (
        'the entries of single OSDs are kept: without them OSDs may start with the entry of '
        f'{list(masked)[-1]}'
        if stay
        else None
    )


# -- back to entries of single OSDs


def test_own_entries_are_written_back_before_their_shared_entry_is_removed() -> None:
    present = {ALL: NEW, **SINGLE}
    held = collapsed(collapsing(paused_by='client.ann'), present)
    assert (held.actions, held.state.osds[0].step) == ((), VERIFIED)
    state = collapsing(
        *(COLLAPSED, VERIFIED, COLLAPSED, VERIFIED),
        own_entries_stay='why',
        request={'final_entries': ((ALL, NEW), ('osd.0', NEW))},
        before={ALL: OLD},
    )
    first = collapsed(state, present)
    # The entry of osd.0 was to stay anyhow.
    steps = [one.step for one in first.state.osds]
    assert (first.actions, steps) == ((), [COLLAPSED, VERIFIED, COLLAPSING, VERIFIED])
    written = osd(state, 2, step=VERIFIED)
    assert collapsed(written, present).actions == (SetEntry(ALL, OLD),)
    held = collapsed(replace(written, paused_by='client.ann'), present)
    assert (held.actions, held.state.paused_reason) == ((), 'paused by client.ann')
    nothing = replace(written, before=replace(state.before, entries=()))
    assert collapsed(nothing, present).actions == (RemoveEntry(ALL),)
    done = collapsed(written, {ALL: OLD, **SINGLE}).state
    assert (done.stage, done.outcome) == (Phase.DONE, Outcome.DONE)


def test_commands_to_remove_an_override_later_are_shown() -> None:
    rm = '"ceph config rm osd bluestore_rocksdb_options"'
    set_class = '"ceph config set osd/class:ssd bluestore_rocksdb_options" with the same string'
    default = DEFAULTS['pacific']
    for final, commands in (
        (((ALL, None),), rm),
        (((SSD, NEW), (ALL, None)), f'{set_class}, then {rm}'),
    ):
        request = {
            'kind': ChangeKind.REMOVE_OVERRIDE,
            'targets': tuple((n, default) for n in range(4)),
            'final_entries': final,
        }
        state = collapsing(own_entries_stay='they stay', request=request, before={ALL: OLD})
        assert collapsed(state, {ALL: OLD}).state.failure == (
            f'they stay; once that has changed: {commands}, then "ceph config rm" for each single '
            'OSD'
        )


# -- the entry of one OSD


def of(state: RolloutState, entries: Mapping[str, str], **seen: Any) -> Step:
    return drive(MACHINE, state, state.osds[0], sampled(state, entries=entries, **seen))


@pytest.mark.parametrize('reported', [None, 'osd.0 was removed from the cluster'])
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
def test_osd_left_behind_has_the_previous_entry_of_its_id(
    before: dict[str, str], entries: dict[str, str], action: object, reported: Optional[str]
) -> None:
    state = collapsing(RESTORING, *[VERIFIED] * 3, before=before)
    state = osd(state, left_reason=reported)
    left = {'step': LEFT, 'left_reason': reported or 'osd.0 is a different OSD now'}
    expected = {'step': RESTORING} if action else left
    decided(of(state, entries), state, does=action, **expected)
    assert of(replace(state, paused_by='client.ann'), entries).actions == ()


@pytest.mark.parametrize(('restart', 'value'), [(True, NEW), (False, OLD)])
def test_osd_whose_entry_stays_has_its_own_entry_again(restart: bool, value: str) -> None:
    """Its target; where only entries are changed what it had before, which means the same."""
    state = collapsing(
        COLLAPSING,
        *[VERIFIED] * 3,
        own_entries_stay='why',
        request={'restart': restart},
        before={'osd.0': OLD},
    )
    assert of(state, {}).actions == (SetEntry('osd.0', value),)
    # Until then the shared entry means the same.
    assert of(replace(state, paused_by='client.ann'), {}).actions == ()
    tried = of(replace(state, errors=3, last_error='EROFS'), {}).state
    assert tried.paused_reason == '3 attempts failed, retrying: EROFS'
    decided(of(state, {'osd.0': value}), state, step=VERIFIED)
    ends = replace(state, ending=Ending(Outcome.ABORTED, 'why'))
    assert of(ends, {}).actions == (SetEntry('osd.0', value),)
    # One that was removed or recreated gets none again: a later OSD of this id would inherit it.
    for away in ({'gone': True}, {'device_class': 'hdd'}):
        decided(of(ends, {}, **away), ends, step=RESTORING)
