"""Profiles are the published strings, recognized by meaning, and suggested where published."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise import profiles as module
from rocksdb_tuner.advise.profiles import (
    PublishedEvidence,
    Storage,
    predict,
    profile,
    profiles,
    recognize,
)
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.grammar import same_meaning
from rocksdb_tuner.options.releases import KnownRelease, known_releases
from rocksdb_tuner.workload.records import WorkloadClass

from .builders import release

RELEASES = known_releases()


PACIFIC, QUINCY, REEF_OLD, REEF, TENTACLE = map(
    release, ('16.2.15', '17.2.7', '18.2.2', '18.2.7', '20.2.4')
)


def test_string_without_a_release_is_interpreted_by_the_newest_rocksdb() -> None:
    """There levels of a dynamic size are the default, before 8.4 they were not."""
    text = profile('lz4-2025').options
    dynamic = f'{text},level_compaction_dynamic_level_bytes'
    assert recognize(text, None) == profile('lz4-2025')
    assert recognize(f'{dynamic}=true', None) == profile('lz4-2025')
    assert recognize(f'{dynamic}=false', None) is None
    assert recognize(f'{dynamic}=true', REEF) is None
    assert recognize(f'{dynamic}=false', REEF) is not None


@pytest.mark.parametrize(('cores', 'few'), [(None, False), (1, True), (2, True), (3, False)])
def test_few_cores_means_the_number_with_published_losses(cores: Optional[int], few: bool) -> None:
    assert module.few_cores(cores) is few


@pytest.mark.parametrize('on', RELEASES, ids=lambda r: r.since)
def test_default_is_recognized_as_that_of_its_release(on: KnownRelease) -> None:
    found = recognize(on.default_options, on)
    assert found is not None
    assert on.name in found.release_defaults
    assert found.superseded is None


def test_string_has_one_name_and_is_the_default_where_it_is() -> None:
    for on in RELEASES:
        for one, other in combinations(profiles(), 2):
            assert not same_meaning(one.options, other.options, on.rocksdb_version)
    assert profile('lz4-2025').release_defaults == ('reef', 'squid', 'tentacle')


def test_profiles_are_recognized_by_meaning() -> None:
    respelled = ' ;'.join(reversed(profile('variant-2022-d').options.split(','))).replace(
        '2MB', '2m'
    )
    found = recognize(respelled, PACIFIC)
    assert found is not None
    assert found.name == 'variant-2022-d'


@pytest.mark.parametrize('text', ['write_buffer_size=123MB', 'foo=1', 'a=1,,', ' '])
def test_unrecognized_options_are_no_profile(text: str) -> None:
    assert recognize(text, PACIFIC) is None
    assert recognize(text, None) is None


def test_old_default_is_superseded_only_by_a_built_in_newer_one() -> None:
    text = profile('bluestore-default-pacific').options
    on_pacific, on_reef = recognize(text, PACIFIC), recognize(text, REEF)
    assert on_pacific is not None
    assert on_pacific.superseded is None
    assert on_reef is not None
    assert on_reef.superseded


@pytest.mark.parametrize('name', ['alternate-2019', 'rocksdb-default'])
def test_stale_strings_are_superseded_everywhere(name: str) -> None:
    for on in RELEASES:
        found = recognize(profile(name).options, on)
        assert found is not None
        assert (found.name, bool(found.superseded)) == (name, True)


def predicted(
    name: str,
    workload: WorkloadClass,
    *,
    on: KnownRelease = PACIFIC,
    storage: Optional[Storage] = Storage.NVME,
    running: Optional[str] = None,
) -> Optional[PublishedEvidence]:
    text = on.default_options if running is None else running
    now = check(text, on.rocksdb_version).effective
    return predict(profile(name), workload, release=on, storage=storage, running=now)


@pytest.mark.parametrize(
    ('change', 'percent'),
    [
        pytest.param({}, 19.9, id='as it was measured'),
        pytest.param({'on': QUINCY}, 14.3, id='Quincy has a figure of its own'),
        pytest.param({'on': REEF_OLD}, None, id='another release'),
        pytest.param({'storage': Storage.SSD_DB_HDD}, None, id='other devices'),
        pytest.param({'storage': Storage.HDD}, None, id='hard disks'),
        pytest.param({'storage': None}, None, id='unknown devices'),
        pytest.param({'running': profile('alternate-2019').options}, 9.5, id='from that of 2019'),
        pytest.param({'running': profile('variant-2022-c').options}, None, id='another baseline'),
        pytest.param({'workload': WorkloadClass.RGW_METADATA}, None, id='another workload'),
    ],
)
def test_figure_applies_only_to_its_measured_setup(
    change: dict[str, Any], percent: Optional[float]
) -> None:
    found = predicted('variant-2022-d', **{'workload': WorkloadClass.RBD_SMALL_WRITE, **change})
    assert (found and found.change_percent) == percent


def test_each_change_follows_from_its_two_values() -> None:
    """And of just one change at most one figure is the one to predict from."""
    for known in profiles():
        for figure in known.evidence:
            if figure.baseline_value is not None:
                expected = 100 * (figure.value / figure.baseline_value - 1)
                assert figure.change_percent == pytest.approx(expected, abs=0.1)
        headlines = [
            (f.workload, f.releases, f.hardware, tuple(sorted(f.baseline_options.items())))
            for f in known.evidence
            if f.headline
        ]
        assert len(headlines) == len(set(headlines))
