"""Model results for a running OSD, for comparison with its measurements. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ...lsm.records import Estimate
from ...lsm.working_set import WorkingSet
from ..facts import release_of_osd
from ..records import OsdFacts
from .situation import situation_of_osd
from .tree import model_in

__all__ = ['Modeled', 'modeled']


@dataclass(frozen=True)
class Modeled:
    #: With the running options.
    write_amplification: Estimate
    #: Objects that clients write to; None if the model does not depend on them.
    working_set: Optional[WorkingSet]


def modeled(facts: OsdFacts) -> Optional[Modeled]:
    """None if options or workload have no model, or the database size is unknown."""
    release = release_of_osd(facts.info)
    if release is None or facts.options is None:
        return None
    situation = situation_of_osd(facts, release)
    if situation.load.data_bytes is None:
        return None
    try:
        write = model_in(situation, facts.options.running).amplification.write
    except ValueError:
        return None
    return None if write is None else Modeled(write, situation.working_set)
