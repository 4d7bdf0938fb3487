"""Conditions of running option strings, from the problems that `check` reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Optional

from ...options.checks import Problem
from ...plan.records import OPTION
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from ..strings import check, recognize
from ..whatif.check_subjects import hardware_of_osd
from .declaration import Condition, condition
from .facts import ClusterFacts, RunningString


@condition('dangerous-options')
def dangerous_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Errors of the checks in a running string."""
    for running in cluster.chosen_strings:
        problems = _problems(running, 'error', None)
        if problems:
            # Errors first.
            problems = tuple(sorted(problems, key=lambda p: p.rule != 'forbidden'))
            forbidden = problems[0].rule == 'forbidden'
            yield _of_problems(
                condition, running, problems, Severity.ERROR if forbidden else Severity.WARNING
            )


@condition('unlimited-wal')
def unlimited_wal(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """max_total_wal_size is not set."""
    yield from _with_rule(cluster, condition, 'no-wal-limit')


@condition('too-many-compactions')
def too_many_compactions(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """More compactions at once than OSDs usually have cores, which no daemon reports."""
    yield from _with_rule(cluster, condition, 'many-threads')


def _with_rule(cluster: ClusterFacts, condition: Condition, rule: str) -> Iterable[Finding]:
    for running in cluster.chosen_strings:
        profile = recognize(running.text, running.release)
        # A superseded string is reported as a whole.
        if profile is None or not profile.superseded:
            problems = _problems(running, None, frozenset({rule}))
            if problems:
                yield _of_problems(condition, running, problems)


_WITHOUT_EFFECT = frozenset(
    {'clamped', 'duplicate', 'jobs-switched-off', 'lenient-number', 'no-effect', 'removed-option'}
)


@condition('options-without-effect')
def options_without_effect(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Values that RocksDB silently changes or ignores."""
    for running in cluster.chosen_strings:
        if recognize(running.text, running.release) is None:
            problems = _problems(running, None, _WITHOUT_EFFECT)
            if problems:
                yield _of_problems(condition, running, problems)


def _problems(
    running: RunningString, severity: Optional[str], rules: Optional[frozenset[str]]
) -> tuple[Problem, ...]:
    checked = running.checked
    # A running string that "would not start" is unknown to the catalog.
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
    who, option = running.set_by(names)
    return condition.finding(
        f'{name_osds(running.ids)}: {first.option or "the string"}: {first.message}{more}',
        running.ids,
        (
            *(FindingEvidence(p.option or OPTION, p.message, p.rule, None) for p in problems),
            FindingEvidence(OPTION, running.text, 'option string', None),
        ),
        severity=severity,
        culprit=' and '.join(names) or 'the cause',
        who=who,
        option=option,
    )


@condition('periodic-rewrites')
def periodic_rewrites(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """TTL or periodic compaction in addition to compaction on deletion."""
    for running in cluster.chosen_strings:
        problems = _problems(running, None, frozenset({'periodic-rewrites'}))
        names = [problem.option for problem in problems if problem.option]
        if running.checked is None or not names:
            continue
        seconds = {name: int(running.checked.effective[name]) for name in names}
        who, option = running.set_by(names)
        yield condition.finding(
            f'{name_osds(running.ids)} rewrite the whole RocksDB every {min(seconds.values())}s, '
            'needed or not',
            running.ids,
            tuple(FindingEvidence(name, value, 's', None) for name, value in seconds.items()),
            culprit=' and '.join(names),
            who=who,
            option=option,
        )


#: Warnings that another condition reports, or that are about limits of `check` itself.
_REPORTED_ELSEWHERE = frozenset(
    {
        *_WITHOUT_EFFECT,
        *('no-wal-limit', 'many-threads', 'periodic-rewrites', 'memtables-beyond-memory'),
        *('wal-beyond-device', 'not-judged', 'ambiguous', 'unknown-version'),
        *('short-pg-log', 'cache-autotune-off'),
    }
)


@condition('unwise-options')
def unwise_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """All other warnings of `check`, with the hardware of the OSD."""
    for running in cluster.chosen_strings:
        release, alone = running.release, running.checked
        if release is None or alone is None or not alone.accepted:
            continue
        # A published string is reported as a whole, except for problems with this hardware.
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
