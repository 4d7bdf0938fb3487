"""Which entry of the config store decides for an OSD, without asking a monitor.

Order measured on 16.2.15 (the most specific wins): osd.N with a mask, osd.N, osd with host and
class, osd with host, osd with class, osd, global.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..mgr.records import ConfigEntry, OsdInfo

_SECTIONS = {'global': 0, 'osd': 1}


class UnknownMaskError(Exception):
    """The entry has a mask (a rack, say) whose members this module cannot tell."""

    def __init__(self, who: str) -> None:
        super().__init__(f'the config store has an entry for {who}, a mask that is not understood')
        self.who = who


def deciding_entry(entries: Iterable[ConfigEntry], osd: OsdInfo) -> Optional[ConfigEntry]:
    """The entry among ``entries`` (all of one option) that decides for ``osd``; None if none.

    Raises UnknownMaskError where an entry might apply but its mask cannot be evaluated.
    """
    matching = [(rank, entry) for entry in entries if (rank := _rank(entry.who, osd)) is not None]
    return max(matching, key=lambda ranked: ranked[0])[1] if matching else None


def is_own_entry(who: str) -> bool:
    """True for an entry of one daemon ("osd.3"), which no mask can override."""
    return who.partition('/')[0].startswith('osd.')


def is_shadowing(who: str) -> bool:
    """True for an entry that beats one set for ``osd/class:...``."""
    return is_own_entry(who) or 'host:' in who


def _rank(who: str, osd: OsdInfo) -> Optional[int]:
    """How specific an entry that applies to ``osd`` is; None if it does not apply."""
    section, *masks = who.split('/')
    if section == f'osd.{osd.osd_id}':
        rank = 100
    elif section in _SECTIONS:
        rank = _SECTIONS[section]
    else:
        return None
    for mask in masks:
        kind, _, value = mask.partition(':')
        if kind == 'class':
            if value != osd.device_class:
                return None
            rank += 10
        elif kind == 'host':
            if value != osd.host:
                return None
            rank += 20
        else:
            raise UnknownMaskError(who)
    return rank
