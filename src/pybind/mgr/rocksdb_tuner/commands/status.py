"""Commands that show the state of the module and of OSDs."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Optional

from ..present import render, subjects
from ..snapshot import Mode
from .command import Answer, changes, reads
from .context import Context, osd_number
from .errors import CommandRefusedError

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
def osd(context: Context, osd_id: Optional[str] = None, deep: bool = False) -> Answer:
    """Show a row per OSD, or one OSD in full"""
    snapshot = context.snapshot
    if osd_id is None:
        if deep:
            raise CommandRefusedError(errno.EINVAL, '--deep requires an OSD id, as in "osd deep 3"')
        return lambda form: render.osds(snapshot, form)
    number = osd_number(osd_id)
    if not deep:
        return lambda form: render.osd(snapshot, number, form)
    subjects.facts_of(snapshot, number)
    # Other modules check permissions themselves. Commands of read-only clients cannot be
    # distinguished here.
    if not context.from_module:
        raise CommandRefusedError(
            errno.EACCES,
            '--deep changes options of the OSD temporarily and requires write permission: '
            f'use "ceph rocksdb-tuner osd deep {number}"',
        )
    return _deep_look(context, number)


@changes('osd deep')
def osd_deep(context: Context, osd_id: str) -> Answer:
    """Show the RocksDB statistics of an OSD"""
    return _deep_look(context, osd_number(osd_id))


@reads('workload')
def workload(context: Context) -> Answer:
    """Show workloads by device class and by OSD"""
    return lambda form: render.workload(context.snapshot, form)


def _deep_look(context: Context, osd_id: int) -> Answer:
    # Fail early for an unknown OSD.
    subjects.facts_of(context.snapshot, osd_id)
    look = context.tuner.deep_stats.read(osd_id)
    return lambda form: render.osd(context.snapshot, osd_id, form, look)
