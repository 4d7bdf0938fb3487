"""Every stored format of the module can be read by this version: an upgrade loses nothing."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from rocksdb_tuner.advise.custom_profiles import CustomProfiles
from rocksdb_tuner.deep import overrides
from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.history import record_of
from rocksdb_tuner.operations.rollout.records import OsdProgress, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.restart_log import Restart, RestartLog
from rocksdb_tuner.operations.rollout.storage import RolloutStorage
from rocksdb_tuner.operations.stopwatch import ClockState
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.tests.fake_cluster import FakeStore
from rocksdb_tuner.tests.operations.rollout.test_codec import example, fullest

FIRST = Path(__file__).parent / 'data' / 'format-1'


def stored(**files: str) -> FakeStore:
    """A store that has these files under these keys, "__" standing for "/"."""
    store = FakeStore()
    for key, name in files.items():
        store.values[key.replace('__', '/')] = (FIRST / f'{name}.txt').read_text()
    return store


def many() -> RolloutState:
    osds = tuple(
        OsdProgress(n, OsdStep.VERIFIED, zlib.crc32(b'%d' % n), zlib.crc32(b'a%d' % n))
        for n in range(300)
    )
    before = example(300, same=False).before
    return replace(example(300), rollout_id='r14', osds=osds, before=before)


@pytest.mark.parametrize(
    ('name', 'state'),
    [
        ('rollout-current', fullest()),
        (
            'rollout-current-annex',
            replace(
                fullest(),
                rollout_id='r13',
                request=replace(fullest().request, option=ANNEX),
            ),
        ),
        ('rollout-current-planned', example(2)),
        ('rollout-current-compressed', many()),
    ],
)
def test_running_rollout_survives_the_upgrade(name: str, state: RolloutState) -> None:
    """It goes on, and is stored as this version does."""
    store = stored(rollout__current=name)
    storage = RolloutStorage(store)
    assert storage.load_current() == state
    storage.save_current(state)
    assert RolloutStorage(store).load_current() == state
    assert RolloutStorage(store).problems() == ()


def test_archive_and_history_of_rollouts_are_read() -> None:
    """With what is needed to roll back."""
    ended = replace(example(3), stage=Phase.DONE, outcome=Outcome.DONE)
    storage = RolloutStorage(
        stored(
            rollout__archive__r7='rollout-archive-r7',
            history__r7='history-r7-alone',
            history__r12='history-r12',
        )
    )
    measured = 'better: DB bytes written per write -30 % (-33 to -27 %)'
    assert storage.load_history() == (
        record_of(ended),
        replace(record_of(fullest()), measured=measured),
    )
    assert storage.archived('r7') == ended
    assert storage.archived('r12') == fullest()
    assert storage.problems() == ()


def test_clock_restarts_and_evidence_are_read() -> None:
    """Limits and verdicts go on from what was counted and measured."""
    storage = RolloutStorage(
        stored(
            rollout__clock='rollout-clock',
            rollout__restarts='rollout-restarts',
            rollout__evidence__1='rollout-evidence-1',
        )
    )
    assert storage.load_clock() == ClockState(4711.5, ('r12', 4000.5))
    assert storage.load_restarts() == RestartLog((Restart(1000.0, 10.0), Restart(1100.0, None)))
    before = Block(
        {
            3: Measured(1.5, 0.25, 4096.0, 1e9, 0.0, 0.0, 1.0),
            4: Measured(),
            9: Measured(2.5),
        }
    )
    after = Block({3: Measured(1.25), 4: Measured(1.0), 9: Measured(2.0)})
    assert storage.load_evidence() == (Evidence('r12', 1, (3,), (4, 9), 30.0, (before,), (after,)),)
    unended = RolloutStorage(stored(rollout__clock='rollout-clock-unended'))
    assert unended.load_clock() == ClockState(12.0)
    assert storage.problems() == unended.problems() == ()


def test_note_and_custom_profile_are_read() -> None:
    """Statistics left enabled in an OSD are restored, and no profile is lost."""
    assert overrides.decode((FIRST / 'deep-osd.3.txt').read_text()) == overrides.OsdOverrides(
        3,
        4294967295,
        1000.25,
        (
            overrides.Override('rocksdb_perf', None),
            overrides.Override('rocksdb_collect_memory_stats', 'false'),
        ),
    )
    (own,) = CustomProfiles(stored(profile__ours='profile-ours')).all()
    assert (own.name, own.options, own.own_releases) == (
        'ours',
        'write_buffer_size=33554432',
        ('reef',),
    )
    assert (own.title, own.source, own.cautions) == ('Ours', 'a test', ('mind it',))
