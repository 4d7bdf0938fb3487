"""Before a change: what a rollout refuses, what it waits for, and whom it leaves behind."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, Optional

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.gates import NOT_ALLOWED
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.admission import planned
from rocksdb_tuner.operations.rollout.records import AskedRestart, RolloutState
from rocksdb_tuner.operations.rollout.rules import Needs
from rocksdb_tuner.plan.commands import SetEntry
from rocksdb_tuner.plan.records import OPTION, ChangeRequest
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, CLASS, NEW, OLD, Run, remove_override, same_meaning, set_profile
from .one_step import (
    ABORTED,
    CHECKING,
    COLLAPSED,
    COLLAPSING,
    DUE,
    FORWARD,
    LEFT,
    MACHINE,
    PENDING,
    RECOVER,
    RESTARTING,
    RESTORING,
    SETTING,
    SETTLING,
    VERIFIED,
    at,
    case,
    cluster_of,
    decides,
    rollout,
    runs,
    table,
)
from .test_settle import ELSEWHERE

DEFAULT = DEFAULTS['pacific']
NONCE = cluster_of().osds[0].nonce


# -- what is refused before anything is recorded or changed


def cluster_with(*entries: tuple[str, str]) -> Callable[[Run], None]:
    def prepare(run: Run) -> None:
        for who, value in entries:
            run.cluster.operator_sets(who, value)

    return prepare


def overruled(source: str) -> Callable[[Run], None]:
    def prepare(run: Run) -> None:
        run.cluster.osds[1].shown[OPTION] = RunningOption(OLD, source, ignores_mon=False)
        run.cluster.advance(10)

    return prepare


def without_metadata(run: Run) -> None:
    known = run.cluster.cluster_map

    def unknown() -> object:
        found = known()
        return replace(found, osds=tuple(replace(o, release=None, host=None) for o in found.osds))

    run.cluster.cluster_map = unknown  # type: ignore[method-assign,assignment]


def as_it_is(run: Run) -> None:
    """An ordinary cluster."""


@pytest.mark.parametrize(
    ('prepare', 'changes', 'text'),
    [
        (as_it_is, {'option': 'osd_memory_target'}, 'only bluestore_rocksdb_options and .*_annex'),
        (as_it_is, {'targets': (), 'order': ()}, 'is empty or names an OSD twice'),
        (as_it_is, {'order': (0, 1)}, 'does not match "request.order"'),
        (as_it_is, {'order': (0, 1, 2, 2)}, 'names an OSD twice'),
        (
            as_it_is, {'targets': ((0, NEW), (1, NEW), (2, NEW), (2, OLD))},
            '"request.targets" does not',
        ),
        (as_it_is, {'final_entries': ((ALL, NEW), (ALL, OLD))}, 'names an entry twice'),
        (
            as_it_is, {'final_entries': (('osd.1', OLD),)},
            r'another value for osd\.1 than its target',
        ),
        (
            as_it_is, {'final_entries': (('osd.0', NEW), ('osd.1', NEW))},
            r'no entry would apply to osd\.2 at the end',
        ),
        *(
            (
                as_it_is, {'final_entries': ((who, NEW), (ALL, NEW))},
                f'the entry for {who} has a mask',
            )
            for who in (CLASS, 'osd/host:node1', 'osd.1/class:ssd')
        ),
        *(
            (
                cluster_with((who, OLD)), {},
                f'osd.1 has its own entry.*"ceph config rm {who} {OPTION}" first',
            )
            for who in ('osd.1', 'osd.1/class:ssd', 'osd.1/host:node1')
        ),
        *(
            (
                cluster_with((who, OLD)), {},
                f'the entry of {who} would take precedence for osd.1, with another value',
            )
            for who in ('osd/host:node1', 'osd/class:ssd/host:node1')
        ),
        (overruled('file'), {}, 'of osd.1 comes from .*ceph.conf'),
        (overruled('env'), {}, 'of osd.1 comes from .*environment'),
        (overruled('cmdline'), {}, 'of osd.1 comes from .*command line'),
        (overruled('override'), {}, 'of osd.1 comes from .*running daemon'),
        (
            as_it_is, {'targets': ((0, NEW), (9, NEW)), 'order': (0, 9)},
            r'osd\.9 is not in the OSD map; it has osd\.0, osd\.1, osd\.2$',
        ),
        (
            lambda run: setattr(run.cluster.osds[2], 'silent', True), {},
            r'cannot read the running options of osd\.2',
        ),
        (without_metadata, {}, r'the release of osd\.0 is not known yet'),
    ],
)  # fmt: skip
def test_refusal_names_the_cause_and_changes_nothing(
    run: Run, prepare: Callable[[Run], None], changes: dict[str, object], text: str
) -> None:
    """Entries of single OSDs are never lost, other sources not fought, masks not written."""
    prepare(run)
    before = dict(run.cluster.store)
    with pytest.raises(OperationRefused, match=text) as refused:
        run.start(set_profile(run.cluster, **changes))  # type: ignore[arg-type]
    later = 'cannot read' in text or 'not known yet' in text
    codes = {errno.EAGAIN} if later else {errno.ENOENT if 'OSD map' in text else errno.EINVAL}
    assert refused.value.errno in codes
    assert run.driver.state is None
    assert (run.cluster.commands, run.store.values, run.cluster.store) == ([], {}, before)


def decided(
    request: ChangeRequest,
    entries: Mapping[str, str],
    cluster: Optional[FakeCluster] = None,
    soak: Optional[SoakPlan] = None,
    runs: str = OLD,
    **others: Any,
) -> RolloutState:
    cluster = cluster or FakeCluster()
    return planned(
        'r1',
        request,
        cluster=cluster.cluster_map(),
        entries=entries,
        running={n: RunningOption(runs, 'mon', ignores_mon=False) for n in cluster.osds},
        same_meaning=same_meaning,
        now_s=1.0,
        soak=soak or SoakPlan(),
        **others,
    )


def why_not(request: ChangeRequest, entries: Mapping[str, str], *args: Any) -> Optional[str]:
    """Why it is refused; None: it is not."""
    try:
        decided(request, entries, *args)
    except OperationRefused as refused:
        return refused.message if refused.errno == errno.EINVAL else f'errno {refused.errno}'
    return None


def test_previous_entries_are_recorded_in_order() -> None:
    """Of both options, but no other OSDs: the stored data is the same each time."""
    whos = ('osd/rack:r1', 'global', 'osd.9', 'osd/class:hdd', 'mon', 'osd.2', 'osd')
    entries = dict.fromkeys(('osd/rack:r1', 'global', 'osd.9', 'mon'), OLD)
    others = dict.fromkeys(whos, OLD)
    before = decided(set_profile(FakeCluster()), entries, other_entries=others).before
    assert [who for who, _ in before.entries] == ['global', 'mon', 'osd/rack:r1']
    assert [who for who, _ in before.other_entries or ()] == sorted(set(whos) - {'osd.9'})


def test_rollout_without_a_possible_verdict_is_not_started() -> None:
    request = set_profile(FakeCluster())
    reported = why_not(request, {}, None, SoakPlan(least_s=600.0, most_s=300.0)) or ''
    assert reported.startswith('soak_min (600 s) is greater than soak_max (300 s)')
    assert why_not(request, {}, None, SoakPlan(least_s=300.0, most_s=300.0)) is None


def test_change_without_a_restart_requires_osds_that_run_the_value() -> None:
    request = set_profile(FakeCluster(), restart=False)
    assert why_not(request, {}) == 'osd.0 must be restarted first: it runs another value'
    state = decided(request, {}, runs=NEW.replace(',', ';'))
    assert {one.step for one in state.osds} == {VERIFIED}
    assert {one.step for one in decided(replace(request, restart=True), {}).osds} == {PENDING}


def test_own_entry_may_be_removed_on_request_except_a_masked_one() -> None:
    cluster = FakeCluster()
    named = set_profile(cluster, final_entries=(('osd.1', None), (ALL, NEW)))
    assert why_not(named, {'osd.1': OLD}) is None
    masked = set_profile(cluster, final_entries=(('osd.1/class:ssd', None), (ALL, NEW)))
    assert 'osd.1 has its own entry' in (why_not(masked, {'osd.1/class:ssd': OLD}) or '')
    # In any order returned by the monitor.
    reported = why_not(set_profile(cluster), {'osd.2': OLD, 'osd.1': OLD})
    assert (reported or '').startswith('osd.1 has its own entry')


@pytest.mark.parametrize('out', [False, True])
@pytest.mark.parametrize(
    ('entries', 'final', 'accepted'),
    [
        # Nothing decides for the others, before and after it.
        ({}, {'osd.0': NEW}, True),
        ({ALL: OLD}, {'osd.0': NEW}, True),
        ({ALL: OLD}, {ALL: NEW}, False),
        ({}, {ALL: NEW}, False),
        ({ALL: OLD, 'global': NEW}, {ALL: None}, False),
        ({ALL: OLD, 'osd.1': OLD, 'osd.2': OLD}, {ALL: NEW}, True),
    ],
)
def test_unrelated_osds_start_with_the_same_options_as_before(
    entries: Mapping[str, str], final: Mapping[str, Optional[str]], accepted: bool, out: bool
) -> None:
    """Also those that are up but out: they come in again by one command."""
    cluster = FakeCluster()
    for n in (1, 2):
        cluster.osds[n].in_cluster = not out
    final_entries = tuple(final.items())
    request = set_profile(cluster, targets=((0, NEW),), order=(0,), final_entries=final_entries)
    reported = why_not(request, entries, cluster)
    assert (reported is None) == accepted
    assert reported is None or reported.startswith('osd.1, osd.2 are not among the OSDs to change')


def test_override_that_equals_the_default_is_removed_beside_unrelated_osds(run: Run) -> None:
    """They start with the same, up or down; those of another release with another default."""
    run.cluster.operator_sets('osd', DEFAULT)
    run.cluster.stop_osd(2)
    plan = {'targets': ((0, DEFAULT),), 'order': (0,), 'controls': (), 'restart': False}
    request = replace(remove_override(run.cluster), **plan)  # type: ignore[arg-type]
    run.cluster.osds[1].release = 'reef'
    with pytest.raises(OperationRefused, match=r'osd\.1 is not among the OSDs to change'):
        run.start(request)
    run.cluster.osds[1].release = 'pacific'
    run.start(request)
    run.run_to_end()
    assert (run.state.phase, run.cluster.entries_of()) == (Phase.DONE, {})


@pytest.mark.parametrize(
    ('down', 'reported'), [(8, 'osd.6, osd.7 are down'), (9, 'osd.6, osd.7 and 1 more are down')]
)
def test_at_most_eight_names_are_listed_with_the_number_of_others(down: int, reported: str) -> None:
    cluster = FakeCluster(9)
    for n in range(down):
        cluster.stop_osd(n)
    with pytest.raises(OperationRefused, match=reported) as refused:
        decided(set_profile(cluster), {}, cluster)
    assert refused.value.errno == errno.EBUSY


# -- whether an OSD starts

UNWATCHED = {'soak': SoakPlan()}
FIRST, SECOND = rollout(), rollout(VERIFIED, **UNWATCHED)
READS = runs(DEFAULT, 'default')
ENDS = {'stage': Phase.FAILED, 'outcome': Outcome.FAILED}
OR_BACK = '; or roll back: "ceph rocksdb-tuner rollback"'
HDD = 'osd.{} now has device class hdd: the plan was made for ssd'
REEF = 'osd.{} now runs reef: the plan was made for pacific'


@table(
    case('with open gates', FIRST, READS, does=SetEntry('osd.0', NEW), step=SETTING),
    case('mode off', FIRST, {**READS, 'may_act': False}, same=True, says=NOT_ALLOWED),
    case(
        'a health check', FIRST, {**READS, 'health': frozenset({'MON_DOWN'})}, same=True,
        says='cluster health: MON_DOWN',
    ),
    case(
        'the window', FIRST, {**READS, 'schedule_reason': 'outside the maintenance window'},
        same=True, says='outside the maintenance window',
    ),
    case(
        'unread options', FIRST, {'running': {}}, same=True,
        says='cannot read the running options of osd.0',
    ),
    case(
        'a restart that may still come', replace(FIRST, asked=AskedRestart(3)), READS, same=True,
        has='the orchestrator may still restart osd.3',
    ),
    # Only the canary is measured before its change, if it can be judged at all.
    case('no baseline', FIRST, {**READS, 'before_s': 299.9}, says='', same=True, baseline_s=299.9),
    case('a baseline', FIRST, {**READS, 'before_s': 300.0}, does=SetEntry('osd.0', NEW)),
    case(
        'one control', rollout(request={'controls': (1,)}), {**READS, 'before_s': 0.0},
        does=SetEntry('osd.0', NEW),
    ),
    case(
        'the next one', rollout(VERIFIED, verdicts=('no-worse',)),
        {**runs(DEFAULT, 'default', 1), 'before_s': 0.0}, does=SetEntry('osd.1', NEW),
    ),
    # The plan was made for another OSD, or for one whose options the config store decides.
    case('recreated', FIRST, {**READS, 'device_class': 'hdd'}, failure=HDD.format(0), **ENDS),
    case(
        'recreated later', SECOND, {'osd': 1, 'device_class': 'hdd'}, of=1, step=LEFT,
        left_reason=HDD.format(1), ended=False,
    ),
    case('upgraded canary', FIRST, {**READS, 'release': 'reef'}, failure=REEF.format(0), **ENDS),
    case(
        'upgraded later', SECOND, {'osd': 1, 'release': 'reef'}, ended=False,
        says=REEF.format(1) + OR_BACK,
    ),
    case('overruled canary', FIRST, runs(OLD, 'file'), failure=ELSEWHERE, **ENDS),
    case(
        'overruled later', SECOND, runs(OLD, 'file', 1), ended=False,
        says=ELSEWHERE.replace('osd.0', 'osd.1') + OR_BACK,
    ),
)  # fmt: skip
def test_osd_starts_only_without_blockers(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    decides(state, seen, expected)


def test_new_active_manager_observes_for_ten_seconds() -> None:
    state = rollout(SETTING)
    for watched_s, expected in (
        (9.9, {'says': 'this manager has just become active and samples first', 'updated_s': 2.0}),
        (10.0, {'does': SetEntry('osd.0', NEW), 'says': '', 'updated_s': 1.0}),
    ):
        decides(state, {'entries': {}, 'watched_s': watched_s}, expected)
    ended = replace(state, stage=Phase.FAILED)
    assert decides(ended, {'entries': {}}, {'same': True}).state == ended
    assert MACHINE.needs(ended, 1000.0) == Needs()


@table(
    case(
        'the entry is confirmed', at(SETTING, errors=2, restarts_asked=2, nonce_before=1),
        errors=0, step=DUE, nonce_before=NONCE, restarts_asked=0,
    ),
    case(
        'it is missing', at(SETTING, errors=2), {'entries': {}}, does=SetEntry('osd.0', NEW),
        step=SETTING,
    ),
    case(
        'it may not be written', at(SETTING, paused_by='client.ann'), {'entries': {}},
        says='paused by client.ann',
    ),
    # It may be missing in one sample: its known process is kept.
    case('an empty map', at(SETTING, nonce_before=1), {'gone': 'all'}, nonce_before=1),
    *(
        case(
            f'{way.value}, {paused_by}, mode {"on" if may_act else "off"}',
            at(SETTING if way is FORWARD else RESTORING, way, paused_by=paused_by),
            {'may_act': may_act, 'entries': {} if way is FORWARD else {'osd.0': NEW}},
            says='paused by client.ann' if paused_by else NOT_ALLOWED,
        )
        for way, paused_by, may_act in (
            (FORWARD, None, False), (FORWARD, 'client.ann', True), (FORWARD, 'client.ann', False)
        )
    ),
)  # fmt: skip
def test_restart_is_due_once_the_entry_is_confirmed_and_counts_from_the_current_process(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    decides(state, seen, expected)


# -- OSDs that are away


REMOVED, IS_OUT = 'osd.{} was removed from the cluster', 'osd.{} is down and out'
CANARY = '; it is the canary, so nothing was changed: apply again to use another OSD'


@table(
    *(
        row
        for n, state in enumerate((rollout(**UNWATCHED), SECOND))
        for text, away, absent_s, leaves in (
            (REMOVED, {'gone': True}, 2.0, True),
            (REMOVED, {'gone': True}, 1.9, False),
            (IS_OUT, {'up': False, 'in_cluster': False}, 300.0, True),
            (IS_OUT, {'up': False, 'in_cluster': False}, 299.9, False),
        )
        for reason in [text.format(n)]
        for seen in [{'osd': n, 'absent_s': absent_s, **away}]
        for row in (
            case(
                f'{reason} for {absent_s} s', state, seen,
                **(
                    {'says': f'{reason}: it will be left behind unless it returns', 'same': True}
                    if not leaves
                    else {'failure': reason + CANARY, **ENDS}
                    if n == 0
                    else {'of': 1, 'step': LEFT, 'left_reason': reason, 'ended': False}
                ),
            ),
            case(
                f'{reason} for {absent_s} s in mode off', state, {**seen, 'may_act': False},
                same=True, says=NOT_ALLOWED,
            ),
        )
    ),
    *(
        row
        for step in (SETTING, DUE, RESTARTING, CHECKING, SETTLING)
        for state in [rollout(VERIFIED, step, **UNWATCHED)]
        for row in (
            case(
                f'removed: {step.value}', state, {'osd': 1, 'gone': True}, direction=FORWARD, of=1,
                step=RESTORING, left_reason=REMOVED.format(1),
            ),
            case(
                f'recreated: {step.value}', state, {'osd': 1, 'device_class': 'hdd'},
                direction=FORWARD, of=1, step=RESTORING,
                left_reason=f'{HDD.format(1)}; it may run the new string until its next restart',
            ),
            # It ends: a started OSD is finished first, in any mode.
            case(
                f'removed at an abort: {step.value}', replace(state, ending=ABORTED),
                {'osd': 1, 'gone': True, 'may_act': False}, direction=RECOVER, of=1,
                step=RESTORING, restart_needed=True,
            ),
        )
    ),
    # Of one that is verified the entry is restored; one that is only out keeps it.
    case(
        'removed: verified', rollout(VERIFIED, LEFT, **UNWATCHED), {'gone': True}, step=RESTORING,
        left_reason=REMOVED.format(0),
    ),
    case(
        'out: verified', rollout(VERIFIED, LEFT, **UNWATCHED),
        {'up': False, 'in_cluster': False}, step=VERIFIED,
    ),
    case(
        'removed: left behind', rollout(VERIFIED, LEFT, **UNWATCHED), {'osd': 1, 'gone': True},
        of=1, step=LEFT, left_reason=None,
    ),
    # Only its entry is left to be done: it is not restored again.
    *(
        case(
            f'{step.value}: {seen}',
            rollout(
                step, *[VERIFIED] * 3, shared_touched=True, stage=Phase.COLLAPSING, ending=ending,
                **UNWATCHED,
            ),
            {'entries': {**{f'osd.{n}': NEW for n in (1, 2, 3)}, ALL: NEW}, **seen},
            direction=FORWARD, step=then,
        )
        for step, then in ((RESTORING, LEFT), (COLLAPSING, COLLAPSED))
        for seen in ({'gone': True}, {'device_class': 'hdd'})
        for ending in ((None, ABORTED) if step is COLLAPSING else (None,))
    ),
)  # fmt: skip
def test_osd_that_is_away_is_awaited_left_behind_or_ends_the_rollout(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    """Two seconds where it was removed, five minutes where it is down and out."""
    decides(state, seen, expected)
