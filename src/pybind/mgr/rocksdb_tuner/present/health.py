"""What `ceph health` says of the module, in the form that the mgr takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

from ..advise.records import Finding
from ..rollout.records import Phase
from ..snapshot import Snapshot

#: Severity, summary, count and detail of one check, by its code.
HealthChecks = dict[str, dict[str, Union[int, str, list[str]]]]

STATE_BROKEN = 'ROCKSDB_TUNER_STATE_BROKEN'
ROLLOUT_FAILED = 'ROCKSDB_TUNER_ROLLOUT_FAILED'
UNSTARTABLE_OPTIONS = 'ROCKSDB_TUNER_UNSTARTABLE_OPTIONS'

_UNSTARTABLE_FINDING = 'unstartable-options'


def health_checks(snapshot: Snapshot) -> HealthChecks:
    """The checks that are raised now; all others are cleared."""
    checks: HealthChecks = {}
    if snapshot.notices:
        checks[STATE_BROKEN] = _warning(
            'rocksdb_tuner could not read what it had stored', snapshot.notices
        )
    rollout = snapshot.rollout
    if rollout is not None and rollout.stage is Phase.FAILED:
        checks[ROLLOUT_FAILED] = _warning(
            f'rocksdb_tuner rollout {rollout.rollout_id} of {rollout.request.who} failed',
            [rollout.failure or 'no reason was recorded'],
        )
    unstartable = [f for f in snapshot.findings if f.finding_id == _UNSTARTABLE_FINDING]
    if unstartable:
        osds = {osd_id for finding in unstartable for osd_id in finding.osds}
        checks[UNSTARTABLE_OPTIONS] = _warning(
            f'{len(osds)} OSD(s) would not start again with their RocksDB options',
            [_advice(finding) for finding in unstartable],
            count=len(osds),
        )
    return checks


def _advice(finding: Finding) -> str:
    return f'{finding.summary}; remedy: {finding.remedy}'


def _warning(
    summary: str, detail: Iterable[str], count: int = 1
) -> dict[str, Union[int, str, list[str]]]:
    return {'severity': 'warning', 'summary': summary, 'count': count, 'detail': list(detail)}
