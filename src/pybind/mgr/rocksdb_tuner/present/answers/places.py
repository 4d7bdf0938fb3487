"""Failure domains of OSDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...mgr.records import FailureDomain as FoundDomain


@dataclass(frozen=True)
class FailureDomain:
    """The CRUSH bucket in which a placement group has at most one copy."""

    type: Annotated[str, 'CRUSH type: host, rack, ...; osd if each OSD is its own failure domain.']
    name: Annotated[str, 'Name of the bucket, or of the OSD.']


def domain_of(found: Optional[FoundDomain]) -> Optional[FailureDomain]:
    return None if found is None else FailureDomain(found.kind, found.name)
