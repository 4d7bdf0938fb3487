"""Writes what is made of monitoring/ceph-mixin/rocksdb_tuner: a dashboard and alert rules.

    python3 qa/mixin.py      (make mixin)

As in Ceph's own mixin the results are kept beside their source, for those who have no jsonnet. A
test holds both against each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import _jsonnet

FOLDER = Path(__file__).resolve().parents[1] / 'monitoring/ceph-mixin/rocksdb_tuner'
_PROGRAM = """
local mixin = import 'mixin.libsonnet';
{ ['dashboards_out/' + name]: std.manifestJsonEx(mixin.grafanaDashboards[name], '  ') + '\\n'
  for name in std.objectFields(mixin.grafanaDashboards) }
+ { 'prometheus_alerts.yml': std.manifestYamlDoc(mixin.prometheusAlerts, quote_keys=false) + '\\n' }
"""


def results() -> Mapping[str, str]:
    """The text of each file, by its path below `FOLDER`."""
    written: dict[str, str] = json.loads(
        _jsonnet.evaluate_snippet(str(FOLDER / 'results.jsonnet'), _PROGRAM)
    )
    return written


if __name__ == '__main__':
    for name, text in results().items():
        (FOLDER / name).write_text(text)
