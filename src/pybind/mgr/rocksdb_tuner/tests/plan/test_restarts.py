"""The commands of an operator to restart an OSD, by its deployment."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import Daemon
from rocksdb_tuner.plan.commands import manual_command, manual_host, restart_command

PACKAGES = Daemon('node1')
CEPHADM = Daemon('node1', containerized=True)
ROOK = Daemon('node1', containerized=True, pod_namespace='rook-ceph')


@pytest.mark.parametrize(
    ('daemon', 'manual', 'host', 'command'),
    [
        (None, 'systemctl restart ceph-osd@3', None, 'systemctl restart ceph-osd@3'),
        (PACKAGES, 'systemctl restart ceph-osd@3', 'node1', 'systemctl restart ceph-osd@3'),
        # The name of its unit has the fsid: cephadm finds it.
        (CEPHADM, 'cephadm unit --name osd.3 restart', 'node1', 'ceph orch daemon restart osd.3'),
        (
            ROOK,
            'kubectl -n rook-ceph rollout restart deploy/rook-ceph-osd-3',
            None,
            'kubectl -n rook-ceph rollout restart deploy/rook-ceph-osd-3',
        ),
    ],
)
def test_command_matches_the_deployment_of_the_osd(
    daemon: Optional[Daemon], manual: str, host: Optional[str], command: str
) -> None:
    """``restart_command`` is that of the orchestrator where one runs the OSD."""
    assert manual_command(3, daemon) == manual
    assert manual_host(daemon) == host
    assert restart_command(3, daemon) == command


def test_down_osd_is_started() -> None:
    """A pod that crashes is replaced by the same command."""
    assert manual_command(3, PACKAGES, 'start') == 'systemctl start ceph-osd@3'
    assert manual_command(3, CEPHADM, 'start') == 'cephadm unit --name osd.3 start'
    assert 'rollout restart' in manual_command(3, ROOK, 'start')


def test_kubernetes_namespace_is_no_shell_command() -> None:
    daemon = ROOK._replace(pod_namespace='a; reboot')
    assert "kubectl -n 'a; reboot' rollout" in manual_command(3, daemon)
