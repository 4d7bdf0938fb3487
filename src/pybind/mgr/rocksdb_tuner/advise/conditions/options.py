"""Conditions of config store entries, option strings, and other options of OSDs.

`check` reports the same about other options: both use `options/advice.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

from ...mgr.records import ConfigEntry, OsdInfo
from ...options.advice import related_options_advice
from ...options.checks import Problem
from ...options.wal import (
    DEFAULT_BOUND_BYTES,
    DEFAULT_FAMILIES,
    bound_bytes,
    full_bytes,
    left_of_target,
)
from ...plan.commands import restart_command
from ...plan.entries import UnknownMaskError, deciding_entry, is_for_a_class, is_own_entry, reaches
from ...plan.records import ANNEX, OPTION
from ..facts import name_osds, redundant_annex, release_of_osd
from ..profiles import Profile, recognize
from ..records import FindingEvidence, OsdFacts, Severity
from ..strings import check, same_meaning
from ..whatif.compare import hardware_of_osd
from .declaration import (
    At,
    Case,
    ClusterFacts,
    RunningString,
    case,
    each_osd,
    is_enabled,
    merged,
    of_cluster,
    shown_string,
)

_AUTOTUNE = 'bluestore_cache_autotune'
#: BlueStore::_set_cache_sizes() aborts OSD startup if either is outside of 0..1, or their sum is
#: above 1.
_RATIOS = ('bluestore_cache_kv_ratio', 'bluestore_cache_meta_ratio')
#: The default of both in all releases.
_RATIO = 0.45
#: In the plural, for sentences.
_PARTS = {OPTION: 'options', ANNEX: 'options of the annex'}
_PLACES = {'file': 'ceph.conf', 'cmdline': 'the command line', 'env': 'the environment'}


@each_osd('buffered-io-off', 'iterator-bounds-off', 'compact-on-start')
def set_wrongly(osd: OsdFacts, at: At) -> Iterator[Case]:
    """The option is set to this boolean."""
    (name,), (value,) = at['option'], at['value']
    setting = osd.settings.get(name) if osd.settings else None
    if setting is not None and is_enabled(setting.value) is is_enabled(value):
        evidence = FindingEvidence(name, value, 'option')
        yield case(evidence, group=setting.who, who=setting.who or '<who>')


@each_osd('short-pg-log', 'cache-autotune-off')
def with_problem(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Options with a problem by this rule of `check`."""
    (rule,), (unit,), settings = at['rule'], at['unit'], osd.settings
    if not settings:
        return
    problems = related_options_advice({name: known.value for name, known in settings.items()})
    names = {p.option for p in problems if p.rule == rule}
    for name, (value, who) in sorted((n, s) for n, s in settings.items() if n in names):
        yield case(
            FindingEvidence(name, _number(value) if unit == 'entries' else 'false', unit),
            group=(name, value, who),
            who=who or '<who>',
            option=name,
            value=value,
        )


@each_osd('cache-ratios')
def cache_ratios(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Configured cache ratios: an error if BlueStore rejects them."""
    settings = {n: s for n, s in (osd.settings or {}).items() if n in (*_RATIOS, _AUTOTUNE)}
    ratios = {name: settings[name] for name in _RATIOS if name in settings}
    if not ratios:
        return
    shown = {name: _number(known.value) for name, known in ratios.items()}
    numbers = {**dict.fromkeys(_RATIOS, _RATIO), **shown}.values()
    known = [number for number in numbers if isinstance(number, (int, float))]
    severity, variant = Severity.INFO, 'initial'
    if any(ratio < 0 for ratio in known) or sum(known) > 1:
        severity, variant = Severity.ERROR, 'invalid'
    elif _AUTOTUNE in settings and not is_enabled(settings[_AUTOTUNE].value):
        severity, variant = Severity.WARNING, 'fixed'
    first = next(iter(ratios.values()))
    kv, meta = (ratios.get(name, first).who or '<who>' for name in _RATIOS)
    yield case(
        *(FindingEvidence(name, number, 'ratio') for name, number in shown.items()),
        group=tuple(sorted(settings.items())),
        severity=severity,
        variant=variant,
        kv_who=kv,
        meta_who=meta,
    )


def _number(value: str) -> object:
    """The value as a number, or else the value itself."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and '.' not in value else number


@of_cluster('unstartable-options', 'unjudged-options')
def culprits(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Entries with which OSDs would not start or did not, or it is unknown whether they would."""
    starts = None if 'unknown' in at else False
    found: dict[tuple[ConfigEntry, Optional[str], str], list[int]] = {}
    for osd in cluster.osds:
        at_start = cluster.next_starts.get(osd.info.osd_id)
        if at_start is None or at_start.starts is not starts:
            continue
        state = 'up' if osd.info.up else 'down'
        if starts is None:
            runs = osd.options is not None and osd.options.running == at_start.next_start
            state = 'runs' if runs else 'unknown'
        for entry in at_start.culprits:
            found.setdefault((entry, at_start.next_start, state), []).append(osd.info.osd_id)
    for (entry, text, state), ids in found.items():
        yield case(
            shown_string(text),
            osds=ids,
            variant=state,
            part=_PARTS[entry.name],
            who=entry.who,
            option=entry.name,
        )


@of_cluster('options-outside-config-store')
def options_outside_config_store(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    by_source: dict[str, list[OsdInfo]] = {}
    for running in cluster.chosen_strings:
        for osd in running.osds:
            if osd.options and osd.options.overruled:
                by_source.setdefault(osd.options.source, []).append(osd.info)
    for source, infos in by_source.items():
        ignored = any(_decided(cluster.entries, info) for info in infos)
        yield case(
            FindingEvidence('source', source, 'config source'),
            osds=sorted(info.osd_id for info in infos),
            severity=Severity.WARNING if ignored else Severity.INFO,
            variant='entry' if ignored else 'alone',
            place=_PLACES.get(source, source),
            option=OPTION,
        )


def _decided(entries: Iterable[ConfigEntry], osd: OsdInfo) -> bool:
    """Whether any of these entries of the option string may apply to an OSD."""
    try:
        return deciding_entry((e for e in entries if e.name == OPTION), osd) is not None
    except UnknownMaskError:
        return True


@of_cluster('class-entry-without-effect')
def class_entry_without_effect(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    for entry in cluster.entries:
        if entry.name == OPTION and is_for_a_class(entry.who):
            device_class = entry.who.rpartition('class:')[2].partition('/')[0]
            ids = [o.info.osd_id for o in cluster.osds if o.info.device_class == device_class]
            yield case(shown_string(entry.value), osds=ids, who=entry.who, option=OPTION)


@of_cluster('restart-pending')
def restart_pending(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """A configured option string that needs an OSD restart; a warning after a day."""
    waiting: dict[Severity, list[OsdFacts]] = {}
    for osd in cluster.osds:
        # Nobody is told to restart an OSD that may not start.
        if osd.options and osd.options.pending_restart and osd.options.starts:
            overdue = cluster.pending_s.get(osd.info.osd_id, 0.0) >= at['overdue_s']
            severity = Severity.WARNING if overdue else Severity.INFO
            waiting.setdefault(severity, []).append(osd)
    for severity, osds in waiting.items():
        daemons = {osd.info.osd_id: osd.info.daemon for osd in osds}
        ids = sorted(daemons)
        strings = sorted({o.options.next_start or '' for o in osds if o.options})
        pending_s = max(cluster.pending_s.get(osd_id, 0.0) for osd_id in ids)
        yield case(
            *(shown_string(text, 'next_start') for text in strings),
            FindingEvidence('pending', pending_s, 's'),
            osds=ids,
            severity=severity,
            restart=restart_command(ids[0], daemons[ids[0]]),
        )


@of_cluster('different-options')
def different_options(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """Different option strings on OSDs of one device class and release."""
    variants: dict[tuple[str, Optional[str]], dict[str, list[int]]] = {}
    for running in cluster.strings:
        for osd in running.osds:
            if osd.info.device_class:
                group = variants.setdefault((osd.info.device_class, osd.info.version), {})
                group.setdefault(running.text, []).append(osd.info.osd_id)
    for (device_class, _), by_text in variants.items():
        if len(by_text) > 1:
            yield case(
                *(shown_string(text, name_osds(ids)) for text, ids in by_text.items()),
                osds=min(by_text.values(), key=len),
                device_class=device_class,
                count=len(by_text),
            )


@of_cluster('own-entry-shadows')
def own_entry_shadows(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An entry of a single OSD that overrides a different one for many OSDs."""
    entries = [e for e in cluster.entries if e.name == OPTION]
    infos = {f'osd.{osd.info.osd_id}': osd.info for osd in cluster.osds}
    for entry in filter(lambda e: is_own_entry(e.who), entries):
        info = infos.get(entry.who.partition('/')[0])
        release = release_of_osd(info) if info else None
        version = release.rocksdb_version if release else None
        hidden = [
            e
            for e in entries
            if info is not None and not is_own_entry(e.who) and reaches(e.who, info)
            if not same_meaning(e.value, entry.value, version)
        ]
        if info is not None and hidden:
            yield case(
                *(shown_string(e.value, e.who) for e in (entry, *hidden)),
                osds=(info.osd_id,),
                hidden=' and '.join(sorted(e.who for e in hidden)),
                who=entry.who,
                option=OPTION,
            )


@of_cluster('redundant-override')
def redundant_override(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An entry of the option string or annex that equals the default."""
    decided: dict[tuple[str, Optional[str]], list[OsdFacts]] = {}
    for osd in cluster.osds:
        if osd.options:
            decided.setdefault((OPTION, osd.options.deciding_who), []).append(osd)
            decided.setdefault((ANNEX, osd.options.annex_who), []).append(osd)
    for entry in cluster.entries:
        osds = decided.get((entry.name, entry.who), [])
        if osds and all(_is_redundant(entry, cluster.entries, osd) for osd in osds):
            yield case(
                shown_string(entry.value, entry.name),
                osds=[osd.info.osd_id for osd in osds],
                variant='annex' if entry.name == ANNEX else 'string',
                who=entry.who,
                option=entry.name,
            )


def _is_redundant(entry: ConfigEntry, entries: Sequence[ConfigEntry], osd: OsdFacts) -> bool:
    if entry.name == ANNEX:
        return redundant_annex(osd)
    release = release_of_osd(osd.info)
    if release is None or osd.options is None or osd.options.annex:
        return False
    if not same_meaning(entry.value, release.default_options, release.rocksdb_version):
        return False
    return not _decided((e for e in entries if e is not entry), osd.info)


@of_cluster('superseded-options', 'published-options')
def published(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Known profiles in use, except for the default of the release."""
    using: dict[Profile, list[int]] = {}
    for text, _, release, osds in cluster.chosen_strings:
        profile = recognize(text, release)
        if profile is None or bool(profile.superseded) is not ('superseded' in at):
            continue
        default = release and release.default_options
        if default is None or not same_meaning(text, default, release and release.rocksdb_version):
            using.setdefault(profile, []).extend(osd.info.osd_id for osd in osds)
    for profile, ids in using.items():
        yield case(
            shown_string(profile.options),
            osds=sorted(ids),
            profile=profile.name,
            title=profile.title,
            why=profile.superseded,
        )


@of_cluster('dangerous-options', 'unlimited-wal', 'too-many-compactions', 'options-without-effect')
def with_problems(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Problems of this severity or by these rules; a superseded string is reported as a whole."""
    for running in cluster.chosen_strings:
        profile, severity = recognize(running.text, running.release), None
        if 'rules' in at and profile and ('as_a_whole' in at or profile.superseded):
            continue
        known = running.checked.problems if running.checked else ()
        found = [p for p in known if p.rule in at.get('rules', ())]
        if 'severity' in at:
            found = [p for p in known if p.severity in at['severity']]
            found.sort(key=lambda p: p.rule != 'forbidden')
            forbidden = any(p.rule == 'forbidden' for p in found)
            severity = Severity.ERROR if forbidden else Severity.WARNING
        if found:
            yield _of_problems(running, found)._replace(severity=severity)


@of_cluster('periodic-rewrites')
def periodic_rewrites(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """TTL or periodic compaction in addition to compaction on deletion."""
    for running in cluster.chosen_strings:
        checked = running.checked
        if checked is None:
            continue
        names = [p.option for p in checked.problems if p.rule in at['rules'] and p.option]
        seconds = {name: int(checked.effective[name]) for name in names}
        if seconds:
            yield case(
                *(FindingEvidence(name, value, 's') for name, value in seconds.items()),
                osds=running.ids,
                seconds=min(seconds.values()),
                culprit=' and '.join(seconds),
            )


@of_cluster('unwise-options')
def unwise_options(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """All other warnings of `check`, with the hardware of the OSD."""
    for running in cluster.chosen_strings:
        text, _, release, osds = running
        if release is None or running.checked is None:
            continue
        # A published string is reported as a whole, except for problems with this hardware.
        known = running.checked.problems if recognize(text, release) else ()
        by_problems: dict[tuple[Problem, ...], list[OsdFacts]] = {}
        for osd in osds:
            result = check(text, release.rocksdb_version, hardware_of_osd(osd))
            problems = tuple(
                p
                for p in result.problems
                if p.severity == 'warning' and p.rule not in at['elsewhere'] and p not in known
            )
            if problems:
                by_problems.setdefault(problems, []).append(osd)
        for problems, alike in by_problems.items():
            yield _of_problems(running._replace(osds=tuple(alike)), problems)


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


@of_cluster('memtables-exceed-memory', 'memory-target-small')
def memtables(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Memtables of a configured string, or of any default, that osd_memory_target has no room for.

    A configured string may have their share of it.
    """
    share, small = at.get('share_of_target'), []
    for running in cluster.strings:
        if running.checked is None or (running.is_default and share is not None):
            continue
        options, exceeding = running.checked.effective, []
        for osd in running.osds:
            target = osd.details.memory_target_bytes if osd.details else None
            number = 1 if osd.sharded is False else DEFAULT_FAMILIES
            bound = bound_bytes(options, number * full_bytes(options), number)
            left = 0 if target is None else left_of_target(target)
            evidence = FindingEvidence('memtables', bound, 'bytes')
            if target is None:
                continue
            if share is not None and bound > max(share * left, DEFAULT_BOUND_BYTES):
                exceeding.append(case(evidence, osd=osd))
            if share is None and left < bound <= DEFAULT_BOUND_BYTES:
                small.append(case(evidence, osd=osd, rank=-left))
        yield from merged(exceeding)
    yield from merged(small)
