"""Conditions of config store entries, of the string at the next startup, and of other options.

`check` reports the same about other options: both use `options/advice.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Mapping, NamedTuple, Optional

from ...mgr.records import ConfigEntry, OsdInfo
from ...options.advice import related_options_advice
from ...plan.commands import restart_command
from ...plan.entries import UnknownMaskError, deciding_entry, is_for_a_class, is_own_entry, reaches
from ...plan.records import ANNEX, OPTION
from ..cohort import name_osds
from ..facts import redundant_annex, release_of_osd
from ..records import FindingEvidence, OsdFacts, Severity
from ..strings import same_meaning
from .declaration import At, Case, case, each_osd, of_cluster
from .facts import ClusterFacts, is_enabled, shown_string

_AUTOTUNE = 'bluestore_cache_autotune'
#: BlueStore::_set_cache_sizes() aborts OSD startup if either is outside of 0..1, or their sum is
#: above 1.
_RATIOS = ('bluestore_cache_kv_ratio', 'bluestore_cache_meta_ratio')
#: The default of both in all releases.
_RATIO = 0.45


class _Set(NamedTuple):
    """An option with its value and entry; None: not from the config store."""

    name: str
    value: str
    who: Optional[str]


def _set_for(osd: OsdFacts) -> list[_Set]:
    settings = osd.settings or {}
    return [_Set(name, *settings[name]) for name in sorted(settings)]


def _set_wrongly(osd: OsdFacts, at: At) -> Iterator[Case]:
    """The option is set to this boolean."""
    (name,), (value,) = at['option'], at['value']
    setting = osd.settings.get(name) if osd.settings else None
    if setting is not None and is_enabled(setting.value) is is_enabled(value):
        evidence = FindingEvidence(name, value, 'option')
        yield case(evidence, group=setting.who, who=setting.who or '<who>')


buffered_io_off = each_osd('buffered-io-off')(_set_wrongly)
iterator_bounds_off = each_osd('iterator-bounds-off')(_set_wrongly)
compact_on_start = each_osd('compact-on-start')(_set_wrongly)


@each_osd('short-pg-log')
def short_pg_log(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """PG logs so short, as in benchmarks, that a restarted OSD is backfilled."""
    for found in _with_problem(osd, 'short-pg-log'):
        evidence = FindingEvidence(found.name, _number(found.value), 'entries')
        yield case(
            evidence,
            group=found,
            who=found.who or '<who>',
            option=found.name,
            value=found.value,
        )


@each_osd('cache-autotune-off')
def cache_autotune_off(osd: OsdFacts, _at: At) -> Iterator[Case]:
    for found in _with_problem(osd, 'cache-autotune-off'):
        evidence = FindingEvidence(found.name, 'false', 'option')
        yield case(evidence, group=found, who=found.who or '<who>')


def _with_problem(osd: OsdFacts, rule: str) -> list[_Set]:
    """The options with a problem by this rule of `check`."""
    found = _set_for(osd)
    if not found:
        return found
    problems = related_options_advice({option.name: option.value for option in found})
    names = {problem.option for problem in problems if problem.rule == rule}
    return [option for option in found if option.name in names]


@each_osd('cache-ratios')
def cache_ratios(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Configured cache ratios: an error if BlueStore rejects them."""
    options = {o.name: o for o in _set_for(osd) if o.name in (*_RATIOS, _AUTOTUNE)}
    ratios = [options[name] for name in _RATIOS if name in options]
    if ratios:
        severity, variant = _judged({o.name: o.value for o in options.values()})
        kv, meta = (options.get(name, ratios[0]).who or '<who>' for name in _RATIOS)
        yield case(
            *(FindingEvidence(o.name, _number(o.value), 'ratio') for o in ratios),
            group=tuple(options.values()),
            severity=severity,
            variant=variant,
            kv_who=kv,
            meta_who=meta,
        )


def _judged(values: Mapping[str, str]) -> tuple[Severity, str]:
    ratios = [_number(values[name]) if name in values else _RATIO for name in _RATIOS]
    known = [ratio for ratio in ratios if isinstance(ratio, (int, float))]
    if any(ratio < 0 for ratio in known) or sum(known) > 1:
        return Severity.ERROR, 'invalid'
    if not is_enabled(values.get(_AUTOTUNE, 'true')):
        return Severity.WARNING, 'fixed'
    return Severity.INFO, 'initial'


def _number(value: str) -> object:
    """The value as a number, or else the value itself."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and '.' not in value else number


#: In the plural, for sentences.
_PARTS = {OPTION: 'options', ANNEX: 'options of the annex'}
_PLACES = {'file': 'ceph.conf', 'cmdline': 'the command line', 'env': 'the environment'}


@of_cluster('unstartable-options')
def unstartable_options(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An option string with which an OSD would not start, or did not."""
    return _culprits(cluster, starts=False)


@of_cluster('unjudged-options')
def unjudged_options(cluster: ClusterFacts, _at: At) -> Iterator[Case]:
    """An option string for which it is unknown whether an OSD would start."""
    return _culprits(cluster, starts=None)


def _culprits(cluster: ClusterFacts, *, starts: Optional[bool]) -> Iterator[Case]:
    """OSDs by entry, option string and state, where that entry is why they would not start."""
    found: dict[tuple[ConfigEntry, Optional[str], str], list[int]] = {}
    for osd in cluster.osds:
        at_start = cluster.next_starts.get(osd.info.osd_id)
        if at_start is None or at_start.starts is not starts:
            continue
        runs = osd.options is not None and osd.options.running == at_start.next_start
        state = 'up' if osd.info.up else 'down'
        if starts is None:
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
        ignored = any(_has_entry(info, cluster.entries) for info in infos)
        yield case(
            FindingEvidence('source', source, 'config source'),
            osds=sorted(info.osd_id for info in infos),
            severity=Severity.WARNING if ignored else Severity.INFO,
            variant='entry' if ignored else 'alone',
            place=_PLACES.get(source, source),
            option=OPTION,
        )


def _has_entry(osd: OsdInfo, entries: Sequence[ConfigEntry]) -> bool:
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
    for entry in entries:
        info = infos.get(entry.who.partition('/')[0])
        if info is None or not is_own_entry(entry.who):
            continue
        release = release_of_osd(info)
        version = release.rocksdb_version if release else None
        hidden = [
            e
            for e in entries
            if not is_own_entry(e.who)
            and reaches(e.who, info)
            and not same_meaning(e.value, entry.value, version)
        ]
        if hidden:
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
    others = (e for e in entries if e.name == OPTION and e is not entry)
    try:
        return deciding_entry(others, osd.info) is None
    except UnknownMaskError:
        return False
