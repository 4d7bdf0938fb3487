"""Comparison of two option strings by effective options. Pure.

OSDs that an option string is checked for, with their hardware.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Optional

from ...notes import InPlace, Named
from ...options.advice import RELATED_OPTIONS
from ...options.catalogue import OptionInfo, catalogue
from ...options.effective import as_read_by
from ...options.grammar import diff, in_force, normalize
from ...options.problems import Hardware
from ...options.releases import KnownRelease
from ...options.syntax import OptionSet, OptionSyntaxError, parse
from ...options.verdict import BadQuestionError, Subject, find_release, judge, releases_to_judge
from ..facts import release_of_osd
from ..profiles import DEFAULT, Profile
from ..records import OsdFacts
from .situation import NO_OVERRIDES, Overrides, devices_of, memory_target_of, osd_by_id


@dataclass(frozen=True)
class Side:
    """One of the two option strings."""

    name: Annotated[str, 'Name of the profile or OSD.']
    options: Annotated[
        str, 'bluestore_rocksdb_options; with the annex of the OSD, if one is compared.'
    ]


@dataclass(frozen=True)
class OptionChange:
    """An option that differs between two strings."""

    option: Annotated[str, 'Name of the option.']
    written_from: Annotated[Optional[str], 'Value in the first string; null: default.']
    written_to: Annotated[Optional[str], 'Value in the second string; null: default.']
    effective_from: Annotated[Optional[str], 'Effective value in the first; null: unknown.']
    effective_to: Annotated[Optional[str], 'Effective value in the second; null: unknown.']
    follows: Annotated[
        bool, 'Both strings set it alike; the effective values differ because of other options.'
    ]
    info: Annotated[Optional[OptionInfo], InPlace('meaning', 'change_when', 'leave_when', 'source')]


@dataclass(frozen=True)
class Comparison:
    """Two option strings, option by option."""

    release: Annotated[KnownRelease, InPlace('name', 'rocksdb_version')]
    side_from: Annotated[Side, Named('from'), 'The first option string.']
    side_to: Annotated[Side, Named('to'), 'The second option string.']
    changes: Annotated[tuple[OptionChange, ...], 'Options that differ.']
    refused: Annotated[tuple[str, ...], 'Sides that prevent an OSD of the release from starting.']
    not_judged: Annotated[
        tuple[str, ...], 'Sides for which it is unknown whether an OSD starts.'
    ] = ()


def sides(
    osds: Sequence[OsdFacts],
    find: Callable[[str], Profile],
    name: str,
    other: Optional[str],
    osd_id: Optional[int],
    release: Optional[str],
) -> tuple[Side, Side, KnownRelease]:
    """The two sides to compare and their release: the OSD's, or the newest.

    A profile, or the default of the release, is compared with another one, or an OSD's running
    options with it. ``find``: the profile of a name. Raises BadQuestionError: ENOENT for an unknown
    OSD, else EINVAL.
    """

    def side(name: str, chosen: KnownRelease) -> Side:
        if name == DEFAULT:
            return Side(f'the default of {chosen.label}', chosen.default_options)
        return Side(f'the profile {name}', find(name).options)

    named = find_release(release) if release is not None else None
    if other is not None and osd_id is None:
        running = [release_of_osd(facts.info) for facts in osds]
        chosen = named or releases_to_judge(None, running)[-1]
        return side(name, chosen), side(other, chosen), chosen
    if other is not None or osd_id is None:
        raise _invalid('name either a second profile, or an OSD with --osd, to compare with')
    facts = osd_by_id(osds, osd_id)
    if facts.options is None:
        raise _invalid(f'the running options of osd.{osd_id} are not known yet')
    of_osd = named or release_of_osd(facts.info)
    if of_osd is None:
        raise _invalid(f'osd.{osd_id} runs an unknown release: name one with --release')
    to = side(name, of_osd)
    to = replace(to, options=in_force(to.options, facts.options.kept_annex))
    return Side(f'osd.{osd_id}', facts.options.running), to, of_osd


def compare(side_from: Side, side_to: Side, release: KnownRelease) -> Comparison:
    """Compare two option strings on OSDs of ``release``.

    Raises BadQuestionError (EINVAL) for a string that cannot be parsed.
    """
    both = (side_from, side_to)
    written = [_parsed(side, release.rocksdb_version) for side in both]
    plain_from, plain_to = (normalize(options) for options in written)
    results = [judge(side.options, (release,)).worst.result for side in both]
    before, after = (result.effective for result in results)
    names = {difference.option for difference in diff(*written)}
    if before and after:
        known = before.keys() | after.keys()
        # Different spellings of the same effective value are no difference.
        names = names - known | {name for name in known if before.get(name) != after.get(name)}
    refused, not_judged = (
        tuple(side.name for side, result in zip(both, results) if result.accepted is accepted)
        for accepted in (False, None)
    )
    changes = tuple(
        OptionChange(
            option=name,
            written_from=written[0].get(name),
            written_to=written[1].get(name),
            effective_from=before.get(name),
            effective_to=after.get(name),
            follows=plain_from.get(name) == plain_to.get(name),
            info=catalogue().options.get(name.partition('.')[0]),
        )
        for name in sorted(names)
    )
    return Comparison(release, side_from, side_to, changes, refused, not_judged)


def _parsed(side: Side, version: str) -> OptionSet:
    try:
        return as_read_by(parse(side.options), version)
    except OptionSyntaxError as error:
        raise _invalid(f'{side.name}: Ceph refuses the string: {error}') from None


def _invalid(message: str) -> BadQuestionError:
    return BadQuestionError(errno.EINVAL, message)


def subjects(
    osds: Sequence[OsdFacts],
    *,
    osd_id: Optional[int] = None,
    device_class: Optional[str] = None,
    release: Optional[str] = None,
    overrides: Overrides = NO_OVERRIDES,
) -> tuple[Subject, ...]:
    """Subjects of a check: one OSD, a device class, or all OSDs.

    ``overrides`` replace known values. OSDs with the same release and annex form one subject with
    the weakest hardware of them. For a release that no OSD runs, all selected OSDs are checked as
    after an upgrade. Raises BadQuestionError: ENOENT for unknown OSDs, else EINVAL.
    """
    chosen = _chosen(osds, osd_id, device_class)
    wanted = find_release(release) if release is not None else None
    running = [facts for facts in chosen if wanted in (None, release_of_osd(facts.info))]
    found = _by_release_and_annex(running, wanted, overrides)
    if found:
        return found
    if wanted is not None:
        # No OSD runs it yet: check as after an upgrade.
        planned = _by_release_and_annex(chosen, wanted, overrides)
        return planned or (Subject(wanted, hardware=hardware_of_osd(None, overrides)),)
    if osd_id is not None or device_class is not None:
        raise _invalid(
            'these OSDs run a release that is unknown to this module: name one with --release'
        )
    return tuple(
        Subject(r, hardware=hardware_of_osd(None, overrides)) for r in releases_to_judge(None, ())
    )


def _chosen(
    osds: Sequence[OsdFacts], osd_id: Optional[int], device_class: Optional[str]
) -> Sequence[OsdFacts]:
    if osd_id is not None and device_class is not None:
        raise _invalid('name an OSD or a device class, not both')
    if osd_id is not None:
        return [osd_by_id(osds, osd_id)]
    chosen = [f for f in osds if device_class in (None, f.info.device_class)]
    if device_class is not None and not chosen:
        classes = ', '.join(sorted({f.info.device_class for f in osds if f.info.device_class}))
        raise BadQuestionError(
            errno.ENOENT,
            f'no OSD has the device class "{device_class}"; device classes: '
            f'{classes or "none yet"}',
        )
    return chosen


def _by_release_and_annex(
    osds: Iterable[OsdFacts], planned: Optional[KnownRelease], overrides: Overrides
) -> tuple[Subject, ...]:
    alike: dict[tuple[KnownRelease, str], list[OsdFacts]] = {}
    for facts in osds:
        release = planned or release_of_osd(facts.info)
        if release is not None:
            annex = facts.options.kept_annex if facts.options else ''
            alike.setdefault((release, annex), []).append(facts)
    return tuple(
        Subject(
            release,
            tuple(sorted(facts.info.osd_id for facts in members)),
            reduce(Hardware.weakest, (hardware_of_osd(facts, overrides) for facts in members)),
            annex,
        )
        for (release, annex), members in alike.items()
    )


def hardware_of_osd(facts: Optional[OsdFacts], overrides: Overrides = NO_OVERRIDES) -> Hardware:
    """Hardware of an OSD, or of none, with an operator's overrides."""
    settings, devices = (facts and facts.settings) or {}, devices_of(facts, overrides)
    families: Optional[tuple[OptionSet, ...]] = None
    if overrides.columns is not None:
        families = tuple(c.options for c in overrides.columns for _shard in range(c.shards))
    elif facts is not None and facts.sharded is False:
        # The column family "default" only.
        families = (OptionSet(()),)
    set_names = (name for name in RELATED_OPTIONS if name in settings)
    return Hardware(
        cores=overrides.cores,
        memory_target_bytes=memory_target_of(facts, overrides),
        wal_device_bytes=devices.wal_bytes,
        db_device_bytes=devices.db_bytes,
        families=families,
        related_options=tuple((name, settings[name].value) for name in set_names),
    )
