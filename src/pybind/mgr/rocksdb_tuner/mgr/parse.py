"""Parsers of Ceph's own documents: maps, metadata, the config store, health. Pure.

The mgr API returns the same documents as `ceph osd dump`, `ceph osd crush dump`, `ceph osd
metadata`, `ceph config dump`, `ceph config show` and `ceph health` with ``--format json``, so one
parser serves both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Callable, Mapping, Optional

from ..units import natural
from .crush import failure_domains, parse_crush
from .records import (
    AuditLine,
    ClusterMap,
    ConfigEntry,
    DaemonVersions,
    FailureDomain,
    ManagerInfo,
    OrchestratedDaemon,
    OsdInfo,
    PgSummary,
    PoolCounters,
    PoolInfo,
    RunningOption,
)


def parse_cluster_map(
    osd_map: Mapping[str, Any], crush: Mapping[str, Any], metadata: Mapping[str, Mapping[str, str]]
) -> ClusterMap:
    """ClusterMap from `get('osd_map')`, `('osd_map_crush')` and `('osd_metadata')`."""
    classes = {device['id']: device.get('class') for device in crush.get('devices') or []}
    rules = crush.get('rules') or []
    rule_classes = {rule['rule_id']: tuple(_classes_taken(rule)) for rule in rules}
    of_osd = {osd['osd']: metadata.get(str(osd['osd'])) or {} for osd in osd_map['osds']}
    domains = failure_domains(
        parse_crush(crush),
        (pool['crush_rule'] for pool in osd_map['pools']),
        {osd_id: texts.get('hostname') for osd_id, texts in of_osd.items()},
    )
    return ClusterMap(
        epoch=osd_map['epoch'],
        flags=frozenset(osd_map.get('flags_set') or filter(None, osd_map['flags'].split(','))),
        require_osd_release=osd_map.get('require_osd_release'),
        osds=tuple(
            _osd_info(osd, of_osd[osd['osd']], classes.get(osd['osd']), domains[osd['osd']])
            for osd in osd_map['osds']
        ),
        pools=tuple(_pool_info(pool, rule_classes) for pool in osd_map['pools']),
    )


def parse_managers(
    mgr_map: Mapping[str, Any],
    module_name: str,
    metadata: Callable[[str], Mapping[str, str]],
) -> tuple[ManagerInfo, ...]:
    """Managers from `get('mgr_map')`; ``metadata`` returns the metadata of a manager by name.

    The active manager has no name during a failover: nothing is known about it then.
    """
    found = [(mgr_map.get('active_name'), True, mgr_map.get('available_modules'))]
    found += [(s.get('name'), False, s.get('available_modules')) for s in mgr_map['standbys']]
    return tuple(
        ManagerInfo(
            name=name,
            host=metadata(name).get('hostname'),
            active=active,
            # Listed, but unable to run: for example with an older Python.
            has_module=any(
                module['name'] == module_name and module.get('can_run', True)
                for module in modules or []
            ),
        )
        for name, active, modules in found
        if name
    )


def parse_versions(versions: Mapping[str, Mapping[str, int]]) -> tuple[DaemonVersions, ...]:
    """Running versions from the output of `versions`, whose last part is a summary."""
    return tuple(
        DaemonVersions(kind, tuple(sorted({short_version(text) for text in found})))
        for kind, found in sorted(versions.items())
        if kind != 'overall' and found
    )


def short_version(text: str) -> str:
    """ "16.2.15" of "ceph version 16.2.15 (618f44...) pacific (stable)"; else the text itself."""
    words = text.split()
    return words[2] if words[:2] == ['ceph', 'version'] and len(words) > 2 else text


#: "from='client.4171 -' entity='client.admin' cmd=[{"prefix": ...}]: dispatch"
#: Of a message in the details of a health check.
_ALERTING = re.compile(r'\s*osd\.([0-9]{1,9})\b')
_AUDITED = re.compile(r" entity='([^']{1,256})' cmd=(\[.*\]|\{.*\}): dispatch$", re.DOTALL)


def parse_audit_log(entries: Any) -> tuple[AuditLine, ...]:
    """The commands in the output of `log last NUM debug audit`; unreadable lines are skipped."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        matched = _AUDITED.search(str(entry.get('message')))
        if matched is None:
            continue
        try:
            command = json.loads(matched[2])
            time_s = datetime.strptime(entry['stamp'], '%Y-%m-%dT%H:%M:%S.%f%z').timestamp()
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        # A command and its arguments are a list with one item.
        first = command[0] if isinstance(command, list) and command else command
        if isinstance(first, dict) and matched[1].isprintable():
            found.append(AuditLine(time_s, matched[1], first))
    return tuple(found)


def parse_upgrade(output: str) -> Optional[str]:
    """Upgrade target from the output of `orch upgrade status`; None: no upgrade.

    Without an upgrade Tentacle prints a sentence, regardless of the format.
    """
    try:
        status = json.loads(output)
    except (ValueError, RecursionError):
        return None
    if not isinstance(status, dict) or not status.get('in_progress'):
        return None
    return str(status.get('target_image') or 'an unnamed image')


def parse_unmanaged(services: Any) -> tuple[str, ...]:
    """Services with daemons that cephadm leaves alone, from the output of `orch ls`.

    A service without a specification, and so without the time of one, is shown as unmanaged, too,
    but its daemons are restarted (CephadmServe._check_daemons of 16.2.15, 18.2.7 and 20.2.4).
    """
    return tuple(
        str(service['service_name'])
        for service in services
        if service.get('unmanaged')
        and service.get('status', {}).get('created')
        and service['status'].get('running')
    )


def parse_pg_status(status: Mapping[str, Any]) -> PgSummary:
    """PgSummary from `get('pg_status')`."""
    states = tuple((str(s['state_name']), int(s['count'])) for s in status.get('pgs_by_state', []))
    return PgSummary(
        total=int(status.get('num_pgs', 0)),
        # "active+clean+scrubbing" is clean, "active+undersized" is not.
        active_clean=sum(n for state, n in states if {'active', 'clean'} <= set(state.split('+'))),
        by_state=states,
    )


def parse_pool_counters(df: Mapping[str, Any]) -> Mapping[int, PoolCounters]:
    """Counters by pool from `get('df')`; a pool without statistics is missing."""
    found = {}
    for pool in df.get('pools', []):
        stats = pool.get('stats', {})
        if all(name in stats for name in ('rd', 'rd_bytes', 'wr', 'wr_bytes')):
            found[int(pool['id'])] = PoolCounters(
                reads=stats['rd'],
                read_bytes=stats['rd_bytes'],
                writes=stats['wr'],
                write_bytes=stats['wr_bytes'],
            )
    return found


def parse_slow_ops(metrics: Mapping[str, Iterable[Mapping[str, Any]]]) -> Mapping[int, int]:
    """Slow requests by OSD, from `get_daemon_health_metrics()` with daemons ("osd.3") as keys."""
    found: dict[int, int] = {}
    for daemon, reported in metrics.items():
        kind, _, name = daemon.partition('.')
        if kind == 'osd' and name.isdecimal():
            found |= {int(name): int(m['value']) for m in reported if m['type'] == 'SLOW_OPS'}
    return found


def parse_config_dump(
    dump: Iterable[Mapping[str, Any]], names: Sequence[str]
) -> tuple[ConfigEntry, ...]:
    """The entries for ``names`` in the output of `config dump`."""
    return tuple(
        ConfigEntry(
            who=entry['section'] + (f'/{entry["mask"]}' if entry.get('mask') else ''),
            name=entry['name'],
            value=entry['value'],
        )
        for entry in dump
        if entry['name'] in names
    )


def parse_health_codes(health: Mapping[str, Any]) -> Mapping[str, str]:
    """Code and severity ("HEALTH_WARN") of each check in the output of `health`."""
    return {code: str(check['severity']) for code, check in health.get('checks', {}).items()}


def parse_alerting_osds(health: Mapping[str, Any], code: str) -> frozenset[int]:
    """The OSDs that the details of a check begin with: "osd.3 observed slow operation ..."."""
    details = health.get('checks', {}).get(code, {}).get('detail') or ()
    found = (_ALERTING.match(str(detail.get('message', ''))) for detail in details)
    return frozenset(int(named[1]) for named in found if named)


def _osd_info(
    osd: Mapping[str, Any],
    metadata: Mapping[str, str],
    device_class: Optional[str],
    failure_domain: Optional[FailureDomain],
) -> OsdInfo:
    addresses = (osd.get('public_addrs') or {}).get('addrvec')
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
        db_device_bytes=natural(metadata.get('bluefs_db_size')),
        objectstore=metadata.get('osd_objectstore'),
        wal_device_bytes=natural(metadata.get('bluefs_wal_size')),
        main_device_bytes=natural(metadata.get('bluestore_bdev_size')),
        main_rotational=_flag(metadata.get('bluestore_bdev_rotational')),
        # Without a dedicated DB device the DB is on the data device.
        db_rotational=_flag(
            metadata.get('bluefs_db_rotational', metadata.get('bluestore_bdev_rotational'))
        ),
        min_alloc_size_bytes=natural(metadata.get('bluestore_min_alloc_size')),
        created_version=short_version(metadata.get('ceph_version_when_created') or '') or None,
        sharding=metadata.get('bluestore_db_sharding') or None,
        distribution=metadata.get('distro'),
        containerized=bool(metadata.get('container_image')),
        pod_namespace=metadata.get('pod_namespace') or None,
        failure_domain=failure_domain,
        uuid=osd.get('uuid'),
        devices=tuple(filter(None, (metadata.get('devices') or '').split(','))),
        up_from=osd.get('up_from'),
    )


def _pool_info(pool: Mapping[str, Any], rule_classes: Mapping[int, tuple[str, ...]]) -> PoolInfo:
    applications = pool.get('application_metadata') or {}
    return PoolInfo(
        pool_id=pool['pool'],
        name=pool['pool_name'],
        applications=tuple(sorted(applications)),
        size=pool['size'],
        min_size=pool['min_size'],
        device_classes=rule_classes.get(pool['crush_rule'], ()),
        cephfs_metadata='metadata' in applications.get('cephfs', {}),
        crush_rule=pool['crush_rule'],
    )


def _classes_taken(rule: Mapping[str, Any]) -> Iterable[str]:
    """Device classes in a rule's take steps: "default~ssd" takes from ssd."""
    for step in rule['steps']:
        root, _, device_class = (step.get('item_name') or '').partition('~')
        if step.get('op') == 'take' and root and device_class:
            yield device_class


def parse_running_option(entry: Mapping[str, Any]) -> RunningOption:
    """One entry in the output of `config show`."""
    # "ignores" is one source or a list, depending on the number of ignored sources.
    return RunningOption(
        value=entry['value'],
        source=entry['source'],
        ignores_mon='mon' in str(entry.get('ignores', '')),
    )


#: DaemonDescriptionStatus of the orchestrator's interface: running and starting, stopped and error.
_RUNNING = {1: True, 2: True, 0: False, -1: False}
#: Beginnings of cephadm events for executed actions, successful or not. An action scheduled for the
#: daemon is dropped with it (CephadmServe._check_all_daemons and
#: CephadmOrchestrator._daemon_action).
_EXECUTED = re.compile(r'(restart|start|stop|Reconfigured|Deployed) ')
_EVENT = re.compile(r'(\S+) [^ ]+ \[(\w+)\] "(.*)"', re.DOTALL)


def parse_orchestrated(osd_id: int, listed: Any, host: Any) -> Optional[OrchestratedDaemon]:
    """One OSD in the output of `orch ps`; None if it is not listed.

    ``host`` is cephadm's stored record of its host; None without one.
    """
    name = f'osd.{osd_id}'
    daemon = next(
        (
            d
            for d in listed
            if d.get('daemon_type') == 'osd' and str(d.get('daemon_id')) == str(osd_id)
        ),
        None,
    )
    if daemon is None:
        return None
    scheduled, stored_started = None, None
    if isinstance(host, dict) and name in host.get('daemons', {}):
        scheduled = name in host.get('scheduled_daemon_actions', {})
        stored_started = host['daemons'][name].get('started')
    return OrchestratedDaemon(
        running=_RUNNING.get(daemon.get('status')),
        started=daemon.get('started'),
        refreshed=daemon.get('last_refresh'),
        executed=tuple(filter(None, map(_executed_at, daemon.get('events', ())))),
        scheduled=scheduled,
        stored_started=stored_started,
    )


def _executed_at(event: Any) -> Optional[str]:
    """Time of an executed action, from an event as text or as an object."""
    if isinstance(event, str):
        match = _EVENT.fullmatch(event)
        if match is None:
            return None
        created, level, message = match.groups()
    else:
        created, level, message = event['created'], event['level'], event['message']
    done = level == 'INFO' and _EXECUTED.match(message)
    return str(created) if done else None


def _flag(text: Optional[str]) -> Optional[bool]:
    return None if text is None else text == '1'
