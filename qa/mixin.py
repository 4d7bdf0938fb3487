"""Writes what is made of monitoring/ceph-mixin/rocksdb_tuner: dashboards and alert rules.

    python3 qa/mixin.py      (make mixin)

As in Ceph's own mixin the results are kept beside their source, for those who have no jsonnet. A
test holds both against each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import _jsonnet

from upstream.manifest import yaml_text

FOLDER = Path(__file__).resolve().parents[1] / 'monitoring/ceph-mixin/rocksdb_tuner'
_PROGRAM = """
local mixin = import 'mixin.libsonnet';
{
  dashboards: mixin.grafanaDashboards,
  alerts: mixin.prometheusAlerts,
  healthCheckAlerts: mixin.healthCheckAlerts,
}
"""


@cache
def results() -> Mapping[str, str]:
    """The text of each file, by its path below `FOLDER`."""
    made = _evaluated(_PROGRAM)
    return {
        **{
            f'dashboards_out/{name}': json.dumps(dashboard, indent=2, sort_keys=True) + '\n'
            for name, dashboard in made['dashboards'].items()
        },
        'prometheus_alerts.yml': yaml_text(made['alerts']) + '\n',
        'prometheus_alerts_health_checks.yml': yaml_text(made['healthCheckAlerts']) + '\n',
    }


@cache
def alerts(**config: object) -> str:
    """The alert rules of those who use the mixin with a configuration of their own."""
    own = f'{{ _config+:: {json.dumps(config)} }}'
    return yaml_text(_evaluated(f"((import 'mixin.libsonnet') + {own}).prometheusAlerts"))


@cache
def dashboards(**config: object) -> Any:
    """Their dashboards, by file."""
    own = f'{{ _config+:: {json.dumps(config)} }}'
    return _evaluated(f"((import 'mixin.libsonnet') + {own}).grafanaDashboards")


def _evaluated(program: str) -> Any:
    return json.loads(_jsonnet.evaluate_snippet(str(FOLDER / 'results.jsonnet'), program))


if __name__ == '__main__':
    for name, text in results().items():
        (FOLDER / name).write_text(text)
