"""The catalogue: which versions describe which, what objects take, what has no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.options.catalogue import (
    Catalogue,
    ObjectRule,
    UnknownRocksDBVersionError,
    catalogue,
)

#: As text "10.10" comes before "10.2", and "6.12" before "6.8".
SCATTERED = Catalogue(('6.8', '6.12', '10.2', '10.10'), {})


@pytest.mark.parametrize(
    ('version', 'measured'),
    [
        ('6.8', ('6.8',)),
        ('6.8.1', ('6.8',)),
        ('10.10', ('10.10',)),
        ('6.10', ('6.8', '6.12')),
        ('7.0', ('6.12', '10.2')),
        ('10.3', ('10.2', '10.10')),
    ],
)
def test_version_is_described_by_itself_or_its_nearest_neighbors(
    version: str, measured: tuple[str, ...]
) -> None:
    assert SCATTERED.versions_for(version) == measured


@pytest.mark.parametrize('version', ['6.7', '5.99', '10.11', '11.0', '7', 'x', ''])
def test_versions_outside_the_measured_range_are_not_described(version: str) -> None:
    with pytest.raises(UnknownRocksDBVersionError) as error:
        SCATTERED.versions_for(version)
    assert str(error.value) == f'RocksDB {version!r} is unknown; known versions: 6.8 to 10.10'


@pytest.mark.parametrize(
    ('name', 'version', 'without'),
    [
        ('recycle_log_file_num', '6.8', True),
        ('recycle_log_file_num', '7.9', True),
        # From RocksDB 9.1 on it has an effect.
        ('recycle_log_file_num', '8.4', False),
        ('recycle_log_file_num', '9.10', False),
        ('soft_rate_limit', '8.4', True),
        ('ttl', '7.9', False),
        ('wal_compression', '6.15', False),
        ('nope', '7.9', False),
    ],
)
def test_option_has_no_effect_if_all_neighbors_of_the_version_agree(
    name: str, version: str, without: bool
) -> None:
    assert catalogue().is_without_effect(name, version) is without


RULE = ObjectRule(accepted='good', refused='bad|worse=.*', otherwise=True, with_members=None)


@pytest.mark.parametrize(
    ('value', 'otherwise', 'with_members', 'taken'),
    [
        ('good', False, False, True),
        ('bad', True, True, False),
        ('worse=1', True, True, False),
        ('plain.Name:1-2', True, False, True),
        ('plain', False, True, False),
        ('plain', None, True, None),
        ('', True, None, True),
        # No plain name: only that it is refused like all others is known.
        ('two words', True, True, None),
        ('two words', False, True, False),
        ('two words', None, True, None),
        ('id=x;a=b', True, False, False),
        ('id=x;a=b', False, True, True),
        ('id=x;a=b', True, None, None),
        ('{x}', True, False, False),
        ('{x}', False, True, True),
    ],
)
def test_object_names_are_parsed(
    value: str, otherwise: Optional[bool], with_members: Optional[bool], taken: Optional[bool]
) -> None:
    rule = replace(RULE, otherwise=otherwise, with_members=with_members)
    assert rule.takes(value) is taken


def test_enum_value_is_known_from_the_version_that_added_it() -> None:
    pri = catalogue().options['compaction_pri']
    names = {version: 'kRoundRobin' in pri.choice_names(version) for version in ('6.8', '7.9')}
    assert names == {'6.8': False, '7.9': True}
    assert 'kRoundRobin' in pri.choice_names('9.10')
    tier = catalogue().options['lowest_used_cache_tier']
    assert 'kVolatileCompressedTier' not in tier.choice_names('7.9')
    assert 'kVolatileCompressedTier' in tier.choice_names('9.10')


def test_unread_value_has_a_reason() -> None:
    """The check reports it, for any option and version."""
    unread = [
        (name, version, facts.no_effect)
        for name, info in catalogue().options.items()
        for version, facts in info.versions.items()
        if not facts.value_read
    ]
    assert len(unread) > 50
    assert [one for one in unread if not one[2]] == []
