"""Looks up the subject of a command in a snapshot by name."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Optional

from ..advise.records import (
    Finding,
    OsdFacts,
    Severity,
)
from ..plan.entries import reaches
from ..snapshot import Snapshot
from ..units import format_ids
from .errors import PresentError
from .summaries import SEVERITIES, worst_first


def worst_osds(
    snapshot: Snapshot, who: Optional[str] = None, worst: Optional[int] = None
) -> Snapshot:
    """Only the ``worst`` OSDs of ``who``: those with the worst findings, then the busiest.

    Raises PresentError if there are none.
    """
    if worst is not None and worst < 1:
        raise PresentError(errno.EINVAL, f'invalid --worst {worst}: use a number from 1 on')
    found = [f for f in snapshot.osds if who is None or reaches(who, f.info)]
    if who is not None and not found:
        groups = ', '.join(group.who for group in snapshot.groups) or 'none'
        raise PresentError(errno.ENOENT, f'no OSD matches "{who}"; groups: {groups}')
    ranks: dict[int, int] = {}
    for finding in reversed(worst_first(snapshot.findings)):
        if finding.severity is not Severity.INFO:
            ranks.update(dict.fromkeys(finding.osds, SEVERITIES.index(finding.severity)))

    def key(facts: OsdFacts) -> tuple[float, float, float, int]:
        signals = facts.signals
        busy, iops = (signals.kv_sync_busy, signals.write_iops) if signals else (None, None)
        osd_id = facts.info.osd_id
        return ranks.get(osd_id, len(SEVERITIES)), -(busy or 0.0), -(iops or 0.0), osd_id

    return replace(snapshot, osds=tuple(sorted(found, key=key)[:worst]))


def facts_of(snapshot: Snapshot, osd_id: int) -> OsdFacts:
    """The facts of an OSD; raises PresentError (ENOENT) if it does not exist."""
    for facts in snapshot.osds:
        if facts.info.osd_id == osd_id:
            return facts
    if not snapshot.osds:
        raise PresentError(
            errno.ENOENT,
            f'osd.{osd_id} is unknown: the cluster has not been sampled yet, try again in a moment',
        )
    known = format_ids(facts.info.osd_id for facts in snapshot.osds)
    raise PresentError(errno.ENOENT, f'osd.{osd_id} does not exist; OSDs of this cluster: {known}')


def findings_of(snapshot: Snapshot, finding_id: str) -> tuple[Finding, ...]:
    """The findings with one id, worst first; raises PresentError (ENOENT) if there are none."""
    found = tuple(f for f in worst_first(snapshot.findings) if f.finding_id == finding_id)
    if not found:
        known = ', '.join(sorted({f.finding_id for f in snapshot.findings})) or 'none at present'
        raise PresentError(errno.ENOENT, f'there is no finding "{finding_id}"; findings: {known}')
    return found
