"""The option string that replaces another, and why. Pure.

Where only options with an objection need to change, all others stay. Otherwise the default of later
releases takes their place, or what is derived for these OSDs if it does not fit. A change of one or
two options is made in the annex, and entries that equal the default are removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

from ..options.grammar import combine, diff, in_force
from ..options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from ..plan.records import ANNEX, OPTION, starts_alike
from .candidates import infeasible, successor_of
from .case import Case
from .facts import name_osds
from .objections import Name, Objection
from .profiles import Profile, recognize, suits
from .records import OsdFacts, Reason, names
from .strings import check, safe_to_apply
from .weighing import Origin, Weighed
from .whatif.derive import Derivation, derive


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


def target_of(case: Case, chosen: Weighed) -> Target:
    """A candidate with the reasons for it."""
    if chosen.origin is Origin.DERIVED:
        return _derived(case, Reason.of('derived'))
    found = _known(case, chosen.options)
    if found.profile is None or case.writer is None:
        return found
    suitability = suits(found.profile, case.writer.workload_class, case.release)
    texts = suitability.reasons if suitability else ()
    reasons = tuple(Reason.of('suits', text=text, profile=found.profile) for text in texts)
    return found._replace(reasons=reasons)


def default_target(case: Case) -> Target:
    """The release's default."""
    return _known(case, case.release.default_options)


def _known(case: Case, text: str, *reasons: Reason) -> Target:
    return Target(text, recognize(text, case.release), reasons)


def fixed(case: Case, objections: Sequence[Objection]) -> Optional[Target]:
    """The running options without ``objections``; None if nothing fits these OSDs."""
    names = {o.name for o in objections}
    if Name.SUPERSEDED not in names:
        warned = [o for o in objections if o.name is not Name.MISFIT]
        found = _repaired(case, warned) if warned else None
        if found is None and Name.MISFIT in names:
            found = _resized(case)
        if found is not None:
            return found
        if names == {Name.HARMFUL}:
            # What else is in the string may be as good as any other.
            return None
    successor = _known(case, successor_of(case.release))
    title = successor.profile.title if successor.profile else 'The default of later releases'
    derived = _derived(case, Reason.of('successor-misfits', title=title))
    for target in (successor, derived, default_target(case)):
        unlike = not case.alike(target.options, case.running) and not case.misfits(target.options)
        if unlike and not infeasible(case, target.options, case.running):
            return target
    return None if names == {Name.MISFIT} else successor


def _derived(case: Case, why: Reason) -> Target:
    found = derive(case.situation)
    return _known(case, found.options, why, *_of_sizes(found))


def _of_sizes(found: Derivation) -> tuple[Reason, ...]:
    chosen = {choice.option: choice for choice in found.choices}
    return tuple(Reason.of('derived-option', choice=chosen[name]) for name in _EXPLAINED)


def _resized(case: Case) -> Optional[Target]:
    """The running options with sizes that fit; None if they are a known profile.

    All other options remain, since there is no objection to them.
    """
    if recognize(case.running, case.release) is not None:
        return None
    found = derive(case.situation)
    goals = {choice.option: choice.value for choice in found.choices}
    sizes = {name: goals.get(name) for name in _SIZES}
    return _replaced(case, sizes, Reason.of('resized'), *_of_sizes(found))


def _repaired(case: Case, objections: Sequence[Objection]) -> Optional[Target]:
    """The running options with the release's values for options with a warning.

    If that is not enough, options that the rules weigh together with them change as well. None if
    that is unsafe.
    """
    named = [o.option for o in objections if o.option is not None]
    if len(named) < len(objections):
        return None
    weighed = [name for o in objections for name in o.weighs]
    default = parse(case.release.default_options)
    for changed, what in (
        (named, 'with a warning'),
        ([*named, *weighed], 'that cause the warnings'),
    ):
        values = {name: default.get(name) for name in changed}
        found = _replaced(case, values, Reason.of('repaired', what=what))
        if found is not None:
            return found
    return None


def _replaced(case: Case, values: dict[str, Optional[str]], *reasons: Reason) -> Optional[Target]:
    """The running options with ``values``; None if they cannot be read or there are objections."""
    try:
        text = format(parse(case.running).replaced(values))
    except OptionSyntaxError:
        return None
    if case.misfits(text):
        return None
    if case.is_default(text):
        return default_target(case)
    if safe_to_apply(text, case.release.rocksdb_version) or case.standing(text):
        return None
    return _known(case, text, *reasons)


#: A larger change is a complete tuning, kept together in the option string.
_MOST_OPTIONS = 2


def annex_for(case: Case, options_to: str) -> Optional[str]:
    """Annex with which these OSDs run ``options_to``; None: change the option string.

    Only for OSDs that run their release's default without any entry: all other options then follow
    the default, also of the next release.
    """
    default, version = case.release.default_options, case.release.rocksdb_version
    if case.deciding_entries or not case.is_default(case.running):
        return None
    try:
        changes = diff(parse(default), parse(options_to))
    except OptionSyntaxError:
        return None
    values = {change.option: change.value_to for change in changes}
    # An option that the string leaves out has RocksDB's default, which an annex cannot restore.
    if not 0 < len(values) <= _MOST_OPTIONS or None in values.values():
        return None
    annex = format(parse('').replaced(values))
    if names('tuned-together') & set(values) or not case.alike(combine(default, annex), options_to):
        return None
    return None if safe_to_apply(in_force(default, annex), version) else annex


def redundant_entry(case: Case) -> Optional[Reason]:
    """Why an entry that equals the default should be removed; None if it has another value."""
    (first, *others), label = case.deciding_entries, case.release.label
    if case.annex is not None:
        holder = 'Each entry for a single OSD' if others else f'The entry for {first}'
        return Reason.of(
            'redundant-annex', holder=holder, option=ANNEX, annex=case.annex, label=label
        )
    # Options that cannot be checked may have an effect.
    accepted = check(case.running, case.release.rocksdb_version).accepted
    if not accepted or not case.is_default(case.running):
        return None
    holder = f'Each entry of {1 + len(others)} single OSDs' if others else first
    return Reason.of('redundant-entry', holder=holder, label=label)


def other_affected_osds(who: str, case: Case) -> list[int]:
    """Other OSDs that would start with other options without the entry, outside of any rollout.

    Not those that are down: see `down_osds`.
    """
    reached = {osd.info.osd_id for osd in case.osds}
    others = (o for o in case.known.all_osds if o.info.up and o.info.osd_id not in reached)
    return [o.info.osd_id for o in others if not _starts_alike_without(who, case, o)]


def _starts_alike_without(who: str, case: Case, osd: OsdFacts) -> bool:
    options = osd.options
    if options is None:
        return False
    option, value, holder = OPTION, case.running, options.deciding_who
    if case.annex is not None:
        option, value, holder = ANNEX, case.annex, options.annex_who
    # With an option string the annex may belong to it.
    alone = options.deciding_who is None and not options.overruled
    before = {who: value} if holder == who else {}
    return starts_alike(option, osd.info, before, {}, {} if alone else None)


def down_osds(case: Case) -> tuple[Reason, ...]:
    """OSDs that may start without the entry later; those down and out do not count."""
    infos = (o.info for o in case.known.all_osds)
    down = [info.osd_id for info in infos if info.in_cluster and not info.up]
    return (Reason.of('down-osds', osds=name_osds(down)),) if down else ()
