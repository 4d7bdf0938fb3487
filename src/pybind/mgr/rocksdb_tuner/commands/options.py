"""Commands about options and profiles: of the cluster, or hypothetical."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from ..advise.custom_profiles import decode_custom_profile
from ..advise.whatif.compare import compare, sides, subjects
from ..advise.whatif.derive import derive
from ..advise.whatif.overrides import read_overrides
from ..advise.whatif.situation import Situation, find_situation
from ..advise.whatif.tree import tree
from ..options.verdict import all_options, find_option, judge_for
from .command import Answer, shown
from .context import Context, osd_number


def model(
    context: Context,
    options: str,
    osd: Optional[str] = None,
    release: Optional[str] = None,
    **given: Any,
) -> Answer:
    return shown('model', tree(options, _situation(context, osd, release, given)))


def check(
    context: Context,
    options: str,
    release: Optional[str] = None,
    osd: Optional[str] = None,
    device_class: Optional[str] = None,
    **given: Any,
) -> Answer:
    targets = subjects(
        context.snapshot.osds,
        osd_id=None if osd is None else osd_number(osd),
        device_class=device_class,
        release=release,
        overrides=read_overrides(**given),
    )
    return shown('check', judge_for(options, targets))


def _situation(
    context: Context, osd: Optional[str], release: Optional[str], given: Mapping[str, Any]
) -> Situation:
    osd_id, overrides = None if osd is None else osd_number(osd), read_overrides(**given)
    return find_situation(context.snapshot.osds, osd_id, release, overrides)


def explain(context: Context, option: Optional[str] = None) -> Answer:  # noqa: ARG001 - of no cluster
    if option is None:
        return shown('explain-ls', tuple(all_options().values()))
    return shown('explain', find_option(option))


def profile_ls(context: Context) -> Answer:
    return shown('profile-ls', context.profiles.everything())


def profile_show(context: Context, name: str) -> Answer:
    return shown('profile-show', context.profiles.get(name))


def profile_diff(
    context: Context,
    name: str,
    other: Optional[str] = None,
    osd: Optional[str] = None,
    release: Optional[str] = None,
) -> Answer:
    osd_id = None if osd is None else osd_number(osd)
    compared = compare(
        *sides(context.snapshot.osds, context.profiles.get, name, other, osd_id, release)
    )
    return shown('profile-diff', compared)


def profile_derive(
    context: Context, osd: Optional[str] = None, release: Optional[str] = None, **given: Any
) -> Answer:
    return shown('profile-derive', derive(_situation(context, osd, release, given)))


def profile_add(context: Context, inbuf: Optional[str] = None) -> Answer:
    own = decode_custom_profile(inbuf)
    return shown('profile-show', context.tuner.submit(lambda: context.profiles.add(own)))


def profile_rm(context: Context, name: str) -> Answer:
    context.tuner.submit(lambda: context.profiles.remove(name))
    return shown('profile-ls', context.profiles.everything())
