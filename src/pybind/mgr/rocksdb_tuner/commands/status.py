"""Commands that show the state of the module and of OSDs."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Optional

from ..present import render, subjects
from ..snapshot import Mode
from .command import Answer, changes, reads
from .context import CommandRefusedError, Context, osd_number

#: The notice in `status` after a browser could not add the tab.
TAB_NOTICE = (
    'The RocksDB Tuner tab cannot be added to the Ceph Dashboard: the page Cluster » OSDs of this '
    'release is not supported. Use the REST API or the command line instead.'
)


@reads('status')
def status(context: Context) -> Answer:
    """Show mode, sampling, groups, findings and the current operation"""
    snapshot = replace(context.snapshot, failing=context.tuner.steps.failing)
    if context.tab_is_missing:
        snapshot = replace(snapshot, notices=(*snapshot.notices, TAB_NOTICE))
    return lambda form: render.status(snapshot, form)


@changes('mode')
def mode(context: Context, mode: Optional[Mode] = None) -> Answer:
    """Show or set the mode of the module"""
    if mode is not None:
        context.set_mode(mode)
    now = context.mode() if mode is None else mode
    return lambda form: render.mode(now, form)


@reads('osd')
def osd(
    context: Context,
    osd_id: Optional[str] = None,
    who: Optional[str] = None,
    worst: Optional[int] = None,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    """List OSDs, worst first, or show one in full"""
    snapshot = context.snapshot
    if osd_id is None:
        selected = subjects.osds_worst_first(snapshot, who, worst)
        return lambda form: render.osds(snapshot, form, selected, everything=all)
    if who is not None or worst is not None:
        raise CommandRefusedError(errno.EINVAL, '--who and --worst list OSDs: leave out the id')
    number = osd_number(osd_id)
    return lambda form: render.osd(snapshot, number, form)


@changes('osd deep')
def osd_deep(
    context: Context,
    osd_id: str,
    all: bool = False,  # noqa: A002, ARG001 - the name of the flag, for `command`
) -> Answer:
    """Show the RocksDB statistics of an OSD"""
    number = osd_number(osd_id)
    # Fail early for an unknown OSD.
    subjects.facts_of(context.snapshot, number)
    look = context.tuner.deep_stats.read(number)
    return lambda form: render.osd(context.snapshot, number, form, look)


@reads('workload')
def workload(
    context: Context,
    osds: bool = False,
    all: bool = False,  # noqa: A002 - the name of the flag
) -> Answer:
    """Show workloads and limits by group, and with --osds by OSD"""
    return lambda form: render.workload(context.snapshot, form, osds=osds, everything=all)
