"""Replaces all names that people chose in a collection. Pure.

Hosts, pools, CRUSH buckets, users, addresses, URLs, and unknown words in any text. Each name has
the same replacement everywhere, so references stay intact. New names sort like the old ones, but no
recommendation may depend on that order. Ceph's own names (options, device classes, releases, flags)
stay, even if a host has such a name.

No field is exempt: a field without a rule here is treated as text, and only words of Ceph and of
the module's own messages stay in a text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Callable, Mapping, Optional, TypeVar

from ..mgr.records import ConfigEntry, CrushBucket, CrushMap, FailureDomain
from ..observe.kv_stats import KvStatsUnavailableError, format_kv_stats, parse_kv_stats
from ..options.verdict import all_options
from . import names_of
from .counters import wanted_paths
from .records import Collection, KvStatsText
from .vocabulary import PUNCTUATION, TOKEN, ceph_words, words

_URL = r'[A-Za-z][A-Za-z0-9+.\-]*://[^\s"\'<>]+'
_UUID = r'(?<![0-9A-Za-z])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Za-z])'
#: A possible address; also matches "12:30:59", which is rejected later.
_MAYBE_ADDRESS = (
    r'(?<!\w)(?:'
    r'(?<![0-9]\.)[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.?[0-9])'
    r'|[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?<!\.)(?!\w)'
    r')'
)
_NUMBER = re.compile(
    r'[+~-]*(?:[0-9][0-9.,:/%+-]*|[0-9.]+[eE][+-]?[0-9]+|0[xX][0-9A-Fa-f.]+(?:[pP][+-]?[0-9]+)?)'
)
#: RocksDB parses a number and a suffix, and ignores the remaining text.
_BEGINS_AS_NUMBER = re.compile(r'([+-]?[0-9.]+[kKmMgGtTpPeE]?[._~^+-]*)(.+)', re.DOTALL)
_DAEMON = re.compile(r'(osd|mon|mgr|mds|client)\.(.+)', re.DOTALL)
#: Data directory of an OSD.
_OSD_PATH = re.compile(r'/var/lib/ceph/osd/ceph-[0-9]+')
#: The kernel's names of disks.
_DISK = re.compile(r'(?:sd|vd|hd|xvd)[a-z]{1,3}|(?:nvme|dm-|md|loop|sr)[0-9]+(?:n[0-9]+)?')
_OPERATION = re.compile(r'(?:[a-z]|E)[0-9]+')
_WHO = re.compile(r'(?:global|osd(?:\.[0-9]+)?)(?:/[^:/\s]+:[^/\s]+)+')
_RECOMMENDATION = re.compile(r'(.*)(-[0-9a-f]{6})', re.DOTALL)

_T = TypeVar('_T')
_Handler = Callable[[Any], Any]


def anonymous(collection: Collection) -> Collection:
    """The collection with names of hosts, pools, buckets and users, and addresses, replaced."""
    return Replacement(collection).of(collection)


class Replacement:
    """New names for the old ones of one collection."""

    def __init__(self, collection: Collection) -> None:
        self._numbers: dict[str, int] = {}
        self._new: dict[tuple[str, str], str] = {}
        self._kinds: Mapping[int, str] = {
            bucket.bucket_id: bucket.kind for bucket in collection.cluster_map.crush.buckets
        }
        self._name_all('host', names_of.hosts(collection))
        managers = collection.module.managers if collection.module else ()
        self._name_all('mgr', (manager.name for manager in managers))
        self._name_all('pool', (pool.name for pool in collection.cluster_map.pools))
        self._name_all('class', filter(names_of.is_custom, names_of.classes(collection)))
        places = set(names_of.places(collection))
        for kind in sorted({kind for kind, _ in places}):
            self._name_all(self._place_kind(kind), (name for k, name in places if k == kind))
        self._name_all(
            'user', (name for actor in names_of.actors(collection) for name in names_of.user(actor))
        )
        self._known = self._names_in_texts()
        # Longest first: a name may be a prefix of another.
        longest = sorted(self._known, key=len, reverse=True)
        choices = '|'.join(re.escape(name) for name in longest)
        self._parts = re.compile(
            rf'(?P<url>{_URL})|(?P<uuid>{_UUID})'
            rf'|(?P<name>(?<![0-9A-Za-z])(?:{choices or "(?!)"})(?![0-9A-Za-z]))'
            rf'|(?P<address>{_MAYBE_ADDRESS})',
            re.IGNORECASE,
        )
        #: By type, by "type.field", or by field name for any type.
        self._handlers: Mapping[str, _Handler] = {
            'OsdInfo.host': self._host,
            'OsdInfo.device_class': self._class,
            'OsdInfo.devices': lambda names: tuple(map(self._device, names)),
            'OsdInfo.pod_namespace': lambda name: self._named('namespace', name),
            'PoolInfo.name': lambda name: self._new['pool', name],
            'PoolInfo.device_classes': lambda names: tuple(self._class(name) for name in names),
            'Collection.entries': self._entries,
            'OsdCollection.kv_stats': lambda texts: tuple(self._kv_stats(text) for text in texts),
            'CounterDump.points': _wanted,
            'ManagerInfo.name': lambda name: self._new['mgr', name],
            'ManagerInfo.host': self._host,
            'ModuleState.advised_on': self._by_class,
            'Memories.groups': self._by_class,
            'CrushChoice.kind': self._kind,
            'ClusterMap.crush': self._crush,
            'FailureDomain': self._domain,
            'actor': self._actor,
            'paused_by': self._actor,
            'who': self._who_or_text,
            'recommendation_id': self._recommendation,
        }

    def of(self, value: _T) -> _T:
        """Any record, with names replaced."""
        return self._walk(value)  # type: ignore[no-any-return]

    def _walk(self, value: Any) -> Any:
        """Replace names in all nested texts; enums stay."""
        if value is None or isinstance(value, (bool, int, float, Enum)):
            return value
        if isinstance(value, str):
            return self._who_or_text(value)
        handler = self._handlers.get(type(value).__name__)
        if handler is not None:
            return handler(value)
        if is_dataclass(value) and not isinstance(value, type):
            members = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
            return replace(value, **self._members(value, members))
        if isinstance(value, tuple) and hasattr(value, '_asdict'):
            record: Any = value
            return record._replace(**self._members(record, record._asdict()))
        if isinstance(value, (tuple, list, frozenset)):
            return type(value)(self._walk(item) for item in value)
        if isinstance(value, Mapping):
            return {self._walk(key): self._walk(item) for key, item in value.items()}
        raise TypeError(f'no rule to replace names in a {type(value).__name__}')

    def _members(self, record: object, members: Mapping[str, Any]) -> dict[str, Any]:
        owner = type(record).__name__
        return {
            name: value
            if value is None
            else (self._handlers.get(f'{owner}.{name}') or self._handlers.get(name) or self._walk)(
                value
            )
            for name, value in members.items()
        }

    # -- names by kind

    def _name_all(self, kind: str, names: Iterable[str]) -> None:
        """Assign new names that sort like the old ones."""
        ordered = sorted(set(names))
        digits = len(str(len(ordered)))
        for number, name in enumerate(ordered, 1):
            self._new[kind, name] = f'{kind}-{number:0{digits}}'
        self._numbers[kind] = len(ordered)

    def _named(self, kind: str, name: str) -> str:
        """The new name for a name found in a text."""
        if (kind, name) not in self._new:
            self._numbers[kind] = self._numbers.get(kind, 0) + 1
            # A single word for RocksDB, like the original.
            joint = '' if kind == 'name' else '-'
            self._new[kind, name] = f'{kind}{joint}{self._numbers[kind]}'
        return self._new[kind, name]

    def _names_in_texts(self) -> dict[str, str]:
        """Replacements in texts, by old names in lower case."""
        known: dict[str, str] = {}
        for (kind, name), new in sorted(self._new.items()):
            if kind == 'host':
                # Texts may have the short host name.
                known.setdefault(name.partition('.')[0].lower(), new)
        for (kind, name), new in self._new.items():
            if kind == 'host' or name.lower() not in words():
                known.setdefault(name.lower(), new)
        known.update(
            {name.lower(): new for (kind, name), new in self._new.items() if kind == 'host'}
        )
        # Numbers in a text stay.
        return {
            name: new
            for name, new in known.items()
            if name.strip() and not name.isdigit() and name not in ceph_words()
        }

    def _host(self, host: str) -> str:
        return self._new['host', host]

    def _device(self, name: str) -> str:
        return name if _DISK.fullmatch(name) else self._named('device', name)

    def _class(self, device_class: str) -> str:
        return device_class if device_class in ceph_words() else self._named('class', device_class)

    def _by_class(self, found: Mapping[str, Any]) -> dict[str, Any]:
        return {self._class(name): self._walk(value) for name, value in found.items()}

    def _kind(self, kind: str) -> str:
        """A bucket type, which may be a custom one."""
        return kind if kind in ceph_words() else self._named('type', kind)

    def _place_kind(self, kind: str) -> str:
        return f'other-{self._kind(kind)}'

    def _place(self, kind: str, name: str) -> str:
        """A bucket name; shadow buckets have "~" and a device class appended."""
        plain, tilde, device_class = name.partition('~')
        if plain in {'', names_of.FIRST_ROOT} or re.fullmatch(r'osd\.[0-9]+', plain):
            new = plain
        elif kind == 'host' and ('host', plain) in self._new:
            new = self._host(plain)
        else:
            new = self._named(self._place_kind(kind), plain)
        return new + tilde + (self._class(device_class) if tilde else '')

    def _domain(self, domain: FailureDomain) -> FailureDomain:
        return FailureDomain(self._kind(domain.kind), self._place(domain.kind, domain.name))

    def _crush(self, crush: CrushMap) -> CrushMap:
        return CrushMap(
            tuple(self._bucket(bucket) for bucket in crush.buckets),
            tuple(
                replace(
                    rule,
                    draws=tuple(
                        replace(
                            draw,
                            root_name=self._place(
                                self._kinds.get(draw.root_id, 'root'), draw.root_name
                            ),
                            choices=self._walk(draw.choices),
                        )
                        for draw in rule.draws
                    ),
                )
                for rule in crush.rules
            ),
        )

    def _bucket(self, bucket: CrushBucket) -> CrushBucket:
        return replace(
            bucket, name=self._place(bucket.kind, bucket.name), kind=self._kind(bucket.kind)
        )

    def _actor(self, actor: str) -> str:
        """ "dashboard:alice" is "dashboard:user-1"."""
        by, colon, name = actor.rpartition(':')
        if actor == names_of.NOBODY or not name:
            return self.text(actor)
        return (self.text(by) + colon if colon else '') + self._named('user', name)

    def _recommendation(self, recommendation_id: str) -> str:
        """A bucket or device class name, followed by a digest."""
        match = _RECOMMENDATION.fullmatch(recommendation_id)
        if match is None:
            return self.text(recommendation_id)
        name = match[1]
        place = self._new.get(('class', name)) or self._new.get(('host', name)) or self.text(name)
        return place + match[2]

    def _entries(self, entries: Iterable[ConfigEntry]) -> tuple[ConfigEntry, ...]:
        """Drop entries of other daemons: irrelevant for OSDs, and often named after hosts."""
        return tuple(
            ConfigEntry(self._who(entry.who), self.text(entry.name), self.text(entry.value))
            for entry in entries
            if re.fullmatch(r'global|osd|osd\.[0-9]+', entry.who.partition('/')[0])
        )

    def _who(self, who: str) -> str:
        """A config mask, with names of hosts and buckets replaced."""
        section, *masks = who.split('/')
        return '/'.join([section, *(self._mask(mask) for mask in masks)])

    def _mask(self, mask: str) -> str:
        kind, colon, value = mask.partition(':')
        if not colon:
            return self.text(mask)
        if kind == 'class':
            return f'class:{self._class(value)}'
        return f'{self._kind(kind)}:{self._place(kind, value)}'

    def _who_or_text(self, text: str) -> str:
        return self._who(text) if _WHO.fullmatch(text) else self.text(text)

    def _kv_stats(self, answer: KvStatsText) -> KvStatsText:
        """Numbers reformatted by the module; unreadable answers stay unreadable."""
        try:
            return answer._replace(text=format_kv_stats(parse_kv_stats(answer.text)))
        except KvStatsUnavailableError:
            return answer._replace(text=self.text(answer.text))

    # -- texts

    def text(self, text: str) -> str:
        """``text`` with names and addresses replaced; option strings keep their format."""
        pieces: list[str] = []
        end = 0
        for match in self._parts.finditer(text):
            new = self._part(match)
            if new is not None:
                start, next_end = match.span()
                pieces += [self._plain(text[end:start]), new]
                end = next_end
        return ''.join([*pieces, self._plain(text[end:])])

    def _part(self, match: re.Match[str]) -> Optional[str]:
        """The replacement of an address or known name; None for anything else."""
        found = match[0]
        if match.lastgroup == 'name':
            return self._known[found.lower()]
        if match.lastgroup == 'address':
            try:
                ipaddress.ip_address(found)
            except ValueError:
                return None
        return self._named(str(match.lastgroup), found)

    def _plain(self, text: str) -> str:
        return TOKEN.sub(lambda match: self._token(match[0]), text)

    def _token(self, token: str) -> str:
        """A word, replaced unless Ceph or the module defines it."""
        core = token.strip(PUNCTUATION)
        if not core or _is_word(token) or _is_word(core) or _NUMBER.fullmatch(core):
            return token
        if _OSD_PATH.fullmatch(token):
            return token
        start = token.index(core)
        end = start + len(core)
        head, tail = token[:start], token[end:]
        if head.endswith(('/', '~', '\\')) and not core[0].isdigit():
            return head[:-1] + self._named('path', head[-1] + core) + tail
        return head + self._core(core) + tail

    def _core(self, core: str) -> str:
        for mark in ':/':
            if mark in core:
                return mark.join(self._token(piece) if piece else '' for piece in core.split(mark))
        if '@' in core:
            return core if re.fullmatch('ceph-osd@[0-9]+', core) else self._named('user', core)
        advice = _RECOMMENDATION.fullmatch(core)
        if _OPERATION.fullmatch(core) or (advice and advice[1] in ceph_words()):
            return core
        match = _DAEMON.fullmatch(core)
        if match:
            kind, name = match.groups()
            return f'{kind}.{self._new.get((kind, name)) or self._token(name)}'
        base, dot, member = core.partition('.')
        if dot and member and base in all_options():
            return f'{base}.{self._token(member)}'
        match = _BEGINS_AS_NUMBER.fullmatch(core)
        if match:
            return match[1] + self._token(match[2])
        return self._named('name', core)


def _is_word(token: str) -> bool:
    return token.lower() in words()


def _wanted(points: Mapping[str, Any]) -> dict[str, Any]:
    """Used counters only: they have Ceph's names and numbers, nothing else."""
    return {path: point for path, point in points.items() if path in wanted_paths()}
