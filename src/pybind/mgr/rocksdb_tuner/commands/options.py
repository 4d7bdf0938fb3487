"""Commands that check, model and explain options."""

from __future__ import annotations

from typing import Optional

from ..advise.whatif.compare import subjects
from ..advise.whatif.overrides import read_overrides
from ..advise.whatif.situation import find_situation
from ..advise.whatif.tree import tree
from ..options.verdict import all_options, find_option, judge_for
from ..present import render
from ..workload.records import WorkloadClass
from .command import Answer, reads
from .context import Context, osd_number_if_any


@reads('model')
def model(
    context: Context,
    options: str,
    osd: Optional[str] = None,
    workload: Optional[WorkloadClass] = None,
    cores: Optional[int] = None,
    release: Optional[str] = None,
    db_size: Optional[str] = None,
    wal_size: Optional[str] = None,
    memory: Optional[str] = None,
    data: Optional[str] = None,
    ingest: Optional[str] = None,
    key_size: Optional[str] = None,
    cfs: Optional[str] = None,
) -> Answer:
    """Model WAL, memory, levels and write amplification of options"""
    overrides = read_overrides(
        workload=workload,
        cores=cores,
        db_size=db_size,
        wal_size=wal_size,
        memory=memory,
        data=data,
        ingest=ingest,
        key_size=key_size,
        cfs=cfs,
    )
    osd_id = osd_number_if_any(osd)
    shown = tree(options, find_situation(context.snapshot.osds, osd_id, release, overrides))
    return lambda form: render.model(shown, form)


@reads('check')
def check(
    context: Context,
    options: str,
    release: Optional[str] = None,
    osd: Optional[str] = None,
    device_class: Optional[str] = None,
    cores: Optional[int] = None,
    db_size: Optional[str] = None,
    wal_size: Optional[str] = None,
    memory: Optional[str] = None,
    cfs: Optional[str] = None,
) -> Answer:
    """Check whether an OSD would start with an option string"""
    targets = subjects(
        context.snapshot.osds,
        osd_id=osd_number_if_any(osd),
        device_class=device_class,
        release=release,
        overrides=read_overrides(
            cores=cores, db_size=db_size, wal_size=wal_size, memory=memory, cfs=cfs
        ),
    )
    verdict = judge_for(options, targets)
    return lambda form: render.check(verdict, form)


@reads('explain')
def explain(context: Context, option: Optional[str] = None) -> Answer:  # noqa: ARG001 - of no cluster
    """List known options, or explain one"""
    if option is None:
        return lambda form: render.option_list(tuple(all_options().values()), form)
    found = find_option(option)
    return lambda form: render.explain(found, form)
