"""The decision for a group of OSDs, composed of recommendations, findings and the limit. Pure.

The first of these: a finding with which OSDs may not start, an operation or another reason to wait,
a recommendation that is urgent, a warning with a remedy outside the option string, any other
recommendation, a remedy for what limits the clients, and the conclusion of the assessment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from .conditions.declaration import conditions
from .limit import finding_of, limited_by, relief_of
from .records import (
    Decision,
    Finding,
    GroupFacts,
    Limit,
    Priority,
    Resource,
    Severity,
)
from .weighing import Assessment

_COMMAND = 'ceph rocksdb-tuner'
#: Limits with a remedy outside the option string, and outside the network and the data.
RELIEVED = frozenset(
    {
        Resource.CORES,
        Resource.DB_DEVICE,
        Resource.DB_SPACE,
        Resource.WAL_SPACE,
        Resource.MEMORY,
    }
)
_PRIORITIES = tuple(Priority)
#: The findings with the commands that relieve a limit, if there is one of them.
_EXPLAINED = {
    Resource.MEMORY: ('onode-cache-misses', 'kv-cache-misses', 'memory-target-small'),
    Resource.DB_DEVICE: ('write-stalls',),
    Resource.DB_SPACE: ('spillover', 'db-device-nearly-full'),
    Resource.WAL_SPACE: ('wal-device-small',),
}


def decide(
    group: GroupFacts,
    findings: Sequence[Finding],
    assessment: Assessment,
    wait: Optional[Decision] = None,
) -> Decision:
    """The decision for ``group``.

    ``findings``: the worst first. ``wait``: why any change has to wait.
    """
    osds = {osd.info.osd_id for osd in group.osds}
    remedies = [
        finding
        for finding in findings
        for known in [conditions().get(finding.finding_id)]
        if known is not None and known.do and osds.intersection(finding.osds)
    ]
    advised = sorted(assessment.recommendations, key=lambda r: _PRIORITIES.index(r.priority))
    urgent = [r.decision for r in advised if r.priority is Priority.NOW]
    ranked = (
        *(_remedy(group.who, f) for f in remedies if f.severity is Severity.ERROR),
        *([wait] if wait else []),
        *urgent,
        *(_remedy(group.who, f) for f in remedies if f.severity is Severity.WARNING),
        *([nothing(group.who, '', group.limit)] if group.limit.thread_share is not None else []),
        *(r.decision for r in advised),
        assessment.conclusion,
    )
    first, seen = ranked[0], {f.finding_id for f in findings if osds.intersection(f.osds)}
    known = (
        [n for n in _EXPLAINED.get(first.limit.resource, ()) if n in seen] if first.limit else []
    )
    if known and first.next_command == f'{_COMMAND} osd':
        return replace(first, next_command=f'{_COMMAND} findings {known[0]}')
    return first


def _remedy(who: str, finding: Finding) -> Decision:
    # An error leaves no time to read.
    urgent = finding.severity is Severity.ERROR and finding.commands
    return Decision(
        who,
        str(conditions()[finding.finding_id].do),
        f'{finding.summary}.',
        next_command=urgent[0] if urgent else f'{_COMMAND} findings {finding.finding_id}',
    )


def nothing(who: str, because: str, limit: Limit, next_command: Optional[str] = None) -> Decision:
    """No change of options: because of what, and what limits; what relieves that, if anything."""
    limited = limited_by(limit) and f'Limited by {limited_by(limit)}'
    finding, one = finding_of(limit), (limit.part or '').partition('osd.')[2]
    relieved = limit.resource in RELIEVED or limit.thread_share is not None or finding is not None
    do = f'Provide {relief_of(limit)}' if relieved else 'Nothing to change'
    if one:
        do, next_command = f'Look at {limit.part}', f'{_COMMAND} osd {one}'
    elif relieved:
        next_command = f'{_COMMAND} findings {finding}' if finding else f'{_COMMAND} osd'
    return Decision(
        who,
        do,
        ' '.join(filter(None, (limited, because) if relieved else (because, limited))),
        next_command=next_command,
        limit=limit,
    )


def wait_for(who: str, what: str, because: str, next_command: Optional[str] = None) -> Decision:
    """Nothing can be recommended or changed until then."""
    return Decision(who, f'Wait: {what}', because, next_command=next_command, waits=True)
