"""The properties of a request about own entries and OSDs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.plan.records import ANNEX, OPTION
from rocksdb_tuner.plan.request import end_value, overruled, target
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.operations.rollout.conftest import ALL, NEW, OLD, set_profile


def test_each_osd_has_a_target_and_its_final_own_entry() -> None:
    """Entries of OSDs outside the request are shared ones: they are not restarted for them."""
    request = replace(
        set_profile(FakeCluster(2)),
        targets=((0, NEW), (1, OLD)),
        final_entries=((ALL, NEW), ('osd.1', OLD), ('osd.7', None)),
    )
    assert (target(request, 0), target(request, 1)) == (NEW, OLD)
    assert (end_value(request, 0), end_value(request, 1)) == (None, OLD)
    assert request.shared_entries == ((ALL, NEW), ('osd.7', None))


@pytest.mark.parametrize(('option', 'other'), [(OPTION, ANNEX), (ANNEX, OPTION)])
def test_other_option_is_the_unchanged_one(option: str, other: str) -> None:
    """OSDs read both together."""
    assert replace(set_profile(FakeCluster(1)), option=option).other_option == other


@pytest.mark.parametrize(
    ('source', 'where'),
    [
        ('file', 'ceph.conf'),
        ('env', 'environment'),
        ('cmdline', 'command line'),
        ('override', 'running daemon'),
    ],
)
def test_source_above_the_config_store_is_named_with_its_location(source: str, where: str) -> None:
    """There it can be removed."""
    request = set_profile(FakeCluster(3))
    reported = overruled(request, 2, RunningOption(OLD, source, ignores_mon=True))
    assert [word for word in (OPTION, 'osd.2', where) if word not in reported] == []
