"""Checks the module's part of Ceph's mixin, run in monitoring/ceph-mixin: mixin_check.py CHECK

results: what jsonnet makes is what the tree has, as `tox -e jsonnet-check`, for this module only:
Ceph's own dashboards need grafonnet. rules: tests_alerts/validate_rules.py, without the links.
format: jsonnetfmt --test, as `tox -e jsonnet-lint`.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_MIXIN = "local mixin = (import 'config.libsonnet') + (import 'rocksdb_tuner/ceph.libsonnet');"
_ALERTS = """
std.manifestYamlDoc(mixin.prometheusAlerts, indent_array_in_object=true, quote_keys=false)
"""


def results(mixin: Path) -> list[str]:
    """Files that are not what jsonnet makes."""
    import _jsonnet  # noqa: PLC0415 - the other checks do without

    def made(expression: str) -> str:
        return str(_jsonnet.evaluate_snippet(str(mixin / 'own.jsonnet'), _MIXIN + expression))

    names = json.loads(made('std.objectFields(mixin.grafanaDashboards)'))
    found = [
        name
        for name in names
        if (mixin / 'dashboards_out' / name).read_text(encoding='utf-8')
        != made(f'mixin.grafanaDashboards[{name!r}]')
    ]
    alerts = (mixin / 'prometheus_alerts.yml').read_text(encoding='utf-8')
    group = json.loads(made(_ALERTS)).removeprefix('groups:\n')
    if not alerts.endswith(f'\n{group}\n'):
        found.append('prometheus_alerts.yml')
    print(f'{len(names)} dashboards')
    return found if names else ['no dashboard at all']


def rules(mixin: Path) -> list[str]:
    """What Ceph's validator says of the module's alerts; links count as if they were there."""
    sys.path.insert(0, str(mixin / 'tests_alerts'))
    validate = importlib.import_module('validate_rules')

    def without_links(_rule: object) -> None:
        """In place of the request for the page."""

    validate.PrometheusRule._check_doclink = without_links  # noqa: SLF001
    checker = validate.RuleChecker()
    checker.run()
    group = checker.rule_file.group['rocksdb_tuner']
    found = [
        f'{name}: {text}'
        for name, rule in group.rules.items()
        for text in rule.errors + rule.warnings
    ]
    found += [f'{name}: no test' for name in group.rules if name in checker.unit_tests.problems]
    if set(group.rules) & set(checker.rule_file.duplicate_alert_names):
        found.append('a name stands twice')
    print(f'\n{len(group.rules)} alerts')
    return found


def layout(mixin: Path) -> list[str]:
    files = [mixin / 'mixin.libsonnet', *sorted((mixin / 'rocksdb_tuner').glob('*.libsonnet'))]
    return [
        str(file)
        for file in files
        if subprocess.run(['jsonnetfmt', '--test', str(file)], check=False).returncode != 0
    ]


CHECKS: Mapping[str, Callable[[Path], list[str]]] = {
    'results': results,
    'rules': rules,
    'format': layout,
}


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in CHECKS:
        print(f'usage: mixin_check.py {"|".join(CHECKS)}', file=sys.stderr)
        return 2
    found = CHECKS[arguments[0]](Path.cwd())
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
