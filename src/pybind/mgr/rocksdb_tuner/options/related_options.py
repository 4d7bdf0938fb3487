"""Ceph's options beside the option string: what experts change, or should not, together with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Mapping, Optional

from ..knowledge import loader
from .catalogue import Danger

__all__ = ['RelatedOption', 'related_options']


@dataclass(frozen=True)
class RelatedOption:
    name: str
    #: As Ceph calls it: "bool", "uint64".
    value_type: str
    unit: Optional[str]
    #: By release; None where it has no such option.
    defaults: Mapping[str, Optional[str]]
    #: "at-once", "restart", or "mkfs": only when an OSD is made.
    takes_effect: str
    meaning: str
    #: When an expert would touch it, and when not.
    change_when: str
    leave_when: str
    danger: Optional[Danger]
    source: str


@lru_cache(maxsize=1)
def related_options() -> Mapping[str, RelatedOption]:
    """All that are known, by name."""
    return {
        entry['name']: RelatedOption(
            name=entry['name'],
            value_type=entry['type'],
            unit=entry['unit'],
            defaults=entry['defaults'],
            takes_effect=entry['takes_effect'],
            meaning=entry['meaning'],
            change_when=entry['change_when'],
            leave_when=entry['leave_when'],
            danger=Danger(entry['danger']['level'], entry['danger']['why'], ())
            if entry['danger']
            else None,
            source=entry['source'],
        )
        for entry in loader.load('related_options')['related_options']
    }
