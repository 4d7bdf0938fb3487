"""The module in a cluster that cephadm runs: installed as the manual says, and restarts by cephadm.

The tests share one cluster and come in the order of the file: it is installed first and removed
last. Clients verify what they wrote.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from built_packages import build_image, build_pyz, unpacked
from harness import CephadmCluster, Cluster, ClusterSpec, Progress, cephadm_image
from harness.client import wait_until
from harness.errors import CommandError
from harness.layout import CHECKOUT
from harness.workloads.overwriter import Overwriter
from manual.pages import pages
from manual.quick_start import Step, timed, write
from manual.sessions import section, sessions
from module_client import OPTION, ModuleClient

pytestmark = [pytest.mark.integration, pytest.mark.cephadm]

PAGE, BY_MOUNTING, BY_IMAGE = 'installing', 'cephadm, by mounting', 'cephadm, by image'
SERVICE = 'osd.disks'
ENDS = ('done', 'failed', 'rolled-back')
#: A rollout in a minute, without a verdict: there is little to judge by.
QUICK = {'sample_interval': '2', 'soak_min': '4', 'soak_max': '0', 'soak_inconclusive': 'promote'}
IMAGE = f'localhost/ceph-rocksdb-tuner:test-{os.getpid()}'
#: Ceph alone, the same version in another image.
PLAIN = f'localhost/ceph-qa/ceph:plain-{os.getpid()}'
#: cephadm looks every minute, and redeploys one manager after the other: on a loaded machine late.
REDEPLOY_S = 600


@pytest.fixture(scope='module')
def cluster(release: str) -> Iterator[CephadmCluster]:
    spec = ClusterSpec(release=release, cephadm=True, mgrs=2, module=None, block_size_bytes=3 << 30)
    with Cluster.up(spec, tempfile.mkdtemp(prefix='tuner-cephadm-'), Progress()) as made:
        assert isinstance(made, CephadmCluster)
        yield made
    made.podman.run('rmi', '--force', IMAGE, PLAIN, check=False)
    made.podman.leave()


class PatientClient(ModuleClient):
    """Managers fail over here: one that has just become active refuses a question."""

    cluster: CephadmCluster

    def operation(self) -> Any:
        words = ('rocksdb-tuner', 'operation', 'status', '--format', 'json')
        return json.loads(self.cluster.repeat(*words))


@pytest.fixture(scope='module')
def tuner(cluster: CephadmCluster) -> PatientClient:
    return PatientClient(cluster)


def manual_commands(heading: str) -> list[str]:
    """The commands under a heading of the manual's page, in order."""
    return [session.command for session in sessions(PAGE, section(pages()[PAGE], heading))]


def specification(cluster: CephadmCluster, *, mounted: bool) -> str:
    """The recipe with a placement on this cluster's only host; or without the mounts."""
    text = (CHECKOUT / 'packaging/cephadm/mgr-mount.yaml').read_text()
    arguments = re.findall(r'^  - (--volume=\S+)$', text, re.MULTILINE)
    return json.dumps(cluster.manager_service(arguments if mounted else []))


def decided(cluster: CephadmCluster, way: str, begin_s: float) -> None:
    """Print the time from nothing to the first decision, and keep it if requested."""
    seconds = round(time.monotonic() - begin_s, 1)
    print(f'from nothing to the first decision, {way}: {seconds:.0f} s')
    if 'ROCKSDB_TUNER_QUICK_START' in os.environ:
        write(timed(cluster.release, way, (Step('make check-cephadm', seconds, seconds),)))


def enable_module(cluster: CephadmCluster, tuner: PatientClient, way: str, begin_s: float) -> None:
    """Enable it where all managers have it, and time that to its first decision."""
    cluster.enable_module()

    def all_evaluated() -> bool:
        found = tuner.status()
        waits = re.search('there (are|is) no (samples|evaluation) yet', str(found['decisions']))
        return bool(found['sampling']['osds'] == 3 and found['decisions'] and not waits)

    tuner.wait_for(all_evaluated, 120, 'a decision on all OSDs')
    decided(cluster, way, begin_s)


def orch(cluster: CephadmCluster, *words: str, stdin: str = '') -> str:
    return cluster.repeat('orch', *words, stdin=stdin)


def started(cluster: CephadmCluster, kind: str) -> dict[str, str]:
    """The containers of daemons of a type, and when they started."""
    return {
        name: cluster.shell(f'podman inspect -f "{{{{.State.StartedAt}}}}" {name}').strip()
        for name in cluster.containers(kind)
    }


def base_image(cluster: CephadmCluster) -> str:
    """The image that the cluster was made with, by its digest."""
    image = cephadm_image.ceph_image(cluster.release)
    return cluster.podman.run(
        'image', 'inspect', '-f', '{{index .RepoDigests 0}}', image
    ).stdout.strip()


def upgrade_managers(cluster: CephadmCluster, image: str) -> None:
    """The command of the manual that brings the module by an image."""
    command = manual_commands(BY_IMAGE)[0]
    orch(cluster, *re.sub(r'<registry>\S+', image, command).split()[2:])


def wait_for_upgrade(cluster: CephadmCluster) -> None:
    """Wait until an upgrade that was started has ended."""
    # Reef answers in JSON only
    wait_until(
        lambda: re.search('no upgrades|"in_progress": false', orch(cluster, 'upgrade', 'status')),
        REDEPLOY_S,
        'the end of the upgrade', detail=lambda: orch(cluster, 'upgrade', 'status'), poll_s=2,
    )  # fmt: skip


def stale_rollout(tuner: PatientClient) -> str:
    """A string that gives way to the default runs everywhere; the id of what replaces it."""
    cluster, before = tuner.cluster, tuner.nonces()
    for name, value in QUICK.items():
        cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{name}', value)
    cluster.ceph('config', 'set', 'osd', OPTION, tuner.stale_override(cluster.release.name))
    cluster.shell('for osd in 0 1 2; do cephadm unit --name osd.$osd restart & done; wait')
    tuner.wait_for(
        lambda: not before.items() & tuner.nonces().items() and all(map(tuner.osd_up, before)),
        120,
        'all OSDs have restarted',
    )
    tuner.wait_for_clean()
    return found_change(tuner)


def found_change(tuner: PatientClient) -> str:
    """The id of what replaces a string that all OSDs run."""
    found = tuner.wait_for_recommendation('remove-override', 120, lambda r: len(r['osds']) == 3)
    return str(found['id'])


@contextlib.contextmanager
def verified_client(cluster: CephadmCluster) -> Iterator[None]:
    """Meanwhile a client writes and reads; no request of it fails, and no block is wrong."""
    client = Overwriter(cluster, 40, 10)
    client.start()
    try:
        yield
    finally:
        written = client.stop()
    assert (written.errors, written.verified.failed) == (0, 0), written.messages


def waits_for(tuner: PatientClient, text: str, timeout_s: float = 120) -> str:
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
    build_pyz(tmp_path / 'tuner.pyz')
    cluster.podman.run('cp', f'{tmp_path}/tuner.pyz', f'{cluster.container}:/root/tuner.pyz')
    assert cluster.on_host('which', 'ceph', check=False).returncode != 0
    program = ('python3', '/root/tuner.pyz')
    done = cluster.on_host(
        *program, 'collect', '--interval', '5', '--osds', '0', '--out', '/root/cluster',
        timeout_s=900,
    )  # fmt: skip
    assert 'using: cephadm shell -- ceph\n' in done.stderr
    assert 'missing' not in done.stderr
    report = cluster.on_host(*program, 'report', '/root/cluster').stdout
    decided(cluster, 'rocksdb-tuner.pyz', begin_s)
    assert report.splitlines()[3].lstrip().startswith('Do:'), report
    cluster.on_host(*program, 'report', '/root/cluster', '--html', '/root/report.html')
    assert '<html' in cluster.shell('head -c 400 /root/report.html')


def test_mounted_as_the_manual_says_it_answers(
    cluster: CephadmCluster, tuner: PatientClient
) -> None:
    """From nothing to `status` with the commands of the page, and four of them to enable it."""
    begin_s = time.monotonic()
    commands = manual_commands(BY_MOUNTING)
    install = next(command for command in commands if command.startswith('make install '))
    subprocess.run(
        install.replace('DESTDIR=', f'DESTDIR={cluster.dir}'), shell=True, cwd=CHECKOUT, check=True
    )
    for command in (
        'ceph orch apply -i mgr-mount.yaml --dry-run',
        'ceph orch apply -i mgr-mount.yaml',
    ):
        assert command in commands
        orch(
            cluster,
            *command.replace('mgr-mount.yaml', '-').split()[2:],
            stdin=specification(cluster, mounted=True),
        )
    assert commands[3:] == ['ceph mgr module enable rocksdb_tuner']
    enable_module(cluster, tuner, BY_MOUNTING, begin_s)


def orchestrator(tuner: PatientClient) -> Any:
    """What `doctor` says of it."""
    rows = tuner.json('doctor', schema='doctor')
    return next(row for row in rows if row['id'] == 'orchestrator')


def test_check_doctor_and_memory_in_a_container_without_systemd(
    cluster: CephadmCluster, tuner: PatientClient
) -> None:
    """Nothing is missing but what is optional, and no remedy is a command that is not there."""
    assert tuner.json('check', 'compression=kLZ4Compression', schema='check')['accepted']
    rows = tuner.json('doctor', schema='doctor')
    assert {row['id'] for row in rows if row['ok'] is False} <= {
        'statistics', 'dashboard', 'metrics',
    }  # fmt: skip
    assert not any('systemctl' in (row['remedy'] or '') for row in rows)
    assert orchestrator(tuner)['ok'] is True
    # As cephadm sets it (osd_memory_target_autotune), it is the one that counts
    host = tuner.osds()[0]['host']
    cluster.ceph('config', 'set', f'osd/host:{host}', 'osd_memory_target', '1200000000')
    tuner.wait_for(
        lambda: 'target 1.1 GiB' in tuner.plain('osd', '0'), 300, 'the memory target', every_s=5
    )


def test_unmanaged_service_is_found_before_and_its_osds_are_restarted_by_hand(
    cluster: CephadmCluster, tuner: PatientClient
) -> None:
    """cephadm would answer "Scheduled", and never restart them."""
    orch(cluster, 'set-unmanaged', SERVICE)
    recommendation = stale_rollout(tuner)
    remedy = f'"ceph orch set-managed {SERVICE}"'
    tuner.wait_for(lambda: remedy in orchestrator(tuner)['summary'], 60, 'the unmanaged service')
    planned = tuner.json('apply', recommendation, '--dry-run', schema='plan')
    assert not any(command.startswith('ceph orch') for command in planned['commands'])
    tuner.plain('apply', recommendation)
    reason = waits_for(tuner, 'restart osd.')
    assert f'the service {SERVICE} is unmanaged' in reason
    printed = re.search(r'"(cephadm unit --name (osd\.\d+) restart)" on (\S+);', reason)
    assert printed is not None, reason
    cluster.shell(printed[1])
    tuner.wait_for(
        lambda: printed[2] not in (tuner.operation()['paused_reason'] or printed[2]),
        120,
        'the next OSD',
    )
    assert 'is unmanaged' in tuner.operation()['paused_reason']
    # From here on cephadm does it: late, for it is paused
    orch(cluster, 'pause')
    orch(cluster, 'set-managed', SERVICE)
    tuner.wait_for(lambda: not tuner.operation()['paused_reason'], 120, 'it goes on')
    nonces = tuner.nonces()
    time.sleep(20)
    assert tuner.nonces() == nonces
    assert tuner.operation()['phase'] not in ENDS
    orch(cluster, 'resume')
    assert tuner.wait_for_phase(*ENDS, timeout_s=400)['phase'] == 'done'
    assert tuner.entries() == []


def test_rollout_awaits_an_upgrade_and_outlasts_the_redeployment_of_both_managers(
    cluster: CephadmCluster, tuner: PatientClient, tmp_path: Path
) -> None:
    """The upgrade keeps the mounts. Amid the rollout the active manager fails over."""
    (tmp_path / 'Containerfile').write_text('ARG CEPH_IMAGE\nFROM ${CEPH_IMAGE}\nLABEL plain=1\n')
    build_image(cluster.podman, tmp_path, base_image(cluster), PLAIN, 'Containerfile')
    recommendation, entries = stale_rollout(tuner), tuner.entries()
    with verified_client(cluster):
        nonces = tuner.nonces()
        upgrade_managers(cluster, PLAIN)
        tuner.wait_for(
            # A manager that ended may have begun, and not answered
            lambda: (
                tuner.answer(['apply', recommendation])[0] == 0
                or (tuner.operation() or {}).get('recommendation') == recommendation
            ),
            REDEPLOY_S,
            'it is applied',
        )
        waits_for(tuner, 'Ceph is being upgraded')
        assert tuner.entries() == entries
        wait_for_upgrade(cluster)
        assert len(cluster.managers_with('rocksdb_tuner')) == 2
        tuner.wait_for_phase('canary')
        active = cluster.ceph_json('mgr', 'stat')['active_name']
        (standby,) = (s['name'] for s in cluster.ceph_json('mgr', 'dump')['standbys'])
        for name in (standby, active):
            orch(cluster, 'daemon', 'redeploy', f'mgr.{name}', '--image', base_image(cluster))
        wait_until(
            lambda: cluster.ceph_json('mgr', 'stat')['active_name'] == standby,
            REDEPLOY_S,
            'a failover',
        )
        state = tuner.wait_for_phase(*ENDS, timeout_s=600)
    assert state['phase'] == 'done', tuner.plain('operation', 'status')
    assert all(nonce != nonces[osd] for osd, nonce in tuner.nonces().items())
    assert tuner.entries() == []


def test_rollback_by_cephadm_restores_the_entries(
    cluster: CephadmCluster, tuner: PatientClient
) -> None:
    """Of that rollout."""
    nonces = tuner.nonces()
    with verified_client(cluster):
        tuner.plain('rollback')
        state = tuner.wait_for_phase('rolled-back', 'failed', timeout_s=400)
    assert state['phase'] == 'rolled-back', tuner.plain('operation', 'status')
    assert all(nonce != nonces[osd] for osd, nonce in tuner.nonces().items())
    assert tuner.entries() == [('osd', '', tuner.stale_override(cluster.release.name))]


def test_osd_that_cephadm_cannot_start_is_put_back(
    cluster: CephadmCluster, tuner: PatientClient
) -> None:
    """After that rollback. The entry is removed while it is down; it starts once its unit can."""
    recommendation = found_change(tuner)
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


def test_image_of_ceph_alone_drops_the_module_and_one_with_it_brings_it_back(
    cluster: CephadmCluster, tuner: PatientClient, tmp_path: Path
) -> None:
    """By the commands of the page. Without it health is silent; data and OSDs stay as they are."""
    history, osds = tuner.plain('history'), started(cluster, 'osd')
    # Managers without the mounts, from the image of the upgrade
    orch(cluster, 'apply', '-i', '-', stdin=specification(cluster, mounted=False))
    cluster.wait_for_managers(with_module=False)
    tuner.wait_for(lambda: 'no valid command' in tuner.answer(['status'])[1], 120, 'it is unknown')
    assert 'MGR_MODULE_ERROR' not in cluster.ceph('health', 'detail')
    release = unpacked(tmp_path)
    with pytest.raises(CommandError, match='must name an image by digest'):
        build_image(cluster.podman, release, cephadm_image.ceph_image(cluster.release), IMAGE)
    begin_s = time.monotonic()
    build_image(cluster.podman, release, base_image(cluster), IMAGE)
    upgrade_managers(cluster, IMAGE)
    wait_for_upgrade(cluster)
    assert manual_commands(BY_IMAGE)[1:] == ['ceph mgr module enable rocksdb_tuner']
    enable_module(cluster, tuner, BY_IMAGE, begin_s)
    assert tuner.plain('history') == history
    assert started(cluster, 'osd') == osds
    # As on an image whose Python is too old
    version = release / 'src/pybind/mgr/rocksdb_tuner/version.py'
    version.write_text(version.read_text().replace('(3, 9)', '(3, 99)'))
    with pytest.raises(CommandError, match=r'requires Python 3\.99 or newer'):
        build_image(cluster.podman, release, base_image(cluster), IMAGE)
