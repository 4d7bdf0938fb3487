"""Builders of OSDs for tests of conditions."""

from __future__ import annotations

import re
from typing import Any, Optional

from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.conditions.declaration import Condition, case, conditions
from rocksdb_tuner.advise.records import Finding, OsdFacts
from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.records import WorkloadClass

from ..builders import facts, osd_info, workload

#: Any placeholder of a text.
FILL: dict[str, Any] = {
    **dict.fromkeys(re.findall(r'\{(\w+)\}', str(loader.load('conditions'))), 'x'),
    'who': 'osd',
    'option': 'bluestore_rocksdb_options',
    'restart': 'ceph orch daemon restart osd.3',
}
for _set_by_finding in ('osds', 'osd', 'command'):
    FILL.pop(_set_by_finding)
GIB = 1 << 30


def example(condition_id: str, *osds: int, **fill: Any) -> Finding:
    """A finding of this condition, whatever its function decides."""
    return examples(conditions()[condition_id], *osds, **fill)[0]


def examples(known: Condition, *osds: int, **fill: Any) -> list[Finding]:
    """A finding for each variant of the texts."""
    texts = max(known.summaries, known.remedies, key=len)
    return [known.finding(case(osds=osds, variant=v, **{**FILL, **fill})) for v in texts]


def found(*osds: OsdFacts, **cluster: Any) -> dict[str, Finding]:
    """The findings of a cluster by id."""
    return {f.finding_id: f for f in findings(ClusterFacts(osds, (), **cluster))}


def seen(
    osd_id: int = 0,
    release: str = 'pacific',
    options: Optional[str] = None,
    does: Optional[WorkloadClass] = None,
    info: Optional[dict[str, Any]] = None,
    more: Optional[dict[str, Any]] = None,
    **signals: Any,
) -> OsdFacts:
    """An OSD on its default with these signals; ``info`` and ``more`` change what it is."""
    known = osd_info(osd_id, release, **(info or {}))
    osd = facts(known) if options is None else facts(known, options, 'mon')
    return osd._replace(
        signals=Signals(osd_id=osd_id, window_s=30.0, **signals),
        workload=None if does is None else workload(does, 0.95),
        **(more or {}),
    )
