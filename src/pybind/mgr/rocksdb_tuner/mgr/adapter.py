"""The Protocols of this package over the API of a real ceph-mgr."""

from __future__ import annotations

import errno
import json
import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any, Callable, Mapping, Optional

from mgr_module import CommandResult, MgrModule

from .protocols import CommandError
from .records import (
    ClusterMap,
    ConfigEntry,
    CounterPoint,
    DaemonVersions,
    ManagerInfo,
    OsdInfo,
    PgSummary,
    PoolInfo,
    RunningOption,
)
from .releases import latest_counter_reader

log = logging.getLogger(__name__)

#: An OSD that does not answer within this time is treated as not answering.
TELL_TIMEOUT_S = 60.0
#: Daemons' metadata reach the mgr after the OSD map that announces them: look again this often.
MAP_MAX_AGE_S = 30.0
#: Managers come and go with upgrades; their map holds the options of every module, some 100 KB.
MANAGERS_MAX_AGE_S = 30.0
#: An orchestrator does not come and go within a rollout step.
ORCHESTRATOR_MAX_AGE_S = 15.0


class MgrCluster:
    """One object for all that is read from and done to the cluster.

    Implements CounterReader, ClusterReader, ConfigStore, OsdCommands, Orchestrator and Upgrades.
    Methods that wait for a monitor or an OSD must only be called from the module's serve thread:
    a mon command blocks without limit while there is no quorum.
    """

    def __init__(self, module: MgrModule) -> None:
        self._module = module
        self._latest_counter = latest_counter_reader(module)
        self._map: Optional[ClusterMap] = None
        self._map_read_s = 0.0
        self._managers: tuple[ManagerInfo, ...] = ()
        self._managers_read_s: Optional[float] = None
        self._orchestrator_read_s: Optional[float] = None
        self._orchestrator_reason: Optional[str] = None

    # -- CounterReader

    def latest(self, osd_id: int, path: str) -> Optional[CounterPoint]:
        # [] stands for a counter that this daemon never sent.
        point = self._latest_counter('osd', str(osd_id), path).get(path)
        if not point:
            return None
        return CounterPoint(point[0], point[1], point[2] if len(point) > 2 else None)

    # -- ClusterReader

    def invalidate_map(self) -> None:
        """The OSD map changed: read it anew when it is next asked for."""
        self._map_read_s = 0.0

    def cluster_map(self) -> ClusterMap:
        now_s = time.monotonic()
        if self._map is None or now_s - self._map_read_s > MAP_MAX_AGE_S:
            # Stamped before reading: a change that arrives meanwhile invalidates again.
            self._map_read_s = now_s
            self._map = parse_cluster_map(
                self._module.get('osd_map'),
                self._module.get('osd_map_crush'),
                self._module.get('osd_metadata'),
            )
        return self._map

    def pg_summary(self) -> PgSummary:
        return parse_pg_status(self._module.get('pg_status'))

    def managers(self) -> tuple[ManagerInfo, ...]:
        now_s = time.monotonic()
        read_s = self._managers_read_s
        if read_s is None or now_s - read_s > MANAGERS_MAX_AGE_S:
            self._managers_read_s = now_s
            self._managers = parse_managers(
                self._module.get('mgr_map'),
                self._module.module_name,
                lambda name: self._module.get_metadata('mgr', name) or {},
            )
        return self._managers

    def health_codes(self) -> Mapping[str, str]:
        health = json.loads(self._module.get('health')['json'])
        return {code: str(check['severity']) for code, check in health.get('checks', {}).items()}

    # -- ConfigStore

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        dump = json.loads(self._mon({'prefix': 'config dump', 'format': 'json'}))
        return tuple(
            ConfigEntry(
                who=entry['section'] + (f'/{entry["mask"]}' if entry.get('mask') else ''),
                name=entry['name'],
                value=entry['value'],
            )
            for entry in dump
            if entry['name'] in names
        )

    def set(self, who: str, name: str, value: str) -> None:
        self._mon({'prefix': 'config set', 'who': who, 'name': name, 'value': value})

    def remove(self, who: str, name: str) -> None:
        self._mon({'prefix': 'config rm', 'who': who, 'name': name})

    def resolved(self, osd_id: int, name: str) -> str:
        return self._mon({'prefix': 'config get', 'who': f'osd.{osd_id}', 'key': name}).rstrip('\n')

    def running(
        self, osd_id: int, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> Mapping[str, RunningOption]:
        who = f'osd.{osd_id}'
        shown = json.loads(self._mon({'prefix': 'config show', 'who': who, 'format': 'json'}))
        listed = {entry['name']: entry for entry in shown}
        beside = {name: _running_option(listed[name]) for name in if_set if name in listed}
        return beside | {
            name: _running_option(listed[name])
            if name in listed
            # An option that nobody set is not in the list; asked for by name it is answered with
            # the OSD's own default, which need not be the monitor's in a cluster being upgraded.
            else RunningOption(
                self._mon({'prefix': 'config show', 'who': who, 'key': name}).rstrip('\n'),
                source='default',
                ignores_mon=False,
            )
            for name in names
        }

    # -- OsdCommands

    def tell(self, osd_id: int, prefix: str, args: Mapping[str, str]) -> str:
        result = CommandResult()
        command = json.dumps({'prefix': prefix, **args})
        self._module.send_command(result, 'osd', str(osd_id), command, '')
        if not result.ev.wait(TELL_TIMEOUT_S):
            raise CommandError(errno.ETIMEDOUT, f'osd.{osd_id} did not answer to "{prefix}"')
        # The return code is 0 for every error of an OSD ("unknown command", "osd down"): only
        # the error text tells.
        if result.r != 0 or (result.outs and not result.outb):
            raise CommandError(abs(result.r) or errno.EIO, f'osd.{osd_id}: {result.outs}')
        return result.outb

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        code, _, message = self._module.mon_command(
            {'prefix': 'osd ok-to-stop', 'ids': [str(i) for i in osd_ids], 'format': 'json'}
        )
        return None if code == 0 else message

    # -- Orchestrator

    def unavailable_reason(self) -> Optional[str]:
        now_s = time.monotonic()
        read_s = self._orchestrator_read_s
        if read_s is None or now_s - read_s > ORCHESTRATOR_MAX_AGE_S:
            self._orchestrator_reason = self._ask_orchestrator()
            self._orchestrator_read_s = now_s
        return self._orchestrator_reason

    def restart_osd(self, osd_id: int) -> None:
        self._mon({'prefix': 'orch daemon', 'action': 'restart', 'name': f'osd.{osd_id}'})

    # -- Upgrades

    def daemon_versions(self) -> tuple[DaemonVersions, ...]:
        return parse_versions(json.loads(self._mon({'prefix': 'versions', 'format': 'json'})))

    def orchestrated_upgrade(self) -> Optional[str]:
        try:
            return parse_upgrade(self._mon({'prefix': 'orch upgrade status'}))
        except CommandError as error:
            # So answer a cluster without an orchestrator, and a backend that cannot upgrade.
            if error.errno == errno.ENOENT:
                return None
            raise

    def _ask_orchestrator(self) -> Optional[str]:
        try:
            status = json.loads(self._mon({'prefix': 'orch status', 'format': 'json'}))
        except CommandError as error:
            return error.message
        if status.get('available'):
            return None
        return str(status.get('reason') or 'the orchestrator backend is not available')

    def _mon(self, command: Mapping[str, Any]) -> str:
        code, out, message = self._module.mon_command(dict(command))
        if code != 0:
            raise CommandError(abs(code), message or f'{command["prefix"]} failed')
        return out


class MgrStore:
    """Store over the module's own keys in the monitor's config-key store."""

    def __init__(self, module: MgrModule) -> None:
        self._module = module

    def get(self, key: str) -> Optional[str]:
        return self._module.get_store(key)

    def set(self, key: str, value: Optional[str]) -> None:
        self._module.set_store(key, value)

    def keys(self, prefix: str) -> Sequence[str]:
        return sorted(self._module.get_store_prefix(prefix))


def parse_cluster_map(
    osd_map: Mapping[str, Any], crush: Mapping[str, Any], metadata: Mapping[str, Mapping[str, str]]
) -> ClusterMap:
    """ClusterMap from what `get('osd_map')`, `('osd_map_crush')`, `('osd_metadata')` return."""
    classes = {device['id']: device.get('class') for device in crush.get('devices', [])}
    rule_classes = {rule['rule_id']: tuple(_classes_taken(rule)) for rule in crush.get('rules', [])}
    return ClusterMap(
        epoch=osd_map['epoch'],
        flags=frozenset(osd_map.get('flags_set') or filter(None, osd_map['flags'].split(','))),
        require_osd_release=osd_map.get('require_osd_release'),
        osds=tuple(
            _osd_info(osd, metadata.get(str(osd['osd'])) or {}, classes.get(osd['osd']))
            for osd in osd_map['osds']
        ),
        pools=tuple(_pool_info(pool, rule_classes) for pool in osd_map['pools']),
    )


def parse_managers(
    mgr_map: Mapping[str, Any],
    module_name: str,
    metadata: Callable[[str], Mapping[str, str]],
) -> tuple[ManagerInfo, ...]:
    """Managers from what `get('mgr_map')` returns; ``metadata`` gives that of one by its name.

    Nothing is known of a manager without a name: between two active ones there is none.
    """
    found = [(mgr_map.get('active_name'), True, mgr_map.get('available_modules'))]
    found += [(s.get('name'), False, s.get('available_modules')) for s in mgr_map['standbys']]
    return tuple(
        ManagerInfo(
            name=name,
            host=metadata(name).get('hostname'),
            active=active,
            has_module=any(module['name'] == module_name for module in modules or []),
        )
        for name, active, modules in found
        if name
    )


def parse_versions(versions: Mapping[str, Mapping[str, int]]) -> tuple[DaemonVersions, ...]:
    """What runs, from the output of `versions`, whose last part sums up the others."""
    return tuple(
        DaemonVersions(kind, tuple(sorted({_short_version(text) for text in found})))
        for kind, found in sorted(versions.items())
        if kind != 'overall' and found
    )


def _short_version(text: str) -> str:
    """ "16.2.15" of "ceph version 16.2.15 (618f44...) pacific (stable)"; else the text itself."""
    words = text.split()
    return words[2] if words[:2] == ['ceph', 'version'] and len(words) > 2 else text


def parse_upgrade(output: str) -> Optional[str]:
    """What is upgraded to, from the output of `orch upgrade status`; None: nothing.

    Tentacle answers with a sentence, in spite of any format, where nothing is upgraded.
    """
    try:
        status = json.loads(output)
    except ValueError:
        return None
    if not isinstance(status, dict) or not status.get('in_progress'):
        return None
    return str(status.get('target_image') or 'an unnamed image')


def parse_pg_status(status: Mapping[str, Any]) -> PgSummary:
    """PgSummary from what `get('pg_status')` holds."""
    states = tuple((str(s['state_name']), int(s['count'])) for s in status.get('pgs_by_state', []))
    return PgSummary(
        total=int(status.get('num_pgs', 0)),
        # "active+clean+scrubbing" is clean, "active+undersized" is not.
        active_clean=sum(n for state, n in states if {'active', 'clean'} <= set(state.split('+'))),
        by_state=states,
    )


def _osd_info(
    osd: Mapping[str, Any], metadata: Mapping[str, str], device_class: Optional[str]
) -> OsdInfo:
    addresses = osd.get('public_addrs', {}).get('addrvec', [])
    return OsdInfo(
        osd_id=osd['osd'],
        up=bool(osd['up']),
        in_cluster=bool(osd['in']),
        nonce=addresses[0]['nonce'] if addresses else None,
        host=metadata.get('hostname'),
        device_class=device_class or None,
        version=metadata.get('ceph_version_short'),
        release=metadata.get('ceph_release'),
        dedicated_db=_flag(metadata.get('bluefs_dedicated_db')),
        dedicated_wal=_flag(metadata.get('bluefs_dedicated_wal')),
        db_device_bytes=_number(metadata.get('bluefs_db_size')),
        objectstore=metadata.get('osd_objectstore'),
        wal_device_bytes=_number(metadata.get('bluefs_wal_size')),
        main_device_bytes=_number(metadata.get('bluestore_bdev_size')),
        main_rotational=_flag(metadata.get('bluestore_bdev_rotational')),
        # Without a device of its own the DB lies on that of the data.
        db_rotational=_flag(
            metadata.get('bluefs_db_rotational', metadata.get('bluestore_bdev_rotational'))
        ),
        min_alloc_size_bytes=_number(metadata.get('bluestore_min_alloc_size')),
        distribution=metadata.get('distro'),
    )


def _pool_info(pool: Mapping[str, Any], rule_classes: Mapping[int, tuple[str, ...]]) -> PoolInfo:
    applications = pool.get('application_metadata', {})
    return PoolInfo(
        pool_id=pool['pool'],
        name=pool['pool_name'],
        applications=tuple(sorted(applications)),
        size=pool['size'],
        min_size=pool['min_size'],
        device_classes=rule_classes.get(pool['crush_rule'], ()),
        cephfs_metadata='metadata' in applications.get('cephfs', {}),
    )


def _classes_taken(rule: Mapping[str, Any]) -> Iterable[str]:
    """Device classes in a rule's take steps: "default~ssd" takes from ssd."""
    for step in rule['steps']:
        root, _, device_class = step.get('item_name', '').partition('~')
        if step['op'] == 'take' and root and device_class:
            yield device_class


def _running_option(entry: Mapping[str, Any]) -> RunningOption:
    # "ignores" is one source or several, depending on how many were passed over.
    return RunningOption(
        value=entry['value'],
        source=entry['source'],
        ignores_mon='mon' in str(entry.get('ignores', '')),
    )


def _flag(text: Optional[str]) -> Optional[bool]:
    return None if text is None else text == '1'


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and text.isdecimal() else None
