"""Conditions of config store entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from ...mgr.records import ConfigEntry
from ...plan.precedence import (
    UnknownMaskError,
    deciding_entry,
    is_own_entry,
    reaches,
)
from ...plan.records import ANNEX, OPTION
from ..facts import redundant_annex, release_of_osd
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts
from ..strings import same_meaning
from .declaration import Condition, condition
from .facts import ClusterFacts


@condition('different-options')
def different_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Different option strings on OSDs of one device class and release."""
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


@condition('own-entry-shadows')
def own_entry_shadows(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An entry of a single OSD that overrides a different one for many OSDs."""
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
                f'the entry for {entry.who} hides the entry for '
                + ' and '.join(sorted(e.who for e in hidden)),
                (info.osd_id,),
                tuple(
                    FindingEvidence(e.who, e.value, 'option string', None) for e in (entry, *hidden)
                ),
                who=entry.who,
                option=OPTION,
            )


@condition('redundant-override')
def redundant_override(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An entry of the option string or annex that equals the default."""
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
                f'the annex set by the entry for {entry.who} does not change the default of the '
                'release',
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
