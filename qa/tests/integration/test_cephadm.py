"""The module in a cluster that cephadm runs: installed as the manual says, and restarts by cephadm.

The tests share one cluster and come in the order of the file: it is installed first and removed
last. Clients verify what they wrote.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from built_packages import build_image, build_pyz, digest, unpacked
from harness import CephadmCluster, Cluster, ClusterSpec, Progress, cephadm_image
from harness.client import wait_until
from harness.layout import CHECKOUT
from harness.workloads.overwriter import Overwriter
from manual.pages import pages
from manual.sessions import section, sessions
from module_client import OPTION, ModuleClient

pytestmark = [pytest.mark.integration, pytest.mark.cephadm]

PAGE = 'installing'
SERVICE = 'osd.disks'
ENDS = ('done', 'failed', 'rolled-back')
#: A rollout in a minute, without a verdict: there is little to judge by.
QUICK = {'sample_interval': '2', 'soak_min': '4', 'soak_max': '0', 'soak_inconclusive': 'promote'}
IMAGE = 'localhost/ceph-rocksdb-tuner:test'
UPGRADE_S = 900
#: cephadm looks every minute, and redeploys one manager after the other: on a loaded machine late.
REDEPLOY_S = 600


@pytest.fixture(scope='module')
def cluster(release: str) -> Iterator[CephadmCluster]:
    spec = ClusterSpec(release=release, cephadm=True, mgrs=2, module=None)
    with Cluster.up(spec, tempfile.mkdtemp(prefix='tuner-cephadm-'), Progress()) as made:
        assert isinstance(made, CephadmCluster)
        yield made
    made.podman.run('rmi', '--force', IMAGE, check=False)
    made.podman.leave()


class PatientClient(ModuleClient):
    """Managers fail over here: one that has just become active refuses a question."""

    def operation(self) -> Any:
        assert isinstance(self.cluster, CephadmCluster)
        words = ('rocksdb-tuner', 'operation', 'status', '--format', 'json')
        return json.loads(self.cluster.repeat(*words))


@pytest.fixture(scope='module')
def tuner(cluster: CephadmCluster) -> ModuleClient:
    return PatientClient(cluster)


def manual_commands(heading: str) -> list[str]:
    """The commands under a heading of the manual's page, in order."""
    return [session.command for session in sessions(PAGE, section(pages()[PAGE], heading))]


def specification(cluster: CephadmCluster, *, mounted: bool) -> str:
    """The recipe with a placement on this cluster's only host; or without the mounts."""
    text = (CHECKOUT / 'packaging/cephadm/mgr-mount.yaml').read_text()
    arguments = re.findall(r'^  - (--volume=\S+)$', text, re.MULTILINE)
    assert len(arguments) > 2
    return json.dumps(cluster.manager_service(arguments if mounted else []))


def orch(cluster: CephadmCluster, *words: str, stdin: str = '') -> str:
    return cluster.repeat('orch', *words, stdin=stdin)


def started(cluster: CephadmCluster, kind: str) -> dict[str, str]:
    """The containers of daemons of a type, and when they started."""
    names = cluster.containers(kind)
    return {
        name: cluster.shell(f'podman inspect -f "{{{{.State.StartedAt}}}}" {name}').strip()
        for name in names
    }


def stale_rollout(tuner: ModuleClient) -> str:
    """A string that gives way to the default runs everywhere; the id of what replaces it."""
    for name, value in QUICK.items():
        tuner.cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{name}', value)
    tuner.cluster.ceph(
        'config', 'set', 'osd', OPTION, tuner.stale_override(tuner.cluster.release.name)
    )
    cluster = tuner.cluster
    assert isinstance(cluster, CephadmCluster)
    for osd, nonce in sorted(tuner.nonces().items()):
        tuner.wait_for_clean()
        cluster.shell(f'cephadm unit --name osd.{osd} restart')

        def is_new(osd: int = osd, nonce: int = nonce) -> bool:
            return tuner.osd_up(osd) and tuner.nonces()[osd] != nonce

        tuner.wait_for(is_new, 120, f'osd.{osd} restarted')
    found = tuner.wait_for_recommendation('remove-override', 120, lambda r: len(r['osds']) == 3)
    return str(found['id'])


def waits_for(tuner: ModuleClient, text: str, timeout_s: float = 120) -> str:
    """The reason why the operation waits, once it has this text."""

    def found() -> str | None:
        reason = (tuner.operation() or {}).get('paused_reason') or ''
        return reason if text in reason else None

    return str(tuner.wait_for(found, timeout_s, f'it waits: {text}'))


def test_one_file_collects_and_reports_on_a_host_that_has_only_cephadm(
    cluster: CephadmCluster, tmp_path: Path
) -> None:
    """The host has neither Ceph nor anything of Python but its own; the decision comes first."""
    begin_s = time.monotonic()
    pyz = tmp_path / 'rocksdb-tuner.pyz'
    build_pyz(pyz)
    cluster.podman.run('cp', str(pyz), f'{cluster.container}:/root/rocksdb-tuner.pyz')
    assert cluster.on_host('which', 'ceph', check=False).returncode != 0
    program = ('python3', '/root/rocksdb-tuner.pyz')
    collect = ('collect', '--interval', '5', '--osds', '0', '--out', '/root/cluster')
    done = cluster.on_host(*program, *collect, timeout_s=900)
    assert 'using: cephadm shell -- ceph\n' in done.stderr
    assert 'missing' not in done.stderr
    report = cluster.on_host(*program, 'report', '/root/cluster').stdout
    print(f'from nothing to the first decision of one file: {time.monotonic() - begin_s:.0f} s')
    assert report.splitlines()[3].lstrip().startswith('Do:'), report
    cluster.on_host(*program, 'report', '/root/cluster', '--html', '/root/report.html')
    assert '<html' in cluster.shell('head -c 400 /root/report.html')


def test_mounted_as_the_manual_says_it_answers(
    cluster: CephadmCluster, tuner: ModuleClient
) -> None:
    """From nothing to `status` with the commands of the page, and four of them to enable it."""
    begin_s = time.monotonic()
    commands = manual_commands('cephadm, by mounting')
    install = next(command for command in commands if command.startswith('make install '))
    subprocess.run(
        install.replace('DESTDIR=', f'DESTDIR={cluster.dir}'), shell=True, cwd=CHECKOUT, check=True
    )
    mounted = specification(cluster, mounted=True)
    for command in (
        'ceph orch apply -i mgr-mount.yaml --dry-run',
        'ceph orch apply -i mgr-mount.yaml',
    ):
        assert command in commands
        words = command.replace('mgr-mount.yaml', '-').split()[2:]
        orch(cluster, *words, stdin=mounted)
    assert commands[3:] == ['ceph mgr module enable rocksdb_tuner']
    cluster.enable_module()
    tuner.wait_for(lambda: tuner.status()['sampling']['osds'] == 3, 120, 'samples of all OSDs')
    print(f'from nothing to the first decision: {time.monotonic() - begin_s:.0f} s')
    assert tuner.status()['decisions']


def test_check_and_doctor_in_a_container_without_systemd(tuner: ModuleClient) -> None:
    """Nothing is missing but what is optional, and no remedy is a command that is not there."""
    assert tuner.json('check', 'compression=kLZ4Compression', schema='check')['accepted']
    rows = tuner.json('doctor', schema='doctor')
    assert {row['id'] for row in rows if row['ok'] is False} <= {
        'statistics', 'dashboard', 'metrics',
    }  # fmt: skip
    assert not any('systemctl' in (row['remedy'] or '') for row in rows)
    orchestrator = next(row for row in rows if row['id'] == 'orchestrator')
    assert orchestrator['ok'] is True


def test_memory_target_for_a_host_is_the_one_that_counts(
    cluster: CephadmCluster, tuner: ModuleClient
) -> None:
    """As cephadm sets it (osd_memory_target_autotune)."""
    for host in {row['host'] for row in tuner.osds()}:
        cluster.ceph('config', 'set', f'osd/host:{host}', 'osd_memory_target', '1200000000')
    tuner.wait_for(
        lambda: 'target 1.1 GiB' in tuner.plain('osd', '0'), 300, 'the memory target', every_s=5
    )


def test_unmanaged_service_is_found_before_and_its_osds_are_restarted_by_hand(
    cluster: CephadmCluster, tuner: ModuleClient
) -> None:
    """cephadm would answer "Scheduled", and never restart them."""
    orch(cluster, 'set-unmanaged', SERVICE)
    recommendation = stale_rollout(tuner)
    row = tuner.wait_for(
        lambda: next(
            (
                r
                for r in tuner.json('doctor', schema='doctor')
                if r['id'] == 'orchestrator' and not r['ok']
            ),
            None,
        ),
        60,
        'the unmanaged service',
    )
    assert f'"ceph orch set-managed {SERVICE}"' in row['summary']
    planned = tuner.json('apply', recommendation, '--dry-run', schema='plan')
    assert not any(command.startswith('ceph orch') for command in planned['commands'])
    tuner.plain('apply', recommendation)
    reason = waits_for(tuner, 'restart osd.')
    assert f'the service {SERVICE} is unmanaged' in reason
    printed = re.search(r'"(cephadm unit --name (osd\.\d+) restart)" on (\S+);', reason)
    assert printed is not None, reason
    cluster.shell(printed[1])
    second = waits_for(tuner, 'restart osd.')
    tuner.wait_for(
        lambda: printed[2] not in (tuner.operation()['paused_reason'] or printed[2]),
        120,
        'the next OSD',
    )
    assert 'is unmanaged' in second
    # From here on cephadm does it
    orch(cluster, 'set-managed', SERVICE)
    assert tuner.wait_for_phase(*ENDS)['phase'] == 'done'
    assert tuner.entries() == []


def test_rollout_goes_on_while_both_managers_are_redeployed(
    cluster: CephadmCluster, tuner: ModuleClient
) -> None:
    """The standby first, then the active one, which fails over; a client verifies its writes."""
    recommendation = stale_rollout(tuner)
    client = Overwriter(cluster, 40, 10)
    client.start()
    try:
        nonces = tuner.nonces()
        tuner.plain('apply', recommendation)
        tuner.wait_for_phase('canary', timeout_s=180)
        active = cluster.ceph_json('mgr', 'stat')['active_name']
        (standby,) = (s['name'] for s in cluster.ceph_json('mgr', 'dump')['standbys'])
        for name in (standby, active):
            orch(cluster, 'daemon', 'redeploy', f'mgr.{name}')
        wait_until(
            lambda: cluster.ceph_json('mgr', 'stat')['active_name'] == standby,
            REDEPLOY_S,
            'a failover',
        )
        state = tuner.wait_for_phase(*ENDS, timeout_s=600)
    finally:
        written = client.stop()
    assert state['phase'] == 'done', tuner.plain('operation', 'status')
    assert (written.errors, written.verified.failed) == (0, 0), written.messages
    assert all(nonce != nonces[osd] for osd, nonce in tuner.nonces().items())
    assert tuner.entries() == []


def test_restart_queued_by_a_paused_cephadm_is_awaited_and_rolled_back(
    cluster: CephadmCluster, tuner: ModuleClient
) -> None:
    recommendation = stale_rollout(tuner)
    orch(cluster, 'pause')
    nonces = tuner.nonces()
    tuner.plain('apply', recommendation)
    tuner.wait_for_phase('canary', timeout_s=120)
    time.sleep(30)
    assert tuner.nonces() == nonces
    orch(cluster, 'resume')
    assert tuner.wait_for_phase(*ENDS, timeout_s=400)['phase'] == 'done'
    override = tuner.stale_override(tuner.cluster.release.name)
    tuner.plain('rollback')
    assert tuner.wait_for_phase('rolled-back', 'failed', timeout_s=400)['phase'] == 'rolled-back'
    assert tuner.entries() == [('osd', '', override)]


def test_osd_that_cephadm_cannot_start_is_put_back(
    cluster: CephadmCluster, tuner: ModuleClient
) -> None:
    """The entry is removed while it is down; it starts once its unit can."""
    recommendation = stale_rollout(tuner)
    cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/restart_timeout', '60')
    canary = tuner.recommendations()[0]['osds'][0]
    unit = f'/var/lib/ceph/{cluster.record.fsid}/osd.{canary}/unit.run'
    cluster.shell(f'cp {unit} /root/unit.run; echo "exit 1" > {unit}')
    try:
        tuner.plain('apply', recommendation)
        tuner.wait_for(lambda: not tuner.osd_up(canary), 120, f'osd.{canary} is down')
        own = f'osd.{canary}'
        assert any(section == own for section, _, _ in tuner.entries())
        tuner.wait_for(
            lambda: all(section != own for section, _, _ in tuner.entries()), 240, 'it is put back'
        )
    finally:
        cluster.shell(f'cp /root/unit.run {unit}')
    state = tuner.wait_for_phase('failed', 'rolled-back', timeout_s=400)
    assert tuner.osd_up(canary), state
    cluster.ceph('config', 'rm', 'mgr', 'mgr/rocksdb_tuner/restart_timeout')
    cluster.ceph('config', 'rm', 'osd', OPTION)


def wait_for_upgrade(cluster: CephadmCluster) -> None:
    wait_until(
        lambda: 'no upgrades in progress' in orch(cluster, 'upgrade', 'status'), UPGRADE_S,
        'the end of the upgrade', detail=lambda: orch(cluster, 'upgrade', 'status'), poll_s=2,
    )  # fmt: skip


def test_uninstalled_from_the_mounts_it_comes_by_image_and_only_managers_restart(
    cluster: CephadmCluster, tuner: ModuleClient, tmp_path: Path
) -> None:
    """The other way of the manual: the image is built of the one that the cluster runs."""
    cluster.ceph('mgr', 'module', 'disable', 'rocksdb_tuner')
    orch(cluster, 'apply', '-i', '-', stdin=specification(cluster, mounted=False))
    wait_until(
        lambda: cluster.managers_with('rocksdb_tuner') == [], REDEPLOY_S, 'managers without mounts'
    )
    base = digest(cluster.podman, cephadm_image.ceph_image(cluster.release))
    build_image(cluster.podman, unpacked(tmp_path), base, IMAGE)
    command, enable = manual_commands('cephadm, by image')
    osds = started(cluster, 'osd')
    orch(cluster, *re.sub(r'<registry>\S+', IMAGE, command).split()[2:])
    wait_until(
        lambda: len(cluster.managers_with('rocksdb_tuner')) == 2,
        REDEPLOY_S,
        'managers of the image',
    )
    wait_for_upgrade(cluster)
    assert enable == 'ceph mgr module enable rocksdb_tuner'
    cluster.enable_module()
    tuner.wait_for(lambda: tuner.status()['sampling']['osds'] == 3, 120, 'samples of all OSDs')
    assert started(cluster, 'osd') == osds
