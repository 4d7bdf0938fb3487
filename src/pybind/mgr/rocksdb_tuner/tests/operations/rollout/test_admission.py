"""Refusals before anything is recorded or changed, and their messages."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.phases import OperationRefused, Phase
from rocksdb_tuner.operations.rollout.admission import planned
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.plan.records import OPTION, ChangeRequest
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import (
    ALL,
    CLASS,
    NEW,
    OLD,
    Run,
    remove_override,
    same_meaning,
    set_profile,
)


def refuses(run: Run, request: ChangeRequest, code: int, text: str) -> None:
    with pytest.raises(OperationRefused, match=text) as refused:
        run.start(request)
    assert refused.value.errno == code
    assert run.driver.state is None
    assert run.cluster.commands == []
    assert run.store.values == {}


def test_previous_entries_are_recorded_in_order() -> None:
    """Of both options, but no other OSDs: the stored data is the same each time."""
    cluster = FakeCluster()
    running = {n: RunningOption(cluster.runs(n), 'default', ignores_mon=False) for n in range(3)}
    whos = ('osd/rack:r1', 'global', 'osd.9', 'osd/class:hdd', 'mon', 'osd.2', 'osd')
    state = planned(
        'r1',
        set_profile(cluster),
        cluster=cluster.cluster_map(),
        entries={'osd/rack:r1': OLD, 'global': OLD, 'osd.9': OLD, 'mon': OLD},
        other_entries=dict.fromkeys(whos, OLD),
        running=running,
        same_meaning=same_meaning,
        now_s=1.0,
        soak=SoakPlan(),
    )
    assert [who for who, _ in state.before.entries] == ['global', 'mon', 'osd/rack:r1']
    assert state.before.other_entries is not None
    others = [who for who, _ in state.before.other_entries]
    assert others == sorted(set(whos) - {'osd.9'})


@pytest.mark.parametrize(
    ('changes', 'wording'),
    [
        ({'option': 'osd_memory_target'}, 'only bluestore_rocksdb_options and .*_annex can'),
        ({'targets': (), 'order': ()}, 'is empty or names an OSD twice'),
        ({'order': (0, 1)}, 'does not match "request.order"'),
        ({'order': (0, 1, 2, 2)}, 'names an OSD twice'),
        ({'targets': ((0, NEW), (1, NEW), (2, NEW), (2, OLD))}, '"request.targets" does not'),
        ({'final_entries': ((ALL, NEW), (ALL, OLD))}, 'names an entry twice'),
        ({'final_entries': (('osd.1', OLD),)}, r'another value for osd\.1 than its target'),
    ],
)
def test_contradictory_request_is_refused(
    run: Run, changes: dict[str, object], wording: str
) -> None:
    refuses(run, set_profile(run.cluster, **changes), errno.EINVAL, wording)  # type: ignore[arg-type]


def test_unknown_osd_is_answered_with_the_existing_ones(run: Run) -> None:
    request = set_profile(run.cluster, targets=((0, NEW), (9, NEW)), order=(0, 9))
    refuses(
        run,
        request,
        errno.ENOENT,
        r'osd\.9 is not in the OSD map; it has osd\.0, osd\.1, osd\.2$',
    )


@pytest.mark.parametrize('who', ['osd.1', 'osd.1/class:ssd', 'osd.1/host:node1'])
def test_own_entry_of_an_osd_is_never_lost_silently(run: Run, who: str) -> None:
    run.cluster.operator_sets(who, OLD)
    refuses(
        run,
        set_profile(run.cluster),
        errno.EINVAL,
        f'osd.1 has its own entry.*"ceph config rm {who} {OPTION}" first',
    )


@pytest.mark.parametrize('source', ['file', 'env', 'cmdline', 'override'])
def test_sources_above_the_config_store_are_not_fought(run: Run, source: str) -> None:
    run.cluster.osds[1].shown[OPTION] = RunningOption(OLD, source, ignores_mon=False)
    run.cluster.advance(10)
    words = {'file': 'ceph.conf', 'env': 'environment', 'cmdline': 'command line'}
    refuses(
        run,
        set_profile(run.cluster),
        errno.EINVAL,
        f'of osd.1 comes from .*{words.get(source, "running daemon")}',
    )


def test_osd_without_reported_options_is_named(run: Run) -> None:
    run.cluster.osds[2].silent = True
    refuses(
        run,
        set_profile(run.cluster),
        errno.EAGAIN,
        r'cannot read the running options of osd\.2',
    )


def test_osd_of_unknown_release_is_named(run: Run) -> None:
    cluster = run.cluster
    known = cluster.cluster_map

    def without_metadata() -> object:
        found = known()
        return replace(found, osds=tuple(replace(o, release=None, host=None) for o in found.osds))

    cluster.cluster_map = without_metadata  # type: ignore[method-assign,assignment]
    refuses(run, set_profile(cluster), errno.EAGAIN, r'the release of osd\.0 is not known yet')


@pytest.mark.parametrize('who', ['osd/host:node1', 'osd/class:ssd/host:node1'])
def test_entry_that_would_override_the_final_state_is_named_in_advance(run: Run, who: str) -> None:
    run.cluster.operator_sets(who, OLD)
    refuses(
        run,
        set_profile(run.cluster),
        errno.EINVAL,
        f'the entry of {who} would take precedence for osd.1, with another value',
    )


@pytest.mark.parametrize('who', [CLASS, 'osd/host:node1', 'osd.1/class:ssd'])
def test_entry_that_no_osd_starts_with_is_not_written(run: Run, who: str) -> None:
    request = set_profile(run.cluster, final_entries=((who, NEW), (ALL, NEW)))
    refuses(run, request, errno.EINVAL, f'the entry for {who} has a mask')


def test_final_state_without_an_entry_for_its_osds_is_refused(run: Run) -> None:
    request = set_profile(run.cluster, final_entries=(('osd.0', NEW), ('osd.1', NEW)))
    refuses(run, request, errno.EINVAL, r'no entry would apply to osd\.2 at the end')


def test_override_that_equals_the_default_is_removed_beside_unrelated_osds() -> None:
    """They start with the same, up or down; those of another release with another default."""
    run = Run()
    run.cluster.operator_sets('osd', DEFAULTS['pacific'])
    run.cluster.stop_osd(2)
    request = replace(
        remove_override(run.cluster),
        targets=((0, DEFAULTS['pacific']),),
        order=(0,),
        controls=(),
        restart=False,
    )
    run.cluster.osds[1].release = 'reef'
    refuses(run, request, errno.EINVAL, r'osd\.1 is not among the OSDs to change')
    run.cluster.osds[1].release = 'pacific'
    run.start(request)
    run.run_to_end()
    assert (run.state.phase, run.cluster.entries_of()) == (Phase.DONE, {})


# -- single decisions, of entries in any order


def decided(
    request: ChangeRequest,
    entries: Mapping[str, str],
    cluster: Optional[FakeCluster] = None,
    soak: Optional[SoakPlan] = None,
    runs: str = OLD,
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
    )


def why_not(
    request: ChangeRequest,
    entries: Mapping[str, str],
    cluster: Optional[FakeCluster] = None,
    soak: Optional[SoakPlan] = None,
) -> Optional[str]:
    """Why it is refused; None: it is not."""
    try:
        decided(request, entries, cluster, soak)
    except OperationRefused as refused:
        return refused.message if refused.errno == errno.EINVAL else f'errno {refused.errno}'
    return None


def test_rollout_without_a_possible_verdict_is_not_started() -> None:
    request = set_profile(FakeCluster())
    reported = why_not(request, {}, soak=SoakPlan(least_s=600.0, most_s=300.0))
    assert reported is not None
    assert reported.startswith('soak_min (600 s) is greater than soak_max (300 s)')
    assert why_not(request, {}, soak=SoakPlan(least_s=300.0, most_s=300.0)) is None


def test_change_without_a_restart_requires_osds_that_run_the_value() -> None:
    request = set_profile(FakeCluster(), restart=False)
    assert why_not(request, {}) == 'osd.0 must be restarted first: it runs another value'
    state = decided(request, {}, runs=NEW.replace(',', ';'))
    assert {osd.step for osd in state.osds} == {OsdStep.VERIFIED}
    assert {osd.step for osd in decided(replace(request, restart=True), {}).osds} == {
        OsdStep.PENDING
    }


def test_own_entry_may_be_removed_on_request_except_a_masked_one() -> None:
    cluster = FakeCluster()
    named = set_profile(cluster, final_entries=(('osd.1', None), (ALL, NEW)))
    assert why_not(named, {'osd.1': OLD}) is None
    masked = set_profile(cluster, final_entries=(('osd.1/class:ssd', None), (ALL, NEW)))
    assert 'osd.1 has its own entry' in (why_not(masked, {'osd.1/class:ssd': OLD}) or '')
    # In any order returned by the monitor.
    reported = why_not(set_profile(cluster), {'osd.2': OLD, 'osd.1': OLD})
    assert (reported or '').startswith('osd.1 has its own entry')


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
@pytest.mark.parametrize('out', [False, True])
def test_unrelated_osds_start_with_the_same_options_as_before(
    entries: Mapping[str, str], final: Mapping[str, Optional[str]], accepted: bool, out: bool
) -> None:
    """Also those that are up but out: they come in again by one command."""
    cluster = FakeCluster()
    for n in (1, 2):
        cluster.osds[n].in_cluster = not out
    request = set_profile(
        cluster, targets=((0, NEW),), order=(0,), final_entries=tuple(final.items())
    )
    reported = why_not(request, entries, cluster)
    assert (reported is None) == accepted
    assert reported is None or reported.startswith('osd.1, osd.2 are not among the OSDs to change')


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
