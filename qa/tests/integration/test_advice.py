"""Advice under load on real clusters, where hardware, other options or other clients decide.

``make advice``; half an hour for each release. The tests of a cluster run in order, and each leaves
OSDs with their release's default options.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from shared_cluster import new_cluster

from harness import ClusterSpec
from harness.layout import DEFAULT_MEMORY
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from real_workload import ended, run_workload

pytestmark = [pytest.mark.integration, pytest.mark.advice]

#: How long a load lasts until advice goes by it, and some ticks more.
SETTLED_S = 45.0
LOAD_S = 150
SMALL_DB_BYTES = 512 << 20
SMALL_MEMORY_BYTES = 2 << 30


class Advice(NamedTuple):
    limit: str
    recommendations: Any
    conclusion: str
    findings: dict[str, Any]


@pytest.fixture(scope='module')
def usual(release: str) -> Iterator[ModuleClient]:
    """Flash with the memory that OSDs have by default."""
    with new_cluster(ClusterSpec(release=release, rgw=True, osd_conf=DEFAULT_MEMORY)) as client:
        yield client


@contextmanager
def spinning_disk() -> Iterator[None]:
    """The disk of the clusters' files temporarily reports itself as rotational, as a hard disk
    does.

    OSDs read that from the kernel at startup. Other clusters may see it meanwhile, but no other
    test depends on it.
    """
    disk = Path(tempfile.gettempdir()).stat().st_dev
    device = Path(f'/sys/dev/block/{os.major(disk)}:{os.minor(disk)}').resolve()
    flags = [of / 'queue/rotational' for of in (device, device.parent)]
    flag = next((path for path in flags if path.exists()), None)
    if flag is None:
        pytest.skip('what the files of OSDs lie on is no disk that the kernel describes')
    was = flag.read_text()
    if was.strip() == '1':
        yield
        return
    try:
        flag.write_text('1')
    except OSError as error:
        pytest.skip(f'{flag} cannot be written: {error}')
    try:
        yield
    finally:
        flag.write_text(was)


@pytest.fixture
def disks(release: str) -> Iterator[ModuleClient]:
    """OSDs on hard disks, by their device class and by the kernel."""
    spec = ClusterSpec(release=release, device_class='hdd', osd_conf=DEFAULT_MEMORY)
    with spinning_disk(), new_cluster(spec) as client:
        yield client


@pytest.fixture
def tight(release: str) -> Iterator[ModuleClient]:
    """Little memory, and a DB device with little space beside the WAL."""
    memory = (('osd_memory_target', str(SMALL_MEMORY_BYTES)),)
    spec = ClusterSpec(release=release, db_size_bytes=SMALL_DB_BYTES, osd_conf=memory)
    with new_cluster(spec) as client:
        yield client


def advice_under(tuner: ModuleClient, load: str, recognized_as: str) -> Advice:
    """The advice once a load has lasted."""
    client = run_workload(tuner.cluster, load, LOAD_S)
    try:
        # Some loads fill what they then read.
        tuner.wait_for(
            lambda: (w := tuner.group_workload()) and w['class'] == recognized_as,
            120,
            f'{load} recognized as {recognized_as}',
        )
        time.sleep(SETTLED_S)
        assert client.poll() is None, f'{load} has ended'
        group = tuner.status()['groups'][0]
        advice = Advice(
            group['limit']['resource'],
            tuner.recommendations(),
            next(d['because'] for d in tuner.status()['decisions'] if d['who'] == group['who']),
            {f['id']: f for f in tuner.json('findings', schema='findings')},
        )
        print(f'{load}: {advice}')
        # An image keeps its watcher for half a minute where a client is ended by force.
        # It reads back all that it wrote, which takes its time on a machine with others at work.
        assert ended(client, 600)['errors'] == 0
        return advice
    finally:
        if client.poll() is None:
            client.terminate()
            client.wait(60)


def run_with(tuner: ModuleClient, options: str) -> None:
    tuner.cluster.ceph('config', 'set', 'osd', OPTION, options)
    tuner.restart_all()


@pytest.fixture
def default(usual: ModuleClient) -> Iterator[str]:
    """The option string of the release; after the test OSDs run it."""
    yield usual.running(0)[0]
    usual.remove_entries()


def test_option_beside_the_default_is_respected(
    usual: ModuleClient, default: str, release: str
) -> None:
    """A string that no profile has is no reason to remove it, idle or busy."""
    own = f'{default},max_background_jobs=6'
    run_with(usual, own)
    usual.wait_for(
        lambda: all('max_background_jobs=6' in usual.running(osd)[0] for osd in range(3)), 30, own
    )
    time.sleep(SETTLED_S)
    assert usual.recommendations() == []
    advice = advice_under(usual, 'rbd-randwrite', 'rbd-small-write')
    assert [r['kind'] for r in advice.recommendations if r['kind'] == 'remove-override'] == []
    if release != 'pacific':
        assert advice.recommendations == []


def test_concurrent_reads_do_not_hide_the_cost_of_writes(
    usual: ModuleClient, default: str, release: str
) -> None:
    """Half of the operations read: what limits the OSDs decides, not the class."""
    advice = advice_under(usual, 'rbd-randrw', 'mixed')
    if release == 'pacific' and advice.limit == 'kv-sync':
        (recommendation,) = advice.recommendations
        assert recommendation['kind'] == 'set-profile'
    else:
        assert advice.recommendations == []


def test_compressed_osds_are_promised_no_gain_over_no_compression(
    usual: ModuleClient, default: str
) -> None:
    compresses = default.replace('kNoCompression', 'kSnappyCompression')
    compresses = compresses.replace('kLZ4Compression', 'kSnappyCompression')
    run_with(usual, compresses)
    advice = advice_under(usual, 's3-put', 'rgw-metadata')
    assert advice.recommendations == []


def test_finding_and_advice_agree_on_rgw_metadata(
    usual: ModuleClient, default: str, release: str
) -> None:
    """If one reports that LZ4 saves writes, the other has the commands; or neither does."""
    advice = advice_under(usual, 's3-put', 'rgw-metadata')
    if release == 'pacific':
        (recommendation,) = advice.recommendations
        assert 'compression=kLZ4Compression' in recommendation['options_to']
    else:
        assert advice.recommendations == []


def test_small_memory_and_device_rule_out_what_does_not_fit(
    tight: ModuleClient, release: str
) -> None:
    """Any advice there is derived from the actual hardware."""
    published = tight.json('profile', 'show', 'variant-2022-d', schema='profile-show')['options']
    advice = advice_under(tight, 'rbd-randwrite', 'rbd-small-write')
    assert 'wal-device-small' in advice.findings
    assert published not in [r['options_to'] for r in advice.recommendations]
    for recommendation in advice.recommendations:
        checked = tight.json('check', recommendation['options_to'], '--osd', '0', schema='check')
        assert [p for p in checked['problems'] if p['severity'] == 'error'] == []
    assert advice.conclusion


def test_hard_disks_are_promised_no_gain_measured_on_flash(
    disks: ModuleClient, release: str
) -> None:
    """Neither a published set nor its gain on NVMe is mentioned there."""
    for osd in disks.cluster.ceph_json('osd', 'metadata'):
        assert (osd['rotational'], osd['bluestore_bdev_rotational']) == ('1', '1')
    assert {osd['device_class'] for osd in disks.osds()} == {'hdd'}
    advice = advice_under(disks, 'rbd-randwrite', 'rbd-small-write')
    assert advice.recommendations == []
    if release == 'pacific' and 'the kv_sync threads are' not in advice.conclusion:
        # With as busy OSDs on flash, other memtables than its default has would be advised.
        assert 'Their RocksDB is on hard disks' in advice.conclusion
    assert_no_flash_figures(disks)

    # What its authors no longer advise goes all the same, to the default of later releases.
    run_with(disks, ALTERNATE_2019)
    kind = 'set-profile' if release == 'pacific' else 'remove-override'
    recommendation = disks.wait_for_recommendation(kind, 120)
    assert [r['id'] for r in disks.recommendations()] == [recommendation['id']]
    reasons = [reason['statement'] for reason in recommendation['reasons']]
    assert any('2018/2019' in text for text in reasons)
    assert_no_flash_figures(disks)


def assert_no_flash_figures(tuner: ModuleClient) -> None:
    """The advice has no operations per second: the published ones were all on flash."""
    reported = [text for d in tuner.status()['decisions'] for text in d.values() if text]
    for recommendation in tuner.recommendations():
        reported += [reason['statement'] for reason in recommendation['reasons']]
        reported += [prediction['metric'] for prediction in recommendation['prediction'] or ()]
    assert [text for text in reported if text and 'IOPS' in text] == []
