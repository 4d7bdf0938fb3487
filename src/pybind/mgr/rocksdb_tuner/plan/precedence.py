"""The config store entry that an OSD starts with.

Measured on 16.2.15, 18.2.7 and 20.2.4, the most specific wins: osd.N, osd, global. Masks do not
count: `ceph config get` shows them, but an OSD fetches its configuration at startup without its
device class or host. It gets masked entries only later, too late for options that need a restart.
With `host` in its ceph.conf an OSD may send it, so an entry for its host is undecidable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..mgr.records import ConfigEntry, OsdInfo

_SECTIONS = {'global': 0, 'osd': 1}


class UnknownMaskError(Exception):
    """It is unknown whether the OSD starts with this masked entry."""

    def __init__(self, who: str) -> None:
        super().__init__(f'it is unknown whether OSDs start with the entry for {who}')
        self.who = who


def deciding_entry(entries: Iterable[ConfigEntry], osd: OsdInfo) -> Optional[ConfigEntry]:
    """The entry among ``entries`` (all of one option) that ``osd`` starts with; None if none.

    Raises UnknownMaskError if that is unknown.
    """
    matching = [(rank, entry) for entry in entries if (rank := _rank(entry.who, osd)) is not None]
    return max(matching, key=lambda ranked: ranked[0])[1] if matching else None


def is_own_entry(who: str) -> bool:
    """True for an entry of one daemon ("osd.3"), which overrides an entry for all OSDs."""
    return who.partition('/')[0].startswith('osd.')


def is_for_a_class(who: str) -> bool:
    """True for a class-masked entry, which is ignored at OSD startup."""
    return '/class:' in who


def reaches(who: str, osd: OsdInfo) -> bool:
    """Whether an entry matches ``osd``, even if the OSD does not start with it."""
    return _breadth(who, osd) is not None


def entry_in_force(entries: Iterable[ConfigEntry], osd: OsdInfo) -> Optional[ConfigEntry]:
    """The entry among ``entries`` (all of one option) in force on a running ``osd``.

    Only for options that take effect at runtime: these get masked entries, and a host overrides a
    class (measured on 16.2.15).
    """
    matching = [(rank, e) for e in entries if (rank := _breadth(e.who, osd)) is not None]
    return max(matching, key=lambda ranked: ranked[0])[1] if matching else None


def _breadth(who: str, osd: OsdInfo) -> Optional[tuple[int, int]]:
    """Specificity of an entry for ``osd``, masks included; None if it does not match."""
    section, *masks = who.split('/')
    sections = {**_SECTIONS, f'osd.{osd.osd_id}': 2}
    known = {f'class:{osd.device_class}': 1, f'host:{osd.host}': 2}
    if section not in sections or not set(masks) <= set(known):
        return None
    return sections[section], sum(known[mask] for mask in masks)


def _rank(who: str, osd: OsdInfo) -> Optional[int]:
    """Specificity of an entry at the startup of ``osd``; None if it does not apply."""
    section, *masks = who.split('/')
    if section == f'osd.{osd.osd_id}':
        rank = 2
    elif section in _SECTIONS:
        rank = _SECTIONS[section]
    else:
        return None
    if is_for_a_class(who):
        return None
    for mask in masks:
        kind, _, value = mask.partition(':')
        if kind == 'host' and osd.host is not None and value != osd.host:
            return None
        raise UnknownMaskError(who)
    return rank
