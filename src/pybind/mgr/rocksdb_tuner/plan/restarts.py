"""The command that restarts an OSD, depending on what runs it."""

from __future__ import annotations

from typing import Optional

from ..mgr.records import Daemon
from ..shell import command

#: An unknown OSD is assumed to run under systemd alone, as installed by packages.
UNKNOWN = Daemon(None)


def manual_command(osd_id: int, daemon: Optional[Daemon], verb: str = 'restart') -> str:
    """The command for an operator to ``verb`` an OSD without an orchestrator.

    To be run on the OSD's host, unless it runs in a pod: Rook's deployments are named after their
    OSD, and a rollout of one restarts the pod. cephadm finds the unit, whose name includes the
    cluster's fsid.
    """
    daemon = daemon or UNKNOWN
    if daemon.pod_namespace is not None:
        deployment = f'deploy/rook-ceph-osd-{osd_id}'
        return command('kubectl', '-n', daemon.pod_namespace, 'rollout', 'restart', deployment)
    if daemon.containerized:
        return f'cephadm unit --name osd.{osd_id} {verb}'
    return f'systemctl {verb} ceph-osd@{osd_id}'


def manual_host(daemon: Optional[Daemon]) -> Optional[str]:
    """The host that `manual_command` is for; None: any, or unknown."""
    return None if daemon is None or daemon.pod_namespace is not None else daemon.host


def restart_command(osd_id: int, daemon: Optional[Daemon]) -> str:
    """The command that restarts an OSD: through the orchestrator, if one runs it."""
    if daemon is not None and daemon.containerized and daemon.pod_namespace is None:
        return f'ceph orch daemon restart osd.{osd_id}'
    return manual_command(osd_id, daemon)
