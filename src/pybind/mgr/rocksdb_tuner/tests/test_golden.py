"""What users read, to the letter: plain output, health checks, metrics, offline, the HTML report.

A change of structure changes none of it. `make golden` writes them anew: review the difference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable

import pytest

from rocksdb_tuner import Module
from rocksdb_tuner.collection.report import read_report, report
from rocksdb_tuner.metrics.exposition import exposition
from rocksdb_tuner.metrics.series import metrics
from rocksdb_tuner.offline.cli import main
from rocksdb_tuner.offline.judge import judge
from rocksdb_tuner.offline.page import page
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.snapshot import Snapshot

from .advise.golden_texts import kept, write
from .offline.test_files import BEFORE, OPTION, fill
from .offline.test_same_answers import World, a_stale_string
from .present import experiment_samples as experiments
from .present import samples
from .present.cases import CASES
from .present.test_documents import documents
from .query_command import ask

SMALL = samples.small_cluster()
STATES: Mapping[str, Snapshot] = {
    **samples.all_snapshots(),
    'waiting': replace(SMALL, rollout=samples.waiting_rollout()),
    'compacting': replace(SMALL, rollout=None, campaign=samples.compacting()),
    'experiment': replace(SMALL, rollout=None, experiment=experiments.measuring()),
}
#: Of each state. The first word names the file.
OF_A_STATE = (
    *('status', 'osd', 'osd 0', 'osd 2', 'workload', 'findings', 'recommend', 'recommend --all'),
    *('operation status', 'history', 'doctor'),
)
#: In one state.
OTHERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    'mode': ('mode', {}),
    'profile ls': ('profile_ls', {}),
    'profile show lz4-2025': ('profile_show', {'name': 'lz4-2025'}),
    'profile diff': ('profile_diff', {'name': 'lz4-2025', 'other': 'variant-2022-d'}),
    'profile derive': ('profile_derive', {'cores': 4, 'release': 'reef'}),
    'check accepted': ('check', {'options': 'compression=kLZ4Compression', 'release': 'reef'}),
    'check refused': ('check', {'options': 'compression=lz4,ttl=1,nonsense=2', 'release': 'reef'}),
    'explain': ('explain', {}),
    'explain compression': ('explain', {'option': 'compression'}),
    'model': ('model', {'options': 'write_buffer_size=64M', 'release': 'reef', 'db_size': '30G'}),
}


def module_in(state: Snapshot) -> Any:
    module = Module('rocksdb_tuner', '', '')
    module._tuner._publish(state)
    return module


def told(module: Any, command: str, /, **arguments: Any) -> str:
    result = ask(module, command, **arguments)
    return result.stdout.replace('\n \n', '\n\n') if result.retval == 0 else result.stderr


def of_a_state(name: str, state: Snapshot) -> str:
    module, (word, *rest) = module_in(state), name.split()
    if rest == ['--all']:
        return told(module, word, all=True)
    if word == 'osd' and rest:
        return told(module, word, osd_id=rest[0])
    return told(module, '_'.join([word, *rest]))


def of_each_state(name: str) -> dict[str, str]:
    return {state: of_a_state(name, snapshot) for state, snapshot in STATES.items()}


def details(state: Snapshot) -> Iterator[tuple[str, str]]:
    """Findings and recommendations in full, with the plan of applying these."""
    module = module_in(state)
    for finding in state.findings:
        name = finding.finding_id
        yield f'findings {name}', told(module, 'findings', finding_id=name)
    for one in state.recommendations:
        name = one.recommendation_id
        yield f'recommend {name}', told(module, 'recommend', recommendation_id=name)
        yield f'apply {name}', told(module, 'apply', recommendation_id=name, dry_run=True)


def html() -> str:
    """The data of the report; the rest of the page is a template and the tab's own script."""
    world = World()
    a_stale_string(world)
    text = report(world.tuner.collection(), anonymous=False)
    made = page(judge(read_report(json.loads(text))), '')
    (found,) = re.findall(r'<script type="application/json"[^>]*>([^<]*)</script>', made)
    measured = re.compile(r'(?<="tick_ms": )[0-9.]+')
    return measured.sub('1.5', json.dumps(json.loads(found), indent=1))


def of_json(state: Snapshot) -> dict[str, str]:
    """The documents of the small cluster; of several of one kind the last."""
    return {name: json.dumps(found, indent=1) for name, found in documents(state)}


def _without(*missing: str) -> Callable[[Path], None]:
    def remove(folder: Path) -> None:
        for name in missing:
            (folder / name).unlink()

    return remove


def _with_an_entry(folder: Path) -> None:
    entry = {'section': 'osd', 'mask': 'class:hdd', 'name': OPTION, 'value': 'ttl=1,foo=2'}
    (folder / 'config_dump.json').write_text(json.dumps([entry]))
    detail = [{'message': 'osd.0 observed slow operation indications'}]
    checks = {'checks': {'BLUESTORE_SLOW_OP_ALERT': {'detail': detail}}}
    (folder / 'health.json').write_text(json.dumps(checks))


FOLDERS: Mapping[str, Callable[[Path], None]] = {
    'whole': _without(),
    'without metadata': _without('osd_metadata.json', 'osd_crush_dump.json'),
    'one perf dump': _without(BEFORE, 'osd.0.config_show.json', 'osd.0.bluefs_files.json'),
    'with an entry': _with_an_entry,
}


def of_folders() -> Iterator[tuple[str, str]]:
    """Notes, and answers as JSON: the output of tables is recorded of the module."""
    for title, change in FOLDERS.items():
        with TemporaryDirectory() as name:
            folder = fill(Path(name) / 'files')
            change(folder)
            texts = []
            for words in (['workload'], ['findings'], ['recommend'], ['osd', '0']):
                out, err = StringIO(), StringIO()
                with redirect_stdout(out), redirect_stderr(err):
                    main([str(folder), *words, '--format', 'json'])
                texts.append(out.getvalue())
            yield title, err.getvalue() + ''.join(texts)


FILES: Mapping[str, Callable[[], Mapping[str, str]]] = {
    **{name: partial(of_each_state, name) for name in OF_A_STATE},
    'details': lambda: dict(details(SMALL)),
    'others': lambda: {
        title: told(module_in(SMALL), name, **arguments)
        for title, (name, arguments) in OTHERS.items()
    },
    'metrics': lambda: {
        state: exposition(metrics(STATES[state], 2)) for state in ('small', 'empty', 'experiment')
    },
    'health': lambda: {
        state: json.dumps(health_checks(of), indent=1) for state, of in STATES.items()
    },
    'offline': lambda: dict(of_folders()),
    'html': lambda: {'a stale string': html()},
    'cases': lambda: {title: text() for title, text in CASES.items()},
    'json': lambda: of_json(SMALL),
}


def file_of(name: str) -> Path:
    return Path(__file__).parent / 'data/golden' / f'{"-".join(re.findall("[a-z0-9]+", name))}.txt'


@pytest.mark.parametrize('name', FILES)
def test_users_read_what_is_recorded(name: str) -> None:
    found = {title: text.strip() for title, text in FILES[name]().items()}
    assert found == kept(file_of(name))


if __name__ == '__main__':
    for name, texts in FILES.items():
        write(file_of(name), texts())
