"""A collection without the names of hosts and without addresses. Pure.

Each name becomes another one, the same everywhere, so OSDs of one host still are. New names keep
the order of the old ones, on which no advice may depend. Fields that hold a host are replaced by
what they are; texts that people or daemons wrote are searched for names and addresses. What Ceph
defines (option names, classes of devices, releases) is left as it is, whatever hosts are called.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Mapping, Optional, TypeVar

from ..mgr.records import (
    ConfigEntry,
    CrushBucket,
    CrushDraw,
    CrushMap,
    FailureDomain,
    ManagerInfo,
    OsdInfo,
    PoolInfo,
)
from .records import Collection, ModuleState, OsdCollection

#: The root of the CRUSH tree that every cluster is made with.
_FIRST_ROOT = 'default'
#: What may be an address; "12:30:59" is looked at and is none.
_MAYBE_ADDRESS = re.compile(
    r'(?<!\w)(?:'
    r'(?<![0-9]\.)[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\w)(?!\.[0-9])'
    r'|[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?<!\.)(?!\w)'
    r')'
)

_T = TypeVar('_T')


def anonymous(collection: Collection) -> Collection:
    """The same without names of hosts and addresses."""
    return _Replacement(collection).collection(collection)


class _Replacement:
    """New names for old ones."""

    def __init__(self, collection: Collection) -> None:
        self._hosts = _numbered('host', _hosts(collection))
        managers = collection.module.managers if collection.module else ()
        self._managers = _numbered('mgr', {manager.name for manager in managers})
        self._locations: dict[tuple[str, str], str] = {}
        self._addresses: dict[str, str] = {}
        names: dict[str, str] = {}
        for host, name in self._hosts.items():
            # A host may be called by the first part of its full name.
            names.setdefault(host.partition('.')[0].lower(), name)
        names.update({host.lower(): name for host, name in self._hosts.items()})
        # A number in a text is a number.
        self._names = {host: name for host, name in names.items() if not host.isdigit() and host}
        # The longest first: the name of one host may begin that of another.
        longest = sorted(self._names, key=len, reverse=True)
        choices = '|'.join(re.escape(host) for host in longest)
        self._name = re.compile(
            rf'(?<![0-9A-Za-z])(?:{choices or "(?!)"})(?![0-9A-Za-z])', re.IGNORECASE
        )

    def collection(self, collection: Collection) -> Collection:
        cluster_map = collection.cluster_map
        return replace(
            collection,
            cluster_map=replace(
                cluster_map,
                osds=tuple(self._osd(osd) for osd in cluster_map.osds),
                pools=tuple(self._pool(pool) for pool in cluster_map.pools),
                crush=self._crush(cluster_map.crush),
            ),
            osds={osd_id: self._of_osd(osd) for osd_id, osd in collection.osds.items()},
            entries=None
            if collection.entries is None
            else tuple(e for entry in collection.entries for e in self._entry(entry)),
            module=None if collection.module is None else self._module(collection.module),
            history=self._texts(collection.history),
            rollout=self._texts(collection.rollout),
        )

    def _osd(self, osd: OsdInfo) -> OsdInfo:
        return replace(
            osd,
            host=None if osd.host is None else self._hosts[osd.host],
            failure_domain=osd.failure_domain and self._domain(osd.failure_domain),
        )

    def _domain(self, domain: FailureDomain) -> FailureDomain:
        return domain._replace(name=self._bucket_name(domain.kind, domain.name))

    def _crush(self, crush: CrushMap) -> CrushMap:
        kinds = {bucket.bucket_id: bucket.kind for bucket in crush.buckets}

        def draw(old: CrushDraw) -> CrushDraw:
            kind = kinds.get(old.root_id, 'root')
            return replace(old, root_name=self._bucket_name(kind, old.root_name))

        return CrushMap(
            tuple(self._bucket(bucket) for bucket in crush.buckets),
            tuple(replace(r, draws=tuple(draw(d) for d in r.draws)) for r in crush.rules),
        )

    def _bucket(self, bucket: CrushBucket) -> CrushBucket:
        return replace(bucket, name=self._bucket_name(bucket.kind, bucket.name))

    def _bucket_name(self, kind: str, name: str) -> str:
        """The same for a bucket and its shadows, which the name of a device class follows."""
        plain, tilde, device_class = name.partition('~')
        if kind == 'osd' or plain in {'', _FIRST_ROOT}:
            return name
        new = self._hosts.get(plain) if kind == 'host' else None
        return (new or self._location(kind, plain)) + tilde + device_class

    def _pool(self, pool: PoolInfo) -> PoolInfo:
        return replace(pool, name=self.text(pool.name))

    def _of_osd(self, osd: OsdCollection) -> OsdCollection:
        return replace(osd, running=self._texts(osd.running), kv_stats=self._texts(osd.kv_stats))

    def _module(self, state: ModuleState) -> ModuleState:
        return replace(
            state,
            managers=tuple(self._manager(manager) for manager in state.managers),
            notices=tuple(self.text(notice) for notice in state.notices),
        )

    def _manager(self, manager: ManagerInfo) -> ManagerInfo:
        host = None if manager.host is None else self._hosts[manager.host]
        return replace(manager, name=self._managers[manager.name], host=host)

    def _entry(self, entry: ConfigEntry) -> Iterator[ConfigEntry]:
        """Entries of other daemons, which may be called as their hosts are, concern no OSD."""
        section = entry.who.partition('/')[0]
        if section in {'global', 'osd'} or re.fullmatch(r'osd\.[0-9]+', section):
            yield replace(entry, who=self._who(entry.who), value=self.text(entry.value))

    def _who(self, who: str) -> str:
        """What `ceph config set` takes, with other names of hosts and places."""
        section, *masks = who.split('/')
        return '/'.join([section, *(self._mask(mask) for mask in masks)])

    def _mask(self, mask: str) -> str:
        kind, _, value = mask.partition(':')
        if kind == 'class':
            return mask
        if kind == 'host':
            # A mask may name a host that has no OSD.
            return f'host:{self._hosts.get(value) or self._location(kind, value)}'
        return f'{kind}:{self._location(kind, value)}'

    def _location(self, kind: str, value: str) -> str:
        key = kind, value
        if key not in self._locations:
            number = 1 + sum(known == kind for known, _ in self._locations)
            self._locations[key] = f'other-{kind}-{number}'
        return self._locations[key]

    def text(self, text: str) -> str:
        """``text`` with other names of hosts, and without addresses."""
        text = _MAYBE_ADDRESS.sub(self._address, text)
        return self._name.sub(lambda match: self._names.get(match[0].lower(), 'host'), text)

    def _address(self, match: re.Match[str]) -> str:
        found = match[0]
        try:
            ipaddress.ip_address(found)
        except ValueError:
            return found
        return self._addresses.setdefault(found, f'address-{len(self._addresses) + 1}')

    def _texts(self, value: _T) -> _T:
        """Each text anywhere in a record; what is one of a few words (an Enum) stays."""
        replaced: Any = value
        if isinstance(value, FailureDomain):
            replaced = self._domain(value)
        elif isinstance(value, str):
            replaced = value if isinstance(value, Enum) else self._who_or_text(value)
        elif is_dataclass(value) and not isinstance(value, type):
            replaced = replace(
                value, **{f.name: self._texts(getattr(value, f.name)) for f in fields(value)}
            )
        elif isinstance(value, tuple) and hasattr(value, '_make'):
            replaced = value._make(self._texts(item) for item in value)
        elif isinstance(value, tuple):
            replaced = tuple(self._texts(item) for item in value)
        elif isinstance(value, Mapping):
            replaced = {key: self._texts(item) for key, item in value.items()}
        return replaced  # type: ignore[no-any-return]

    def _who_or_text(self, text: str) -> str:
        is_who = re.fullmatch(r'(?:global|osd(?:\.[0-9]+)?)(?:/[a-z]+:[^/\s]+)+', text)
        return self._who(text) if is_who else self.text(text)


def _numbered(kind: str, names: Iterable[str]) -> dict[str, str]:
    """New names that sort as the old ones do."""
    ordered = sorted(set(names))
    digits = len(str(len(ordered)))
    return {name: f'{kind}-{number:0{digits}}' for number, name in enumerate(ordered, 1)}


def _hosts(collection: Collection) -> Iterator[str]:
    hosts: list[Optional[str]] = [osd.host for osd in collection.cluster_map.osds]
    hosts += [
        bucket.plain_name
        for bucket in collection.cluster_map.crush.buckets
        if bucket.kind == 'host'
    ]
    if collection.module is not None:
        hosts += [manager.host for manager in collection.module.managers]
    for entry in collection.entries or ():
        hosts += [
            mask.partition(':')[2] for mask in entry.who.split('/')[1:] if mask.startswith('host:')
        ]
    yield from (host for host in hosts if host is not None)
