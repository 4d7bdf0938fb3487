"""The option string that replaces one with objections, and why. Pure.

Where only the options with an objection need to change, all others stay. Otherwise the default of
later releases takes their place, or what is derived for these OSDs if it does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

from ..options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from .candidates import infeasible, successor_of
from .case import Case
from .objections import Name, Objection
from .profiles import Profile
from .records import Reason
from .strings import recognize, safe_to_apply, suits
from .weighing import OptionCandidate, Origin
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


def target_of(case: Case, chosen: OptionCandidate) -> Target:
    """A candidate with the reasons for it."""
    if chosen.origin is Origin.DERIVED:
        return _derived(case, Reason.of('derived'))
    found = _known(case, chosen.options)
    if chosen.profile is None or case.writer is None:
        return found
    suitability = suits(chosen.profile, case.writer.workload_class, case.release)
    texts = suitability.reasons if suitability else ()
    reasons = tuple(Reason.of('suits', text=text, profile=chosen.profile) for text in texts)
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
    for names, what in ((named, 'with a warning'), ([*named, *weighed], 'that cause the warnings')):
        values = {name: default.get(name) for name in names}
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
    if case.alike(text, case.release.default_options):
        return default_target(case)
    if safe_to_apply(text, case.release.rocksdb_version) or case.standing(text):
        return None
    return _known(case, text, *reasons)
