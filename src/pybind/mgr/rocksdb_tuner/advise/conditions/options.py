"""Conditions of the option strings: what is set, where, and what runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from ...mgr.records import ConfigEntry, OsdInfo
from ...options.checks import Problem
from ...options.grammar import in_force
from ...options.memtables import (
    DEFAULT_BOUND_BYTES,
    DEFAULT_FAMILIES,
    bound_bytes,
    full_bytes,
    left_of_target,
)
from ...plan.precedence import (
    UnknownMaskError,
    deciding_entry,
    is_for_a_class,
    is_own_entry,
    reaches,
)
from ...plan.records import ANNEX, OPTION
from ..facts import redundant_annex, release_of_osd
from ..naming import name_osds
from ..profiles import Profile
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from ..strings import check, recognize, same_meaning
from ..whatif.check_subjects import hardware_of_osd
from .catalogue import Condition
from .facts import ClusterFacts, RunningString

_PLACES = {'file': 'ceph.conf', 'cmdline': 'the command line', 'env': 'the environment'}


def unstartable_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An option string with which an OSD would not start again, or did not."""
    doomed: dict[tuple[str, str, bool], list[int]] = {}
    for osd in cluster.osds:
        release = release_of_osd(osd.info)
        given = _next_start(osd, cluster.entries) if release else None
        if release is None or given is None:
            continue
        who, text = given
        if check(text, release.rocksdb_version).accepted is False:
            doomed.setdefault((who, text, osd.info.up), []).append(osd.info.osd_id)
    for (who, text, up), ids in doomed.items():
        yield condition.finding(
            f'{name_osds(ids)} '
            + ('would not start again' if up else 'went down, and cannot start')
            + f' with the options set for {who}',
            tuple(ids),
            (FindingEvidence(OPTION, text, 'option string', None),),
            who=who,
            option=OPTION,
        )


def unjudged_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An option string of which nobody can tell whether an OSD would start with it."""
    unjudged: dict[tuple[str, str, bool], list[int]] = {}
    for osd in cluster.osds:
        release = release_of_osd(osd.info)
        given = _next_start(osd, cluster.entries) if release else None
        if release is None or given is None:
            continue
        who, text = given
        if check(text, release.rocksdb_version).accepted is None:
            # What an OSD runs it did start with.
            runs = osd.options is not None and osd.options.running == text
            unjudged.setdefault((who, text, runs), []).append(osd.info.osd_id)
    for (who, text, runs), ids in unjudged.items():
        yield condition.finding(
            f'the options set for {who} are of a form that this module cannot validate: '
            + (
                f'{name_osds(ids)} started with them, and what is in effect is not known'
                if runs
                else f'whether {name_osds(ids)} would start again is unknown'
            ),
            tuple(ids),
            (FindingEvidence(OPTION, text, 'option string', None),),
            severity=Severity.INFO if runs else Severity.WARNING,
            who=who,
            option=OPTION,
        )


def _next_start(osd: OsdFacts, entries: Sequence[ConfigEntry]) -> Optional[tuple[str, str]]:
    """(who, string) that the config store gives it; None if nothing, or that is unknown."""
    options = osd.options
    if options is not None:
        if options.overruled or options.next_start is None or options.deciding_who is None:
            return None
        return options.deciding_who, options.next_start
    if osd.info.up or not entries:
        return None
    try:
        deciding = deciding_entry((e for e in entries if e.name == OPTION), osd.info)
        annex = deciding_entry((e for e in entries if e.name == ANNEX), osd.info)
    except UnknownMaskError:
        return None
    if deciding is None:
        return None
    return deciding.who, in_force(deciding.value, annex.value if annex else '')


def options_outside_config_store(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """ceph.conf or the command line decides, so an entry of the config store has no effect."""
    by_source: dict[str, list[OsdInfo]] = {}
    for running in cluster.chosen_strings:
        for osd in running.osds:
            if osd.options and osd.options.overruled:
                by_source.setdefault(osd.options.source, []).append(osd.info)
    for source, infos in by_source.items():
        place = _PLACES.get(source, source)
        ids = tuple(sorted(info.osd_id for info in infos))
        ignored = any(_has_entry(info, cluster.entries) for info in infos)
        yield condition.finding(
            f'{place} decides {OPTION} for {name_osds(ids)}'
            + ('; the entry of the config store has no effect' if ignored else ''),
            ids,
            (FindingEvidence('source', source, 'config source', None),),
            severity=Severity.WARNING if ignored else Severity.INFO,
            place=place,
            option=OPTION,
        )


def _has_entry(osd: OsdInfo, entries: Sequence[ConfigEntry]) -> bool:
    try:
        return deciding_entry((e for e in entries if e.name == OPTION), osd) is not None
    except UnknownMaskError:
        return True


def class_entry_without_effect(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An entry for a device class: the config store shows it, and no OSD ever starts with it."""
    for entry in cluster.entries:
        if entry.name != OPTION or not is_for_a_class(entry.who):
            continue
        device_class = entry.who.rpartition('class:')[2].partition('/')[0]
        ids = [o.info.osd_id for o in cluster.osds if o.info.device_class == device_class]
        yield condition.finding(
            f'no OSD starts with the entry for {entry.who}: an OSD does not know its device class '
            'when it reads the options that need a restart',
            tuple(ids),
            (FindingEvidence(OPTION, entry.value, 'option string', None),),
            who=entry.who,
            option=OPTION,
        )


def restart_pending(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A configured option string that running OSDs do not use yet; a warning after a day."""
    overdue_s = condition.limit('overdue_s', cluster.limits)
    pending = [o for o in cluster.osds if o.options and o.options.pending_restart]
    overdue = [o for o in pending if cluster.pending_s.get(o.info.osd_id, 0.0) >= overdue_s]
    recent = [o for o in pending if cluster.pending_s.get(o.info.osd_id, 0.0) < overdue_s]
    for osds, severity in ((overdue, Severity.WARNING), (recent, Severity.INFO)):
        if not osds:
            continue
        ids = tuple(sorted(osd.info.osd_id for osd in osds))
        strings = {o.options.next_start or '' for o in osds if o.options}
        seen_s = max(cluster.pending_s.get(osd_id, 0.0) for osd_id in ids)
        yield condition.finding(
            f'{name_osds(ids)} did not restart since {OPTION} was changed',
            ids,
            (
                *(FindingEvidence('next_start', s, 'option string', None) for s in sorted(strings)),
                FindingEvidence('pending', seen_s, 's', None),
            ),
            severity=severity,
        )


def different_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """OSDs of one device class and release that run different option strings."""
    variants: dict[tuple[str, Optional[str]], dict[str, list[int]]] = {}
    for running in cluster.strings:
        for osd in running.osds:
            if osd.info.device_class:
                group = variants.setdefault((osd.info.device_class, osd.info.version), {})
                group.setdefault(running.text, []).append(osd.info.osd_id)
    for (device_class, _), by_text in variants.items():
        if len(by_text) > 1:
            odd = min(by_text.values(), key=_size)
            yield condition.finding(
                f'OSDs of class {device_class} run {len(by_text)} different option strings; '
                f'{name_osds(odd)} differ from the rest',
                tuple(odd),
                tuple(
                    FindingEvidence(name_osds(ids), text, 'option string', None)
                    for text, ids in by_text.items()
                ),
            )


def _size(ids: list[int]) -> int:
    return len(ids)


def own_entry_shadows(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An entry of a single OSD hides one, with another value, that is meant for many."""
    own = [e for e in cluster.entries if e.name == OPTION and is_own_entry(e.who)]
    wider = [e for e in cluster.entries if e.name == OPTION and not is_own_entry(e.who)]
    infos = {f'osd.{osd.info.osd_id}': osd.info for osd in cluster.osds}
    for entry in own:
        info = infos.get(entry.who.partition('/')[0])
        if info is None:
            continue
        release = release_of_osd(info)
        version = release.rocksdb_version if release else None
        hidden = [
            e
            for e in wider
            if reaches(e.who, info) and not same_meaning(e.value, entry.value, version)
        ]
        if hidden:
            yield condition.finding(
                f'the entry for {entry.who} hides that for '
                + ' and '.join(sorted(e.who for e in hidden)),
                (info.osd_id,),
                tuple(
                    FindingEvidence(e.who, e.value, 'option string', None) for e in (entry, *hidden)
                ),
                who=entry.who,
                option=OPTION,
            )


def redundant_override(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An entry that holds what its OSDs would use without it: of the string, or of the annex."""
    yield from _redundant_strings(cluster, condition)
    yield from _redundant_annexes(cluster, condition)


def _redundant_annexes(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    decided: dict[str, list[OsdFacts]] = {}
    for osd in cluster.osds:
        if osd.options and osd.options.annex_who:
            decided.setdefault(osd.options.annex_who, []).append(osd)
    for entry in cluster.entries:
        osds = decided.get(entry.who, []) if entry.name == ANNEX else []
        if osds and all(redundant_annex(osd) for osd in osds):
            yield condition.finding(
                f'the annex that the entry for {entry.who} sets changes nothing of the default of '
                'the release',
                tuple(osd.info.osd_id for osd in osds),
                (FindingEvidence(ANNEX, entry.value, 'option string', None),),
                who=entry.who,
                option=ANNEX,
            )


def _redundant_strings(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    entries = [e for e in cluster.entries if e.name == OPTION]
    decided: dict[str, list[OsdFacts]] = {}
    for osd in cluster.osds:
        if osd.options and osd.options.deciding_who:
            decided.setdefault(osd.options.deciding_who, []).append(osd)
    for entry in entries:
        osds = decided.get(entry.who, [])
        others = [e for e in entries if e is not entry]
        if osds and all(_is_redundant(entry, others, osd) for osd in osds):
            yield condition.finding(
                f'the entry for {entry.who} equals the default of the release',
                tuple(osd.info.osd_id for osd in osds),
                (FindingEvidence(OPTION, entry.value, 'option string', None),),
                who=entry.who,
                option=OPTION,
            )


def _is_redundant(entry: ConfigEntry, others: Sequence[ConfigEntry], osd: OsdFacts) -> bool:
    release = release_of_osd(osd.info)
    if release is None or osd.options is None or osd.options.annex:
        return False
    if not same_meaning(entry.value, release.default_options, release.rocksdb_version):
        return False
    try:
        return deciding_entry(others, osd.info) is None
    except UnknownMaskError:
        return False


def superseded_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A known string from a publication that its own authors no longer advise."""
    for profile, ids in _published(cluster):
        if profile.superseded:
            yield condition.finding(
                f'{name_osds(ids)} run {profile.title}: {profile.superseded}',
                ids,
                (FindingEvidence(OPTION, profile.options, 'option string', None),),
                profile=profile.name,
            )


def published_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A known string from a publication, recognized by its name."""
    for profile, ids in _published(cluster):
        if not profile.superseded:
            yield condition.finding(
                f'{name_osds(ids)} run {profile.title}',
                ids,
                (FindingEvidence(OPTION, profile.options, 'option string', None),),
                profile=profile.name,
            )


def _published(cluster: ClusterFacts) -> list[tuple[Profile, tuple[int, ...]]]:
    """Known profiles that somebody chose, and that are not the default of the release."""
    using: dict[str, tuple[Profile, list[int]]] = {}
    for running in cluster.chosen_strings:
        release = running.release
        profile = recognize(running.text, release)
        if profile is None or (
            release is not None
            and same_meaning(running.text, release.default_options, release.rocksdb_version)
        ):
            continue
        using.setdefault(profile.name, (profile, []))[1].extend(running.ids)
    return [(profile, tuple(sorted(ids))) for profile, ids in using.values()]


def dangerous_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """What the checks forbid, in a string that OSDs do run."""
    for running in cluster.chosen_strings:
        problems = _problems(running, 'error', None)
        if problems:
            # What makes it an error is told first.
            problems = tuple(sorted(problems, key=lambda p: p.rule != 'forbidden'))
            forbidden = problems[0].rule == 'forbidden'
            yield _of_problems(
                condition, running, problems, Severity.ERROR if forbidden else Severity.WARNING
            )


def unlimited_wal(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """max_total_wal_size is not set."""
    yield from _with_rule(cluster, condition, 'no-wal-limit')


def too_many_compactions(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """More compactions at once than OSDs have cores."""
    yield from _with_rule(cluster, condition, 'many-threads')


def _with_rule(cluster: ClusterFacts, condition: Condition, rule: str) -> Iterable[Finding]:
    for running in cluster.chosen_strings:
        profile = recognize(running.text, running.release)
        # A superseded string is pointed out as a whole.
        if profile is None or not profile.superseded:
            problems = _problems(running, None, frozenset({rule}))
            if problems:
                yield _of_problems(condition, running, problems)


_WITHOUT_EFFECT = frozenset(
    {'clamped', 'duplicate', 'jobs-switched-off', 'lenient-number', 'no-effect', 'removed-option'}
)


def options_without_effect(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Values that RocksDB changes silently, or ignores."""
    for running in cluster.chosen_strings:
        if recognize(running.text, running.release) is None:
            problems = _problems(running, None, _WITHOUT_EFFECT)
            if problems:
                yield _of_problems(condition, running, problems)


def _problems(
    running: RunningString, severity: Optional[str], rules: Optional[frozenset[str]]
) -> tuple[Problem, ...]:
    checked = running.checked
    # A string that runs and "would not start" is one that the catalogue does not know.
    if checked is None or not checked.accepted:
        return ()
    return tuple(
        problem
        for problem in checked.problems
        if severity in (None, problem.severity) and (rules is None or problem.rule in rules)
    )


def _of_problems(
    condition: Condition,
    running: RunningString,
    problems: Sequence[Problem],
    severity: Optional[Severity] = None,
) -> Finding:
    names = tuple(dict.fromkeys(p.option for p in problems if p.option))
    first = problems[0]
    more = f' (and {len(problems) - 1} more)' if len(problems) > 1 else ''
    return condition.finding(
        f'{name_osds(running.ids)}: {first.option or "the string"}: {first.message}{more}',
        running.ids,
        (
            *(FindingEvidence(p.option or OPTION, p.message, p.rule, None) for p in problems),
            FindingEvidence(OPTION, running.text, 'option string', None),
        ),
        severity=severity,
        culprit=' and '.join(names) or 'the cause',
        who=running.who,
        option=OPTION,
    )


def periodic_rewrites(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """ttl or periodic compaction where compaction on deletion does its job."""
    for running in cluster.chosen_strings:
        problems = _problems(running, None, frozenset({'periodic-rewrites'}))
        names = [problem.option for problem in problems if problem.option]
        if running.checked is None or not names:
            continue
        seconds = {name: int(running.checked.effective[name]) for name in names}
        yield condition.finding(
            f'{name_osds(running.ids)} rewrite all of RocksDB every {min(seconds.values())} s, '
            'needed or not',
            running.ids,
            tuple(FindingEvidence(name, value, 's', None) for name, value in seconds.items()),
            culprit=' and '.join(names),
            who=running.who,
            option=OPTION,
        )


#: Warnings of `check` that another condition reports, or that say what `check` cannot know.
_REPORTED_ELSEWHERE = frozenset(
    {
        *_WITHOUT_EFFECT,
        *('no-wal-limit', 'many-threads', 'periodic-rewrites', 'memtables-beyond-memory'),
        *('wal-beyond-device', 'not-judged', 'ambiguous', 'unknown-version'),
        *('short-pg-log', 'cache-autotune-off'),
    }
)


def unwise_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Everything else that `check` warns of, on the OSD that runs it."""
    for running in cluster.chosen_strings:
        release, alone = running.release, running.checked
        if release is None or alone is None or not alone.accepted:
            continue
        # A published string is reported as a whole; what it does to this hardware is not.
        known = recognize(running.text, release) is not None
        by_problems: dict[tuple[Problem, ...], list[OsdFacts]] = {}
        for osd in running.osds:
            result = check(running.text, release.rocksdb_version, hardware_of_osd(osd))
            problems = tuple(
                problem
                for problem in result.problems
                if problem.severity == 'warning'
                and problem.rule not in _REPORTED_ELSEWHERE
                and not (known and problem in alone.problems)
            )
            if problems:
                by_problems.setdefault(problems, []).append(osd)
        for problems, osds in by_problems.items():
            yield _of_problems(condition, replace(running, osds=tuple(osds)), problems)


def memtables_exceed_memory(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Memtables of a chosen string that may outgrow what osd_memory_target leaves them."""
    share = condition.limit('share_of_target', cluster.limits)
    for running in cluster.chosen_strings:
        over = [o for o in _with_memory(running) if o.bound > share * left_of_target(o.target)]
        over = [o for o in over if o.bound > DEFAULT_BOUND_BYTES]
        if over:
            ids = tuple(o.osd.info.osd_id for o in over)
            yield condition.finding(
                f'memtables of {name_osds(ids)} may take more memory than the OSD is given',
                ids,
                _memory(over[0]),
            )


def memory_target_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A target that is too small for the memtables of any default, whatever runs."""
    small = [
        o
        for running in cluster.strings
        for o in _with_memory(running)
        if left_of_target(o.target) < o.bound <= DEFAULT_BOUND_BYTES
    ]
    if small:
        ids = tuple(sorted(o.osd.info.osd_id for o in small))
        least = min(small, key=lambda o: (o.target, o.osd.info.osd_id))
        yield condition.finding(
            f'osd_memory_target of {name_osds(ids)} leaves too little for memtables',
            ids,
            _memory(least),
        )


class _OfMemory(NamedTuple):
    """An OSD, what its memtables may take, and what it is given."""

    osd: OsdFacts
    bound: int
    target: int
    mapped: Optional[int]


def _with_memory(running: RunningString) -> Iterator[_OfMemory]:
    checked = running.checked
    if checked is None or not checked.accepted:
        return
    one = full_bytes(checked.effective)
    for osd in running.osds:
        details = osd.details
        if details is not None and details.memory_target_bytes is not None:
            number = 1 if osd.sharded is False else DEFAULT_FAMILIES
            bound = bound_bytes(checked.effective, number * one, number)
            yield _OfMemory(osd, bound, details.memory_target_bytes, details.memory_mapped_bytes)


def _memory(of: _OfMemory) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('memtables', of.bound, 'bytes', None),
        FindingEvidence('osd_memory_target', of.target, 'bytes', None),
        FindingEvidence('memory_mapped', of.mapped, 'bytes', None),
    )
