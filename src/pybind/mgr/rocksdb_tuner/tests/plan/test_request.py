"""The properties of a request about own entries and OSDs."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.plan.records import ANNEX, OPTION, end_value, overruled, starts_alike, target
from rocksdb_tuner.tests.advise.builders import osd_info
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster
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


LZ4 = 'compression=kLZ4Compression'
#: The release whose default string has LZ4, and one whose default annex would have to add it.
LATER, EARLIER = '18.2.7', '18.2.2'


@pytest.mark.parametrize(
    ('option', 'version', 'before', 'after', 'others', 'alike'),
    [
        # The default of the own release in any words, and that of no other.
        (OPTION, LATER, DEFAULTS['reef'], None, {}, True),
        (OPTION, LATER, None, ';'.join(DEFAULTS['reef'].split(',')), {}, True),
        (OPTION, LATER, DEFAULTS['pacific'], None, {}, False),
        (OPTION, '99.0.0', DEFAULTS['reef'], None, {}, False),
        (OPTION, '99.0.0', DEFAULTS['reef'], ';'.join(DEFAULTS['reef'].split(',')), {}, True),
        (OPTION, '99.0.0', None, None, {}, True),
        # With the annex it is the whole string that counts.
        (ANNEX, LATER, LZ4, None, {}, True),
        (ANNEX, EARLIER, LZ4, None, {}, False),
        (ANNEX, LATER, LZ4, None, {'osd': DEFAULTS['pacific']}, False),
        (ANNEX, LATER, LZ4, None, None, False),
    ],
)
def test_osd_starts_alike_if_the_default_of_its_release_is_what_the_entry_says(
    option: str,
    version: str,
    before: Optional[str],
    after: Optional[str],
    others: Optional[dict[str, str]],
    alike: bool,
) -> None:
    old, new = ({} if value is None else {'osd': value} for value in (before, after))
    known = version != '99.0.0'
    osd = osd_info(7, 'reef' if known else 'later', version=version)
    assert starts_alike(option, osd, old, new, others) is alike
