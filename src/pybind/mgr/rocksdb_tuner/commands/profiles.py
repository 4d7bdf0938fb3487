"""Commands for built-in and custom profiles."""

from __future__ import annotations

import errno
from typing import Optional

from ..advise.custom_profiles import decode_custom_profile
from ..advise.profiles import Profile, UnknownProfileError
from ..advise.whatif.compare import compare, sides
from ..advise.whatif.derive import derive
from ..advise.whatif.overrides import read_overrides
from ..advise.whatif.situation import find_situation
from ..present import render
from ..workload.records import WorkloadClass
from .command import Answer, changes, reads
from .context import CommandRefusedError, Context, osd_number_if_any


@reads('profile ls')
def profile_ls(context: Context) -> Answer:
    """List profiles"""
    return lambda form: render.profile_list(context.profiles.everything(), form)


@reads('profile show')
def profile_show(context: Context, name: str) -> Answer:
    """Show a profile with its published evidence"""
    profile = _profile(context, name)
    return lambda form: render.profile(profile, form)


@reads('profile diff')
def profile_diff(
    context: Context,
    name: str,
    other: Optional[str] = None,
    osd: Optional[str] = None,
    release: Optional[str] = None,
) -> Answer:
    """Compare two profiles, or the options of an OSD with one"""
    osd_id = osd_number_if_any(osd)
    second = None if other is None else _profile(context, other)
    first = _profile(context, name)
    compared = compare(*sides(context.snapshot.osds, first, second, osd_id, release))
    return lambda form: render.comparison(compared, form)


@reads('profile derive')
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
    """Derive options for an OSD, and name the nearest profile"""
    overrides = read_overrides(
        workload=workload, cores=cores, db_size=db_size, wal_size=wal_size, memory=memory
    )
    osd_id = osd_number_if_any(osd)
    derived = derive(find_situation(context.snapshot.osds, osd_id, release, overrides))
    return lambda form: render.derivation(derived, form)


@changes('profile add')
def profile_add(context: Context, inbuf: Optional[str] = None) -> Answer:
    """Add a custom profile, from the JSON given with -i <file>"""
    own = decode_custom_profile(inbuf)
    added = context.tuner.submit(lambda: context.profiles.add(own))
    return lambda form: render.profile(added, form)


@changes('profile rm')
def profile_rm(context: Context, name: str) -> Answer:
    """Remove a custom profile"""
    context.tuner.submit(lambda: context.profiles.remove(name))
    return lambda form: render.profile_list(context.profiles.everything(), form)


def _profile(context: Context, name: str) -> Profile:
    try:
        return context.profiles.get(name)
    except UnknownProfileError as error:
        raise CommandRefusedError(errno.ENOENT, str(error)) from None
