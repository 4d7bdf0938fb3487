"""The ceph.conf of a cluster."""

from __future__ import annotations

import configparser
from pathlib import Path

from harness import ClusterSpec
from harness.conf import Sections, render, rgw_section, sections
from harness.layout import Layout
from harness.ports import PortBlock
from harness.releases import get_release

LAYOUT = Layout(Path('/qa/c'), Path('/qa/c/run'))
PORTS = PortBlock(20000)


def conf(spec: ClusterSpec) -> Sections:
    return sections(spec, get_release(spec.release), LAYOUT, PORTS, 'the-fsid')


def test_text_round_trips() -> None:
    """The rendered text is the INI dialect that Ceph reads."""
    wanted = conf(ClusterSpec(mons=3, mgrs=2, db_size_bytes=1 << 30))
    parser = configparser.RawConfigParser(delimiters=('=',))
    parser.read_string(render(wanted))
    assert {name: dict(parser[name]) for name in parser.sections()} == wanted


def test_every_address_is_loopback() -> None:
    """All addresses that a daemon binds or connects to are local."""
    content = conf(ClusterSpec(mons=3))['global']
    assert content['public_addr'] == content['cluster_addr'] == '127.0.0.1'
    assert content['mon_host'] == (
        '[v2:127.0.0.1:20000,v1:127.0.0.1:20001],'
        '[v2:127.0.0.1:20002,v1:127.0.0.1:20003],'
        '[v2:127.0.0.1:20004,v1:127.0.0.1:20005]'
    )
    assert rgw_section(LAYOUT, 'client.rgw.a', 20040)['rgw_frontends'] == (
        'beast endpoint=127.0.0.1:20040'
    )


def test_file_leaves_the_tuned_options_to_the_config_store() -> None:
    """A value in the file would beat every change that the module under test makes."""
    for section in conf(ClusterSpec(db_size_bytes=1 << 30)).values():
        assert not [key for key in section if key.startswith('bluestore_rocksdb')]


def test_osd_settings_win() -> None:
    """The caller's settings for OSDs are added, and override those of the harness."""
    osd = conf(ClusterSpec(osd_conf=(('osd_memory_target', '2G'), ('rocksdb_perf', 'true'))))['osd']
    assert osd['osd_memory_target'] == '2G'
    assert osd['rocksdb_perf'] == 'true'


def test_internal_pools_spread_replicas_like_all_others() -> None:
    """By CRUSH's numbers of types: OSDs, or the hosts where there are several."""
    kinds = [
        conf(spec)['global']['osd_crush_chooseleaf_type']
        for spec in (
            ClusterSpec(),
            ClusterSpec(crush_hosts=3),
            ClusterSpec(crush_hosts=3, crush_racks=3),
        )
    ]
    assert kinds == ['0', '1', '3']


def test_osds_have_their_rack_in_the_crush_location() -> None:
    """With racks, an OSD that starts finds its location or creates it."""
    content = conf(ClusterSpec(osds=3, crush_hosts=3, crush_racks=2))
    assert [content[f'osd.{n}']['crush_location'] for n in range(3)] == [
        'root=default rack=rack0 host=host0',
        'root=default rack=rack1 host=host1',
        'root=default rack=rack0 host=host2',
    ]
    assert 'osd.0' not in conf(ClusterSpec(crush_hosts=3))


def test_db_device_only_on_request() -> None:
    """Without --db-size the DB shares the OSD's device."""
    assert not [key for key in conf(ClusterSpec())['osd'] if 'block_db' in key]
    osd = conf(ClusterSpec(db_size_bytes=128 << 20))['osd']
    assert osd['bluestore_block_db_size'] == str(128 << 20)
    assert osd['bluestore_block_db_create'] == 'true'
    assert osd['bluestore_block_db_path'] == '/qa/c/osd/$id/db.img'


def test_quick_failover_requires_quick_ticks() -> None:
    """A beacon grace within tick + period disables the failover for ever (seen on Pacific)."""
    mgr_tick_period_s = 2
    mon = conf(ClusterSpec(mgrs=2))['mon']
    assert int(mon['mon_mgr_beacon_grace']) > int(mon['mon_tick_interval']) + mgr_tick_period_s
    assert 'mon_mgr_beacon_grace' not in conf(ClusterSpec(mgrs=1))['mon']


def test_pools_fit_the_osds() -> None:
    """Replicas are 3 where there are OSDs for them, and one may be missing."""
    for osds, size, min_size in ((1, '1', '1'), (2, '2', '1'), (3, '3', '2'), (5, '3', '2')):
        content = conf(ClusterSpec(osds=osds))['global']
        assert content['osd_pool_default_size'] == size
        assert content['osd_pool_default_min_size'] == min_size
