"""Conditions for findings, one declared function each. Pure.

A condition without its required signals yields no finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import AbstractSet, Mapping, Optional

from ..facts import name_osds
from ..records import Finding, OsdFacts, Severity
from . import load, options  # noqa: F401 - their conditions
from .declaration import ClusterFacts, Condition, conditions, present_needs

__all__ = ['OF_THE_PRESENT', 'OF_THE_SETUP', 'ClusterFacts', 'SetupFindings', 'findings']

#: As errors: OSDs would not start again.
_KEEP_DOWN = frozenset({'unstartable-options', 'cache-ratios'})
_ORDER = {severity: rank for rank, severity in enumerate(Severity)}

#: Conditions of the OSDs' setup and configuration.
OF_THE_SETUP: tuple[Condition, ...] = tuple(
    known for known in conditions().values() if known.needs is None
)
#: Conditions of the OSDs' present state.
OF_THE_PRESENT: tuple[Condition, ...] = tuple(
    known for known in conditions().values() if known.needs is not None
)


class SetupFindings:
    """Caches the findings of the setup, which hardly ever changes."""

    def __init__(self) -> None:
        self._known: Optional[tuple[object, tuple[Finding, ...]]] = None

    def of(self, cluster: ClusterFacts) -> tuple[Finding, ...]:
        setup = (
            cluster.entries,
            [(osd.info, osd.options, osd.sharded, osd.settings) for osd in cluster.osds],
        )
        if self._known is None or self._known[0] != setup:
            # Without the facts that conditions of the setup must not depend on.
            osds = tuple(
                OsdFacts(o.info, None, None, o.options, sharded=o.sharded, settings=o.settings)
                for o in cluster.osds
            )
            known = tuple(_look_for(OF_THE_SETUP, ClusterFacts(osds, cluster.entries)))
            self._known = setup, known
        return self._known[1]


def findings(
    cluster: ClusterFacts, setup_findings: Optional[SetupFindings] = None
) -> tuple[Finding, ...]:
    """All findings, worst first; ``setup_findings`` is the cache of the caller."""
    found = list((setup_findings or SetupFindings()).of(cluster))
    present = present_needs(cluster)
    found += _look_for((known for known in OF_THE_PRESENT if known.needs in present), cluster)
    found = [_with_commands(f, cluster.advised) for f in _held(found)]
    return tuple(sorted(found, key=lambda f: (_ORDER[f.severity], f.finding_id, f.osds)))


#: Command of findings that leave the remedy to a recommendation.
_RECOMMEND = 'ceph rocksdb-tuner recommend'
_WHY_NOT = f'"{_RECOMMEND} --all" says why no change is recommended'


def _with_commands(found: Finding, advised: AbstractSet[int]) -> Finding:
    """A finding names a recommendation only if there is one for its OSDs."""
    if _RECOMMEND not in found.commands or advised & set(found.osds):
        return found
    return replace(
        found,
        remedy=found.remedy.replace(f'"{_RECOMMEND}" has the commands', _WHY_NOT),
        commands=tuple(f'{c} --all' if c == _RECOMMEND else c for c in found.commands),
    )


def _held(found: Sequence[Finding]) -> list[Finding]:
    """The findings without remedies that may stop an OSD which would not start again."""
    first = {n: f for f in found if _keeps_down(f) for n in f.osds}
    return [_without_remedy(f, first) for f in found] if first else list(found)


def _keeps_down(finding: Finding) -> bool:
    return finding.finding_id in _KEEP_DOWN and finding.severity is Severity.ERROR


def _without_remedy(finding: Finding, first: Mapping[int, Finding]) -> Finding:
    ids = sorted(first.keys() & finding.osds)
    if not ids or _keeps_down(finding) or not conditions()[finding.finding_id].stops_osds:
        return finding
    return replace(
        finding,
        remedy=f'{name_osds(ids)} would not start again. Remove the cause first, see "ceph '
        f'rocksdb-tuner findings {first[ids[0]].finding_id}".',
        commands=(),
        do_not=None,
    )


def _look_for(known: Iterable[Condition], cluster: ClusterFacts) -> Iterator[Finding]:
    for condition in known:
        yield from condition.evaluate(cluster)
