"""Read the RocksDB statistics of one OSD: enable them, read, restore the previous settings.

The options are set in the running process only (`ceph tell osd.N config set`), never in the config
store, so they are gone after a restart. The previous overrides are stored before the first change:
after a failover the next active mgr restores them. Every step is idempotent.

Measured on 16.2.15: `config set` of these options takes effect at once although it answers "not
observed, change may require restart"; `config diff` shows an existing "override"; `config unset`
removes it and does not fail if there is none.
"""

from __future__ import annotations

import errno
import json
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Callable, Mapping, Optional

from ..mgr.protocols import CommandError, OsdCommands, Store
from ..mgr.records import ClusterMap, OsdInfo
from ..notes import AsTime, InPlace, Named
from ..observe.kv_stats import DeepStats, parse_deep_stats
from ..store.stored import Quarantine, Stored

log = logging.getLogger(__name__)

#: `ceph tell osd.N ...`
STATS_COMMAND = 'dump_objectstore_kv_stats'
#: Options for the full output of `dump_objectstore_kv_stats`. The tickers need `rocksdb_perf` at
#: OSD startup: without it the third option has no effect.
OPTIONS = (
    'rocksdb_perf',
    'rocksdb_collect_compaction_stats',
    'rocksdb_collect_extended_stats',
    'rocksdb_collect_memory_stats',
)
OVERRIDES = 'deep/'
#: Delay before an OSD that does not answer is retried.
RETRY_S = 30.0


@dataclass(frozen=True)
class Override:
    """One option that was enabled."""

    name: str
    #: The previous override; None: there was none, so this one is removed.
    previous: Optional[str]


@dataclass(frozen=True)
class OsdOverrides:
    """The options of one OSD process; a restart drops them."""

    osd_id: int
    nonce: int
    time_s: float
    switched: tuple[Override, ...]


Ask = Callable[[int, Callable[[], object]], bool]


@dataclass(frozen=True)
class OsdDeepStats:
    """Statistics of an OSD's RocksDB."""

    osd_id: int
    time_s: Annotated[float, Named('time'), AsTime(), 'Time of the statistics. ISO 8601, UTC.']
    stats: Annotated[DeepStats, InPlace()]
    switched_on: Annotated[
        tuple[str, ...], 'Options that the module enabled temporarily for this query.'
    ] = ()
    not_put_back: Annotated[tuple[str, ...], 'Options not restored yet; the module retries.'] = ()


@dataclass
class DeepStatsReader:
    """Reads statistics and restores overrides, including those of a previous active mgr.

    Every step blocks on an OSD or a monitor: one thread at a time per OSD. Times are seconds since
    the epoch.
    """

    osds: OsdCommands
    store: Store
    #: Time of the last attempt, by OSD id.
    _tried_s: dict[int, float] = field(default_factory=dict)
    _unrestored: dict[int, OsdOverrides] = field(default_factory=dict)

    @property
    def unfinished(self) -> bool:
        """Whether an OSD still has options to restore."""
        return bool(self._unrestored)

    def load(self) -> None:
        """Load the overrides that a previous active mgr did not restore."""
        quarantine = Quarantine(self.store)
        for key in self.store.keys(OVERRIDES):
            overrides = quarantine.read(Stored(self.store, key, OsdOverrides))
            if overrides is not None:
                self._unrestored[overrides.osd_id] = overrides

    def read(self, osd: OsdInfo, now_s: float) -> OsdDeepStats:
        """Raises CommandError; failed restores are retried later."""
        if not osd.up or osd.nonce is None:
            raise CommandError(errno.EAGAIN, f'osd.{osd.osd_id} is down')
        if osd.osd_id in self._unrestored and not self._restore(self._unrestored[osd.osd_id]):
            raise CommandError(
                errno.EAGAIN,
                f'osd.{osd.osd_id} still has options of an earlier request to restore: the module '
                'retries, try again later',
            )
        off = self._disabled(osd.osd_id)
        overrides = OsdOverrides(osd.osd_id, osd.nonce, now_s, off)
        if off:
            # Store first: after a failover the next active mgr can restore the options.
            self._stored(overrides).save(overrides)
            self._unrestored[osd.osd_id] = overrides
            self._tried_s[osd.osd_id] = now_s
        try:
            for option in off:
                self._set(osd.osd_id, option.name, 'true')
            text = self.osds.tell(osd.osd_id, STATS_COMMAND, {})
        finally:
            done = not off or self._restore(overrides)
        names = tuple(option.name for option in off)
        return OsdDeepStats(osd.osd_id, now_s, parse_deep_stats(text), names, () if done else names)

    def restore(self, cluster_map: ClusterMap, now_s: float, ask: Ask) -> None:
        """Restore the options of all OSDs that are due; cheap enough for every tick.

        ``ask`` runs a call that blocks on an OSD, possibly in another thread, and returns False if
        it cannot run it now.
        """
        present = {osd.osd_id: osd for osd in cluster_map.osds}
        for overrides in tuple(self._unrestored.values()):
            osd = present.get(overrides.osd_id)
            if osd is None or (osd.up and osd.nonce is not None and osd.nonce != overrides.nonce):
                # The process and its overrides are gone.
                self._forget(overrides)
            elif osd.up and self._is_due(overrides.osd_id, now_s):
                # Before the call, since a call that runs at once removes this entry.
                self._tried_s[overrides.osd_id] = now_s
                ask(overrides.osd_id, partial(self._restore, overrides))

    def _is_due(self, osd_id: int, now_s: float) -> bool:
        tried_s = self._tried_s.get(osd_id)
        return tried_s is None or abs(now_s - tried_s) >= RETRY_S

    def _disabled(self, osd_id: int) -> tuple[Override, ...]:
        """The options that are off, with their existing overrides."""
        changed = _differences(self.osds.tell(osd_id, 'config diff', {}), osd_id)
        found = []
        for name in OPTIONS:
            # As text or as a boolean.
            entry = changed.get(name, {})
            values = {k: str(v).lower() for k, v in entry.items() if v is not None}
            if values.get('final') != 'true':
                found.append(Override(name, values.get('override')))
        return tuple(found)

    def _restore(self, overrides: OsdOverrides) -> bool:
        try:
            for option in reversed(overrides.switched):
                if option.previous is None:
                    self.osds.tell(overrides.osd_id, 'config unset', {'var': option.name})
                else:
                    self._set(overrides.osd_id, option.name, option.previous)
        except CommandError as error:
            log.warning(
                'osd.%d: RocksDB statistics are still enabled: %s', overrides.osd_id, error.message
            )
            return False
        self._forget(overrides)
        return True

    def _stored(self, overrides: OsdOverrides) -> Stored[OsdOverrides]:
        return Stored(self.store, f'{OVERRIDES}osd.{overrides.osd_id}', OsdOverrides)

    def _forget(self, overrides: OsdOverrides) -> None:
        self._stored(overrides).save(None)
        self._unrestored.pop(overrides.osd_id, None)
        self._tried_s.pop(overrides.osd_id, None)

    def _set(self, osd_id: int, name: str, value: str) -> None:
        self.osds.tell(osd_id, 'config set', {'var': name, 'val': [value]})


def _differences(text: str, osd_id: int) -> Mapping[str, Mapping[str, Any]]:
    """The `config diff` entries of the options with non-default values."""
    try:
        found = json.loads(text)['diff']
        return {name: found[name] for name in OPTIONS if isinstance(found.get(name), dict)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CommandError(errno.EIO, f'osd.{osd_id} : cannot parse "config diff"') from None
