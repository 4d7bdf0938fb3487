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
from .whatif.derive import Choice, derive


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
_DERIVE = 'ceph rocksdb-tuner profile derive'


def target_of(case: Case, chosen: OptionCandidate) -> Target:
    """A candidate with the reasons for it."""
    if chosen.origin is Origin.DERIVED:
        why = Reason(
            'No published profile fits these OSDs as well as an option string derived from the '
            'same goals, which was not tested as a whole.',
            _DERIVE,
        )
        return _derived(case, why)
    found = _known(case, chosen.options)
    if chosen.profile is None or case.writer is None:
        return found
    suitability = suits(chosen.profile, case.writer.workload_class, case.release)
    texts = suitability.reasons if suitability else ()
    return found._replace(reasons=tuple(Reason(text, chosen.profile.source) for text in texts))


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
    name = successor.profile.title if successor.profile else 'The default of later releases'
    why = Reason(
        f'{name} would not fit these OSDs, so an option string derived from the same goals is '
        'proposed, which was not tested as a whole.',
        _DERIVE,
    )
    for target in (successor, _derived(case, why), default_target(case)):
        if _fits(case, target.options):
            return target
    return None if names == {Name.MISFIT} else successor


def _fits(case: Case, text: str) -> bool:
    if case.alike(text, case.running) or case.misfits(text):
        return False
    return not infeasible(case, text, case.running)


def _derived(case: Case, why: Reason) -> Target:
    found = derive(case.situation)
    choices = {choice.option: choice for choice in found.choices}
    return _known(case, found.options, why, *(_why(choices[name]) for name in _EXPLAINED))


def _why(choice: Choice) -> Reason:
    return Reason(f'{choice.option}={choice.value}: {choice.why}', choice.source)


def _resized(case: Case) -> Optional[Target]:
    """The running options with sizes that fit; None if they are a known profile.

    All other options remain, since there is no objection to them.
    """
    if recognize(case.running, case.release) is not None:
        return None
    goals = {choice.option: choice for choice in derive(case.situation).choices}
    sizes: dict[str, Optional[str]] = {
        name: goals[name].value if name in goals else None for name in _SIZES
    }
    why = Reason(
        'Only sizes change, to values derived from the published goals for these OSDs; all other '
        'options stay.',
        _DERIVE,
    )
    whys = tuple(_why(goals[name]) for name in _EXPLAINED)
    return _replaced(case, sizes, why, *whys)


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
        why = Reason(
            f"Only the options {what} change, to the release's values; all others stay.",
            'rule of this module',
        )
        found = _replaced(case, {name: default.get(name) for name in names}, why)
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
