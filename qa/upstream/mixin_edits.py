"""Writes contrib/overlay.d/monitoring.patch: mixin_edits.py TREE

Ceph's mixin has all alerts in one file and all their tests in another, so the module's become a
part of both. TREE is an unpacked source of Ceph without the module, and stays as it is.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import _jsonnet
import yaml

if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from upstream.manifest import yaml_text

CHECKOUT = Path(__file__).resolve().parents[2]
PATCH = CHECKOUT / 'contrib/overlay.d/monitoring.patch'
MIXIN = Path('monitoring/ceph-mixin')
OWN = CHECKOUT / MIXIN / 'rocksdb_tuner'
ALERTS = MIXIN / 'prometheus_alerts.yml'
TESTS = MIXIN / 'tests_alerts/test_alerts.yml'
TOP = MIXIN / 'mixin.libsonnet'
#: The last of the parts that Ceph adds up, and the one that follows it.
_LAST = "(import 'alerts.libsonnet')\n"
_ADDED = "(import 'alerts.libsonnet') +\n(import 'rocksdb_tuner/ceph.libsonnet')\n"
#: Of Ceph's own configuration, what the module's part takes from there.
CONFIG = {'dashboardTags': ['ceph-mixin'], 'clusterLabel': 'cluster', 'showMultiCluster': True}
_ALL = 'ALERTS{alertname=~"CephRocksDBTuner.*"}'
_TITLE = ' # rocksdb_tuner\n'


@cache
def group() -> str:
    """The alerts as Ceph's `tox -e alerts-fix` writes them, without the list around the group."""
    config = json.dumps({'_config': CONFIG})
    program = f"((import 'rocksdb_tuner/ceph.libsonnet') + {config}).prometheusAlerts"
    place = str(CHECKOUT / MIXIN / 'group.jsonnet')
    made = json.loads(_jsonnet.evaluate_snippet(place, program))
    return yaml_text(made, in_lists='  ').removeprefix('groups:\n') + '\n'


def tests() -> str:
    """This project's tests of the group, with the annotations that it has in Ceph's tree.

    Alerts that repeat health checks are not in that group, and their tests are left out.
    """
    rules = {
        rule['alert']: rule for rule in yaml.safe_load(f'groups:\n{group()}')['groups'][0]['rules']
    }
    # Else "0x120", a series of zeros, would be a hexadecimal number.
    own = yaml.load(
        (OWN / 'tests_alerts/test_alerts.yml').read_text(encoding='utf-8'), yaml.BaseLoader
    )
    adapted = [_adapted(test, rules) for test in own['tests']]
    kept = [test for test in adapted if test['alert_rule_test'] or 'promql_expr_test' in test]
    text = yaml.safe_dump(kept, sort_keys=False, width=10_000)
    return _TITLE + ''.join(f' {line}' for line in text.splitlines(keepends=True))


def _adapted(test: Mapping[str, Any], rules: Mapping[str, Any]) -> dict[str, Any]:
    # Ceph's own alerts are in the same file, and some of them fire where nothing is sent.
    expressions = [
        {**case, 'expr': case['expr'].replace('ALERTS', _ALL)}
        for case in test.get('promql_expr_test', [])
    ]
    return {
        **test,
        **({'promql_expr_test': expressions} if expressions else {}),
        'alert_rule_test': list(_cases(test.get('alert_rule_test', []), rules)),
    }


def _cases(cases: Sequence[Any], rules: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for case in cases:
        rule = rules.get(case['alertname'])
        if rule is not None:
            documentation = {'documentation': rule['annotations']['documentation']}
            expected = [
                {**alert, 'exp_annotations': {**alert['exp_annotations'], **documentation}}
                for alert in case.get('exp_alerts', [])
            ]
            yield {**case, 'exp_alerts': expected}


def edited(before: Mapping[Path, str]) -> Mapping[Path, str]:
    """What becomes of the three files of Ceph's mixin."""
    if not before[TOP].endswith(_LAST):
        raise ValueError(f'{TOP} does not end in {_LAST.strip()}')
    return {
        TOP: before[TOP].removesuffix(_LAST) + _ADDED,
        ALERTS: before[ALERTS] + group(),
        TESTS: before[TESTS] + tests(),
    }


def patch_of(name: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f'a/{name}', f'b/{name}'
    )
    return f'diff --git a/{name} b/{name}\n{"".join(lines)}'


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print('usage: mixin_edits.py TREE', file=sys.stderr)
        return 2
    try:
        before = {
            name: (Path(arguments[0]) / name).read_text(encoding='utf-8')
            for name in (TOP, ALERTS, TESTS)
        }
        after = edited(before)
    except (OSError, ValueError) as error:
        print(f'mixin_edits: {error}', file=sys.stderr)
        return 1
    PATCH.write_text(''.join(patch_of(n, before[n], after[n]) for n in after), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
