"""The ceph.conf of a cluster.

What a test may want to change is not set here but in the config store (see boot.py): a value in
this file beats the config store for ever.
"""

from __future__ import annotations

from collections.abc import Mapping

from .layout import ClusterSpec, Layout
from .ports import PortBlock
from .releases import Release

Sections = dict[str, dict[str, str]]

DB_FILE = 'db.img'
#: The numbers of CRUSH's types of buckets.
_CRUSH_TYPES = {'osd': 0, 'host': 1, 'rack': 3}


def mon_address(ports: PortBlock, rank: int) -> str:
    v2, v1 = ports.mon(rank)
    return f'[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]'


def _osd_section(spec: ClusterSpec, layout: Layout) -> dict[str, str]:
    section = {
        'osd_data': f'{layout.dir}/osd/$id',
        'keyring': f'{layout.dir}/osd/$id/keyring',
        'osd_objectstore': 'bluestore',
        'bluestore_block_size': str(spec.block_size_bytes),
        'bluestore_fsck_on_mkfs': 'false',
        # The smallest that the option allows is 896 MiB
        'osd_memory_target': str(1 << 30),
        # Files on a disk that calls itself rotational would recover at a hard disk's pace
        'osd_recovery_sleep_hdd': '0',
        'osd_recovery_sleep_hybrid': '0',
        'osd_recovery_sleep_ssd': '0',
    }
    if spec.db_size_bytes is not None:
        section |= {
            'bluestore_block_db_path': f'{layout.dir}/osd/$id/{DB_FILE}',
            'bluestore_block_db_create': 'true',
            'bluestore_block_db_size': str(spec.db_size_bytes),
        }
    return section | dict(spec.osd_conf)


def sections(
    spec: ClusterSpec, release: Release, layout: Layout, ports: PortBlock, fsid: str
) -> Sections:
    """The settings of a cluster by section."""
    first, last = ports.messenger
    result: Sections = {
        'global': {
            'fsid': fsid,
            'mon_initial_members': ','.join(spec.mon_ids),
            'mon_host': ','.join(mon_address(ports, rank) for rank in range(spec.mons)),
            'public_addr': '127.0.0.1',
            'cluster_addr': '127.0.0.1',
            'ms_bind_port_min': str(first),
            'ms_bind_port_max': str(last),
            'auth_cluster_required': 'cephx',
            'auth_service_required': 'cephx',
            'auth_client_required': 'cephx',
            'keyring': str(layout.admin_keyring),
            'run_dir': str(layout.run_dir),
            'admin_socket': f'{layout.run_dir}/$name.asok',
            'pid_file': f'{layout.run_dir}/$name.pid',
            'log_file': f'{layout.logs}/$name.log',
            'crash_dir': str(layout.crashes),
            'osd_pool_default_size': str(spec.replicas),
            'osd_pool_default_min_size': str(max(1, spec.replicas - 1)),
            'osd_pool_default_pg_num': '8',
            'osd_pool_default_pgp_num': '8',
            # PGs that split in the middle of a measurement would spoil it
            'osd_pool_default_pg_autoscale_mode': 'off',
            # By the type of what the first rule, which pools of Ceph itself have, keeps apart
            'osd_crush_chooseleaf_type': str(_CRUSH_TYPES[spec.failure_domain]),
        },
        'mon': {
            'mon_data': f'{layout.dir}/mon/$id',
            'keyring': f'{layout.dir}/mon/$id/keyring',
            'mon_cluster_log_file': f'{layout.logs}/cluster.log',
            # Without restful, which Debian's cryptography keeps from loading (a health warning)
            'mgr_initial_modules': 'iostat',
            'mon_allow_pool_size_one': 'true',
            'mon_warn_on_pool_no_redundancy': 'false',
            'auth_allow_insecure_global_id_reclaim': 'false',
            # The test machine's disk is not the cluster's to watch
            'mon_data_avail_warn': '5',
            'mon_max_pg_per_osd': '1000',
        },
        'mgr': {
            'mgr_data': f'{layout.dir}/mgr/$id',
            'keyring': f'{layout.dir}/mgr/$id/keyring',
            'mgr_module_path': str(layout.mgr_modules),
        },
        'osd': _osd_section(spec, layout),
        'mds': {
            'mds_data': f'{layout.dir}/mds/$id',
            'keyring': f'{layout.dir}/mds/$id/keyring',
            'mds_cache_memory_limit': str(256 << 20),
        },
        'client': {
            # One socket per process: a fixed name would collide between parallel clients
            'admin_socket': f'{layout.run_dir}/$name.$pid.$cctid.asok',
            'log_file': '',
            # A write-back cache in librbd hides the pauses of the cluster from the client
            'rbd_cache': 'false',
        },
    }
    if spec.crush_racks:
        # An OSD that starts puts itself there, and makes the buckets that are missing
        for osd in range(spec.osds):
            place = f'rack={spec.rack_of_osd(osd)} host={spec.host_of_osd(osd)}'
            result[f'osd.{osd}'] = {'crush_location': f'root=default {place}'}
    if spec.mgrs > 1:
        # A standby takes over after some 6 s instead of 35 s. The monitor forgives late beacons
        # when its own ticks are further apart than grace - mgr_tick_period (2 s): with the default
        # tick of 5 s there would be no failover at all.
        result['mon'] |= {'mon_mgr_beacon_grace': '5', 'mon_tick_interval': '1'}
    for section, settings in release.conf.items():
        result.setdefault(section, {}).update(settings)
    return result


def rgw_section(layout: Layout, name: str, port: int) -> dict[str, str]:
    """The settings of an object gateway, for the section of its name."""
    return {
        'rgw_data': str(layout.data(name)),
        'keyring': f'{layout.data(name)}/keyring',
        'admin_socket': f'{layout.run_dir}/$name.asok',
        'pid_file': f'{layout.run_dir}/$name.pid',
        'log_file': f'{layout.logs}/$name.log',
        'rgw_frontends': f'beast endpoint=127.0.0.1:{port}',
        # Space of overwritten objects comes back within seconds instead of hours
        'rgw_gc_obj_min_wait': '10',
        'rgw_gc_processor_period': '10',
        'rgw_gc_processor_max_time': '10',
        # Usage and sync traces cause load without a client
        'rgw_enable_usage_log': 'false',
        'rgw_run_sync_thread': 'false',
    }


def render(content: Mapping[str, Mapping[str, str]]) -> str:
    """The text of a ceph.conf."""
    blocks = []
    for section, settings in content.items():
        lines = [f'{key} = {value}'.rstrip() for key, value in settings.items()]
        blocks.append('\n'.join([f'[{section}]', *lines]) + '\n')
    return '\n'.join(blocks)
