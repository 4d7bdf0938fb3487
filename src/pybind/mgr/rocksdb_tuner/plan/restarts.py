"""The command that restarts an OSD, by what runs it."""

from __future__ import annotations

import shlex
from typing import Optional

from ..mgr.records import Daemon

#: Without knowledge of an OSD it is taken to be run by systemd alone, as packages install it.
UNKNOWN = Daemon(None)


def manual_command(osd_id: int, daemon: Optional[Daemon], verb: str = 'restart') -> str:
    """The command for an operator to ``verb`` an OSD without an orchestrator.

    For the OSD's host, unless a pod runs it: Rook's deployments are named after their OSD, and a
    rollout of one starts the pod anew. cephadm finds the unit, whose name has the cluster's fsid.
    """
    daemon = daemon or UNKNOWN
    if daemon.pod_namespace is not None:
        namespace = shlex.quote(daemon.pod_namespace)
        return f'kubectl -n {namespace} rollout restart deploy/rook-ceph-osd-{osd_id}'
    if daemon.containerized:
        return f'cephadm unit --name osd.{osd_id} {verb}'
    return f'systemctl {verb} ceph-osd@{osd_id}'


def manual_host(daemon: Optional[Daemon]) -> Optional[str]:
    """The host that `manual_command` is for; None: any, or unknown."""
    return None if daemon is None or daemon.pod_namespace is not None else daemon.host


def restart_command(osd_id: int, daemon: Optional[Daemon]) -> str:
    """The command that restarts an OSD: with the orchestrator that runs it, if one does."""
    if daemon is not None and daemon.containerized and daemon.pod_namespace is None:
        return f'ceph orch daemon restart osd.{osd_id}'
    return manual_command(osd_id, daemon)
