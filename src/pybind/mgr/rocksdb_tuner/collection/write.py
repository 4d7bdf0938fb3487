"""Writes a collection as files in the format of Ceph's own commands. Pure.

Only fields that `read` uses are written, so no address, device serial number or key can be in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from itertools import chain
from typing import Any, Optional

from ..mgr.records import ClusterMap, ConfigEntry, CrushDraw, OsdInfo, RunningOption
from ..observe.sharding import format_files
from ..present.answers.history import history_of
from ..present.answers.operations import LastOperations, operation_of
from ..present.answers.report import ReportFiles
from ..present.json_types import Json
from ..present.to_json import field_to_json
from .counters import format_perf_dump
from .module_state import kept_state_of
from .names import FileName, Kind, file_name
from .records import Collection, OsdCollection


def files(collection: Collection) -> Iterator[tuple[str, Json]]:
    """Name and content of every file: a JSON value, or plain text."""
    of_cluster = ((FileName(kind), content) for kind, content in _of_cluster(collection))
    of_osds = (
        (FileName(kind, osd_id, time_s), content)
        for osd_id, osd in sorted(collection.osds.items())
        for kind, time_s, content in _of_osd(osd)
    )
    for file, content in chain(of_cluster, of_osds):
        yield file_name(*astuple(file)), field_to_json(ReportFiles, file.kind.value, content)


def _of_cluster(collection: Collection) -> Iterator[tuple[Kind, object]]:
    if collection.module is not None:
        yield Kind.MODULE, kept_state_of(collection.module)
    yield Kind.OSD_DUMP, _osd_dump(collection.cluster_map)
    yield Kind.CRUSH_DUMP, _crush_dump(collection.cluster_map)
    yield Kind.OSD_METADATA, [_metadata(osd) for osd in collection.cluster_map.osds]
    if collection.entries is not None:
        yield Kind.CONFIG_DUMP, [_entry(entry) for entry in collection.entries]
    if collection.health_codes is not None:
        yield Kind.HEALTH, {'checks': {code: {} for code in sorted(collection.health_codes)}}
    if collection.module is not None:
        yield Kind.HISTORY, history_of(collection.history)
        yield (
            Kind.OPERATION,
            operation_of(
                LastOperations(collection.rollout, None, experiment=collection.experiment)
            ),
        )


def _of_osd(osd: OsdCollection) -> Iterator[tuple[Kind, Optional[float], object]]:
    if osd.running is not None:
        yield Kind.CONFIG_SHOW, None, [_running(*shown) for shown in osd.running.items()]
    if osd.sharded is not None:
        yield Kind.BLUEFS_FILES, None, format_files(sharded=osd.sharded)
    for dump in osd.dumps:
        yield Kind.PERF_DUMP, dump.time_s, format_perf_dump(dump.points)
    for answer in osd.kv_stats:
        yield Kind.KV_STATS, answer.time_s, answer.text


def _osd_dump(cluster_map: ClusterMap) -> dict[str, Any]:
    return {
        'epoch': cluster_map.epoch,
        'flags': ','.join(sorted(cluster_map.flags)),
        'flags_set': sorted(cluster_map.flags),
        'require_osd_release': cluster_map.require_osd_release,
        'osds': [
            {
                'osd': osd.osd_id,
                'up': int(osd.up),
                'in': int(osd.in_cluster),
                'public_addrs': {
                    'addrvec': []
                    if osd.nonce is None
                    else [{'type': 'v2', 'addr': '', 'nonce': osd.nonce}]
                },
            }
            for osd in cluster_map.osds
        ],
        'pools': [
            {
                'pool': pool.pool_id,
                'pool_name': pool.name,
                'size': pool.size,
                'min_size': pool.min_size,
                'crush_rule': pool.crush_rule,
                'application_metadata': {
                    name: {'metadata': ''} if name == 'cephfs' and pool.cephfs_metadata else {}
                    for name in pool.applications
                },
            }
            for pool in cluster_map.pools
        ],
    }


def _crush_dump(cluster_map: ClusterMap) -> dict[str, Any]:
    return {
        'devices': [
            {'id': osd.osd_id, 'name': f'osd.{osd.osd_id}', 'class': osd.device_class}
            for osd in cluster_map.osds
            if osd.device_class is not None
        ],
        'buckets': [
            {
                'id': bucket.bucket_id,
                'name': bucket.name,
                'type_name': bucket.kind,
                'items': [{'id': item} for item in bucket.items],
            }
            for bucket in cluster_map.crush.buckets
        ],
        'rules': [
            {'rule_id': rule.rule_id, 'steps': [step for d in rule.draws for step in _steps(d)]}
            for rule in cluster_map.crush.rules
        ],
    }


def _steps(draw: CrushDraw) -> Iterator[dict[str, Any]]:
    yield {'op': 'take', 'item': draw.root_id, 'item_name': draw.root_name}
    for choice in draw.choices:
        yield {'op': choice.op, 'type': choice.kind}
    yield {'op': 'emit'}


def _metadata(osd: OsdInfo) -> dict[str, Any]:
    texts = {
        'hostname': osd.host,
        'ceph_version_short': osd.version,
        'ceph_release': osd.release,
        'osd_objectstore': osd.objectstore,
        'distro': osd.distribution,
        # Which image does not matter, and its name may be confidential.
        'container_image': 'not recorded' if osd.containerized else None,
        'pod_namespace': osd.pod_namespace,
        'bluefs_dedicated_db': _flag(osd.dedicated_db),
        'bluefs_dedicated_wal': _flag(osd.dedicated_wal),
        'bluefs_db_size': _number(osd.db_device_bytes),
        'bluefs_wal_size': _number(osd.wal_device_bytes),
        'bluestore_bdev_size': _number(osd.main_device_bytes),
        'bluestore_bdev_rotational': _flag(osd.main_rotational),
        'bluefs_db_rotational': _flag(osd.db_rotational),
        'bluestore_min_alloc_size': _number(osd.min_alloc_size_bytes),
        'ceph_version_when_created': osd.created_version,
        'bluestore_db_sharding': osd.sharding,
        'devices': ','.join(osd.devices) or None,
    }
    known = {name: text for name, text in texts.items() if text is not None}
    return {'id': osd.osd_id, **known}


def _flag(value: Optional[bool]) -> Optional[str]:
    return None if value is None else str(int(value))


def _number(value: Optional[int]) -> Optional[str]:
    return None if value is None else str(value)


def _entry(entry: ConfigEntry) -> dict[str, Any]:
    section, _, mask = entry.who.partition('/')
    return {'section': section, 'mask': mask, 'name': entry.name, 'value': entry.value}


def _running(name: str, option: RunningOption) -> dict[str, Any]:
    shown = {'name': name, 'value': option.value, 'source': option.source}
    return {**shown, 'ignores': 'mon'} if option.ignores_mon else shown
