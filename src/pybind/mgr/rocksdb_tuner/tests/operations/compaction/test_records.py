"""What a campaign says and stores: the cluster log, `ceph -s`, the history, and its state."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import islice
from typing import Any, Optional

import pytest

from rocksdb_tuner.judge.records import Effect, Predicted, SignalVerdict, Verdict
from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.operations.compaction.announce import (
    change_percent,
    in_words,
    progress,
    record_of,
    transitions,
)
from rocksdb_tuner.operations.compaction.driver import CURRENT, stored_campaign
from rocksdb_tuner.operations.compaction.records import (
    REASON_MAX,
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    planned,
)
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.store.codec import StoredStateError
from rocksdb_tuner.store.stored import LIMIT_BYTES
from rocksdb_tuner.tests.fake_cluster import FakeStore

GIB = 1 << 30
_, COMPACTING, SETTLING, DONE, SKIPPED = CompactionStep
PREDICTED = Predicted('db_used_bytes', -40.0, 0.0)
DONE_AT_LAST = {'stage': Phase.DONE, 'outcome': Outcome.DONE}


def campaign(count: int = 4, host: str = 'node') -> CampaignState:
    osds = tuple((n, Place(f'{host}{n}', FailureDomain('host', host))) for n in range(count))
    request = CampaignRequest(
        'ssd-abc', 'osd/class:ssd', 'x=y', osds, 'client.ann', 'DB: -40 to +0%', PREDICTED
    )
    return planned('c7', request, 1000.0)


STARTED = campaign()


def changed(**changes: object) -> CampaignState:
    return replace(STARTED, **changes)  # type: ignore[arg-type]


def with_osd(**changes: object) -> CampaignState:
    osd = replace(STARTED.osds[2], **changes)  # type: ignore[arg-type]
    return replace(STARTED, osds=tuple(osd if o.osd_id == 2 else o for o in STARTED.osds))


def done(before: Optional[int], after: Optional[int]) -> CampaignState:
    return with_osd(step=DONE, used_before_bytes=before, used_after_bytes=after)


def sized(*sizes: tuple[Optional[int], Optional[int]], **changes: object) -> CampaignState:
    """The first OSDs are done; their sizes before and after."""
    osds = tuple(
        replace(osd, step=DONE, used_before_bytes=before, used_after_bytes=after)
        for osd, (before, after) in zip(STARTED.osds, sizes)
    )
    return changed(osds=(*osds, *islice(STARTED.osds, len(osds), None)), **changes)


@pytest.mark.parametrize(
    ('before', 'after', 'line', 'warning'),
    [
        (None, STARTED, 'client.ann compacts 4 OSD(s) of osd/class:ssd', False),
        (
            changed(campaign_id='c6', **DONE_AT_LAST), STARTED,
            'client.ann compacts 4 OSD(s) of osd/class:ssd', False,
        ),
        (STARTED, changed(updated_s=2000.0), None, False),
        (STARTED, with_osd(step=COMPACTING), 'osd.2 starts compacting', False),
        (STARTED, with_osd(step=SETTLING), 'osd.2 has compacted', False),
        (STARTED, with_osd(step=SKIPPED, reason='it left'), 'osd.2 skipped: it left', True),
        (STARTED, done(4 * GIB, 3 * GIB), 'osd.2 is done: DB 4 GiB -> 3 GiB (-25%)', False),
        (STARTED, done(4 * GIB, None), 'osd.2 is done', False),
        (STARTED, done(None, 4 * GIB), 'osd.2 is done', False),
        (STARTED, done(0, GIB), 'osd.2 is done: DB 0 B -> 1 GiB', False),
        (STARTED, changed(paused_reason='osd.1 is down'), 'waiting: osd.1 is down', False),
        (changed(paused_reason='osd.1 is down'), STARTED, 'continues', False),
        (changed(paused_reason='x'), changed(paused_reason='x', updated_s=2.0), None, False),
        (
            sized((4 * GIB, 3 * GIB), paused_reason='x'),
            sized((4 * GIB, 3 * GIB), **DONE_AT_LAST),
            '1 of 4 OSD(s) compacted, DB 4 GiB -> 3 GiB (-25%)', False,
        ),
        (
            STARTED, changed(stage=Phase.FAILED, outcome=Outcome.FAILED, failure='osd.0: gone'),
            '0 of 4 OSD(s) compacted; osd.0: gone', True,
        ),
        (
            STARTED, changed(stage=Phase.FAILED, outcome=Outcome.ABORTED, failure='aborted'),
            '0 of 4 OSD(s) compacted; aborted', False,
        ),
        (changed(**DONE_AT_LAST), changed(updated_s=2000.0, **DONE_AT_LAST), None, False),
    ],
)  # fmt: skip
def test_cluster_log_has_new_events_and_warnings_of_left_out_osds(
    before: Optional[CampaignState], after: CampaignState, line: Optional[str], warning: bool
) -> None:
    assert list(transitions(before, after)) == ([] if line is None else [(line, warning)])


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


def test_freed_space_is_the_sum_of_osds_with_known_sizes() -> None:
    state = sized((4 * GIB, 3 * GIB), (None, GIB), (6 * GIB, None), (0, 2 * GIB))
    assert state.used_bytes == (4 * GIB, 5 * GIB)
    assert in_words(state) == '4 of 4 OSD(s) compacted, DB 4 GiB -> 5 GiB (+25%)'
    assert sized((5, 0)).used_bytes == (5, 0)
    assert STARTED.used_bytes is None
    assert [change_percent(before, 5) for before in (0, -1, 10)] == [None, None, -50.0]


@pytest.mark.parametrize(
    ('sizes', 'verdict', 'effect', 'percent'),
    [
        ([], Verdict.NO_DATA, Effect.UNCLEAR, None),
        ([(0, 100)], Verdict.NO_DATA, Effect.UNCLEAR, None),
        ([(1000, 949)], Verdict.BETTER, Effect.BETTER, -5.1),
        ([(1000, 1051)], Verdict.NO_WORSE, Effect.WORSE, 5.1),
        ([(1000, 955)], Verdict.NO_WORSE, Effect.SAME, -4.5),
        ([(1000, 1045)], Verdict.NO_WORSE, Effect.SAME, 4.5),
    ],
)
def test_space_change_beyond_five_percent_is_reported(
    sizes: list[tuple[int, int]], verdict: Verdict, effect: Effect, percent: Optional[float]
) -> None:
    found = record_of(sized(*sizes, **DONE_AT_LAST)).judgement
    assert found is not None
    change = None if percent is None else pytest.approx(percent)
    signal = SignalVerdict('db_used_bytes_after_compaction', effect, change)  # type: ignore[arg-type]
    assert (found.verdict, found.signals) == (verdict, (signal,))


def test_history_has_request_and_result() -> None:
    record = record_of(sized((4 * GIB, 3 * GIB), failure='osd.1: gone', **DONE_AT_LAST))
    assert (record.rollout_id, record.time_s, record.actor) == ('c7', 1000.0, 'client.ann')
    assert (record.recommendation_id, record.who) == ('ssd-abc', 'osd/class:ssd')
    assert (record.options_from, record.options_to) == ('x=y', 'x=y')
    assert (record.outcome, record.reason) == (Outcome.DONE, 'osd.1: gone')
    assert (record.prediction, record.predicted) == ('DB: -40 to +0%', PREDICTED)
    assert record.measured == '1 of 4 OSD(s) compacted, DB 4 GiB -> 3 GiB (-25%); osd.1: gone'
    unknown = record_of(STARTED)
    assert (unknown.measured, unknown.outcome) == (None, Outcome.WAITING)


# -- stored campaigns: what is read back is what was written, and nothing else is believed


def test_errors_in_a_stored_campaign_are_reported() -> None:
    """By its name, and what would be right."""
    store = FakeStore()
    stored = stored_campaign(store)
    stored.save(STARTED)
    assert stored.load() == STARTED
    head = json.loads(store.values[CURRENT])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({'stage': 'waiting'}, '"waiting" is not a valid "stage"'),
        ({'stage': 'x'}, '"stage" is "x" instead of one of planned'),
        ({'stage': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'outcome': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'baseline_ms': 'fast'}, '"baseline_ms" is "fast" instead of a number'),
    ]
    for changes, message in wrong:
        record = {**head['record'], **changes}
        store.values[CURRENT] = json.dumps({**head, 'record': record})
        with pytest.raises(StoredStateError, match=message):
            stored_campaign(store).load()
    store.values[CURRENT] = json.dumps({**head, 'version': 5})
    with pytest.raises(StoredStateError, match='this module reads version 1'):
        stored_campaign(store).load()


@pytest.mark.parametrize(
    ('osds', 'message'),
    [
        ((), '"osds" is empty or names an OSD twice'),
        (STARTED.osds[:1] * 2, '"osds" is empty or names an OSD twice'),
        (STARTED.osds[1:], '"osds" does not match "request.osds"'),
    ],
)
def test_contradictions_between_the_plan_and_its_osds_are_reported(
    osds: tuple[OsdCompaction, ...], message: str
) -> None:
    store = FakeStore()
    stored_campaign(store).save(changed(osds=osds))
    with pytest.raises(StoredStateError, match=message):
        stored_campaign(store).load()


def finished(osd: OsdCompaction) -> OsdCompaction:
    """With a reason as long as it may be, of characters that take four bytes each."""
    n, rng = osd.osd_id, random.Random(osd.osd_id)
    return replace(
        osd,
        step=SKIPPED if n % 2 else DONE,
        nonce=2**32 - 1 - n,
        started_before=n,
        asked=2,
        used_before_bytes=2**50 + n * 2654435761 % 2**32,
        used_after_bytes=2**49 + n * 40503,
        latency_ms=1 / (n + 1),
        reason=''.join(chr(rng.randrange(0x10000, 0x10FFFF)) for _ in range(REASON_MAX)),
    )


def test_ten_thousand_osds_are_stored_completely_within_the_key_size() -> None:
    """`FakeStore` refuses what a monitor refuses; each is read by another manager."""
    store = FakeStore()
    state = campaign(10_000, host='a-rather-long-name-of-a-host.in-a-domain.example.com-')
    storage = stored_campaign(store)
    storage.save(state)
    assert stored_campaign(store).load() == state
    for count in (63, 10_000):
        osds = (*map(finished, state.osds[:count]), *state.osds[count:])
        storage.save(replace(state, osds=osds))
        assert stored_campaign(store).load() == replace(state, osds=osds)
    assert max(len(text.encode()) for text in store.values.values()) <= LIMIT_BYTES
