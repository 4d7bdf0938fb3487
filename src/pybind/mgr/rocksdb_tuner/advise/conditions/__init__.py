"""Conditions that an expert would point out: one declared function each. Pure.

A condition says nothing where a signal that it needs is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Mapping, NamedTuple, Optional

from ..records import Finding, OsdFacts, Severity
from .declaration import Condition
from .facts import ClusterFacts
from .presence import (
    extremes_of,
    is_reached,
    subjects_of_the_present,
    subjects_of_the_setup,
)
from .registry import conditions
from .subjects import Below, Reaches, Subject

__all__ = [
    'OF_A_FIGURE',
    'OF_THE_PRESENT',
    'OF_THE_SETUP',
    'ClusterFacts',
    'SetupFindings',
    'findings',
]

_ORDER = {severity: rank for rank, severity in enumerate(Severity)}

#: Conditions of what OSDs are, and of what is set for them.
OF_THE_SETUP: tuple[Condition, ...] = tuple(
    known for known in conditions().values() if known.needs is None
)
#: And those of what they do now, or have done for some time, by what they are about: to fetch a
#: function into a processor that was busy with something else costs as much as 20 OSDs do in it.
OF_THE_PRESENT: Mapping[Subject, tuple[Condition, ...]] = {
    subject: tuple(known for known in conditions().values() if known.needs is subject)
    for subject in Subject
}
#: And by a figure that some OSD must have.
OF_A_FIGURE: tuple[Condition, ...] = tuple(
    known for known in conditions().values() if isinstance(known.needs, (Reaches, Below))
)


class _OfTheSetup(NamedTuple):
    """What follows from the setup."""

    #: Of `OF_THE_SETUP`.
    findings: tuple[Finding, ...]
    subjects: frozenset[Subject]


class SetupFindings:
    """What follows from the setup, worked out anew only where that changed.

    It hardly ever does, and two dozen functions that run once in a tick cost more by being fetched
    than by what they do.
    """

    def __init__(self) -> None:
        self._known: Optional[tuple[object, _OfTheSetup]] = None

    def of(self, cluster: ClusterFacts) -> _OfTheSetup:
        setup = (
            cluster.entries,
            cluster.limits,
            [(osd.info, osd.options, osd.sharded, osd.settings) for osd in cluster.osds],
        )
        if self._known is None or self._known[0] != setup:
            found = _OfTheSetup(
                tuple(_look_for(OF_THE_SETUP, _setup_of(cluster))),
                subjects_of_the_setup(cluster.osds),
            )
            self._known = setup, found
        return self._known[1]


def findings(
    cluster: ClusterFacts, setup_findings: Optional[SetupFindings] = None
) -> tuple[Finding, ...]:
    """All findings, worst first; ``setup_findings`` remembers those of the last call."""
    of_setup = (setup_findings or SetupFindings()).of(cluster)
    found = list(of_setup.findings)
    for subject in of_setup.subjects | subjects_of_the_present(cluster):
        found += _look_for(OF_THE_PRESENT[subject], cluster)
    extremes = extremes_of(cluster.osds)
    reached = [known for known in OF_A_FIGURE if is_reached(known, extremes, cluster.limits)]
    found += _look_for(reached, cluster)
    return tuple(sorted(found, key=lambda f: (_ORDER[f.severity], f.finding_id, f.osds)))


def _look_for(known: Iterable[Condition], cluster: ClusterFacts) -> Iterator[Finding]:
    for condition in known:
        yield from condition.look(cluster)


def _setup_of(cluster: ClusterFacts) -> ClusterFacts:
    """Without all that a condition of the setup must not depend on."""
    return ClusterFacts(
        tuple(
            OsdFacts(osd.info, None, None, osd.options, sharded=osd.sharded, settings=osd.settings)
            for osd in cluster.osds
        ),
        cluster.entries,
        limits=cluster.limits,
    )
