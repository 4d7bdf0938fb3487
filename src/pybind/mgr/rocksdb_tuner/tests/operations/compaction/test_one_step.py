"""Single decisions of a compaction campaign, at the edges of their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.operations.compaction.machine import (
    Limits,
    Measured,
    Probe,
    Step,
    View,
    gated,
    probed,
    step,
)
from rocksdb_tuner.operations.compaction.records import (
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    aborted,
    ask_failed,
    paused,
    planned,
    resumed,
)
from rocksdb_tuner.operations.gates import ClusterView
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.tests.fake_cluster import FakeCluster

LIMITS = Limits()
GIB = 1 << 30
PENDING, COMPACTING, SETTLING, DONE, SKIPPED = CompactionStep


@pytest.fixture
def cluster() -> FakeCluster:
    """Six OSDs, three on each of two hosts."""
    return FakeCluster(6, per_host=3)


def campaign(
    cluster: FakeCluster, *steps: CompactionStep, parallel: int = 1, **changes: object
) -> CampaignState:
    """OSDs in that step; a compacting one was requested once, with 4 compactions before."""
    places = tuple(cluster.places.items())
    request = CampaignRequest('osd-abc', 'osd', 'x=y', places, 'operator', parallel)
    in_progress = planned('c1', request, 1.0)
    made = tuple(
        replace(
            osd,
            step=at,
            asked=int(at is not PENDING),
            nonce=None if at is PENDING else cluster.osds[osd.osd_id].nonce,
            started_before=0 if at is PENDING else 4,
        )
        for osd, at in zip(in_progress.osds, steps)
    )
    fields = {'stage': Phase.PROMOTING, 'baseline_ms': 5.0, **changes}
    osds = (*made, *islice(in_progress.osds, len(made), None))
    return replace(in_progress, osds=osds, **fields)  # type: ignore[arg-type]


def observer(cluster: FakeCluster, **changes: object) -> View:
    """At OSDs that are at rest, with nothing that holds the campaign up."""
    ids = tuple(cluster.osds)
    seen = ClusterView(
        cluster=cluster.cluster_map(),
        pgs=cluster.pg_summary(),
        health=frozenset(),
        ok_to_stop=dict.fromkeys(ids),
        versions=cluster.daemon_versions(),
    )
    measured = Measured(dict.fromkeys(ids, GIB), dict.fromkeys(ids, 4 * GIB), 5.0, frozenset())
    fields: dict[str, object] = {
        'cluster': seen,
        'watched_s': 1000.0,
        'probes': {n: probe(cluster, n) for n in ids},
        'in_step_s': dict.fromkeys(ids, 1000.0),
        **{name: value for name, value in changes.items() if name not in Measured._fields},
    }
    changed = {name: value for name, value in changes.items() if name in Measured._fields}
    return View(measured=measured._replace(**changed), **fields)  # type: ignore[arg-type]


def probed_in(cluster: FakeCluster, state: CampaignState) -> tuple[int, ...]:
    return probed(state, cluster.cluster_map())


def gated_in(
    cluster: FakeCluster, state: CampaignState, probes: Mapping[int, Probe]
) -> tuple[int, ...]:
    return gated(state, cluster.cluster_map(), probes)


def probe(
    cluster: FakeCluster, osd_id: int, *, running: bool = False, started: int = 4, other: int = 0
) -> Probe:
    nonce = cluster.osds[osd_id].nonce + other
    return Probe(nonce=nonce, running=running, started=started)


def with_probe(view: View, osd_id: int, one: Optional[Probe]) -> View:
    left = {n: found for n, found in view.probes.items() if n != osd_id}
    return replace(view, probes=left if one is None else {**left, osd_id: one})


def with_osd(view: View, osd_id: int, **changes: object) -> View:
    def changed(osd: OsdInfo) -> OsdInfo:
        return replace(osd, **changes) if osd.osd_id == osd_id else osd  # type: ignore[arg-type]

    osds = tuple(map(changed, view.cluster.cluster.osds))
    return replace(
        view, cluster=replace(view.cluster, cluster=replace(view.cluster.cluster, osds=osds))
    )


def without(view: View, osd_id: int) -> View:
    osds = tuple(osd for osd in view.cluster.cluster.osds if osd.osd_id != osd_id)
    return replace(
        view, cluster=replace(view.cluster, cluster=replace(view.cluster.cluster, osds=osds))
    )


def after(state: CampaignState, view: View) -> Step:
    return step(state, view, 2.0)


def first(found: Step) -> OsdCompaction:
    return found.state.osds[0]


# -- before anything is compacted


def test_new_active_manager_observes_for_ten_seconds(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE)
    early = after(state, observer(cluster, watched_s=9.9))
    assert (early.compact, early.state.osds) == (None, state.osds)
    assert 'samples first' in (early.state.paused_reason or '')
    assert after(state, observer(cluster, watched_s=10.0)).compact == 1


def test_client_latency_is_sampled_for_a_minute_and_stored(
    cluster: FakeCluster,
) -> None:
    state = campaign(cluster, stage=Phase.PREFLIGHT, baseline_ms=None)
    early = after(state, observer(cluster, watched_s=59.9))
    assert (early.compact, early.state) == (None, state)
    found = after(state, observer(cluster, watched_s=60.0, latency_ms=7.0))
    assert (found.compact, found.state.stage, found.state.baseline_ms) == (
        None,
        Phase.CANARY,
        7.0,
    )
    again = campaign(cluster, DONE, stage=Phase.PREFLIGHT, baseline_ms=None)
    assert after(again, observer(cluster)).state.stage is Phase.PROMOTING


# -- which OSD is started with


def test_request_stores_process_count_and_size(cluster: FakeCluster) -> None:
    state = campaign(cluster, errors=2, last_error='x', stage=Phase.CANARY)
    view = observer(cluster, used_bytes={**dict.fromkeys(cluster.osds, GIB), 0: 2 * GIB - 1})
    found = after(state, view)
    assert found.compact == 0
    assert first(found) == replace(
        state.osds[0],
        step=COMPACTING,
        nonce=cluster.osds[0].nonce,
        started_before=4,
        asked=1,
        used_before_bytes=2 * GIB - 1,
    )
    assert (found.state.errors, found.state.last_error) == (0, None)
    assert (found.state.stage, found.state.updated_s) == (Phase.CANARY, 2.0)
    assert after(campaign(cluster, SKIPPED), view).state.stage is Phase.PROMOTING


@pytest.mark.parametrize(('used', 'asked'), [(0, True), (2 * GIB, True), (2 * GIB + 1, False)])
def test_second_copy_of_the_db_must_fit(cluster: FakeCluster, used: int, asked: bool) -> None:
    view = observer(cluster, used_bytes={0: used}, total_bytes={0: 4 * GIB})
    found = after(campaign(cluster), view)
    assert (found.compact == 0) == asked
    assert (first(found).step is SKIPPED) == (not asked)


#: Without current samples, and the guard that cannot be evaluated.
UNKNOWN = [
    ({'used_bytes': {0: GIB}}, 'whether a second copy of the DB fits on osd.1'),
    ({'total_bytes': {0: 4 * GIB}}, 'whether a second copy of the DB fits on osd.1'),
    ({'unmeasured': {3}, 'latency_ms': None}, 'whether client writes are slow'),
    # Others are fast, but writes on this one may take long.
    ({'unmeasured': {3}}, 'no current sample of client writes on osd.3'),
]


@pytest.mark.parametrize(('unknown', 'named'), UNKNOWN)
@pytest.mark.parametrize('stage', [Phase.PREFLIGHT, Phase.PROMOTING])
def test_guard_that_cannot_be_evaluated_holds_the_next_osd(
    cluster: FakeCluster, unknown: dict[str, object], named: str, stage: Phase
) -> None:
    state = campaign(cluster, DONE, stage=stage)
    found = after(state, observer(cluster, **unknown))
    assert (found.compact, found.state.osds, found.state.stage) == (None, state.osds, stage)
    assert named in (found.state.paused_reason or '')
    assert found.state.phase is Phase.WAITING


@pytest.mark.parametrize(('unknown', 'named'), UNKNOWN)
def test_unknown_guard_holds_a_second_request_and_not_what_is_under_way(
    cluster: FakeCluster, unknown: dict[str, object], named: str
) -> None:
    state = campaign(cluster, DONE, COMPACTING)
    view = observer(cluster, **unknown)
    found = after(state, view)
    assert found.compact is None
    assert named in (found.state.paused_reason or '')
    over = after(state, with_probe(view, 1, probe(cluster, 1, started=5)))
    assert over.state.osds[1].step is SETTLING


def test_no_client_writes_are_not_unknown_ones(cluster: FakeCluster) -> None:
    """No writes at all let the next OSD start; the first writes become the baseline."""
    state = campaign(cluster, DONE, baseline_ms=None)
    assert after(state, observer(cluster, latency_ms=None)).compact == 1
    written = after(state, observer(cluster, latency_ms=7.0))
    assert (written.compact, written.state.baseline_ms) == (None, 7.0)
    assert after(written.state, observer(cluster, latency_ms=7.0)).compact == 1
    slow = after(written.state, observer(cluster, latency_ms=70.0))
    assert (slow.compact, slow.state.phase) == (None, Phase.WAITING)


def test_writes_during_a_compaction_are_no_baseline(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE, COMPACTING, parallel=2, baseline_ms=None)
    running = {n: probe(cluster, n, running=n == 1) for n in cluster.osds}
    found = after(state, observer(cluster, latency_ms=7.0, probes=running))
    assert (found.compact, found.state.baseline_ms) == (None, None)
    assert 'no baseline' in (found.state.paused_reason or '')
    assert after(state, observer(cluster, latency_ms=None, probes=running)).compact == 2


def test_osd_with_unknown_state_is_not_asked(cluster: FakeCluster) -> None:
    state, view = campaign(cluster), observer(cluster)
    for unknown in (with_probe(view, 0, None), with_probe(view, 0, probe(cluster, 0, other=1))):
        found = after(state, unknown)
        assert (found.compact, found.state) == (None, state)
    busy = after(state, with_probe(view, 0, probe(cluster, 0, running=True)))
    assert busy.compact is None
    assert busy.state.paused_reason == 'osd.0 is already compacting, not started by this campaign'


def test_removed_osd_is_skipped_and_the_next_one_follows(cluster: FakeCluster) -> None:
    gone = without(observer(cluster), 0)
    found = after(campaign(cluster), gone)
    assert (first(found).step, first(found).reason) == (
        SKIPPED,
        'it is no longer in the OSD map',
    )
    assert after(found.state, gone).compact == 1


@pytest.mark.parametrize(('latency', 'asked'), [(7.5, True), (7.51, False), (None, True)])
def test_latency_of_more_than_one_and_a_half_blocks_the_next_osd(
    cluster: FakeCluster, latency: Optional[float], asked: bool
) -> None:
    found = after(campaign(cluster, DONE), observer(cluster, latency_ms=latency))
    assert (found.compact == 1) == asked
    assert ('more than 1.5 times the baseline of 5.0 ms' in (found.state.paused_reason or '')) == (
        not asked
    )


def test_blocking_reason_is_named_and_prevents_the_request(
    cluster: FakeCluster,
) -> None:
    state, view = campaign(cluster, DONE), observer(cluster)
    gate = replace(view, cluster=replace(view.cluster, health=frozenset({'MON_DOWN'})))
    window = replace(view, cluster=replace(view.cluster, schedule_reason='outside the window'))
    mode = replace(view, cluster=replace(view.cluster, may_act=False))
    for held, text in ((gate, 'MON_DOWN'), (window, 'outside the window'), (mode, 'mode')):
        found = after(state, held)
        assert found.compact is None
        assert text in (found.state.paused_reason or '')
        assert found.state.osds == state.osds
    stopped = after(paused(state, 'client.ann', 1.5), view)
    assert (stopped.compact, stopped.state.paused_reason) == (None, 'paused by client.ann')


@pytest.mark.parametrize(
    ('steps', 'parallel', 'asked'),
    [
        # The first of all is alone.
        ([COMPACTING], 3, None),
        ([DONE, COMPACTING], 1, None),
        ([DONE, COMPACTING], 2, 2),
        ([SKIPPED, COMPACTING], 2, 2),
        # A file system that still removes files is at work, too.
        ([DONE, SETTLING], 1, None),
        # The fourth is on the other host.
        ([DONE, DONE, COMPACTING], 2, None),
        ([DONE, DONE, DONE, COMPACTING, COMPACTING], 2, None),
        ([DONE, DONE, DONE, COMPACTING, COMPACTING], 3, 5),
    ],
)
def test_requested_number_compacts_in_parallel_in_one_domain(
    cluster: FakeCluster, steps: list[CompactionStep], parallel: int, asked: Optional[int]
) -> None:
    state = campaign(cluster, *steps, parallel=parallel)
    busy = {n: probe(cluster, n, running=n < len(steps), started=4) for n in cluster.osds}
    view = observer(cluster, probes=busy, in_step_s={})
    assert after(state, view).compact == asked
    following = () if asked is None else (asked,)
    flying = tuple(n for n, at in enumerate(steps) if at is COMPACTING)
    assert probed_in(cluster, state) == (*flying, *following)
    assert gated_in(cluster, state, busy) == following


# -- what runs


def test_compaction_is_done_once_counted_and_no_longer_running(cluster: FakeCluster) -> None:
    state, view = campaign(cluster, COMPACTING), observer(cluster, in_step_s={0: 1.0})
    counted = probe(cluster, 0, started=5)
    assert first(after(state, with_probe(view, 0, counted))).step is SETTLING
    for still in (
        probe(cluster, 0, started=5, running=True),
        probe(cluster, 0, started=4),
        probe(cluster, 0, started=9, other=1),
        None,
    ):
        found = after(state, with_probe(view, 0, still))
        assert (first(found).step, found.compact) == (COMPACTING, None)


def test_size_is_taken_thirty_seconds_after_the_end(cluster: FakeCluster) -> None:
    state = campaign(cluster, SETTLING)
    early = after(state, observer(cluster, in_step_s={0: 29.9}))
    assert first(early).step is SETTLING
    assert first(after(state, observer(cluster, in_step_s={}))).step is SETTLING
    done = first(after(state, observer(cluster, in_step_s={0: 30.0}, used_bytes={0: 7})))
    assert (done.step, done.used_after_bytes) == (DONE, 7)
    unknown = first(after(state, observer(cluster, used_bytes={})))
    assert (unknown.step, unknown.used_after_bytes) == (DONE, None)


@pytest.mark.parametrize('at', [PENDING, COMPACTING])
def test_nothing_is_concluded_before_the_map_is_read(
    cluster: FakeCluster, at: CompactionStep
) -> None:
    view = observer(cluster)
    for n in tuple(cluster.osds):
        view = without(view, n)
    found = after(campaign(cluster, at), view)
    assert (first(found).step, found.compact) == (at, None)


def test_highest_latency_during_a_compaction_is_stored(cluster: FakeCluster) -> None:
    state = campaign(cluster, COMPACTING)
    busy = with_probe(observer(cluster), 0, probe(cluster, 0, running=True))
    highest = []
    for latency in (None, 6.0, 9.0, 7.0, None):
        found = after(state, replace(busy, measured=busy.measured._replace(latency_ms=latency)))
        state = found.state
        highest.append(first(found).latency_ms)
    assert highest == [None, 6.0, 9.0, 9.0, 9.0]


def test_concurrent_activity_of_an_osd_is_reported_with_its_duration(cluster: FakeCluster) -> None:
    """One that never answers resembles one of Pacific that compacts: both show the duration."""
    state = campaign(cluster, COMPACTING)
    silent = replace(with_probe(observer(cluster), 0, None), in_step_s={0: 7800.0}, watched_s=9e4)
    running = with_probe(silent, 0, probe(cluster, 0, running=True))
    two_hours = 'osd.0 has been compacting for 2h 10m'
    assert after(state, running).waits_for == two_hours
    assert after(state, silent).waits_for == f'{two_hours} and has not answered'
    # It started under the previous manager.
    taken_over = replace(silent, watched_s=7800.0)
    assert after(state, taken_over).waits_for == (
        'osd.0 has been compacting for at least 2h 10m and has not answered'
    )
    asked = replace(observer(cluster), in_step_s={0: 3.0})
    assert after(state, asked).waits_for == 'compaction requested from osd.0'
    settling = replace(observer(cluster), in_step_s={0: 3.0})
    reported = after(campaign(cluster, SETTLING), settling).waits_for
    assert reported == 'osd.0 has compacted and is deleting old files'
    # The next one is requested, without a wait.
    assert after(campaign(cluster, DONE), observer(cluster)).waits_for is None


def test_osd_activity_is_reported_with_the_wait_reason_and_not_stored(
    cluster: FakeCluster,
) -> None:
    state = paused(campaign(cluster, COMPACTING), 'client.ann', 1.5)
    silent = with_probe(observer(cluster, latency_ms=None), 0, None)
    for seconds in (60.0, 61.0):
        found = after(state, replace(silent, in_step_s={0: seconds}))
        assert str(found.waits_for).startswith('osd.0 has been compacting for ')
        assert found.state == state
    ending = aborted(campaign(cluster, COMPACTING), 'client.ann', 1.5)
    assert 'osd.0 has been compacting' in str(after(ending, silent).waits_for)
    down = with_osd(silent, 0, up=False)
    assert after(campaign(cluster, COMPACTING), down).waits_for is None


def test_preparation_of_a_compaction_is_reported(cluster: FakeCluster) -> None:
    silent = with_probe(observer(cluster), 0, None)
    reported = after(campaign(cluster), silent).waits_for
    assert reported == 'osd.0 has not returned its counters yet'
    early = campaign(cluster, stage=Phase.PREFLIGHT, baseline_ms=None)
    reported = after(early, replace(silent, watched_s=LIMITS.baseline_s - 1)).waits_for
    assert reported == 'measuring client write latency before the first OSD'


def test_osd_that_is_down_is_awaited_and_a_removed_one_skipped(
    cluster: FakeCluster,
) -> None:
    state, view = campaign(cluster, COMPACTING), observer(cluster)
    down = after(state, with_osd(view, 0, up=False))
    assert (first(down).step, down.state.paused_reason) == (COMPACTING, 'osd.0 is down')
    gone = after(state, without(view, 0))
    assert (first(gone).step, first(gone).reason) == (SKIPPED, 'it is no longer in the OSD map')


def test_new_process_is_recorded_and_asked_again(cluster: FakeCluster) -> None:
    """Its counter started with it: compactions of the previous process do not count."""
    state = campaign(cluster, COMPACTING)
    cluster.osds[0].nonce += 1
    view = with_probe(observer(cluster), 0, probe(cluster, 0, started=0))
    found = after(state, view)
    assert (first(found).nonce, first(found).started_before) == (cluster.osds[0].nonce, 0)
    assert found.compact is None
    assert gated_in(cluster, state, view.probes) == (0,)
    again = after(found.state, view)
    assert (again.compact, first(again).asked) == (0, 2)


def test_compaction_not_started_within_fifteen_seconds_is_requested_again(
    cluster: FakeCluster,
) -> None:
    state, view = campaign(cluster, COMPACTING), observer(cluster)
    assert after(state, replace(view, in_step_s={0: 14.9})).compact is None
    again = after(state, replace(view, in_step_s={0: 15.0}))
    assert (again.compact, first(again).asked, first(again).step) == (0, 2, COMPACTING)
    assert gated_in(cluster, state, view.probes) == (0,)
    closed = replace(view, cluster=replace(view.cluster, health=frozenset({'MON_DOWN'})))
    held = after(state, closed)
    assert (held.compact, first(held).asked) == (None, 1)
    assert 'MON_DOWN' in (held.state.paused_reason or '')
    stopped = after(paused(state, 'client.ann', 1.5), view)
    assert (stopped.compact, first(stopped).asked) == (None, 1)


def test_osd_asked_twice_without_success_is_skipped_with_the_last_answer(
    cluster: FakeCluster,
) -> None:
    state = campaign(cluster, COMPACTING)
    twice = replace(state, osds=(replace(state.osds[0], asked=2), *state.osds[1:]))
    left = first(after(twice, observer(cluster)))
    assert (left.step, left.reason) == (SKIPPED, 'it did not start compacting after 2 requests')
    reported = ask_failed(twice, 0, 'EBUSY', 3.0)
    assert (reported.errors, reported.last_error, reported.updated_s) == (1, 'osd.0: EBUSY', 3.0)
    answered = first(after(reported, observer(cluster)))
    assert answered.reason == 'it did not start compacting after 2 requests (osd.0: EBUSY)'


def test_one_of_two_unstarted_osds_is_asked_at_a_time(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE, COMPACTING, COMPACTING, parallel=2)
    found = after(state, observer(cluster))
    assert found.compact == 1


# -- from outside


def test_abort_ends_at_once_if_idle_and_otherwise_after_the_running_compaction(
    cluster: FakeCluster,
) -> None:
    at_once = aborted(campaign(cluster, DONE), 'client.ann', 3.0)
    assert (at_once.stage, at_once.outcome, at_once.failure) == (
        Phase.FAILED,
        Outcome.ABORTED,
        'aborted by client.ann',
    )
    assert at_once.updated_s == 3.0
    assert after(at_once, observer(cluster)) == Step(at_once)
    assert (probed_in(cluster, at_once), gated_in(cluster, at_once, {})) == (
        (),
        (),
    )
    waits = aborted(paused(campaign(cluster, COMPACTING), 'client.bob', 2.0), 'client.ann', 3.0)
    assert (waits.ended, waits.paused_by, waits.paused_reason) == (False, None, None)
    assert probed_in(cluster, waits) == (0,)
    view = observer(cluster)
    running = with_probe(view, 0, probe(cluster, 0, running=True))
    still = after(waits, running)
    assert (still.state.ended, still.compact) == (False, None)
    # Compactions not started at the end are no longer requested.
    left = after(waits, view)
    assert (left.state.outcome, left.compact) == (Outcome.ABORTED, None)
    assert (
        left.state.failure
        == 'aborted by client.ann; osd.0: it had not started when the campaign ended'
    )


def test_pause_is_shown_first_and_no_further_osd_is_processed(
    cluster: FakeCluster,
) -> None:
    held = paused(campaign(cluster, COMPACTING), 'client.ann', 2.0)
    assert (held.paused_by, held.paused_reason, held.updated_s) == (
        'client.ann',
        'paused by client.ann',
        2.0,
    )
    down = after(held, with_osd(observer(cluster), 0, up=False))
    assert down.state.paused_reason == 'paused by client.ann'
    idle = paused(campaign(cluster, DONE), 'client.ann', 2.0)
    assert (probed_in(cluster, idle), gated_in(cluster, idle, {})) == ((), ())
    assert (
        probed_in(cluster, campaign(cluster, DONE)),
        gated_in(cluster, campaign(cluster, DONE), {}),
    ) == ((1,), (1,))


def test_resume_resets_the_latency_baseline_unless_an_osd_compacts(
    cluster: FakeCluster,
) -> None:
    idle = resumed(replace(paused(campaign(cluster, DONE), 'a', 2.0), errors=3), 4.0)
    assert (idle.stage, idle.baseline_ms, idle.paused_by, idle.paused_reason, idle.errors) == (
        Phase.PREFLIGHT,
        None,
        None,
        None,
        0,
    )
    assert idle.updated_s == 4.0
    busy = resumed(paused(campaign(cluster, DONE, COMPACTING), 'a', 2.0), 4.0)
    assert (busy.stage, busy.baseline_ms) == (Phase.PROMOTING, 5.0)


def test_conclusion_names_five_skipped_osds_and_counts_the_others(cluster: FakeCluster) -> None:
    left = [replace(osd, step=SKIPPED, reason='x') for osd in campaign(cluster).osds]
    failed = after(replace(campaign(cluster), osds=tuple(left)), observer(cluster)).state
    assert (failed.stage, failed.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert failed.failure == '; '.join([f'osd.{n}: x' for n in range(5)]) + '; and 1 more'
    some = (*left[:5], replace(left[5], step=DONE))
    done = after(replace(campaign(cluster), osds=some), observer(cluster)).state
    assert (done.stage, done.outcome) == (Phase.DONE, Outcome.DONE)
    assert done.failure == '; '.join([f'osd.{n}: x' for n in range(5)])
    clean = after(campaign(cluster, *[DONE] * 6), observer(cluster)).state
    assert (clean.outcome, clean.failure) == (Outcome.DONE, None)


# -- who is down and out


@pytest.mark.parametrize('at', [PENDING, COMPACTING])
@pytest.mark.parametrize('paused_by', [None, 'client.ann'])
def test_osd_down_and_out_is_skipped_after_five_minutes(
    cluster: FakeCluster, at: CompactionStep, paused_by: Optional[str]
) -> None:
    state = campaign(cluster, DONE, at, paused_by=paused_by)
    view = with_osd(observer(cluster), 1, up=False, in_cluster=False)
    before = after(state, replace(view, away_s={1: 299.9})).state
    assert [osd.step for osd in before.osds[:2]] == [DONE, at]
    reported = 'paused by client.ann'
    if paused_by is None:
        reported = 'osd.1 is down and out: it will be left behind unless it returns'
    assert before.paused_reason == reported
    left = after(state, replace(view, away_s={1: 300.0})).state.osds[1]
    # An OSD that is not started needs no decision while nothing may start.
    kept = at is PENDING and paused_by is not None
    assert (left.step, left.reason) == ((at, None) if kept else (SKIPPED, 'it is down and out'))


@pytest.mark.parametrize('unknown', [{'used_bytes': {0: GIB}}, {'unmeasured': {1}}])
def test_osd_without_samples_is_skipped_after_five_minutes(
    cluster: FakeCluster, unknown: dict[str, object]
) -> None:
    state = campaign(cluster, DONE, PENDING)
    silent = observer(cluster, away_s={1: 300.0}, **unknown)
    left = after(state, silent).state.osds[1]
    assert (left.step, left.reason) == (
        SKIPPED,
        'its DB use, its size or its client writes were unknown for 5m',
    )
    assert after(state, replace(silent, away_s={1: 299.9})).state.osds[1].step is PENDING
    held = with_osd(silent, 3, up=False)
    assert after(state, held).state.osds[1].step is PENDING


def test_silent_osd_that_did_not_start_compacting_is_skipped(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE, COMPACTING)
    silent = observer(cluster, away_s={1: 300.0}, in_step_s={1: 15.0})
    assert after(state, silent).state.osds[1].step is SKIPPED
    busy = with_probe(silent, 1, probe(cluster, 1, running=True))
    assert after(state, busy).state.osds[1].step is COMPACTING


def test_osd_down_and_not_out_is_awaited_also_after_an_abort(
    cluster: FakeCluster,
) -> None:
    state = aborted(campaign(cluster, DONE, COMPACTING), 'client.ann', 3.0)
    found = after(state, with_osd(observer(cluster), 1, up=False)).state
    assert (found.ended, found.paused_reason) == (False, 'osd.1 is down')
    away = with_osd(observer(cluster, away_s={1: 300.0}), 1, up=False, in_cluster=False)
    ended = after(found, away).state
    assert ended.outcome is Outcome.ABORTED
    assert ended.failure == 'aborted by client.ann; osd.1: it is down and out'


# -- where OSDs are by now


def moved(cluster: FakeCluster, osd_id: int) -> None:
    cluster.osds[osd_id].host = 'elsewhere'


def test_current_location_of_an_osd_counts(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE, COMPACTING, parallel=2)
    busy = {1: probe(cluster, 1, running=True), 2: probe(cluster, 2)}
    assert after(state, observer(cluster, probes=busy)).compact == 2
    moved(cluster, 2)
    assert after(state, observer(cluster, probes=busy)).compact is None
    assert probed_in(cluster, state) == (1,)
    moved(cluster, 1)
    assert after(state, observer(cluster, probes=busy)).compact == 2


def test_osd_missing_from_the_map_shares_no_domain(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE, COMPACTING, parallel=2)
    cluster.purge(1)
    assert probed_in(cluster, state) == (1,)


@pytest.mark.parametrize('other', ['runs', 'has-just-been-asked', 'is-settling', 'tells-nothing'])
def test_osd_is_not_asked_again_while_a_moved_one_compacts(
    cluster: FakeCluster, other: str
) -> None:
    at = SETTLING if other == 'is-settling' else COMPACTING
    state = campaign(cluster, DONE, COMPACTING, at, parallel=2)
    probes = {1: probe(cluster, 1), 2: probe(cluster, 2, running=other == 'runs')}
    if other == 'tells-nothing':
        del probes[2]
    in_step_s = {1: 1000.0, 2: 3.0 if other == 'has-just-been-asked' else 20.0}
    assert after(state, observer(cluster, probes=probes, in_step_s=in_step_s)).compact == 1
    moved(cluster, 2)
    found = after(state, observer(cluster, probes=probes, in_step_s=in_step_s))
    assert found.compact is None
    assert found.state.paused_reason == 'osd.2 is compacting in another failure domain'
    assert found.state.osds[1].asked == 1


def test_second_of_two_unstarted_osds_waits_for_the_first(cluster: FakeCluster) -> None:
    """Also where both are other processes; were each to wait for the other, neither would go on."""
    state = campaign(cluster, DONE, COMPACTING, COMPACTING, parallel=2)
    moved(cluster, 2)
    found = after(state, observer(cluster))
    assert (found.compact, [osd.asked for osd in found.state.osds[1:3]]) == (1, [2, 1])
    assert found.state.paused_reason == 'osd.1 is compacting in another failure domain'
    cluster.osds[2].nonce += 1
    assert after(state, observer(cluster)).compact == 1


# -- what two things at once make of each other


def test_no_further_osd_is_processed_after_an_abort(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE, COMPACTING, parallel=2)
    busy = {1: probe(cluster, 1, running=True)}
    assert (probed_in(cluster, state), gated_in(cluster, state, busy)) == (
        (1, 2),
        (2,),
    )
    ending = aborted(state, 'client.ann', 3.0)
    assert (probed_in(cluster, ending), gated_in(cluster, ending, busy)) == (
        (1,),
        (),
    )
    ended = after(ending, observer(cluster, probes={1: probe(cluster, 1)})).state
    assert (ended.outcome, ended.ending) == (Outcome.ABORTED, None)


def test_gates_are_checked_for_unstarted_osds_and_new_processes(
    cluster: FakeCluster,
) -> None:
    state = campaign(cluster, COMPACTING)
    assert gated_in(cluster, state, {0: probe(cluster, 0, started=5)}) == ()
    assert gated_in(cluster, state, {0: probe(cluster, 0, running=True)}) == ()
    assert gated(
        state, cluster.cluster_map(), {0: probe(cluster, 0, started=9, running=True, other=1)}
    ) == (0,)
    assert gated_in(cluster, state, {}) == ()
    assert gated_in(cluster, campaign(cluster, SETTLING), {0: probe(cluster, 0)}) == ()


def test_first_of_two_down_osds_is_named(cluster: FakeCluster) -> None:
    state = campaign(cluster, DONE, COMPACTING, COMPACTING, parallel=2)
    down = with_osd(with_osd(observer(cluster), 1, up=False), 2, up=False)
    assert after(state, down).state.paused_reason == 'osd.1 is down'


def test_blocked_repetition_holds_the_next_osd(
    cluster: FakeCluster,
) -> None:
    view = observer(cluster)
    ok_to_stop = {**view.cluster.ok_to_stop, 1: 'unsafe'}
    held = replace(view, cluster=replace(view.cluster, ok_to_stop=ok_to_stop))
    found = after(campaign(cluster, DONE, COMPACTING, parallel=2), held)
    assert found.compact is None
    assert found.state.paused_reason == 'osd.1 is not ok-to-stop: unsafe'
    assert found.state.osds[2].step is PENDING


def test_earlier_report_of_a_down_osd_does_not_end_its_compaction(
    cluster: FakeCluster,
) -> None:
    view = with_probe(observer(cluster), 0, probe(cluster, 0, started=5))
    found = after(campaign(cluster, COMPACTING), with_osd(view, 0, up=False))
    assert (first(found).step, found.state.paused_reason) == (COMPACTING, 'osd.0 is down')


def test_answer_of_a_process_unknown_to_the_osd_map_is_ignored(
    cluster: FakeCluster,
) -> None:
    state = campaign(cluster, COMPACTING)
    view = with_probe(observer(cluster, latency_ms=None), 0, probe(cluster, 0, other=1))
    found = after(state, view)
    assert (found.state, found.compact) == (state, None)


def test_osds_of_unknown_failure_domain_are_compacted_one_at_a_time(
    cluster: FakeCluster,
) -> None:
    state = campaign(cluster, DONE, COMPACTING, parallel=2)
    busy = with_probe(observer(cluster), 1, probe(cluster, 1, running=True))
    assert after(state, busy).compact == 2
    unknown = with_osd(with_osd(busy, 1, failure_domain=None), 2, failure_domain=None)
    assert after(state, unknown).compact is None
