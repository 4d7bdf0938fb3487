"""Config store entries and the OSDs that they may apply to.

There are two orders of precedence, both measured on 16.2.15. The monitor's
(``ceph config get``), highest first: osd.N with a mask, osd.N, osd/host, osd/class, osd, global.
The OSD's at startup: osd.N, osd, global; it fetches its configuration before it reports its
location, so masked entries come too late for options that need a restart.

An OSD with `host` in its ceph.conf may still get the entry for that host. A masked entry is
therefore no proof that an OSD starts with it, nor that it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional, TypeVar

from ..mgr.records import ClusterMap, ConfigEntry, OsdInfo
from ..units import natural

_T = TypeVar('_T')


class UnknownMaskError(Exception):
    """It is unknown whether the OSD starts with this masked entry."""

    def __init__(self, who: str) -> None:
        super().__init__(f'it is unknown whether OSDs start with the entry for {who}')
        self.who = who


def deciding_entry(entries: Iterable[ConfigEntry], osd: OsdInfo) -> Optional[ConfigEntry]:
    """The entry among ``entries`` (all of one option) that ``osd`` starts with; None if none.

    Raises UnknownMaskError if that is unknown.
    """
    return _strongest((_rank(entry.who, osd), entry) for entry in entries)


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
    return _strongest((_breadth(entry.who, osd), entry) for entry in entries)


def _strongest(ranked: Iterable[tuple[Optional[tuple[int, int]], _T]]) -> Optional[_T]:
    """The first of the highest rank, without those of no rank."""
    matching = [(rank, found) for rank, found in ranked if rank is not None]
    return max(matching, key=lambda pair: pair[0])[1] if matching else None


def _section(who: str, osd: OsdInfo) -> Optional[int]:
    """Specificity of its section; None if it does not apply to ``osd``."""
    return {'global': 0, 'osd': 1, own(osd.osd_id): 2}.get(who.partition('/')[0])


def _breadth(who: str, osd: OsdInfo) -> Optional[tuple[int, int]]:
    """Specificity of an entry for ``osd``, masks included; None if it does not match."""
    section, masks = _section(who, osd), who.split('/')[1:]
    known = {f'class:{osd.device_class}': 1, f'host:{osd.host}': 2}
    if section is None or not set(masks) <= set(known):
        return None
    return section, sum(known[mask] for mask in masks)


def _rank(who: str, osd: OsdInfo) -> Optional[tuple[int, int]]:
    """Specificity of an entry at the startup of ``osd``; None if it does not apply."""
    section, masks = _section(who, osd), who.split('/')[1:]
    if section is None or is_for_a_class(who):
        return None
    for mask in masks:
        kind, _, value = mask.partition(':')
        if kind == 'host' and osd.host is not None and value != osd.host:
            return None
        raise UnknownMaskError(who)
    return section, 0


def own(osd_id: int) -> str:
    """The config section of one OSD."""
    return f'osd.{osd_id}'


def as_mapping(entries: Iterable[ConfigEntry], option: str) -> dict[str, str]:
    """The entries of one option by `who`."""
    return {entry.who: entry.value for entry in entries if entry.name == option}


def starts_with(entries: Mapping[str, str], osd_id: int) -> Optional[tuple[str, str]]:
    """(who, value) of the entry that this OSD starts with; None for the default."""
    for who in (own(osd_id), 'osd', 'global'):
        if who in entries:
            return who, entries[who]
    return None


def masked_for(cluster: ClusterMap, entries: Mapping[str, str], osd_id: int) -> tuple[str, ...]:
    """Values of the masked entries that may apply to this OSD at startup."""
    scope = Scope.of(cluster, (osd_id,))
    return tuple(value for who, value in entries.items() if '/' in who and scope.may_cover(who))


@dataclass(frozen=True)
class Scope:
    """The OSDs of one rollout with their device classes and hosts, to match masks."""

    osd_ids: frozenset[int]
    #: Contains None if the class or host of an OSD is unknown.
    classes: frozenset[Optional[str]]
    hosts: frozenset[Optional[str]]
    #: Hosts without any of these OSDs.
    other_hosts: frozenset[Optional[str]]

    @classmethod
    def of(cls, cluster: ClusterMap, osd_ids: Iterable[int]) -> Scope:
        ids = frozenset(osd_ids)
        members = [osd for osd in cluster.osds if osd.osd_id in ids]
        hosts = frozenset(osd.host for osd in members)
        return cls(
            osd_ids=ids,
            classes=frozenset(osd.device_class for osd in members),
            hosts=hosts,
            other_hosts=frozenset(osd.host for osd in cluster.osds) - hosts,
        )

    def may_cover(self, who: str) -> bool:
        """Whether an entry for ``who`` may apply to one of these OSDs; True if in doubt."""
        section, *masks = who.split('/')
        osd_id = section[4:] if section.startswith('osd.') else ''
        if section not in {'global', 'osd'} and natural(osd_id) not in self.osd_ids:
            return False
        for mask in masks:
            kind, _, value = mask.partition(':')
            if kind == 'class' and None not in self.classes and value not in self.classes:
                return False
            # A host mask names a CRUSH bucket; an unknown name may contain any OSD.
            if kind == 'host' and None not in self.hosts and value in self.other_hosts:
                return False
        return True


def decided_by(entries: Mapping[str, str], osd: OsdInfo) -> Optional[tuple[str, str]]:
    """(who, value) of the entry that the monitor resolves for this OSD; None if there is none.

    Masks other than class and host do not match, since their members are unknown.
    """
    return _strongest((_breadth(who, osd), (who, value)) for who, value in entries.items())
