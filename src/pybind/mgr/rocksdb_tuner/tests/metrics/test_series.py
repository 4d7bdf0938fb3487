"""Metrics: what Prometheus' own client library reads is what the snapshot holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from rocksdb_tuner.advise.records import GroupFacts
from rocksdb_tuner.metrics.exposition import PREFIX, Metric, Sample, exposition
from rocksdb_tuner.metrics.series import metrics
from rocksdb_tuner.observe.trend import Forecast, Outlook
from rocksdb_tuner.present import views
from rocksdb_tuner.snapshot import Snapshot

from ..present import experiment_samples as experiments
from ..present import samples

#: As documented in `series`.
SERIES_PER_OSD, SERIES_PER_DEVICE_CLASS = 21, 8

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]

#: By Prometheus' naming conventions: base units, or a count of the named thing.
UNITS = re.compile(
    r'_(seconds|bytes|ratio|bytes_per_second|writes_per_second|reads_per_second|info'
    r'|osds|findings|recommendations|phase|mode|pending|managers_without_module)$'
)


def read(text: str) -> list[tuple[str, dict[str, str], float]]:
    """Every sample, as Prometheus' own client library reads it."""
    families = list(text_string_to_metric_families(text))
    assert {family.type for family in families} <= {'gauge'}
    return [(s.name, dict(s.labels), s.value) for f in families for s in f.samples]


def series(snapshot: Snapshot, osd_limit: int = 10**6) -> Series:
    """Every series by its name and labels; no series may be there twice."""
    found: Series = {}
    for name, labels, value in read(exposition(metrics(snapshot, osd_limit))):
        key = name.removeprefix(PREFIX), frozenset(labels.items())
        assert key not in found
        found[key] = value
    return found


def value(found: Series, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from(['a', 'b', 'ceph_daemon']), st.text(), max_size=3),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_label_value_and_number_is_read_back(
    wanted: list[tuple[dict[str, str], float]],
) -> None:
    metric = Metric('m', 'Help.', tuple(Sample(tuple(w.items()), v) for w, v in wanted))
    assert read(exposition([metric])) == [('m', labels, v) for labels, v in wanted]


@given(samples.any_snapshot(), st.integers(0, 3))
@settings(max_examples=10)
def test_any_snapshot_is_read_back_sample_by_sample(snapshot: Snapshot, osd_limit: int) -> None:
    written = metrics(snapshot, osd_limit)
    assert read(exposition(written)) == [
        (metric.name, dict(sample.labels), sample.value)
        for metric in written
        for sample in metric.samples
    ]


@pytest.mark.parametrize('name', samples.all_snapshots())
def test_names_and_units_follow_the_conventions(name: str) -> None:
    for metric in metrics(samples.all_snapshots()[name], 10**6):
        assert re.fullmatch(PREFIX + '[a-z0-9_]+', metric.name)
        assert UNITS.search(metric.name), metric.name
        assert metric.help.endswith('.')
        # Suffixes that mean another kind of metric than a gauge.
        assert not metric.name.endswith(('_total', '_count', '_sum', '_bucket'))


@pytest.mark.parametrize('name', samples.all_snapshots())
def test_number_of_series_is_bounded_as_documented(name: str) -> None:
    snapshot = samples.all_snapshots()[name]
    bound = (
        len(snapshot.osds) * SERIES_PER_OSD
        + len(snapshot.groups) * (SERIES_PER_DEVICE_CLASS + 1)
        + len({(f.finding_id, f.severity) for f in snapshot.findings})
        + 60
    )
    for experiment in experiments.all_states().values():
        arms = 4 * len(experiment.arms)
        assert len(series(replace(snapshot, experiment=experiment))) < bound + arms


def test_every_documented_series_of_an_osd_and_a_class_exists() -> None:
    """The bound is reached, so it is not a bound of something else."""
    osds = (
        samples.facts(0)._replace(
            signals=samples.signals(0)._replace(db_total_bytes=4_000_000_000),
            forecast=Forecast(
                Outlook.FILLING, samples.NOW_S, 86400.0, 49, 1.0, 1.0, 1.0, 100.0, 50.0, 200.0
            ),
        ),
    )
    group = GroupFacts('ssd', samples.SMALL_WRITES, osds)
    found = series(replace(samples.small_cluster(), osds=osds, groups=(group,)))
    names = [name for name, _ in found]
    assert len([n for n in names if n.startswith('osd_')]) == SERIES_PER_OSD
    assert len([n for n in names if n.startswith('device_class_')]) == SERIES_PER_DEVICE_CLASS
    assert value(found, 'osd_db_full_timestamp_seconds', ceph_daemon='osd.0') == (
        samples.NOW_S + 100
    )
    assert value(found, 'osd_db_full_earliest_timestamp_seconds', ceph_daemon='osd.0') == (
        samples.NOW_S + 50
    )


def test_device_class_has_its_worst_osd_and_its_sum() -> None:
    busy = samples.facts(1)._replace(
        signals=samples.signals(1)._replace(kv_sync_busy=0.9, wal_bytes_per_s=5.0)
    )
    unknown = samples.facts(2)._replace(signals=None)
    calm = samples.facts(3)._replace(
        signals=samples.signals(3)._replace(kv_sync_busy=0.1, wal_bytes_per_s=7.0)
    )
    osds = (busy, unknown, calm)
    snapshot = replace(
        samples.small_cluster(), osds=osds, groups=(GroupFacts('ssd', samples.SMALL_WRITES, osds),)
    )
    found = series(snapshot)
    assert value(found, 'device_class_kv_sync_busy_max_ratio', device_class='ssd') == 0.9
    assert value(found, 'device_class_wal_bytes_per_second', device_class='ssd') == 12.0
    assert value(found, 'device_class_osds', device_class='ssd') == 3


def test_unknown_value_has_no_sample() -> None:
    """An OSD that is down or shares its device is absent, never 0."""
    found = series(samples.partial_cluster())
    names = {name for name, labels in found if ('ceph_daemon', 'osd.0') in labels}
    assert names == {'osd_info', 'osd_restart_pending'}
    assert value(found, 'osd_compaction_bytes_per_second', ceph_daemon='osd.2') is None
    assert value(found, 'osd_db_total_bytes', ceph_daemon='osd.2') is None
    fresh = series(replace(samples.empty_cluster(), taken_s=None, rollout=None))
    assert value(fresh, 'snapshot_timestamp_seconds') is None
    assert not [name for name, _ in fresh if name.startswith('rollout')]


def test_only_osd_series_are_dropped_beyond_the_limit_and_that_is_reported() -> None:
    snapshot = samples.small_cluster()
    whole, short = series(snapshot, osd_limit=3), series(snapshot, osd_limit=2)
    assert value(whole, 'omitted_osds') == 0
    assert value(short, 'omitted_osds') == 3
    assert {name for name, _ in whole} - {name for name, _ in short} == {
        name for name, _ in whole if name.startswith('osd_')
    }


@pytest.mark.parametrize('name', samples.all_snapshots())
def test_decision_of_each_group_is_a_series_in_the_words_of_status(name: str) -> None:
    snapshot = samples.all_snapshots()[name]
    assert [
        labels for series_name, labels in series(snapshot) if series_name == 'decision_info'
    ] == [
        frozenset((label, decision[label] or '') for label in ('who', 'do', 'next_command'))
        for decision in json.loads(views.show('status', snapshot))['decisions']
    ]
