"""One look at the RocksDB of an OSD: switch its statistics on, read them, put back what was there.

The options are set in the running process only (`ceph tell osd.N config set`), never in the config
store, so they end with the process. What was there before is stored before anything is changed:
a manager that takes over finds the note and puts it back. Every step can be repeated.

Measured on 16.2.15: `config set` of these options takes effect at once although it answers "not
observed, change may require restart"; `config diff` shows an "override" that somebody set before;
`config unset` takes one back, and is no error where there is none.
"""

from __future__ import annotations

import errno
import json
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Mapping, Optional

from ..mgr.protocols import CommandError, OsdCommands, Store
from ..mgr.records import ClusterMap, OsdInfo
from ..observe.column_families import DeepStats, parse_deep_stats
from ..store.quarantine import Quarantine
from .note import Note, Switched, decode, encode

log = logging.getLogger(__name__)

#: `ceph tell osd.N ...`
STATS_COMMAND = 'dump_objectstore_kv_stats'
#: What `dump_objectstore_kv_stats` needs to say all that it can. The tickers need `rocksdb_perf`
#: from the OSD's start, so the third does nothing where that was off.
OPTIONS = (
    'rocksdb_perf',
    'rocksdb_collect_compaction_stats',
    'rocksdb_collect_extended_stats',
    'rocksdb_collect_memory_stats',
)
NOTES = 'deep/'
#: An OSD that does not answer is tried again after this.
RETRY_S = 30.0


Ask = Callable[[int, Callable[[], object]], bool]


def _at_once(osd_id: int, work: Callable[[], object]) -> bool:  # noqa: ARG001 - as others need it
    work()
    return True


class DeepLookRefused(Exception):  # noqa: N818 - as OperationRefused
    """There can be no look; ``errno`` is positive, the text for a person. Nothing was changed."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.errno = code


@dataclass(frozen=True)
class DeepLook:
    """What was seen of one OSD."""

    osd_id: int
    time_s: float
    stats: DeepStats
    #: Options that were switched on for it.
    switched_on: tuple[str, ...] = ()
    #: Those of them that could not be put back yet: it is tried again.
    not_put_back: tuple[str, ...] = ()


@dataclass
class DeepLooker:
    """Looks at OSDs, and puts back what it, or a manager before, switched on.

    Every step waits for an OSD, or for a monitor: one thread at a time for each OSD. Times are
    seconds since the epoch.
    """

    osds: OsdCommands
    store: Store
    #: When an OSD with a note was last tried, by its number.
    _tried_s: dict[int, float] = field(default_factory=dict)
    _notes: dict[int, Note] = field(default_factory=dict)

    @property
    def unfinished(self) -> bool:
        """Whether something is still switched on, as far as is known."""
        return bool(self._notes)

    def load(self) -> None:
        """Read what managers before left to be put back."""
        quarantine = Quarantine(self.store)
        for key in self.store.keys(NOTES):
            note = quarantine.read(key, decode)
            if note is not None:
                self._notes[note.osd_id] = note

    def look(self, osd: OsdInfo, now_s: float) -> DeepLook:
        """Raises DeepLookRefused, CommandError; whatever was switched on is put back, or noted."""
        if not osd.up or osd.nonce is None:
            raise DeepLookRefused(errno.EAGAIN, f'osd.{osd.osd_id} is down: nothing can be read')
        if osd.osd_id in self._notes and not self._put_back(self._notes[osd.osd_id]):
            raise DeepLookRefused(
                errno.EAGAIN,
                f'what was switched on in osd.{osd.osd_id} before could not be restored yet: the '
                'module retries, try again later',
            )
        off = self._switched_off(osd.osd_id)
        note = Note(osd.osd_id, osd.nonce, now_s, off)
        if off:
            # First the note: whoever takes over from here on can undo what follows.
            self.store.set(_key(note), encode(note))
            self._notes[osd.osd_id] = note
            self._tried_s[osd.osd_id] = now_s
        try:
            for option in off:
                self._set(osd.osd_id, option.name, 'true')
            text = self.osds.tell(osd.osd_id, STATS_COMMAND, {})
        finally:
            done = not off or self._put_back(note)
        names = tuple(option.name for option in off)
        return DeepLook(osd.osd_id, now_s, parse_deep_stats(text), names, () if done else names)

    def put_back(self, cluster_map: ClusterMap, now_s: float, ask: Ask = _at_once) -> None:
        """Put back what is still switched on; to be called often, it asks seldom.

        ``ask`` does, now or beside, what waits for an OSD; False where it cannot do it now.
        """
        present = {osd.osd_id: osd for osd in cluster_map.osds}
        for note in tuple(self._notes.values()):
            osd = present.get(note.osd_id)
            if osd is None or (osd.up and osd.nonce is not None and osd.nonce != note.nonce):
                # The process is gone, and with it what was set in it.
                self._forget(note)
            elif osd.up and self._is_due(note.osd_id, now_s):
                # Noted before: where it is done at once, nothing is left to be noted.
                self._tried_s[note.osd_id] = now_s
                ask(note.osd_id, partial(self._put_back, note))

    def _is_due(self, osd_id: int, now_s: float) -> bool:
        tried_s = self._tried_s.get(osd_id)
        return tried_s is None or abs(now_s - tried_s) >= RETRY_S

    def _switched_off(self, osd_id: int) -> tuple[Switched, ...]:
        """The options that are off, with what somebody may have set in the process itself."""
        changed = _differences(self.osds.tell(osd_id, 'config diff', {}), osd_id)
        found = []
        for name in OPTIONS:
            entry = changed.get(name, {})
            if not _is_true(entry.get('final', False)):
                override = entry.get('override')
                found.append(Switched(name, None if override is None else _text(override)))
        return tuple(found)

    def _put_back(self, note: Note) -> bool:
        try:
            for option in reversed(note.switched):
                if option.previous is None:
                    self.osds.tell(note.osd_id, 'config unset', {'var': option.name})
                else:
                    self._set(note.osd_id, option.name, option.previous)
        except CommandError as error:
            log.warning('osd.%d: statistics are still on: %s', note.osd_id, error.message)
            return False
        self._forget(note)
        return True

    def _forget(self, note: Note) -> None:
        self.store.set(_key(note), None)
        self._notes.pop(note.osd_id, None)
        self._tried_s.pop(note.osd_id, None)

    def _set(self, osd_id: int, name: str, value: str) -> None:
        self.osds.tell(osd_id, 'config set', {'var': name, 'val': [value]})


def _key(note: Note) -> str:
    return f'{NOTES}osd.{note.osd_id}'


def _differences(text: str, osd_id: int) -> Mapping[str, Mapping[str, Any]]:
    """What `config diff` says of the options that are not at their default."""
    try:
        found = json.loads(text)['diff']
        return {name: found[name] for name in OPTIONS if isinstance(found.get(name), dict)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CommandError(errno.EIO, f'osd.{osd_id} answered "config diff" unreadably') from None


def _is_true(value: Optional[object]) -> bool:
    return value is True or value == 'true'


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
