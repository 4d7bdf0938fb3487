"""The JSON of `check` and `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from ..advise.compare import Comparison, Side
from ..options.catalogue import OptionInfo
from ..options.checks import Problem
from ..options.neighbours import NeighbourInfo
from ..options.verdict import Verdict
from .json_types import JsonObject

__all__ = ['check', 'comparison', 'explain', 'option_list']


def check(verdict: Verdict) -> JsonObject:
    """Three answers apart: would it start, what would be in effect, what is unwise."""
    worst = verdict.worst
    return {
        'options': verdict.text,
        'release': worst.release.name,
        'rocksdb_version': worst.release.rocksdb_version,
        'accepted': worst.result.accepted,
        'effective': dict(sorted(worst.result.effective.items())),
        'problems': [_problem(problem) for problem in worst.result.problems],
        'releases': [
            {
                'release': one.release.name,
                'since': one.release.since,
                'rocksdb_version': one.release.rocksdb_version,
                'accepted': one.result.accepted,
                'errors': one.count('error'),
                'warnings': one.count('warning'),
                'osds': list(one.subject.osd_ids),
                'annex': one.subject.annex,
            }
            for one in verdict.by_release
        ],
        'assumptions': list(worst.subject.hardware.assumptions),
    }


def option_list(options: Sequence[Union[OptionInfo, NeighbourInfo]]) -> list[JsonObject]:
    """A row per option."""
    return [
        {
            'option': info.name,
            'scope': 'neighbour' if isinstance(info, NeighbourInfo) else info.scope,
            'type': info.value_type if isinstance(info, NeighbourInfo) else info.value_type.value,
            'unit': info.unit,
            'danger': info.danger.level if info.danger else None,
            'meaning': info.meaning,
        }
        for info in options
    ]


def explain(info: Union[OptionInfo, NeighbourInfo]) -> JsonObject:
    """All that is known of one option."""
    if isinstance(info, NeighbourInfo):
        return _neighbour(info)
    return {
        **option_list([info])[0],
        'defaults': {version: facts.default for version, facts in info.versions.items()},
        'no_effect': {version: facts.no_effect for version, facts in info.versions.items()},
        'minimum': info.bounds.minimum if info.bounds else None,
        'maximum': info.bounds.maximum if info.bounds else None,
        'values': [
            {'name': choice.name, 'starts': choice.starts, 'since': choice.since}
            for choice in info.choices
        ],
        'sane': {'minimum': info.sane.minimum, 'maximum': info.sane.maximum, 'why': info.sane.why}
        if info.sane
        else None,
        'danger': {'level': info.danger.level, 'why': info.danger.why} if info.danger else None,
        'set_by_module': info.assessed,
        'needs_restart': info.needs_restart,
        'source': info.source,
        'change_when': info.change_when,
        'leave_when': info.leave_when,
        'deprecated': info.deprecated,
        'mutable_in_rocksdb': info.mutable_in_rocksdb,
        'takes_effect': 'restart',
        'members': [
            {
                'name': member.name,
                'type': member.value_type.value if member.value_type else 'ignored',
                'defaults': dict(member.defaults),
            }
            for member in info.members
        ],
    }


def _neighbour(info: NeighbourInfo) -> JsonObject:
    """The same names: what an option beside the string does not have is null or empty."""
    return {
        **option_list([info])[0],
        'defaults': dict(info.defaults),
        'no_effect': dict.fromkeys(info.defaults),
        'minimum': None,
        'maximum': None,
        'values': [],
        'sane': None,
        'danger': {'level': info.danger.level, 'why': info.danger.why} if info.danger else None,
        'set_by_module': info.name in _SET_BY_MODULE,
        'needs_restart': info.takes_effect != 'at-once',
        'source': info.source,
        'change_when': info.change_when,
        'leave_when': info.leave_when,
        'deprecated': None,
        'mutable_in_rocksdb': False,
        'takes_effect': info.takes_effect,
        'members': [],
    }


#: The one option that a rollout changes.
_SET_BY_MODULE = frozenset({'bluestore_rocksdb_options'})


def comparison(compared: Comparison) -> JsonObject:
    """Two option sets, option by option."""
    return {
        'release': compared.release.name,
        'rocksdb_version': compared.release.rocksdb_version,
        'from': _side(compared.side_from),
        'to': _side(compared.side_to),
        'refused': list(compared.refused),
        'not_judged': list(compared.not_judged),
        'changes': [
            {
                'option': change.option,
                'written_from': change.written_from,
                'written_to': change.written_to,
                'effective_from': change.effective_from,
                'effective_to': change.effective_to,
                'follows': change.follows,
                'meaning': change.info.meaning if change.info else None,
                'change_when': change.info.change_when if change.info else None,
                'leave_when': change.info.leave_when if change.info else None,
                'source': change.info.source if change.info else None,
            }
            for change in compared.changes
        ],
    }


def _side(side: Side) -> JsonObject:
    return {'name': side.name, 'options': side.options}


def _problem(problem: Problem) -> JsonObject:
    return {
        'severity': problem.severity,
        'rule': problem.rule,
        'option': problem.option,
        'message': problem.message,
        'source': problem.source,
    }
