"""Conditions of devices: found beyond their thresholds, silent at them and without a figure."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from ...fake_cluster import DEFAULTS
from .builders import GIB, found, seen

REEF_SHARDING = (
    'm(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} '
    'L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32'
)


def made_by(
    version: Optional[str], release: str = 'reef', sharded: Optional[bool] = True, **info: Any
) -> Any:
    known = {'created_version': version, **info}
    return seen(release=release, options=DEFAULTS[release], info=known, more={'sharded': sharded})


@pytest.mark.parametrize(
    'osd',
    [
        made_by('18.2.7'),
        # The definition did not change between these.
        made_by('18.2.0'),
        made_by('16.2.15', 'pacific'),
        made_by(None),
        made_by('15.2.17'),
        made_by('16.2.15', sharded=False),
        made_by('16.2.15', sharded=None),
        # It reports itself that it was resharded.
        made_by('16.2.15', sharding=REEF_SHARDING),
        made_by('16.2.15', sharding='not a definition ('),
    ],
)
def test_reshard_is_offered_only_for_a_known_change(osd: Any) -> None:
    assert 'outdated-sharding' not in found(osd)


@pytest.mark.parametrize(('used_gib', 'small'), [(30, False), (299, True)])
def test_wal_that_continues_on_a_roomy_db_device_is_not_small(used_gib: int, small: bool) -> None:
    """BlueFS puts what outgrows the WAL device there, which costs nothing."""
    info = {
        'dedicated_db': True,
        'db_device_bytes': 300 * GIB,
        'dedicated_wal': True,
        'wal_device_bytes': GIB,
    }
    osd = seen(info=info, db_total_bytes=300 * GIB, db_used_bytes=used_gib * GIB)
    assert ('wal-device-small' in found(osd)) is small


def test_finding_names_a_recommendation_only_where_there_is_one() -> None:
    osd = seen(0, options='max_total_wal_size=0,write_buffer_size=256M')
    texts = [found(osd, advised=ids)['unlimited-wal'] for ids in ({0}, {1})]
    assert [f.commands for f in texts] == [
        ('ceph rocksdb-tuner recommend',),
        ('ceph rocksdb-tuner recommend --all',),
    ]
    assert 'says why no change is recommended' in texts[1].remedy
