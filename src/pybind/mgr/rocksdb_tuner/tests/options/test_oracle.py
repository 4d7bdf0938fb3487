"""The predictions against the real binary, here and now."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rocksdb_tuner.options.catalogue import OptionInfo, catalogue
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.values import ValueType

from .oracle import Oracle, differences, recorded
from .test_effective import is_stricter_than_a_scratch_database

PACIFIC = '6.8'
STRINGS = 150
#: Values that hit the readers' edges; each is tried on every type.
EDGES = [
    *('0', '1', '-1', '2', '4', '8', '16', '2MB', '2m', '64KB', '4.5G', '3G', 'abc', '', '1e9'),
    *('64 MB', '18446744073709551614', '18446744073709551616', '2147483648', 'true', '+7'),
]
#: Not asked: they start threads, take memory, or open files and folders of this machine.
NOT_ASKED = frozenset(
    {
        *('wal_dir', 'db_log_dir', 'max_open_files', 'persist_stats_to_disk', 'db_host_id'),
        *('rate_limiter_bytes_per_sec', 'max_file_opening_threads', 'table_cache_numshardbits'),
        *('compaction_threads', 'flusher_threads', 'max_subcompactions', 'compact_on_mount'),
        *('max_background_jobs', 'max_background_compactions', 'max_background_flushes'),
        *('disableWAL', 'num_levels', 'inplace_update_num_locks'),
    }
)
#: Negative ones compact without end.
NO_NEGATIVES = 'level0_'


@pytest.fixture(scope='module')
def oracle() -> Iterator[Oracle]:
    with Oracle() as scratch:
        yield scratch


def random_string(choose: random.Random) -> str:
    known = [o for o in catalogue().options.values() if o.name not in NOT_ASKED]
    pieces = []
    for _ in range(choose.randint(1, 4)):
        info = choose.choice(known)
        pieces.append(f'{info.name}={random_value(info, choose)}')
    return choose.choice([',', ';', ' , ']).join(pieces)


def random_value(info: OptionInfo, choose: random.Random) -> str:
    value = choose.choice(EDGES)
    if info.value_type is ValueType.ENUM:
        value = choose.choice([*(c.name for c in info.choices), 'kFoo'])
    elif info.value_type is ValueType.BOOL:
        value = choose.choice(['true', 'false', '1', '0', 'True'])
    elif info.value_type is ValueType.STRUCT:
        value = '-14:32767:0:0'
    if info.name.startswith(NO_NEGATIVES) and value in ('-1', '3G'):
        value = '8'
    return value


@pytest.mark.integration
def test_random_strings_do_as_predicted(oracle: Oracle, request: pytest.FixtureRequest) -> None:
    """Accepted or refused, and every effective value; the seed is printed if it fails."""
    seed = random.SystemRandom().getrandbits(32)
    choose = random.Random(seed)
    accepted = 0
    for _ in range(STRINGS):
        text = random_string(choose)
        answer, result = oracle.ask(text), check(text, PACIFIC)
        if answer.accepted and not result.accepted:
            assert is_stricter_than_a_scratch_database(result), (seed, text, result.problems)
            continue
        assert result.accepted == answer.accepted, (seed, text)
        if result.accepted:
            accepted += 1
            assert not differences(result.effective, answer.printed), (seed, text)
    assert accepted > STRINGS // 10


@pytest.mark.integration
def test_the_recording_is_still_true(oracle: Oracle) -> None:
    """Every seventh recorded string once more."""
    prints = recorded('daemon_prints')
    for case in prints['cases'][::7]:
        answer = oracle.ask(case['string'])
        changed = case['changed']['pacific']
        assert answer.accepted == (changed is not None), case
        for name, value in (changed or {}).items():
            assert answer.printed[name] == value, case
