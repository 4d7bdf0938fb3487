"""Commands about options and profiles: of the cluster, or hypothetical."""

from __future__ import annotations

import errno
from functools import partial
from typing import Optional

from ..advise.custom_profiles import decode_custom_profile
from ..advise.profiles import Profile, UnknownProfileError
from ..advise.whatif.compare import compare, sides, subjects
from ..advise.whatif.derive import derive
from ..advise.whatif.overrides import read_overrides
from ..advise.whatif.situation import find_situation
from ..advise.whatif.tree import tree
from ..options.verdict import BadQuestionError, all_options, find_option, judge_for
from ..workload.records import WorkloadClass
from .command import Answer, shown
from .context import Context, osd_number


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
    osd_id = None if osd is None else osd_number(osd)
    situation = find_situation(context.snapshot.osds, osd_id, release, overrides)
    return shown('model', tree(options, situation))


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
    targets = subjects(
        context.snapshot.osds,
        osd_id=None if osd is None else osd_number(osd),
        device_class=device_class,
        release=release,
        overrides=read_overrides(
            cores=cores, db_size=db_size, wal_size=wal_size, memory=memory, cfs=cfs
        ),
    )
    return shown('check', judge_for(options, targets))


def explain(context: Context, option: Optional[str] = None) -> Answer:  # noqa: ARG001 - of no cluster
    if option is None:
        return shown('explain-ls', tuple(all_options().values()))
    return shown('explain', find_option(option))


def profile_ls(context: Context) -> Answer:
    return shown('profile-ls', context.profiles.everything())


def profile_show(context: Context, name: str) -> Answer:
    return shown('profile-show', _profile(context, name))


def profile_diff(
    context: Context,
    name: str,
    other: Optional[str] = None,
    osd: Optional[str] = None,
    release: Optional[str] = None,
) -> Answer:
    osd_id = None if osd is None else osd_number(osd)
    find = partial(_profile, context)
    compared = compare(*sides(context.snapshot.osds, find, name, other, osd_id, release))
    return shown('profile-diff', compared)


def profile_derive(
    context: Context,
    osd: Optional[str] = None,
    workload: Optional[WorkloadClass] = None,
    cores: Optional[int] = None,
    release: Optional[str] = None,
    db_size: Optional[str] = None,
    wal_size: Optional[str] = None,
    memory: Optional[str] = None,
) -> Answer:
    overrides = read_overrides(
        workload=workload, cores=cores, db_size=db_size, wal_size=wal_size, memory=memory
    )
    osd_id = None if osd is None else osd_number(osd)
    situation = find_situation(context.snapshot.osds, osd_id, release, overrides)
    return shown('profile-derive', derive(situation))


def profile_add(context: Context, inbuf: Optional[str] = None) -> Answer:
    own = decode_custom_profile(inbuf)
    return shown('profile-show', context.tuner.submit(lambda: context.profiles.add(own)))


def profile_rm(context: Context, name: str) -> Answer:
    context.tuner.submit(lambda: context.profiles.remove(name))
    return shown('profile-ls', context.profiles.everything())


def _profile(context: Context, name: str) -> Profile:
    try:
        return context.profiles.get(name)
    except UnknownProfileError as error:
        raise BadQuestionError(errno.ENOENT, str(error)) from None
