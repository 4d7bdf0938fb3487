"""The command that restarts an OSD, by what runs it."""

from __future__ import annotations

import shlex
from typing import Optional

from ..mgr.records import Place

#: Without knowledge of an OSD it is taken to be run by systemd alone, as packages install it.
UNKNOWN = Place(None, None)


def manual_command(osd_id: int, place: Optional[Place], verb: str = 'restart') -> str:
    """The command for an operator to ``verb`` an OSD without an orchestrator.

    For the OSD's host, unless a pod runs it: Rook's deployments are named after their OSD, and a
    rollout of one starts the pod anew. cephadm finds the unit, whose name has the cluster's fsid.
    """
    place = place or UNKNOWN
    if place.pod_namespace is not None:
        namespace = shlex.quote(place.pod_namespace)
        return f'kubectl -n {namespace} rollout restart deploy/rook-ceph-osd-{osd_id}'
    if place.containerized:
        return f'cephadm unit --name osd.{osd_id} {verb}'
    return f'systemctl {verb} ceph-osd@{osd_id}'


def manual_host(place: Optional[Place]) -> Optional[str]:
    """The host on which `manual_command` is for; None: any, or unknown."""
    return None if place is None or place.pod_namespace is not None else place.host


def restart_command(osd_id: int, place: Optional[Place]) -> str:
    """The command that restarts an OSD: with the orchestrator that runs it, if one does."""
    if place is not None and place.containerized and place.pod_namespace is None:
        return f'ceph orch daemon restart osd.{osd_id}'
    return manual_command(osd_id, place)
