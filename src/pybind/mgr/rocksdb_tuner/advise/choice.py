"""The option string that a group of OSDs should run, and why. Pure.

The choice starts with the best published profile for the workload, and adapts it to the devices,
the memory and the findings of these OSDs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

from ..options.compression import LZ4, NO_COMPRESSION
from ..options.releases import KnownRelease
from ..options.syntax import OptionSet, OptionSyntaxError, format, parse  # noqa: A004
from ..workload.records import WorkloadClass
from ..workload.writer import Writer
from .candidates import objectives, packs, resource_of_writer, weighed_for
from .case import Case, fits
from .objections import Objection
from .profiles import Profile, few_cores, profiles
from .records import Reason
from .strings import recognize, safe_to_apply, same_meaning, suits
from .weighing import OptionCandidate, Origin
from .whatif.derive import Choice, derive

__all__ = [
    'MIN_GAIN',
    'Target',
    'best_profile',
    'default_target',
    'score',
    'target_for',
]

#: A profile replaces the release default only with a suitability (0..1) that is higher by this
#: much: published gains over modern defaults are single-digit percents, and defaults have had QA.
MIN_GAIN = 0.2


class Target(NamedTuple):
    """The option string to change to."""

    options: str
    #: None if it is not a known profile.
    profile: Optional[Profile]
    reasons: tuple[Reason, ...]


#: Options that depend on the available space, and those that the reasons explain.
_SIZES = (
    'max_total_wal_size',
    'write_buffer_size',
    'max_write_buffer_number',
    'min_write_buffer_number_to_merge',
    'level0_file_num_compaction_trigger',
    'max_bytes_for_level_base',
    'max_bytes_for_level_multiplier',
)
_EXPLAINED = ('max_total_wal_size', 'write_buffer_size', 'min_write_buffer_number_to_merge')


def target_for(case: Case) -> Target:
    """The best option string for these OSDs, independent of the running options."""
    default = default_target(case)
    if case.writer is None or case.why_no_tuning is not None:
        return default
    own = resource_of_writer(case)
    resources = (*objectives(case), *(() if own is None else (own,)))
    found = weighed_for(case, resources, default.options)
    if found is None:
        return default
    if not found.knows:
        return published_target(case, case.writer)
    if found.chosen is not None:
        return target_of(case, found.chosen.candidate)
    if packs(case, case.running) and not packs(case, default.options):
        return published_target(case, case.writer)
    if default.profile is not None:
        default = _of_profile(case, default.profile, case.writer)
    return fitting(case, default) or default


def target_of(case: Case, chosen: OptionCandidate) -> Target:
    """A candidate with the reasons for it."""
    if chosen.profile is not None and case.writer is not None:
        return _of_profile(case, chosen.profile, case.writer)
    if chosen.origin is Origin.DERIVED:
        choices = {choice.option: choice for choice in derive(case.situation).choices}
        why = Reason(
            'No published profile fits these OSDs as well as an option string derived from the '
            'same goals, which was not tested as a whole.',
            'ceph rocksdb-tuner profile derive',
        )
        return Target(chosen.options, None, (why, *(_why(choices[name]) for name in _EXPLAINED)))
    if chosen.origin is Origin.NEIGHBOR:
        return Target(chosen.options, None, (_ONLY_COMPRESSED,))
    return Target(chosen.options, chosen.profile, ())


def published_target(case: Case, writer: Writer) -> Target:
    """The target from published results alone, for a workload without a model."""
    default = default_target(case)
    best, suits_best = best_profile(writer.workload_class, case.release)
    of_default = score(
        recognize(case.release.default_options, case.release), writer.workload_class, case.release
    )
    if suits_best - of_default < MIN_GAIN:
        best = default.profile
    if best is None:
        return default
    found = _of_profile(case, best, writer)
    return _fitting_published(case, _compressed(case, found, writer))


def default_target(case: Case) -> Target:
    """The release's default."""
    text = case.release.default_options
    return Target(text, recognize(text, case.release), ())


def _of_profile(case: Case, best: Profile, writer: Writer) -> Target:
    suitability = suits(best, writer.workload_class, case.release)
    texts = suitability.reasons if suitability else ()
    return Target(best.options, best, tuple(Reason(text, best.source) for text in texts))


def _compressed(case: Case, found: Target, writer: Writer) -> Target:
    """Replace an uncompressed profile by a compressed one if space is short or data would grow."""
    if case.effective(found.options).get('compression') != NO_COMPRESSION:
        return found
    if case.effective(case.running).get('compression', NO_COMPRESSION) != NO_COMPRESSION:
        short = 'The running data is compressed, and would grow without compression.'
    elif case.db_space_short is not None:
        short = case.db_space_short
    else:
        return found
    candidates = [
        p
        for p in profiles()
        if suits(p, writer.workload_class, case.release)
        and case.effective(p.options).get('compression') == LZ4
    ]
    if not candidates:
        return found
    best = max(candidates, key=lambda p: (score(p, writer.workload_class, case.release), p.name))
    why = Reason(
        f'{short} LZ4 keeps metadata small, so a compressed profile is chosen.',
        'D. A. Parkes, We Tested RocksDB LZ4 Compression in IBM Storage Ceph, 2025',
    )
    chosen = _of_profile(case, best, writer)
    return chosen._replace(reasons=(why, *chosen.reasons))


def _fitting_published(case: Case, found: Target) -> Target:
    """Replace a published profile that is too large by a derived one."""
    if not case.effective(found.options) or fits(case, found.options):
        return found
    return _derived(case, found) or found


def fitting(case: Case, found: Target) -> Optional[Target]:
    """``found``, or a derived option string if it does not fit; None if neither fits."""
    if not case.misfits(found.options):
        return found
    derived = _derived(case, found)
    return None if derived is None or case.misfits(derived.options) else derived


def resized(case: Case) -> Optional[Target]:
    """The running options with sizes that fit; None if they are a known profile.

    All other options remain, since there is no objection to them.
    """
    if recognize(case.running, case.release) is not None:
        return None
    goals = {choice.option: choice for choice in derive(case.situation).choices}
    sizes: dict[str, Optional[str]] = {
        name: goals[name].value if name in goals else None for name in _SIZES
    }
    try:
        sized = parse(case.running).replaced(sizes)
    except OptionSyntaxError:
        return None
    for text in (format(sized), _with_compression(sized)):
        if safe_to_apply(text, case.release.rocksdb_version):
            continue
        against = (*case.standing(text), *case.misfits(text))
        if not against and not case.under_workload(text):
            why = Reason(
                'Only sizes change, to values derived from the published goals for these OSDs; all '
                'other options stay.',
                'ceph rocksdb-tuner profile derive',
            )
            whys = tuple(_why(goals[name]) for name in _EXPLAINED)
            return Target(text, recognize(text, case.release), (why, *whys))
    return None


def _why(choice: Choice) -> Reason:
    return Reason(f'{choice.option}={choice.value}: {choice.why}', choice.source)


def _derived(case: Case, found: Target) -> Optional[Target]:
    """Options derived from the published goals; None if superseded or not safe to apply."""
    derived = derive(case.situation)
    compressed = _to_be_compressed(case, found)
    text = _with_compression(parse(derived.options)) if compressed else derived.options
    profile = recognize(text, case.release)
    if profile is not None and profile.superseded:
        return None
    if safe_to_apply(text, case.release.rocksdb_version):
        return None
    choices = {choice.option: choice for choice in derived.choices}
    whys = tuple(_why(choices[name]) for name in _EXPLAINED)
    name = found.profile.title if found.profile else 'The published profile'
    why = Reason(
        f'{name} would not fit these OSDs, so an option string derived from the same goals is '
        'proposed, which was not tested as a whole.',
        'ceph rocksdb-tuner profile derive',
    )
    return Target(text, profile, (why, *whys))


def _to_be_compressed(case: Case, found: Target) -> bool:
    """Whether metadata would grow or run out of space without compression."""
    if case.db_space_short is not None:
        return True
    compressions = [
        case.effective(text).get('compression', NO_COMPRESSION)
        for text in (found.options, case.running)
    ]
    if few_cores(case.cohort.group.cores):
        return False
    return compressions[0] == LZ4 or compressions[1] != NO_COMPRESSION


def _with_compression(options: OptionSet) -> str:
    """``options`` with LZ4 and nothing else changed."""
    return format(options.replaced({'compression': LZ4}))


def only_compressed(case: Case) -> Optional[Target]:
    """The running options with LZ4 as the only change; None if not safe to apply."""
    try:
        text = _with_compression(parse(case.running))
    except OptionSyntaxError:
        return None
    if safe_to_apply(text, case.release.rocksdb_version):
        return None
    profile = recognize(text, case.release)
    if profile is not None and profile.superseded:
        return None
    return Target(text, profile, (_ONLY_COMPRESSED,))


_ONLY_COMPRESSED = Reason(
    'There is no other objection to the running options, so only compression changes.',
    'rule of this module',
)


def repaired(case: Case, objections: Sequence[Objection]) -> Optional[Target]:
    """The running options with the release's values for options with a warning; None if unsafe.

    If that is not enough, options that the rules weigh together with them change as well.
    """
    named = [o.option for o in objections if o.option is not None]
    if len(named) < len(objections):
        return None
    weighed = [name for o in objections for name in o.weighs]
    return _with_release_values(case, named, _ONLY_WARNED) or _with_release_values(
        case, [*named, *weighed], _ONLY_CAUSES
    )


_ONLY_WARNED = Reason(
    "Only options with a warning change, to the release's values; all others stay.",
    'rule of this module',
)
_ONLY_CAUSES = Reason(
    "Only the options that cause the warnings change, to the release's values; all others stay.",
    'rule of this module',
)


def _with_release_values(case: Case, names: Sequence[str], why: Reason) -> Optional[Target]:
    """The running options with the release's values of ``names``; None if still warned about."""
    try:
        mine, default = parse(case.running), parse(case.release.default_options)
        text = format(mine.replaced({name: default.get(name) for name in names}))
    except OptionSyntaxError:
        return None
    version = case.release.rocksdb_version
    if same_meaning(text, case.release.default_options, version):
        return default_target(case)
    if safe_to_apply(text, version) or case.standing(text):
        return None
    return Target(text, recognize(text, case.release), (why,))


def best_profile(
    workload_class: WorkloadClass, release: KnownRelease
) -> tuple[Optional[Profile], float]:
    """The most suitable published profile; (None, 0.0) if there is none."""
    scored = [(score(p, workload_class, release), p) for p in profiles()]
    # max() returns the first of equals: the catalog lists the best-tested profile first.
    best_score, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return (best, best_score) if best_score > 0 else (None, 0.0)


def score(
    profile: Optional[Profile], workload_class: WorkloadClass, release: KnownRelease
) -> float:
    """Suitability of a published profile; 0 if unknown."""
    if profile is None:
        return 0.0
    suitability = suits(profile, workload_class, release)
    return suitability.score if suitability else 0.0
