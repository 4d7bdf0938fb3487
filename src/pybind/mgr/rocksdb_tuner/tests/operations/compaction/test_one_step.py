"""Single decisions of a compaction campaign, at the edges of their limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any, Optional

import pytest

from rocksdb_tuner.operations.compaction.machine import (
    Compact,
    Limits,
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
from rocksdb_tuner.operations.gates import ClusterView
from rocksdb_tuner.operations.phases import Outcome, Phase, paused
from rocksdb_tuner.tests.fake_cluster import FakeCluster

LIMITS = Limits()
GIB = 1 << 30
PENDING, COMPACTING, SETTLING, DONE, SKIPPED = CompactionStep
CLUSTER = FakeCluster(6, per_host=3)
NONCES = {n: osd.nonce for n, osd in CLUSTER.osds.items()}


def campaign(*steps: CompactionStep, asked: int = 1, **changes: object) -> CampaignState:
    """OSDs in that step; a compacting one had started 4 compactions before it was asked."""
    places = tuple(CLUSTER.places.items())
    state = planned('c1', CampaignRequest('osd-abc', 'osd', 'x=y', places, 'operator'), 1.0)
    made = tuple(
        replace(osd, step=at, asked=asked, nonce=NONCES[osd.osd_id], started_before=4)
        if at is not PENDING
        else osd
        for osd, at in zip(state.osds, steps)
    )
    fields = {'stage': Phase.PROMOTING, 'baseline_ms': 5.0, **changes}
    osds = (*made, *islice(state.osds, len(made), None))
    return replace(state, osds=osds, **fields)  # type: ignore[arg-type]


def probe(osd_id: int, *, running: bool = False, started: int = 4, other: int = 0) -> Probe:
    return Probe((NONCES[osd_id] or 0) + other, started, running)


def view(osd_id: int, **changes: Any) -> View:
    """That OSD is at hand, at rest, and nothing holds the campaign up."""
    ids = tuple(CLUSTER.osds)
    measured = Measured(dict.fromkeys(ids, GIB), dict.fromkeys(ids, 4 * GIB), 5.0, frozenset())
    fields: dict[str, Any] = {
        'cluster': ClusterView(
            cluster=CLUSTER.cluster_map(),
            pgs=CLUSTER.pg_summary(),
            health=frozenset(),
            ok_to_stop=dict.fromkeys(ids),
            versions=CLUSTER.daemon_versions(),
        ),
        'watched_s': 1000.0,
        'in_step_s': 1000.0,
        'probe': probe(osd_id),
    }
    for name, value in changes.items():
        if name in Measured._fields:
            measured = measured._replace(**{name: value})
        elif name in View.__dataclass_fields__:
            fields[name] = value
        else:
            fields['cluster'] = replace(fields['cluster'], **{name: value})
    return View(measured=measured, **fields)


def with_osd(seen: View, osd_id: int, **changes: Any) -> View:
    """With that OSD changed in the OSD map; without changes, it is not in it."""
    osds = (
        replace(osd, **changes) if osd.osd_id == osd_id else osd
        for osd in seen.cluster.cluster.osds
        if changes or osd.osd_id != osd_id
    )
    cluster = replace(seen.cluster.cluster, osds=tuple(osds))
    return replace(seen, cluster=replace(seen.cluster, cluster=cluster))


def after(state: CampaignState, seen: View) -> Step:
    return step(state, seen, 2.0)


def first(found: Step) -> OsdCompaction:
    return found.state.osds[0]


def waits(found: Step) -> str:
    """Why nothing is requested."""
    assert found.actions == ()
    return found.state.paused_reason or ''


# -- before anything is compacted


def test_new_active_manager_observes_for_ten_seconds() -> None:
    early = after(campaign(DONE), view(1, watched_s=9.9))
    assert 'samples first' in waits(early)
    assert after(campaign(DONE), view(1, watched_s=10.0)).actions == (Compact(1),)


def test_client_latency_is_sampled_for_a_minute_and_stored() -> None:
    state = campaign(stage=Phase.PREFLIGHT, baseline_ms=None)
    early = after(state, view(0, watched_s=59.9))
    assert (early.actions, early.state) == ((), state)
    assert early.waits_for == 'measuring client write latency before the first OSD'
    found = after(state, view(0, watched_s=60.0, latency_ms=7.0))
    assert (found.actions, found.state.stage, found.state.baseline_ms) == ((), Phase.CANARY, 7.0)
    again = campaign(DONE, stage=Phase.PREFLIGHT, baseline_ms=None)
    assert after(again, view(1)).state.stage is Phase.PROMOTING


def test_request_stores_process_count_and_size() -> None:
    state = campaign(last_error='x', stage=Phase.CANARY)
    found = after(state, view(0, used_bytes={0: 2 * GIB - 1}))
    assert found.actions == (Compact(0),)
    assert first(found) == replace(
        state.osds[0],
        step=COMPACTING,
        nonce=NONCES[0],
        started_before=4,
        asked=1,
        used_before_bytes=2 * GIB - 1,
    )
    left = found.state
    assert (left.last_error, left.stage, left.updated_s) == (None, Phase.CANARY, 2.0)
    assert after(campaign(SKIPPED), view(1)).state.stage is Phase.PROMOTING


@pytest.mark.parametrize(('used', 'asked'), [(0, True), (2 * GIB, True), (2 * GIB + 1, False)])
def test_second_copy_of_the_db_must_fit(used: int, asked: bool) -> None:
    found = after(campaign(), view(0, used_bytes={0: used}, total_bytes={0: 4 * GIB}))
    assert bool(found.actions) is asked
    assert (first(found).step is SKIPPED) is not asked


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
    unknown: dict[str, object], named: str
) -> None:
    for stage in (Phase.PREFLIGHT, Phase.PROMOTING):
        found = after(campaign(DONE, stage=stage), view(1, **unknown))
        assert named in waits(found)
        assert (found.state.osds, found.state.stage) == (campaign(DONE).osds, stage)
    over = after(campaign(DONE, COMPACTING), view(1, probe=probe(1, started=5), **unknown))
    assert over.state.osds[1].step is SETTLING


def test_no_client_writes_are_not_unknown_ones() -> None:
    """No writes at all let the next OSD start; the first writes become the baseline."""
    state = campaign(DONE, baseline_ms=None)
    assert after(state, view(1, latency_ms=None)).actions
    written = after(state, view(1, latency_ms=7.0))
    assert (written.actions, written.state.baseline_ms) == ((), 7.0)
    assert after(written.state, view(1, latency_ms=7.0)).actions
    assert after(written.state, view(1, latency_ms=70.0)).state.phase is Phase.WAITING


@pytest.mark.parametrize(('latency', 'asked'), [(7.5, True), (7.51, False), (None, True)])
def test_latency_of_more_than_one_and_a_half_blocks_the_next_osd(
    latency: Optional[float], asked: bool
) -> None:
    found = after(campaign(DONE), view(1, latency_ms=latency))
    assert bool(found.actions) is asked
    slow = 'more than 1.5 times the baseline of 5.0 ms' in (found.state.paused_reason or '')
    assert slow is not asked


def test_osd_with_unknown_counters_or_a_compaction_by_others_is_not_asked() -> None:
    found = after(campaign(DONE), view(1, probe=None))
    assert (found.actions, found.state) == ((), campaign(DONE))
    assert found.waits_for == 'osd.1 has not returned its counters yet'
    busy = after(campaign(DONE), view(1, probe=probe(1, running=True)))
    assert waits(busy) == 'osd.1 is already compacting, not started by this campaign'


@pytest.mark.parametrize(
    ('held', 'text'),
    [
        ({'health': frozenset({'MON_DOWN'})}, 'MON_DOWN'),
        ({'ok_to_stop': {1: 'unsafe'}}, 'osd.1 is not ok-to-stop: unsafe'),
        ({'schedule_reason': 'outside the window'}, 'outside the window'),
        ({'may_act': False}, 'mode'),
    ],
)
@pytest.mark.parametrize('asked', [0, 1])
def test_blocking_reason_is_named_and_prevents_the_request(
    held: dict[str, object], text: str, asked: int
) -> None:
    """The first as well as a second one."""
    state = campaign(DONE)
    osds = (state.osds[0], replace(state.osds[1], asked=asked), *state.osds[2:])
    found = after(replace(state, osds=osds), view(1, **held))
    assert text in waits(found)
    assert found.state.osds == osds
    stopped = after(paused(state, 'client.ann', 1.5), view(1, **held))
    assert waits(stopped) == 'paused by client.ann'


# -- what runs


def test_compaction_is_done_once_counted_and_no_longer_running() -> None:
    state = campaign(COMPACTING)
    done = after(state, view(0, probe=probe(0, started=5), in_step_s=1.0))
    assert first(done).step is SETTLING
    for still in (probe(0, started=5, running=True), probe(0, started=4), None):
        found = after(state, view(0, probe=still, in_step_s=1.0))
        assert (first(found).step, found.actions) == (COMPACTING, ())


def test_size_is_taken_thirty_seconds_after_the_end() -> None:
    state = campaign(SETTLING)
    early = after(state, view(0, in_step_s=29.9))
    assert first(early).step is SETTLING
    assert early.waits_for == 'osd.0 has compacted and is deleting old files'
    done = first(after(state, view(0, in_step_s=30.0, used_bytes={0: 7})))
    assert (done.step, done.used_after_bytes) == (DONE, 7)
    unknown = first(after(state, view(0, used_bytes={})))
    assert (unknown.step, unknown.used_after_bytes) == (DONE, None)


def test_highest_latency_during_a_compaction_is_stored() -> None:
    state, highest = campaign(COMPACTING), []
    for latency in (None, 6.0, 9.0, 7.0, None):
        found = after(state, view(0, probe=probe(0, running=True), latency_ms=latency))
        state = found.state
        highest.append(first(found).latency_ms)
    assert highest == [None, 6.0, 9.0, 9.0, 9.0]


def test_activity_of_an_osd_is_reported_with_its_duration_and_not_stored() -> None:
    """One that never answers resembles one of Pacific that compacts: both show the duration."""
    running = view(0, probe=probe(0, running=True), in_step_s=7800.0, watched_s=9e4)
    silent = replace(running, probe=None)
    two_hours = 'osd.0 has been compacting for 2h 10m'
    state = replace(campaign(COMPACTING), osds=after(campaign(COMPACTING), silent).state.osds)
    for held in (state, paused(state, 'client.ann', 1.5), aborted(state, 'client.ann', 1.5)):
        assert after(held, running).waits_for == two_hours
        assert after(held, silent).waits_for == f'{two_hours} and has not answered'
        assert after(held, silent).state == held
    # It started under the previous manager.
    taken_over = after(state, replace(silent, watched_s=7800.0)).waits_for
    assert taken_over == 'osd.0 has been compacting for at least 2h 10m and has not answered'
    asked = after(state, view(0, in_step_s=3.0)).waits_for
    assert asked == 'compaction requested from osd.0'
    assert after(campaign(DONE), view(1)).waits_for is None
    assert after(state, with_osd(silent, 0, up=False)).waits_for is None


def test_compaction_that_did_not_start_is_requested_again_and_then_left() -> None:
    """After fifteen seconds; with all guards of a first request, and the last answer at the end."""
    assert after(campaign(COMPACTING), view(0, in_step_s=14.9)).state.osds[0].step is COMPACTING
    again = after(campaign(COMPACTING), view(0, in_step_s=15.0))
    assert (again.actions, first(again).step, first(again).asked) == ((), PENDING, 1)
    second = after(again.state, view(0))
    assert (second.actions, first(second).step, first(second).asked) == (
        (Compact(0),), COMPACTING, 2
    )  # fmt: skip
    left = first(after(second.state, view(0)))
    assert (left.step, left.reason) == (SKIPPED, 'it did not start compacting after 2 requests')
    answered = first(after(replace(second.state, last_error='osd.0: EBUSY'), view(0)))
    assert answered.reason == 'it did not start compacting after 2 requests (osd.0: EBUSY)'


def test_compaction_ends_with_its_process() -> None:
    """At once; what the new one counts is not this compaction, and what it runs is awaited."""
    state = campaign(COMPACTING)
    other = probe(0, started=9, other=1)
    assert first(after(state, view(0, probe=other, in_step_s=0.0))).step is PENDING
    runs = other._replace(running=True)
    assert first(after(state, view(0, probe=runs))).step is COMPACTING
    assert first(after(campaign(COMPACTING, asked=2), view(0, probe=other))).step is SKIPPED


# -- who is down, out or silent


@pytest.mark.parametrize('at', [PENDING, COMPACTING])
def test_nothing_is_concluded_before_the_map_is_read(at: CompactionStep) -> None:
    empty = view(0)
    for n in CLUSTER.osds:
        empty = with_osd(empty, n)
    found = after(campaign(at), empty)
    assert first(found).step in {at, PENDING}
    assert found.actions == ()


@pytest.mark.parametrize('at', [PENDING, COMPACTING])
def test_osd_that_is_down_is_awaited_and_a_removed_one_skipped(at: CompactionStep) -> None:
    state = campaign(at)
    down = after(state, with_osd(view(0, probe=probe(0, started=5)), 0, up=False))
    assert (first(down).step, waits(down)) == (at, 'osd.0 is down')
    gone = after(state, with_osd(view(0), 0))
    assert (first(gone).step, first(gone).reason) == (SKIPPED, 'it is no longer in the OSD map')
    assert after(gone.state, with_osd(view(1), 0)).actions == (Compact(1),)


@pytest.mark.parametrize('at', [PENDING, COMPACTING])
@pytest.mark.parametrize('paused_by', [None, 'client.ann'])
def test_osd_down_and_out_is_skipped_after_five_minutes(
    at: CompactionStep, paused_by: Optional[str]
) -> None:
    state = campaign(DONE, at, paused_by=paused_by)
    away = with_osd(view(1, away_s=300.0), 1, up=False, in_cluster=False)
    before = after(state, replace(away, away_s=299.9)).state
    assert [osd.step for osd in before.osds[:2]] == [DONE, at]
    shown = 'osd.1 is down and out: it will be left behind unless it returns'
    assert before.paused_reason == (f'paused by {paused_by}' if paused_by else shown)
    left = after(state, away).state.osds[1]
    # An OSD that is not started needs no decision while nothing may start.
    kept = at is PENDING and paused_by is not None
    assert (left.step, left.reason) == ((at, None) if kept else (SKIPPED, 'it is down and out'))


def test_osd_without_samples_is_skipped_after_five_minutes_unless_it_compacts() -> None:
    state, silent = campaign(DONE), view(1, away_s=300.0, used_bytes={0: GIB})
    left = after(state, silent).state.osds[1]
    assert left.step is SKIPPED
    assert left.reason == 'its DB use, its size or its client writes were unknown for 5m'
    assert after(state, replace(silent, away_s=299.9)).state.osds[1].step is PENDING
    assert after(state, with_osd(silent, 3, up=False)).state.osds[1].step is PENDING
    busy = replace(silent, probe=probe(1, running=True))
    assert after(campaign(DONE, COMPACTING), busy).state.osds[1].step is COMPACTING


# -- from outside


def test_abort_ends_at_once_if_idle_and_otherwise_after_the_running_compaction() -> None:
    at_once = aborted(campaign(DONE), 'client.ann', 3.0)
    assert (at_once.stage, at_once.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert (at_once.failure, at_once.updated_s) == ('aborted by client.ann', 3.0)
    assert after(at_once, view(1)) == Step(at_once)
    ending = aborted(paused(campaign(COMPACTING), 'client.bob', 2.0), 'client.ann', 3.0)
    assert (ending.ended, ending.paused_by, ending.paused_reason) == (False, None, None)
    running = after(ending, view(0, probe=probe(0, running=True)))
    assert (running.state.ended, running.actions) == (False, ())
    # A compaction that did not start is no longer requested.
    left = after(after(ending, view(0)).state, view(0))
    assert (left.state.outcome, left.state.ending, left.actions) == (Outcome.ABORTED, None, ())
    away = with_osd(view(0, away_s=300.0), 0, up=False, in_cluster=False)
    ended = after(after(ending, away).state, away).state
    assert ended.failure == 'aborted by client.ann; osd.0: it is down and out'


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
    failed = after(replace(campaign(), osds=tuple(left)), view(0)).state
    assert (failed.stage, failed.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert failed.failure == '; '.join([f'osd.{n}: x' for n in range(5)]) + '; and 1 more'
    some = (*left[:5], replace(left[5], step=DONE))
    done = after(replace(campaign(), osds=some), view(0)).state
    assert (done.stage, done.outcome) == (Phase.DONE, Outcome.DONE)
    assert done.failure == '; '.join([f'osd.{n}: x' for n in range(5)])
    clean = after(campaign(*[DONE] * 6), view(0)).state
    assert (clean.outcome, clean.failure) == (Outcome.DONE, None)
