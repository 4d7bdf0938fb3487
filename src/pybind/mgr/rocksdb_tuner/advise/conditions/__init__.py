"""Conditions for findings, one declared function each. Pure.

A condition without its required signals yields no finding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import AbstractSet, Mapping, Optional

from ..facts import name_osds
from ..records import Finding, OsdFacts, Severity
from . import load, options  # noqa: F401 - their conditions
from .declaration import ClusterFacts, conditions, present_needs

__all__ = ['OF_THE_PRESENT', 'OF_THE_SETUP', 'ClusterFacts', 'SetupFindings', 'findings']

#: As errors: OSDs would not start again.
_KEEP_DOWN = frozenset({'unstartable-options', 'cache-ratios'})
_ORDER = {severity: rank for rank, severity in enumerate(Severity)}

#: Conditions of the OSDs' setup and configuration, and of their present state.
OF_THE_SETUP = tuple(known for known in conditions().values() if known.needs is None)
OF_THE_PRESENT = tuple(known for known in conditions().values() if known.needs is not None)


class SetupFindings:
    """Caches the findings of the setup, which hardly ever changes."""

    def __init__(self) -> None:
        self._known: tuple[object, tuple[Finding, ...]] = (None, ())

    def of(self, cluster: ClusterFacts) -> tuple[Finding, ...]:
        setup = (
            cluster.entries,
            [(osd.info, osd.options, osd.sharded, osd.settings) for osd in cluster.osds],
        )
        if self._known[0] != setup:
            # Without the facts that conditions of the setup must not depend on.
            osds = tuple(
                OsdFacts(o.info, None, None, o.options, sharded=o.sharded, settings=o.settings)
                for o in cluster.osds
            )
            alone = ClusterFacts(osds, cluster.entries)
            self._known = setup, tuple(f for known in OF_THE_SETUP for f in known.evaluate(alone))
        return self._known[1]


def findings(
    cluster: ClusterFacts, setup_findings: Optional[SetupFindings] = None
) -> tuple[Finding, ...]:
    """All findings, worst first; ``setup_findings`` is the cache of the caller."""
    present = present_needs(cluster)
    found = [
        *(setup_findings or SetupFindings()).of(cluster),
        *(f for known in OF_THE_PRESENT if known.needs in present for f in known.evaluate(cluster)),
    ]
    down = {n: f.finding_id for f in found if _keeps_down(f) for n in f.osds}
    shown = (_remedied(f, down, cluster.advised) for f in found)
    return tuple(sorted(shown, key=lambda f: (_ORDER[f.severity], f.finding_id, f.osds)))


#: Command of findings that leave the remedy to a recommendation.
_RECOMMEND = 'ceph rocksdb-tuner recommend'
_WHY_NOT = f'"{_RECOMMEND} --all" says why no change is recommended'


def _keeps_down(finding: Finding) -> bool:
    return finding.finding_id in _KEEP_DOWN and finding.severity is Severity.ERROR


def _remedied(found: Finding, down: Mapping[int, str], advised: AbstractSet[int]) -> Finding:
    """With what may be done now.

    Nothing may stop an OSD which would not start again: ``down`` has the finding by OSD. A
    recommendation is named only if there is one for the OSDs.
    """
    ids = sorted(down.keys() & found.osds)
    if ids and not _keeps_down(found) and conditions()[found.finding_id].stops_osds:
        return replace(
            found,
            remedy=f'{name_osds(ids)} would not start again. Remove the cause first, see "ceph '
            f'rocksdb-tuner findings {down[ids[0]]}".',
            commands=(),
            do_not=None,
        )
    if _RECOMMEND not in found.commands or advised & set(found.osds):
        return found
    return replace(
        found,
        remedy=found.remedy.replace(f'"{_RECOMMEND}" has the commands', _WHY_NOT),
        commands=tuple(f'{c} --all' if c == _RECOMMEND else c for c in found.commands),
    )
