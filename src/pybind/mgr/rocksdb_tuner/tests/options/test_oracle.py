"""Predictions for an option string match the real binaries, on every release.

The fast tests use recorded results (`record`); those marked `integration` run the binaries again,
on new strings.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from rocksdb_tuner.options.checks import check

from .oracle import (
    FIXED_COUNT,
    FIXED_SEED,
    ROCKSDB_VERSIONS,
    Answer,
    ask,
    contradiction,
    recorded,
    recorded_answers,
)
from .oracle_worker import Asker
from .strings import strings

#: The number of strings per run; `make check-releases` takes 3000.
COUNT = int(os.environ.get('ROCKSDB_TUNER_ORACLE_STRINGS', '300'))
#: Tests of a tenth of the recorded strings each are more specific and fail sooner.
PARTS = 10
RELEASES = [
    'pacific',
    pytest.param('reef', marks=pytest.mark.reef),
    pytest.param('tentacle', marks=pytest.mark.tentacle),
]


def judged(answers: list[Answer], release: str) -> dict[str, Any]:
    """Every contradiction, and how much was compared: a test of nothing must not pass."""
    version = ROCKSDB_VERSIONS[release]
    results = [check(answer.text, version) for answer in answers]
    pairs = list(zip(answers, results))
    found = [contradiction(answer, result) for answer, result in pairs]
    return {
        'contradictions': [one for one in found if one is not None],
        'accepted': sum(bool(answer.accepted) for answer in answers),
        'refused': sum(answer.accepted is False for answer in answers),
        'not measured': sum(answer.accepted is None for answer in answers),
        'not judged': sum(result.accepted is None for result in results),
        'values': sum(
            len(result.effective.keys() & answer.values.keys()) for answer, result in pairs
        ),
    }


def is_broad(outcome: dict[str, Any], count: int) -> bool:
    return bool(
        outcome['accepted'] >= count // 3
        and outcome['refused'] >= count // 5
        and outcome['not judged'] <= count // 25
        and outcome['not measured'] <= count // 50
        and outcome['values'] >= 100 * outcome['accepted']
    )


@pytest.mark.parametrize('release', ROCKSDB_VERSIONS)
def test_three_thousand_strings_were_recorded(release: str) -> None:
    assert len({answer.text for answer in recorded_answers(release)}) == FIXED_COUNT


@pytest.mark.parametrize('part', range(PARTS))
@pytest.mark.parametrize('release', ROCKSDB_VERSIONS)
def test_recorded_strings_behave_as_predicted(release: str, part: int) -> None:
    """Accepted or refused, and each value in effect, as recorded from the binary."""
    answers = list(recorded_answers(release, part, PARTS))
    outcome = judged(answers, release)
    assert outcome['contradictions'] == []
    assert is_broad(outcome, len(answers))


@pytest.mark.integration
@pytest.mark.oracle
@pytest.mark.parametrize('release', RELEASES)
def test_new_strings_behave_as_predicted(release: str) -> None:
    """Of a new seed, unless one is given; a failure shows it."""
    seed = int(os.environ.get('ROCKSDB_TUNER_ORACLE_SEED') or random.SystemRandom().getrandbits(32))
    print(f'{release}: {COUNT} strings of seed {seed}')  # noqa: T201 - for a run to repeat
    outcome = judged(ask(release, strings(ROCKSDB_VERSIONS[release], seed, COUNT)), release)
    assert (seed, outcome['contradictions']) == (seed, [])
    assert is_broad(outcome, COUNT)


@pytest.mark.integration
@pytest.mark.oracle
@pytest.mark.parametrize('release', RELEASES)
def test_recordings_are_still_valid(release: str) -> None:
    """The same binary gives the same answers to what was recorded of it."""
    choose = random.Random(FIXED_SEED)
    once = choose.sample(list(recorded_answers(release)), min(COUNT // 6, FIXED_COUNT))
    for before, now in zip(once, ask(release, [answer.text for answer in once])):
        if None in (before.accepted, now.accepted):
            continue
        assert now.accepted == before.accepted, now.text
        for name, value in before.values.items():
            assert now.values[name] == value, (now.text, name)


@pytest.mark.integration
@pytest.mark.oracle
def test_recorded_log_messages_are_still_valid() -> None:
    """Every seventh string of the older recording, of what the log prints."""
    cases = recorded('daemon_prints')['cases'][::7]
    for case, answer in zip(cases, ask('pacific', [case['string'] for case in cases])):
        assert answer.accepted == (case['changed']['pacific'] is not None), case


def test_wrong_prediction_is_noticed() -> None:
    """The judge itself: an answer turned round, and a value changed, are contradictions."""
    answer = next(a for a in recorded_answers('reef') if a.accepted)
    turned = Answer(answer.text, accepted=False, values={})
    spoiled = Answer(answer.text, accepted=True, values={**answer.values, 'write_buffer_size': '1'})
    assert judged([turned], 'reef')['contradictions']
    assert judged([spoiled], 'reef')['contradictions']
    assert not judged([answer], 'reef')['contradictions']


#: The first mkfs leaves no OPTIONS file; each logs what RocksDB prints.
_FORGETFUL_MON = """#!/bin/sh
for argument; do case $previous in --mon-data) data=$argument;; esac; previous=$argument; done
echo 'rocksdb: Options.compaction_options_fifo.allow_compaction: 0'
here=$(dirname "$0")
if [ -e "$here/asked" ]; then
    mkdir -p "$data/store.db"
    printf '[CFOptions "default"]\\n  compaction_options_fifo={allow_compaction=false;}\\n' \\
        > "$data/store.db/OPTIONS-000007"
fi
"""


@pytest.mark.parametrize(
    ('later', 'answer'),
    [
        ('touch "$here/asked"', (True, {'compaction_options_fifo.allow_compaction': 'false'})),
        (':', (None, {})),
    ],
)
def test_start_without_an_options_file_is_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: str, answer: Any
) -> None:
    """The log alone is no answer: a single log is retried, and then not measured."""
    for name, script in {
        'ceph-mon': _FORGETFUL_MON + later,
        'monmaptool': '#!/bin/sh',
        'ceph-authtool': '#!/bin/sh',
    }.items():
        (tmp_path / name).write_text(script + '\n', encoding='ascii')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=os.pathsep)
    assert Asker(tmp_path).ask('') == answer


@pytest.mark.parametrize('release', ROCKSDB_VERSIONS)
def test_seed_gives_the_same_strings(release: str) -> None:
    version = ROCKSDB_VERSIONS[release]
    assert strings(version, 5, 50) == strings(version, 5, 50)
    assert strings(version, 5, 50) != strings(version, 6, 50)
