"""Conditions of running option strings: published ones, problems that `check` reports, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from ...options.checks import Problem
from ...options.wal import (
    DEFAULT_BOUND_BYTES,
    DEFAULT_FAMILIES,
    bound_bytes,
    full_bytes,
    left_of_target,
)
from ...plan.records import OPTION
from ..profiles import Profile
from ..records import FindingEvidence, OsdFacts, Severity
from ..strings import check, recognize, same_meaning
from ..whatif.compare import hardware_of_osd
from .declaration import At, Case, case, merged, of_cluster
from .facts import ClusterFacts, RunningString, shown_string


def _published(cluster: ClusterFacts, _at: At, *, superseded: bool) -> Iterator[Case]:
    """Known profiles in use, except for the default of the release."""
    using: dict[str, tuple[Profile, list[int]]] = {}
    for running in cluster.chosen_strings:
        release = running.release
        profile = recognize(running.text, release)
        if profile is None or bool(profile.superseded) is not superseded:
            continue
        default, version = release and release.default_options, release and release.rocksdb_version
        if default is None or not same_meaning(running.text, default, version):
            using.setdefault(profile.name, (profile, []))[1].extend(running.ids)
    for profile, ids in using.values():
        yield case(
            shown_string(profile.options),
            osds=sorted(ids),
            profile=profile.name,
            title=profile.title,
            why=profile.superseded,
        )


superseded_options = of_cluster('superseded-options')(partial(_published, superseded=True))
published_options = of_cluster('published-options')(partial(_published, superseded=False))


@of_cluster('dangerous-options')
def dangerous_options(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """Errors of the checks in a running string."""
    for running in cluster.chosen_strings:
        problems = [p for p in _problems(running) if p.severity == 'error']
        problems.sort(key=lambda p: p.rule != 'forbidden')
        if problems:
            forbidden = problems[0].rule == 'forbidden'
            severity = Severity.ERROR if forbidden else Severity.WARNING
            yield _of_problems(running, problems)._replace(severity=severity)


def _with_rules(cluster: ClusterFacts, at: At, *, published: bool) -> Iterator[Case]:
    for running in cluster.chosen_strings:
        profile = recognize(running.text, running.release)
        # A superseded string is reported as a whole.
        if profile is None or (published and not profile.superseded):
            problems = [p for p in _problems(running) if p.rule in at['rules']]
            if problems:
                yield _of_problems(running, problems)


unlimited_wal = of_cluster('unlimited-wal')(partial(_with_rules, published=True))
too_many_compactions = of_cluster('too-many-compactions')(partial(_with_rules, published=True))
options_without_effect = of_cluster('options-without-effect')(partial(_with_rules, published=False))


@of_cluster('periodic-rewrites')
def periodic_rewrites(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """TTL or periodic compaction in addition to compaction on deletion."""
    for running in cluster.chosen_strings:
        names = [p.option for p in _problems(running) if p.rule in at['rules'] and p.option]
        if running.checked is not None and names:
            seconds = {name: int(running.checked.effective[name]) for name in names}
            yield case(
                *(FindingEvidence(name, value, 's') for name, value in seconds.items()),
                osds=running.ids,
                seconds=min(seconds.values()),
                culprit=' and '.join(names),
            )


@of_cluster('unwise-options')
def unwise_options(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """All other warnings of `check`, with the hardware of the OSD."""
    for running in cluster.chosen_strings:
        release, alone = running.release, running.checked
        if release is None or alone is None or not alone.accepted:
            continue
        # A published string is reported as a whole, except for problems with this hardware.
        known = alone.problems if recognize(running.text, release) else ()
        by_problems: dict[tuple[Problem, ...], list[OsdFacts]] = {}
        for osd in running.osds:
            result = check(running.text, release.rocksdb_version, hardware_of_osd(osd))
            problems = tuple(
                p
                for p in result.problems
                if p.severity == 'warning' and p.rule not in at['elsewhere'] and p not in known
            )
            if problems:
                by_problems.setdefault(problems, []).append(osd)
        for problems, osds in by_problems.items():
            yield _of_problems(replace(running, osds=tuple(osds)), problems)


def _problems(running: RunningString) -> Sequence[Problem]:
    # A running string that "would not start" is unknown to the catalog.
    checked = running.checked
    return checked.problems if checked is not None and checked.accepted else ()


def _of_problems(running: RunningString, problems: Sequence[Problem]) -> Case:
    names = tuple(dict.fromkeys(p.option for p in problems if p.option))
    first, more = problems[0], len(problems) - 1
    who, option = running.set_by(names)
    return case(
        *(FindingEvidence(p.option or OPTION, p.message, p.rule) for p in problems),
        shown_string(running.text),
        osds=running.ids,
        problem=f'{first.option or "the string"}: {first.message}'
        + (f' (and {more} more)' if more else ''),
        culprit=' and '.join(names) or 'the cause',
        who=who,
        option=option,
    )


@of_cluster('memtables-exceed-memory')
def memtables_exceed_memory(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Memtables of a configured string that may exceed their share of osd_memory_target."""
    for running in cluster.chosen_strings:
        yield from merged(
            _memory(osd, bound)
            for osd, bound, left in _with_memory(running)
            if bound > max(at['share_of_target'] * left, DEFAULT_BOUND_BYTES)
        )


@of_cluster('memory-target-small')
def memory_target_small(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An osd_memory_target that is too small for the memtables of any default."""
    return merged(
        _memory(osd, bound)._replace(rank=-left)
        for running in cluster.strings
        for osd, bound, left in _with_memory(running)
        if left < bound <= DEFAULT_BOUND_BYTES
    )


def _with_memory(running: RunningString) -> Iterator[tuple[OsdFacts, int, int]]:
    """OSDs with the bound of their memtables, and what osd_memory_target leaves for them."""
    checked = running.checked
    if checked is None or not checked.accepted:
        return
    one = full_bytes(checked.effective)
    for osd in running.osds:
        target = osd.details.memory_target_bytes if osd.details else None
        if target is not None:
            number = 1 if osd.sharded is False else DEFAULT_FAMILIES
            bound = bound_bytes(checked.effective, number * one, number)
            yield osd, bound, left_of_target(target)


def _memory(osd: OsdFacts, bound: int) -> Case:
    details = osd.details
    assert details is not None
    return case(
        FindingEvidence('memtables', bound, 'bytes'),
        FindingEvidence('osd_memory_target', details.memory_target_bytes, 'bytes'),
        FindingEvidence('memory_mapped', details.memory_mapped_bytes, 'bytes'),
        osds=(osd.info.osd_id,),
    )
