"""Stored campaigns: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.operations.compaction.driver import CURRENT, stored_campaign
from rocksdb_tuner.operations.compaction.records import (
    REASON_MAX,
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    planned,
)
from rocksdb_tuner.store.codec import StoredStateError
from rocksdb_tuner.store.stored import LIMIT_BYTES
from rocksdb_tuner.tests.fake_cluster import FakeStore

from .conftest import Run


def example() -> CampaignState:
    return planned('c1', Run().request(), 1000.0)


def read(state: CampaignState, **changes: Any) -> Optional[CampaignState]:
    """The result of reading the head with this change."""
    store = FakeStore()
    stored_campaign(store).save(state)
    head = json.loads(store.values[CURRENT])
    head['version'] = changes.pop('version', 1)
    head['record'].update(changes)
    store.values[CURRENT] = json.dumps(head)
    return stored_campaign(store).load()


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'stage': 'waiting'}, '"waiting" is not a valid "stage"'),
        ({'stage': 'x'}, '"stage" is "x" instead of one of planned'),
        ({'stage': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'outcome': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'baseline_ms': 'fast'}, '"baseline_ms" is "fast" instead of a number'),
        ({'version': 5}, 'this module reads version 1'),
    ],
)
def test_errors_in_a_stored_campaign_are_reported(changes: dict[str, Any], message: str) -> None:
    """By its name, and what would be right."""
    assert read(example()) == example()
    with pytest.raises(StoredStateError) as error:
        read(example(), **changes)
    assert message in str(error.value)


def test_contradictions_between_the_plan_and_its_osds_are_reported() -> None:
    """Each is right by its type."""
    state = example()
    for wrong, message in (
        (replace(state, osds=()), '"osds" is empty or names an OSD twice'),
        (replace(state, osds=state.osds[:1] * 2), '"osds" is empty or names an OSD twice'),
        (replace(state, osds=state.osds[1:]), '"osds" does not match "request.osds"'),
        (
            replace(state, request=replace(state.request, parallel=0)),
            '"request.parallel" is less than 1',
        ),
    ):
        store = FakeStore()
        stored_campaign(store).save(wrong)
        with pytest.raises(StoredStateError, match=message):
            stored_campaign(store).load()


# -- ten thousand OSDs

MANY = 10_000


def on(host: str) -> Place:
    return Place(host, FailureDomain('host', host))


def large(count: int, host: str = 'host') -> CampaignState:
    osds = tuple((n, on(f'{host}{n // 12}')) for n in range(count))
    return planned('c1', CampaignRequest('a', 'osd', 'x', osds, 'op'), 0.0)


def foreign_texts(seed: int) -> str:
    """As long as a reason may be, of characters that take four bytes and do not compress."""
    rng = random.Random(seed)
    return ''.join(chr(rng.randrange(0x10000, 0x10FFFF)) for _ in range(REASON_MAX))


def finished(osd: OsdCompaction) -> OsdCompaction:
    n = osd.osd_id
    return replace(
        osd,
        step=CompactionStep.SKIPPED if n % 2 else CompactionStep.DONE,
        nonce=2**32 - 1 - n,
        started_before=n,
        asked=2,
        used_before_bytes=2**50 + n * 2654435761 % 2**32,
        used_after_bytes=2**49 + n * 40503,
        latency_ms=1 / (n + 1),
        reason=foreign_texts(n),
    )


def test_ten_thousand_osds_are_stored_completely_within_the_key_size() -> None:
    """`FakeStore` refuses what a monitor refuses; each of three samples is of another manager."""
    store = FakeStore()
    state = large(MANY, host='a-rather-long-name-of-a-host.in-a-domain.example.com-')
    storage = stored_campaign(store)
    storage.save(state)
    assert stored_campaign(store).load() == state
    for done in range(63, MANY, 1009):
        osds = (*map(finished, state.osds[:done]), *state.osds[done:])
        state = replace(state, osds=osds)
        storage.save(state)
    assert stored_campaign(store).load() == state
    storage.save(replace(state, osds=tuple(map(finished, state.osds))))
    assert max(len(text.encode()) for text in store.values.values()) <= LIMIT_BYTES
