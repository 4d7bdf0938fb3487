"""Builders of OSDs for tests of conditions."""

from __future__ import annotations

from typing import Any, Optional

from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.records import Finding, OsdFacts
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.records import WorkloadClass

from ..builders import facts, osd_info, workload

#: Any placeholder in a remedy.
FILL: dict[str, Any] = {
    'who': 'osd',
    'option': 'bluestore_rocksdb_options',
    'place': 'ceph.conf',
    'profile': 'alternate-2019',
    'culprit': 'ttl',
    'fits': 1,
    'needs': '2 GiB',
    'before': '',
    'sharding': 'm(3)',
    'fixed': '16.2.15',
    'proposal': 'Put max_bytes_for_level_base=1 into the option string',
    'kv_who': 'osd',
    'meta_who': 'osd',
    'restart': 'ceph orch daemon restart osd.3',
}
GIB = 1 << 30


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
