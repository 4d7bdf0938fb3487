"""Ceph options related to the option string, which are often changed together with it."""

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
    #: Ceph's type: "bool", "uint64".
    value_type: str
    unit: Optional[str]
    #: By release; None if the release has no such option.
    defaults: Mapping[str, Optional[str]]
    #: "at-once", "restart", or "mkfs": only at OSD creation.
    takes_effect: str
    meaning: str
    #: Reasons to change it, and not to.
    change_when: str
    leave_when: str
    danger: Optional[Danger]
    source: str


@lru_cache(maxsize=1)
def related_options() -> Mapping[str, RelatedOption]:
    """All known related options, by name."""
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
