"""Option strings, options and profiles: `check`, `explain`, `model` and `profile`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Optional, Union

from ..advise.profiles import Profile
from ..advise.whatif.compare import Comparison, OptionChange
from ..advise.whatif.situation import Situation
from ..advise.whatif.tree import TreeAnswer
from ..lsm.calibration import Formula, calibration
from ..lsm.records import LevelsModel
from ..notes import InPlace, Picked
from ..options.catalogue import OptionInfo, RelatedOption
from ..options.checks import Problem
from ..options.effective import as_read_by
from ..options.syntax import OptionSyntaxError, parse
from ..options.verdict import ReleaseVerdict, Verdict
from ..units import UNKNOWN
from .layout import Column, bullets, fields, filled, joined, paragraph, sections, table, titled
from .phrases import COMMAND, SEVERITY_MARKS, osd_names

Info = Union[OptionInfo, RelatedOption]

_ACCEPTED = {True: 'accepted', False: 'NOT accepted', None: 'unknown'}
_STARTS = {
    True: 'yes: an OSD starts with these options',
    False: 'NO: an OSD does not start with these options',
    None: 'UNKNOWN: cannot determine whether an OSD starts with these options',
}
_READ: Sequence[Column[Sequence[str]]] = (
    Column('OPTION', itemgetter(0)),
    Column('GIVEN', itemgetter(1)),
    Column('EFFECTIVE', itemgetter(2)),
)


def check(verdict: Verdict) -> str:
    """Whether an OSD would start, the effective options and problems."""
    worst, subject = verdict.worst, verdict.worst.subject
    others = (f'{v.release.label}: {_ACCEPTED[v.result.accepted]}' for v in verdict.by_release[1:])
    return sections(
        fields(
            ('Release', filled('{release.label}, RocksDB {release.rocksdb_version}', worst)),
            ('Accepted', _STARTS[worst.result.accepted]),
            ('For', osd_names(subject.osd_ids) if subject.osd_ids else None),
            ('With annex', subject.annex or None),
            ('Other releases', ', '.join(others) or None),
        ),
        titled('Problems', joined(*map(_problem, worst.result.problems))),
        titled('Read differently', table(_READ, _read_differently(worst), indent=2)),
        titled('Assumptions', bullets(verdict.assumptions)),
    )


def _read_differently(verdict: ReleaseVerdict) -> Iterable[Sequence[str]]:
    """The given options whose effective value differs."""
    effective, version = verdict.result.effective, verdict.release.rocksdb_version
    try:
        written = as_read_by(parse(verdict.text), version) if verdict.result.accepted else None
    except OptionSyntaxError:
        return
    for name, value in written.as_dict().items() if written else ():
        if re.sub(r'\.0+$', '', effective.get(name, '')) != value:
            yield name, value, effective.get(name, UNKNOWN)


def _problem(problem: Problem) -> str:
    label = f'  {SEVERITY_MARKS[problem.severity]} '
    text = joined(problem.option, problem.message, by=': ')
    return paragraph(f'{text} ({problem.rule}; {problem.source})', len(label), label)


_OPTIONS: Sequence[Column[Info]] = (
    Column('OPTION', 'name'),
    Column('FOR', lambda info: info.scope if isinstance(info, OptionInfo) else 'osd'),
    Column('TYPE', 'value_type'),
    Column('DANGER', 'danger.level'),
)


def option_list(options: Sequence[Info]) -> str:
    """A row per option."""
    return table(_OPTIONS, options)


def comparison(compared: Comparison) -> str:
    """The differences between two option strings, and an explanation of each."""
    head = fields(
        ('From', compared.side_from.name),
        ('To', compared.side_to.name),
        ('Release', filled('{release.label}, RocksDB {release.rocksdb_version}', compared)),
    )
    if not compared.changes:
        return sections(head, 'No difference: both result in the same effective options.')
    columns: Sequence[Column[OptionChange]] = (
        Column('OPTION', 'option'),
        Column('FROM', lambda c: _value(c.written_from, c.effective_from)),
        Column('TO', lambda c: _value(c.written_to, c.effective_to)),
    )
    unknown = 'It is unknown whether an OSD starts with'
    return sections(
        head,
        bullets(
            (
                *(f'OSDs do not start with {name}.' for name in compared.refused),
                *(f'{unknown} {name}.' for name in compared.not_judged),
            )
        ),
        table(columns, compared.changes),
        f'What an option does: {COMMAND} explain <option>',
    )


def _value(written: Optional[str], effective: Optional[str]) -> Optional[str]:
    """The effective value, and the given one if it differs."""
    if effective is None:
        return written
    return effective if written in {None, effective} else f'{effective} ({written})'


_SUPERSEDED_MARK = '*'


def _profile_name(p: Profile) -> str:
    mark = '' if p.superseded is None else _SUPERSEDED_MARK
    return f'{p.name}{mark} (custom)' if p.own else p.name + mark


_PROFILES: Sequence[Column[Profile]] = (
    Column('NAME', _profile_name),
    Column('SUITS', lambda p: ', '.join(w.value for w in p.workloads) or UNKNOWN),
)


def profile_list(profiles: Sequence[Profile]) -> str:
    """All profiles, the best-tested first."""
    see = f'see "{COMMAND} profile show <name>"'
    note = paragraph(f'{_SUPERSEDED_MARK} superseded, some only on newer releases: {see}')
    superseded = any(p.superseded is not None for p in profiles)
    return sections(table(_PROFILES, profiles), note if superseded else '')


@dataclass(frozen=True)
class Model:
    """Model of an OSD's RocksDB with an option string."""

    answer: Annotated[TreeAnswer, InPlace()]
    inputs: Annotated[
        Situation,
        Picked('workload', 'load', 'objects', 'memory_target_bytes', 'cores', 'devices', 'columns'),
        'Inputs of the model; null: unknown.',
    ]
    assumptions: Annotated[tuple[str, ...], 'Assumptions in place of unknown inputs.']
    level0: Annotated[
        LevelsModel,
        Picked('level0_files', 'level0_bytes', 'level0_to_level1'),
        'Level 0, which receives the flushes.',
    ]
    sources: Annotated[tuple[Formula, ...], 'Formulas of the quantities.']
    measured: Annotated[str, 'Source of the measured parameters and intervals.']


def model_of(answer: TreeAnswer) -> Model:
    model, known, inputs = answer.model, calibration(), answer.situation
    assumed = model.assumptions
    return Model(answer, inputs, assumed, model.levels, known.formulas, known.source)
