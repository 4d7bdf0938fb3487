"""Healthy clusters under every recorded client have nothing wrong with them.

Whole ticks over the counters of real OSDs on their release's default: what is found is at most
worth knowing. And what they do show, is shown.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Optional

import pytest

from rocksdb_tuner.advise.conditions import ClusterFacts, HoldState, findings, hold, raised
from rocksdb_tuner.advise.facts import osd_options
from rocksdb_tuner.advise.profiles import profile, profiles
from rocksdb_tuner.advise.records import Finding, OsdFacts, Severity
from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.workload.classifier import Classifier

from ...fake_cluster import VERSIONS
from ...workload import replay
from ..builders import entry, running

#: Of one client each, and of whole campaigns with recoveries, scrubs and restarts in them.
RECORDED = (*replay.names(), *replay.campaign())


@lru_cache(maxsize=64)
def seen_in(name: str, chosen: Optional[str] = None) -> tuple[tuple[Finding, ...], ...]:
    """The findings at every tick of a recording, and the raised health checks.

    ``chosen`` is a string set for all OSDs by an operator, in place of the release's default.
    """
    recording = replay.load(name)
    defaults = {r.name: r.default_options for r in known_releases()}
    cluster_map, classifier = recording.cluster_map(), Classifier()
    entries = () if chosen is None else (entry('osd', chosen),)
    runs = running(defaults[recording.release]) if chosen is None else running(chosen, 'mon')
    state: HoldState = {}
    ticks = []
    for now_s, signals in recording.play():
        recognition = classifier.recognize(signals, cluster_map, now_s)
        osds = []
        for info in cluster_map.osds:
            known = as_it_was(info, recording.release)
            options = osd_options(known, entries, runs)
            osds.append(
                OsdFacts(
                    known,
                    signals.get(info.osd_id),
                    recognition.per_osd.get(info.osd_id),
                    options,
                    sharded=True,
                    settings={},
                )
            )
        found = findings(ClusterFacts(tuple(osds), entries))
        state = hold(state, found, now_s)
        assert raised(state) == ()
        ticks.append(found)
    return tuple(ticks)


def as_it_was(info: OsdInfo, release: str) -> OsdInfo:
    """The metadata of the recorded OSDs that is not in the recording."""
    return replace(
        info,
        version=VERSIONS[release],
        main_device_bytes=10 << 30,
        main_rotational=True,
        db_rotational=True,
        min_alloc_size_bytes=4096,
        distribution='debian',
    )


@pytest.mark.parametrize('name', RECORDED)
def test_healthy_cluster_has_no_warnings_under_any_client(name: str) -> None:
    ticks = seen_in(name)
    assert ticks
    found = {(f.finding_id, f.severity) for tick in ticks for f in tick}
    assert {severity for _, severity in found} <= {Severity.INFO}, found


PUBLISHED = [p.name for p in profiles() if p.options and p.superseded is None]


@pytest.mark.parametrize('chosen', [*PUBLISHED, None], ids=lambda chosen: chosen or 'default')
@pytest.mark.parametrize('name', ['rbd-randwrite', 'reef-s3-put', 'tentacle-rbd-randwrite'])
def test_published_string_raises_no_warning(name: str, chosen: Optional[str]) -> None:
    """Check warnings are for operators who query them, not for those on call."""
    release = replay.load(name).release
    defaults = {r.name: r.default_options for r in known_releases()}
    text = defaults[release] if chosen is None else profile(chosen).options
    ticks = seen_in(name, text)
    ids = {f.finding_id for tick in ticks for f in tick}
    assert not ids & {'unwise-options', 'unjudged-options', 'dangerous-options'}
    assert {f.severity for tick in ticks for f in tick} <= {Severity.INFO}, ids


#: Small memtables, each flushed by itself.
UNWISE = 'write_buffer_size=32M,max_total_wal_size=1G,compaction_readahead_size=2M'


def test_unwise_string_on_a_healthy_cluster_is_still_found() -> None:
    """The tests above would prove nothing with a recording without findings."""
    ids = {f.finding_id for tick in seen_in('idle', UNWISE) for f in tick}
    assert 'unwise-options' in ids


def test_rgw_metadata_on_pacific_is_uncompressed_and_not_compacted_on_deletion() -> None:
    ids = {f.finding_id for tick in seen_in('s3-put') for f in tick}
    assert {'uncompressed-metadata', 'compact-on-deletion-off'} <= ids


@pytest.mark.parametrize('name', [n for n in replay.names() if n.startswith(('reef', 'tentacle'))])
def test_later_releases_have_neither_finding(name: str) -> None:
    ids = {f.finding_id for tick in seen_in(name) for f in tick}
    assert not ids & {'uncompressed-metadata', 'compact-on-deletion-off'}


def test_idle_cluster_has_no_findings() -> None:
    assert set(seen_in('idle')) == {()}


def test_small_writes_of_rbd_on_pacific_are_bound_by_the_kv_sync_thread() -> None:
    assert 'kv-sync-bound' in {f.finding_id for tick in seen_in('rbd-randwrite') for f in tick}
