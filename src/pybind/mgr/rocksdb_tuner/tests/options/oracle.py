"""The real binaries of each release as an oracle, their recorded results, and the comparison.

`oracle_worker` queries them; it runs on the machine or in the chroot of a release. A scratch store
cannot show what only an existing database shows, such as a change of compaction_style.
"""

from __future__ import annotations

import json
import lzma
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional

from harness import chroot_build, packages
from harness.chroot import ChrootHost
from harness.host import Host
from harness.progress import Progress
from harness.releases import get_release
from rocksdb_tuner.options.catalogue import catalogue
from rocksdb_tuner.options.checks import CheckResult
from rocksdb_tuner.options.values import ValueType

#: The RocksDB of each release whose binaries are run.
ROCKSDB_VERSIONS = {'pacific': '6.8', 'reef': '7.9', 'tentacle': '7.9'}
#: The strings recorded by `record`, which every later run can repeat.
FIXED_SEED = 20261121
FIXED_COUNT = 3000

_DATA = Path(__file__).parent / 'data'
_WORKER = Path(__file__).with_name('oracle_worker.py')
_TIMEOUT_S = 3600

#: Ceph or the machine decides these, whatever the string has, or RocksDB prints an address.
NOT_COMPARED = frozenset(
    {
        *('create_if_missing', 'wal_dir', 'db_log_dir', 'info_log_level'),
        *('rate_limiter', 'statistics', 'env'),
    }
)
#: Kept unsigned and printed signed.
PRINTED_SIGNED = frozenset({'bloom_locality', 'stats_persist_period_sec'})
_BOOLS = {'true': '1', 'false': '0'}


@dataclass(frozen=True)
class Answer:
    text: str
    #: None where it was not measured, such as where a bound that protects the machine was met.
    accepted: Optional[bool]
    #: The effective values, by option; empty if refused.
    values: Mapping[str, str]


def ask(release: str, texts: Sequence[str]) -> list[Answer]:
    """The result of the release's binary for each string; installs it if missing."""
    argv = ['/usr/bin/python3', '-c', _WORKER.read_text(encoding='utf-8')]
    known = get_release(release)
    if known.in_chroot:
        argv = ChrootHost(chroot_build.ensure(known, Progress())).command(argv)
    else:
        packages.install(Host(), known.packages['core'], Progress())
    questions = ''.join(json.dumps({'id': i, 'text': t}) + '\n' for i, t in enumerate(texts))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        try:
            output, _ = worker.communicate(questions.encode(), timeout=_TIMEOUT_S)
        finally:
            worker.terminate()
    if worker.returncode != 0:
        raise subprocess.CalledProcessError(worker.returncode, argv[0])
    answers = {answer['id']: answer for answer in map(json.loads, output.splitlines())}
    return [
        Answer(text, answers[i]['accepted'], _comparable(answers[i]['values']))
        for i, text in enumerate(texts)
    ]


def _comparable(values: Mapping[str, str]) -> dict[str, str]:
    """Without what is not of the catalogue, or another one at each start."""
    known = catalogue().options.keys() - NOT_COMPARED
    return {name: value for name, value in values.items() if name.partition('.')[0] in known}


def as_printed(name: str, value: str) -> str:
    """An effective value in the way that RocksDB prints it."""
    info = catalogue().options[name.partition('.')[0]]
    if '.' in name:
        return value
    if info.value_type is ValueType.BOOL:
        return _BOOLS[value]
    if info.value_type is ValueType.ENUM:
        choice = info.choice(value)
        assert choice is not None, (name, value)
        return choice.printed
    return 'None' if value == 'nullptr' else value


def differences(effective: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, Any]:
    """(ours, the daemon's) of each option that both report with different values.

    ``theirs`` is the stored or the printed value of the daemon.
    """
    found = {}
    for name in effective.keys() & theirs.keys() - NOT_COMPARED:
        ours, reported = effective[name], theirs[name]
        if reported in (ours, as_printed(name, ours)) or _BOOLS.get(reported) == as_printed(
            name, ours
        ):
            continue
        if ours == 'nullptr' and reported == 'Unknown':
            continue
        if name in PRINTED_SIGNED and int(reported) % (1 << 32) == int(ours):
            continue
        found[name] = (ours, reported)
    return found


def holds_only_for_a_new_database(result: CheckResult) -> bool:
    """Whether a refusal is of what an OSD has and a scratch store does not: data."""
    refusals = {
        (problem.rule, problem.option)
        for problem in result.problems
        if problem.rule in {'not-usable', 'refused-combination', 'refused-value'}
    }
    return refusals <= {
        ('not-usable', 'compaction_style'),
        ('refused-combination', 'error_if_exists'),
        ('refused-value', 'comparator'),
    } and not any(p.rule in {'unknown-option', 'syntax'} for p in result.problems)


def contradiction(answer: Answer, result: CheckResult) -> Any:
    """The difference between prediction and daemon; None if they agree."""
    if result.accepted is None or answer.accepted is None:
        return None
    if answer.accepted and not result.accepted and holds_only_for_a_new_database(result):
        return None
    if result.accepted != answer.accepted:
        return ('accepted by the daemon', answer.accepted, answer.text, result.problems)
    found = differences(result.effective, answer.values)
    return (answer.text, found) if found else None


def recorded(name: str) -> Any:
    """A recording in the directory of these tests."""
    path = _DATA / f'{name}.json'
    return json.loads(path.read_text(encoding='utf-8'))


def recording(release: str) -> Path:
    return _DATA / f'oracle-{release}.json.xz'


def recorded_answers(release: str, part: int = 0, parts: int = 1) -> Iterator[Answer]:
    """The results of the release's binary for the strings of the fixed seed, or for one in
    ``parts``.
    """
    content = json.loads(lzma.decompress(recording(release).read_bytes()))
    defaults = content['defaults']
    for text, accepted, changed in content['answers'][part::parts]:
        yield Answer(text, accepted, _comparable({**defaults, **changed}) if accepted else {})
