"""Writes what is made of monitoring/ceph-mixin/rocksdb_tuner: a dashboard and alert rules.

    python3 qa/mixin.py      (make mixin)

As in Ceph's own mixin the results are kept beside their source, for those who have no jsonnet. A
test holds both against each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import _jsonnet

FOLDER = Path(__file__).resolve().parents[1] / 'monitoring/ceph-mixin/rocksdb_tuner'
_PROGRAM = """
local mixin = import 'mixin.libsonnet';
{
  dashboards: mixin.grafanaDashboards,
  alerts: std.manifestYamlDoc(mixin.prometheusAlerts, quote_keys=false),
}
"""


@cache
def results() -> Mapping[str, str]:
    """The text of each file, by its path below `FOLDER`."""
    made = json.loads(_jsonnet.evaluate_snippet(str(FOLDER / 'results.jsonnet'), _PROGRAM))
    return {
        # Much slower in jsonnet.
        **{
            f'dashboards_out/{name}': json.dumps(dashboard, indent=2, sort_keys=True) + '\n'
            for name, dashboard in made['dashboards'].items()
        },
        'prometheus_alerts.yml': made['alerts'] + '\n',
    }


def alerts(documentation: str) -> str:
    """The alert rules of those who serve the manual at a URL."""
    program = f"""
    local served = {{ _config+:: {{ documentation: '{documentation}' }} }};
    std.manifestYamlDoc(((import 'mixin.libsonnet') + served).prometheusAlerts, quote_keys=false)
    """
    made = json.loads(_jsonnet.evaluate_snippet(str(FOLDER / 'results.jsonnet'), program))
    return str(made)


if __name__ == '__main__':
    for name, text in results().items():
        (FOLDER / name).write_text(text)
