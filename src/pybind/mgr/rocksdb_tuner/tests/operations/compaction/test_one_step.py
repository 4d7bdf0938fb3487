"""Single decisions of a compaction campaign, at the edges of their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import islice
from typing import Any, Optional

import pytest

from rocksdb_tuner.operations.compaction.machine import (
    Compact,
    Measured,
    Probe,
    Step,
    View,
    startable,
    step,
)
from rocksdb_tuner.operations.compaction.records import (
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    aborted,
    planned,
    resumed,
)
from rocksdb_tuner.operations.gates import NOT_ALLOWED, ClusterView
from rocksdb_tuner.operations.phases import Outcome, Phase, paused
from rocksdb_tuner.tests.fake_cluster import FakeCluster

GIB = 1 << 30
PENDING, COMPACTING, SETTLING, DONE, SKIPPED = CompactionStep
CLUSTER = FakeCluster(6, per_host=3)
NONCES = {n: osd.nonce for n, osd in CLUSTER.osds.items()}
_OF_OSD = frozenset(field.name for field in fields(OsdCompaction))


def campaign(*steps: CompactionStep, asked: Any = 1, **changes: Any) -> CampaignState:
    """OSDs in that step; a compacting one had started 4 compactions before it was asked."""
    places = tuple(CLUSTER.places.items())
    state = planned('c1', CampaignRequest('osd-abc', 'osd', 'x=y', places, 'operator'), 1.0)
    made = tuple(
        replace(osd, step=at, asked=asked, nonce=NONCES[osd.osd_id], started_before=4)
        if at is not PENDING
        else osd
        for osd, at in zip(state.osds, steps)
    )
    given = {'stage': Phase.PROMOTING, 'baseline_ms': 5.0, **changes}
    return replace(state, osds=(*made, *islice(state.osds, len(made), None)), **given)


def probe(osd_id: int, *, running: bool = False, started: int = 4, other: int = 0) -> Probe:
    return Probe((NONCES[osd_id] or 0) + other, started, running)


def view(of: int, up: bool = True, gone: Any = (), in_cluster: bool = True, **changes: Any) -> View:
    """That OSD is at hand, at rest, and nothing holds the campaign up.

    ``gone``: OSDs that are not in the map.
    """
    ids = tuple(CLUSTER.osds)
    measured = Measured(dict.fromkeys(ids, GIB), dict.fromkeys(ids, 4 * GIB), 5.0, frozenset())
    osds = tuple(
        replace(osd, up=up, in_cluster=in_cluster) if osd.osd_id == of else osd
        for osd in CLUSTER.cluster_map().osds
        if osd.osd_id not in gone
    )
    cluster = ClusterView(
        cluster=replace(CLUSTER.cluster_map(), osds=osds),
        pgs=CLUSTER.pg_summary(),
        health=frozenset(),
        ok_to_stop=dict.fromkeys(ids),
        versions=CLUSTER.daemon_versions(),
    )
    given: dict[str, Any] = {'watched_s': 1000.0, 'in_step_s': 1000.0, 'probe': probe(of)}
    for name, value in changes.items():
        if name in Measured._fields:
            measured = measured._replace(**{name: value})
        elif name in View.__dataclass_fields__:
            given[name] = value
        else:
            cluster = replace(cluster, **{name: value})
    return View(cluster=cluster, measured=measured, **given)


def decides(state: CampaignState, seen: View, of: Any = 0, **expected: Any) -> Step:
    """Of that OSD or of the campaign. ``does``: the OSD that is asked; ``says``: why it waits."""
    found = step(state, seen, 2.0)
    does = expected.pop('does', None)
    assert found.actions == (() if does is None else (Compact(does),))
    if 'waits_for' in expected:
        assert found.waits_for == expected.pop('waits_for')
    assert expected.pop('says', '') in (found.state.paused_reason or '')
    for name, value in expected.items():
        owner: Any = found.state.osds[of] if name in _OF_OSD else found.state
        assert getattr(owner, name) == value, f'{name} is {getattr(owner, name)}'
    return found


# -- before anything is compacted

MAY_NOT = {'osds': campaign(DONE).osds}
SLOW = 'more than 1.5 times the baseline of 5.0 ms'


def test_new_active_manager_observes_for_ten_seconds() -> None:
    decides(campaign(DONE), view(1, watched_s=9.9), says='samples first')
    decides(campaign(DONE), view(1, watched_s=10.0), does=1)


def test_client_latency_is_sampled_for_a_minute_and_stored() -> None:
    state = campaign(stage=Phase.PREFLIGHT, baseline_ms=None)
    early = 'measuring client write latency before the first OSD'
    assert decides(state, view(0, watched_s=59.9), waits_for=early).state == state
    late = view(0, watched_s=60.0, latency_ms=7.0)
    decides(state, late, stage=Phase.CANARY, baseline_ms=7.0)
    again = campaign(DONE, stage=Phase.PREFLIGHT, baseline_ms=None)
    decides(again, view(1), stage=Phase.PROMOTING)


def test_request_stores_process_count_and_size() -> None:
    state = campaign(last_error='x', stage=Phase.CANARY)
    small = view(0, used_bytes={0: 2 * GIB - 1})
    stored = {'step': COMPACTING, 'nonce': NONCES[0], 'started_before': 4, 'asked': 1}
    known = {'last_error': None, 'stage': Phase.CANARY, 'updated_s': 2.0}
    decides(state, small, does=0, used_before_bytes=2 * GIB - 1, **stored, **known)
    decides(campaign(SKIPPED), view(1), does=1, stage=Phase.PROMOTING)


@pytest.mark.parametrize(('used', 'asked'), [(0, True), (2 * GIB, True), (2 * GIB + 1, False)])
def test_second_copy_of_the_db_must_fit(used: int, asked: bool) -> None:
    seen = view(0, used_bytes={0: used}, total_bytes={0: 4 * GIB})
    decides(campaign(), seen, does=0 if asked else None, step=COMPACTING if asked else SKIPPED)


@pytest.mark.parametrize(
    ('unknown', 'named'),
    [
        ({'used_bytes': {0: GIB}}, 'whether a second copy of the DB fits on osd.1'),
        ({'total_bytes': {0: 4 * GIB}}, 'whether a second copy of the DB fits on osd.1'),
        ({'unmeasured': {3}, 'latency_ms': None}, 'whether client writes are slow'),
        # Others are fast, but writes on this one may take long.
        ({'unmeasured': {3}}, 'no current sample of client writes on osd.3'),
    ],
)
def test_guard_that_cannot_be_evaluated_holds_the_next_osd_and_not_what_is_under_way(
    unknown: dict[str, Any], named: str
) -> None:
    for stage in (Phase.PREFLIGHT, Phase.PROMOTING):
        decides(campaign(DONE, stage=stage), view(1, **unknown), says=named, stage=stage, **MAY_NOT)
    over = view(1, probe=probe(1, started=5), **unknown)
    decides(campaign(DONE, COMPACTING), over, of=1, step=SETTLING)


def test_no_client_writes_are_not_unknown_ones() -> None:
    """No writes at all let the next OSD start; the first writes become the baseline."""
    state = campaign(DONE, baseline_ms=None)
    decides(state, view(1, latency_ms=None), does=1)
    written = decides(state, view(1, latency_ms=7.0), baseline_ms=7.0).state
    decides(written, view(1, latency_ms=7.0), does=1)
    decides(written, view(1, latency_ms=70.0), phase=Phase.WAITING)


@pytest.mark.parametrize(
    ('seen', 'says'),
    [
        ({'latency_ms': 7.5}, None),
        ({'latency_ms': None}, None),
        ({'latency_ms': 7.51}, SLOW),
        ({'probe': probe(1, running=True)}, 'osd.1 is already compacting, not started by this'),
        ({'health': frozenset({'MON_DOWN'})}, 'MON_DOWN'),
        ({'ok_to_stop': {1: 'unsafe'}}, 'osd.1 is not ok-to-stop: unsafe'),
        ({'schedule_reason': 'outside the window'}, 'outside the window'),
        ({'may_act': False}, NOT_ALLOWED),
    ],
)
@pytest.mark.parametrize('asked', [0, 1])
def test_blocking_reason_is_named_and_prevents_the_request(
    seen: dict[str, Any], says: Optional[str], asked: int
) -> None:
    """The first as well as a second one."""
    state = campaign(DONE)
    osds = (state.osds[0], replace(state.osds[1], asked=asked), *state.osds[2:])
    state = replace(state, osds=osds)
    if says is None:
        decides(state, view(1, **seen), does=1)
    else:
        decides(state, view(1, **seen), says=says, osds=osds)
    decides(paused(state, 'client.ann', 1.5), view(1, **seen), paused_reason='paused by client.ann')


def test_osd_with_unknown_counters_is_not_asked() -> None:
    seen, waits_for = view(1, probe=None), 'osd.1 has not returned its counters yet'
    assert decides(campaign(DONE), seen, waits_for=waits_for).state == campaign(DONE)


# -- what runs


def test_compaction_is_done_once_counted_and_no_longer_running() -> None:
    state = campaign(COMPACTING)
    decides(state, view(0, probe=probe(0, started=5), in_step_s=1.0), step=SETTLING)
    for still in (probe(0, started=5, running=True), probe(0, started=4), None):
        decides(state, view(0, probe=still, in_step_s=1.0), step=COMPACTING)


def test_size_is_taken_thirty_seconds_after_the_end() -> None:
    state, waits_for = campaign(SETTLING), 'osd.0 has compacted and is deleting old files'
    decides(state, view(0, in_step_s=29.9), step=SETTLING, waits_for=waits_for)
    for sizes in ({0: 7}, {}):
        seen = view(0, in_step_s=30.0, used_bytes=sizes)
        decides(state, seen, step=DONE, used_after_bytes=sizes.get(0))


def test_highest_latency_during_a_compaction_is_stored() -> None:
    state, highest = campaign(COMPACTING), []
    for latency in (None, 6.0, 9.0, 7.0, None):
        seen = view(0, probe=probe(0, running=True), latency_ms=latency)
        state = decides(state, seen).state
        highest.append(state.osds[0].latency_ms)
    assert highest == [None, 6.0, 9.0, 9.0, 9.0]


def test_activity_of_an_osd_is_reported_with_its_duration_and_not_stored() -> None:
    """One that never answers resembles one of Pacific that compacts: both show the duration."""
    long: dict[str, Any] = {'in_step_s': 7800.0, 'watched_s': 9e4}
    silent = view(0, probe=None, **long)
    two_hours = 'osd.0 has been compacting for 2h 10m'
    unanswered = f'{two_hours} and has not answered'
    state = decides(campaign(COMPACTING), silent).state
    for held in (state, paused(state, 'client.ann', 1.5), aborted(state, 'client.ann', 1.5)):
        decides(held, view(0, probe=probe(0, running=True), **long), waits_for=two_hours)
        assert decides(held, silent, waits_for=unanswered).state == held
    # It started under the previous manager.
    taken_over = 'osd.0 has been compacting for at least 2h 10m and has not answered'
    decides(state, replace(silent, watched_s=7800.0), waits_for=taken_over)
    decides(state, view(0, in_step_s=3.0), waits_for='compaction requested from osd.0')
    decides(campaign(DONE), view(1), does=1, waits_for=None)
    decides(state, view(0, up=False, probe=None, **long), waits_for=None)


def test_compaction_that_did_not_start_is_requested_again_and_then_left() -> None:
    """After fifteen seconds; with all guards of a first request, and the last answer at the end."""
    decides(campaign(COMPACTING), view(0, in_step_s=14.9), step=COMPACTING)
    again = decides(campaign(COMPACTING), view(0, in_step_s=15.0), step=PENDING, asked=1).state
    second = decides(again, view(0), does=0, step=COMPACTING, asked=2).state
    reason = 'it did not start compacting after 2 requests'
    decides(second, view(0), step=SKIPPED, reason=reason)
    refused = replace(second, last_error='osd.0: EBUSY')
    decides(refused, view(0), reason=f'{reason} (osd.0: EBUSY)')


def test_compaction_ends_with_its_process() -> None:
    """At once; what the new one counts is not this compaction, and what it runs is awaited."""
    other = probe(0, started=9, other=1)
    decides(campaign(COMPACTING), view(0, probe=other, in_step_s=0.0), step=PENDING)
    decides(campaign(COMPACTING), view(0, probe=other._replace(running=True)), step=COMPACTING)
    decides(campaign(COMPACTING, asked=2), view(0, probe=other), step=SKIPPED)


# -- who is down, out or silent


@pytest.mark.parametrize('at', [PENDING, COMPACTING])
def test_osd_that_is_down_is_awaited_and_a_removed_one_skipped(at: CompactionStep) -> None:
    state = campaign(at)
    # Before the map is read nothing is concluded.
    found = decides(state, view(0, gone=tuple(NONCES)))
    assert found.state.osds[0].step in {at, PENDING}
    down = view(0, up=False, probe=probe(0, started=5))
    decides(state, down, step=at, paused_reason='osd.0 is down')
    gone = decides(state, view(0, gone=(0,)), step=SKIPPED, reason='it is no longer in the OSD map')
    decides(gone.state, view(1, gone=(0,)), does=1)


@pytest.mark.parametrize('at', [PENDING, COMPACTING])
@pytest.mark.parametrize('paused_by', [None, 'client.ann'])
def test_osd_down_and_out_is_skipped_after_five_minutes(
    at: CompactionStep, paused_by: Optional[str]
) -> None:
    state = campaign(DONE, at, paused_by=paused_by)
    out: dict[str, Any] = {'up': False, 'in_cluster': False}
    shown = 'osd.1 is down and out: it will be left behind unless it returns'
    says = f'paused by {paused_by}' if paused_by else shown
    decides(state, view(1, away_s=299.9, **out), of=1, step=at, paused_reason=says)
    # An OSD that is not started needs no decision while nothing may start.
    kept = at is PENDING and paused_by is not None
    then = (
        {'step': at, 'reason': None} if kept else {'step': SKIPPED, 'reason': 'it is down and out'}
    )
    decides(state, view(1, away_s=300.0, **out), of=1, **then)


def test_osd_without_samples_is_skipped_after_five_minutes_unless_it_compacts() -> None:
    silent: dict[str, Any] = {'used_bytes': {0: GIB}}
    reason = 'its DB use, its size or its client writes were unknown for 5m'
    decides(campaign(DONE), view(1, away_s=300.0, **silent), of=1, step=SKIPPED, reason=reason)
    decides(campaign(DONE), view(1, away_s=299.9, **silent), of=1, step=PENDING)
    another = view(3, up=False, away_s=300.0, **silent)
    decides(campaign(DONE), replace(another, probe=probe(1)), of=1, step=PENDING)
    busy = view(1, away_s=300.0, probe=probe(1, running=True), **silent)
    decides(campaign(DONE, COMPACTING), busy, of=1, step=COMPACTING)


# -- from outside


def test_abort_ends_at_once_if_idle_and_otherwise_after_the_running_compaction() -> None:
    at_once = aborted(campaign(DONE), 'client.ann', 3.0)
    assert (at_once.stage, at_once.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert (at_once.failure, at_once.updated_s) == ('aborted by client.ann', 3.0)
    assert step(at_once, view(1), 2.0) == Step(at_once)
    ending = aborted(paused(campaign(COMPACTING), 'client.bob', 2.0), 'client.ann', 3.0)
    assert (ending.ended, ending.paused_by, ending.paused_reason) == (False, None, None)
    decides(ending, view(0, probe=probe(0, running=True)), ended=False)
    # A compaction that did not start is no longer requested.
    decides(decides(ending, view(0)).state, view(0), outcome=Outcome.ABORTED, ending=None)
    away = view(0, away_s=300.0, up=False, in_cluster=False)
    failure = 'aborted by client.ann; osd.0: it is down and out'
    decides(decides(ending, away).state, away, failure=failure)


def test_gates_are_needed_for_the_next_osd_alone_and_only_if_it_may_start() -> None:
    assert startable(campaign(DONE)) == 1
    for state in (
        campaign(COMPACTING),
        campaign(DONE, SETTLING),
        campaign(*[DONE] * 6),
        paused(campaign(DONE), 'client.ann', 2.0),
        aborted(campaign(DONE, COMPACTING), 'client.ann', 2.0),
        campaign(ending='aborted'),
    ):
        assert startable(state) is None


def test_resume_resets_the_latency_baseline_unless_an_osd_compacts() -> None:
    idle = resumed(paused(campaign(DONE), 'a', 2.0), 4.0)
    assert (idle.stage, idle.baseline_ms, idle.updated_s) == (Phase.PREFLIGHT, None, 4.0)
    assert (idle.paused_by, idle.paused_reason) == (None, None)
    busy = resumed(paused(campaign(DONE, COMPACTING), 'a', 2.0), 4.0)
    assert (busy.stage, busy.baseline_ms) == (Phase.PROMOTING, 5.0)


def test_conclusion_names_five_skipped_osds_and_counts_the_others() -> None:
    left = [replace(osd, step=SKIPPED, reason='x') for osd in campaign().osds]
    named = '; '.join(f'osd.{n}: x' for n in range(5))
    ends: Mapping[str, Any] = {'stage': Phase.FAILED, 'outcome': Outcome.FAILED}
    nobody = replace(campaign(), osds=tuple(left))
    decides(nobody, view(0), failure=f'{named}; and 1 more', **ends)
    some = replace(campaign(), osds=(*left[:5], replace(left[5], step=DONE)))
    decides(some, view(0), stage=Phase.DONE, outcome=Outcome.DONE, failure=named)
    decides(campaign(*[DONE] * 6), view(0), outcome=Outcome.DONE, failure=None)
