"""The messages of a campaign in the cluster log, `ceph -s` and the history, word for word."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import Effect, Judgement, Predicted, SignalVerdict, Verdict
from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.operations.compaction.announce import (
    change_percent,
    in_words,
    progress,
    record_of,
    transitions,
)
from rocksdb_tuner.operations.compaction.records import (
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    planned,
)
from rocksdb_tuner.operations.phases import Outcome, Phase

GIB = 1 << 30
PENDING, COMPACTING, SETTLING, DONE, SKIPPED = CompactionStep
PLACE = Place('node0', FailureDomain('host', 'node0'))
PREDICTED = Predicted('db_used_bytes', -40.0, 0.0)
STARTED = planned(
    'c7',
    CampaignRequest(
        'ssd-abc',
        'osd/class:ssd',
        'x=y',
        tuple((n, PLACE) for n in range(4)),
        'client.ann',
        prediction='DB: -40 to +0%',
        predicted=PREDICTED,
    ),
    1000.0,
)
ENDS = {'stage': Phase.DONE, 'outcome': Outcome.DONE}


def with_osd(state: CampaignState, osd_id: int, **changes: object) -> CampaignState:
    changed = replace(state.osds[osd_id], **changes)  # type: ignore[arg-type]
    return replace(state, osds=tuple(changed if o.osd_id == osd_id else o for o in state.osds))


def changed(**changes: object) -> CampaignState:
    return replace(STARTED, **changes)  # type: ignore[arg-type]


def sized(*sizes: tuple[Optional[int], Optional[int]], **changes: object) -> CampaignState:
    """The first OSDs are done; their sizes before and after."""
    osds = tuple(
        replace(osd, step=DONE, used_before_bytes=before, used_after_bytes=after)
        for osd, (before, after) in zip(STARTED.osds, sizes)
    )
    return changed(osds=(*osds, *islice(STARTED.osds, len(osds), None)), **changes)


@pytest.mark.parametrize(
    ('before', 'after', 'output'),
    [
        (None, STARTED, [('client.ann compacts 4 OSD(s) of osd/class:ssd', False)]),
        (
            changed(campaign_id='c6', **ENDS),
            STARTED,
            [('client.ann compacts 4 OSD(s) of osd/class:ssd', False)],
        ),
        (STARTED, replace(STARTED, updated_s=2000.0), []),
        (STARTED, with_osd(STARTED, 2, step=COMPACTING), [('osd.2 starts compacting', False)]),
        (
            with_osd(STARTED, 2, step=COMPACTING),
            with_osd(STARTED, 2, step=SETTLING),
            [('osd.2 has compacted', False)],
        ),
        (
            STARTED,
            with_osd(STARTED, 2, step=SKIPPED, reason='it is gone'),
            [('osd.2 skipped: it is gone', True)],
        ),
        (
            with_osd(STARTED, 2, step=SETTLING),
            with_osd(STARTED, 2, step=DONE, used_before_bytes=4 * GIB, used_after_bytes=3 * GIB),
            [('osd.2 is done: DB 4 GiB -> 3 GiB (-25%)', False)],
        ),
        (
            STARTED,
            with_osd(STARTED, 2, step=DONE, used_before_bytes=4 * GIB),
            [('osd.2 is done', False)],
        ),
        (
            STARTED,
            with_osd(STARTED, 2, step=DONE, used_after_bytes=4 * GIB),
            [('osd.2 is done', False)],
        ),
        (
            STARTED,
            with_osd(STARTED, 2, step=DONE, used_before_bytes=0, used_after_bytes=GIB),
            [('osd.2 is done: DB 0 B -> 1 GiB', False)],
        ),
        (STARTED, changed(paused_reason='osd.1 is down'), [('waiting: osd.1 is down', False)]),
        (changed(paused_reason='osd.1 is down'), STARTED, [('continues', False)]),
        (
            changed(paused_reason='x'),
            changed(paused_reason='x', updated_s=2000.0),
            [],
        ),
        (
            sized((4 * GIB, 3 * GIB), paused_reason='x'),
            sized((4 * GIB, 3 * GIB), **ENDS),
            [('1 of 4 OSD(s) compacted, DB 4 GiB -> 3 GiB (-25%)', False)],
        ),
        (
            STARTED,
            changed(stage=Phase.FAILED, outcome=Outcome.FAILED, failure='osd.0: gone'),
            [('0 of 4 OSD(s) compacted; osd.0: gone', True)],
        ),
        (
            STARTED,
            changed(stage=Phase.FAILED, outcome=Outcome.ABORTED, failure='aborted by client.ann'),
            [('0 of 4 OSD(s) compacted; aborted by client.ann', False)],
        ),
        (changed(**ENDS), changed(updated_s=2000.0, **ENDS), []),
    ],
)
def test_cluster_log_has_new_events_and_warnings_of_left_out_osds(
    before: Optional[CampaignState], after: CampaignState, output: list[tuple[str, bool]]
) -> None:
    assert list(transitions(before, after)) == output


@pytest.mark.parametrize(
    ('steps', 'changes', 'message', 'share'),
    [
        ([], {}, '0 of 4 OSDs, preflight', 0.0),
        ([DONE, COMPACTING], {'stage': Phase.PROMOTING}, '1 of 4 OSDs, promoting', 0.25),
        ([DONE, SKIPPED], {'paused_reason': 'x'}, '2 of 4 OSDs, waiting', 0.5),
        # Whole only once it ended.
        ([DONE] * 4, {'stage': Phase.PROMOTING}, '4 of 4 OSDs, promoting', 0.99),
    ],
)
def test_progress_counts_finished_osds(
    steps: list[CompactionStep], changes: dict[str, object], message: str, share: float
) -> None:
    osds = tuple(replace(osd, step=at) for osd, at in zip(STARTED.osds, steps))
    state = changed(osds=(*osds, *islice(STARTED.osds, len(osds), None)), **changes)
    assert progress(state) == (f'Compacting RocksDB of osd/class:ssd ({message})', share)


@pytest.mark.parametrize(
    ('before', 'after', 'percent'),
    [(0, 5, None), (-1, 5, None), (1, 3, 200.0), (200, 100, -50.0), (100, 100, 0.0)],
)
def test_change_from_zero_has_no_percentage(
    before: int, after: int, percent: Optional[float]
) -> None:
    assert change_percent(before, after) == percent


def test_freed_space_is_the_sum_of_osds_with_known_sizes() -> None:
    state = sized((4 * GIB, 3 * GIB), (None, GIB), (6 * GIB, None), (0, 2 * GIB))
    assert [osd.freed_bytes for osd in state.osds] == [GIB, None, None, -2 * GIB]
    assert [osd.osd_id for osd in state.measured] == [0, 3]
    assert state.used_bytes == (4 * GIB, 5 * GIB)
    assert in_words(state) == '4 of 4 OSD(s) compacted, DB 4 GiB -> 5 GiB (+25%)'
    assert sized((5, 0)).used_bytes == (5, 0)
    assert (STARTED.measured, STARTED.used_bytes) == ((), None)


@pytest.mark.parametrize(
    ('sizes', 'judged'),
    [
        ([], (Verdict.NO_DATA, Effect.UNCLEAR, None)),
        ([(0, 100)], (Verdict.NO_DATA, Effect.UNCLEAR, None)),
        ([(1000, 949)], (Verdict.BETTER, Effect.BETTER, -5.1)),
        ([(1000, 1051)], (Verdict.NO_WORSE, Effect.WORSE, 5.1)),
        ([(1000, 955)], (Verdict.NO_WORSE, Effect.SAME, -4.5)),
        ([(1000, 1045)], (Verdict.NO_WORSE, Effect.SAME, 4.5)),
        ([(1000, 1000)], (Verdict.NO_WORSE, Effect.SAME, 0.0)),
    ],
)
def test_space_change_beyond_five_percent_is_reported(
    sizes: list[tuple[int, int]], judged: tuple[Verdict, Effect, Optional[float]]
) -> None:
    found = record_of(sized(*sizes, **ENDS)).judgement
    assert found is not None
    (signal,) = found.signals
    assert (found.verdict, signal.effect) == judged[:2]
    assert signal.name == 'db_used_bytes_after_compaction'
    assert signal.change_percent == (None if judged[2] is None else pytest.approx(judged[2]))


def test_history_has_request_and_result() -> None:
    record = record_of(sized((4 * GIB, 3 * GIB), failure='osd.1: gone', **ENDS))
    assert (record.rollout_id, record.time_s) == ('c7', 1000.0)
    assert (record.recommendation_id, record.who, record.actor) == (
        'ssd-abc',
        'osd/class:ssd',
        'client.ann',
    )
    assert (record.options_from, record.options_to) == ('x=y', 'x=y')
    assert (record.outcome, record.reason) == (Outcome.DONE, 'osd.1: gone')
    assert (record.prediction, record.predicted) == ('DB: -40 to +0%', PREDICTED)
    assert record.measured == ('1 of 4 OSD(s) compacted, DB 4 GiB -> 3 GiB (-25%); osd.1: gone')
    unknown = record_of(STARTED)
    assert (unknown.measured, unknown.outcome) == (None, Outcome.WAITING)
    assert unknown.judgement == Judgement(
        Verdict.NO_DATA, (SignalVerdict('db_used_bytes_after_compaction', Effect.UNCLEAR),)
    )


def test_plan_lists_every_requested_osd_at_its_place() -> None:
    assert STARTED.osds == tuple(OsdCompaction(n, *PLACE) for n in range(4))
    assert (STARTED.started_s, STARTED.updated_s, STARTED.phase) == (
        1000.0,
        1000.0,
        Phase.PREFLIGHT,
    )
    assert (STARTED.ended, STARTED.in_flight) == (False, ())
