"""When to compact OSDs: after a change that applies only to new RocksDB files. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Protocol

from ..options.grammar import OptionSyntaxError, diff, parse
from ..plan.order import canary_first
from ..units import format_plural, natural
from .facts import places, release_of_osd
from .limit import storage_of
from .profiles import recognize
from .proposal import recommendation_id
from .records import (
    Decision,
    GroupFacts,
    Kind,
    OsdFacts,
    Prediction,
    Priority,
    Reason,
    Recommendation,
    Risk,
    names,
)
from .strings import same_meaning

#: The published metric a campaign measures.
DB_USED = 'BlueFS db_used_bytes'
#: Prefix of campaign ids in the history; rollout ids begin with "r".
CAMPAIGN = 'c'


class PastChange(Protocol):
    """A change, campaign or experiment in the history."""

    @property
    def rollout_id(self) -> str: ...
    @property
    def recommendation_id(self) -> str: ...
    @property
    def who(self) -> str: ...
    @property
    def options_from(self) -> str: ...
    @property
    def options_to(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def experiment(self) -> Optional[object]: ...


def compaction_advice(group: GroupFacts, history: Sequence[PastChange]) -> Optional[Recommendation]:
    """Recommend compacting the OSDs of ``group`` that run the result of the last such change.

    None if there was none, or they were compacted since.
    """
    changes = (r for r in history if not _is_campaign(r) and r.experiment is None)
    change = max((r for r in changes if _is_for(r, group)), key=_number, default=None)
    if change is None or change.outcome != 'done':
        return None
    options = _only_new_files(change)
    osds = [o for o in group.osds if o.info.up and _runs(o, change.options_to)]
    advice_id = recommendation_id(Kind.COMPACT, group.who, change.options_to)
    compacted = any(
        _is_campaign(r)
        and r.outcome == 'done'
        and _number(r) > _number(change)
        and (r.recommendation_id == advice_id or r.who in {'osd', group.who})
        for r in history
    )
    if not options or not osds or compacted:
        return None
    reason = Reason.of('only-new-files', change=change.rollout_id, options=' and '.join(options))
    predictions = _predictions(osds[0], change)
    where = places(osds)
    return Recommendation(
        recommendation_id=advice_id,
        kind=Kind.COMPACT,
        who=group.who,
        osds=canary_first(dict(where), {}),
        profile=None,
        options_from=change.options_to,
        options_to=change.options_to,
        reasons=(reason,),
        predictions=predictions,
        # It cannot be undone, and it slows down clients while it runs.
        risk=Risk.MEDIUM,
        priority=Priority.PLANNED,
        change=None,
        commands=(f'ceph rocksdb-tuner compact {group.who}',),
        undo_commands=(),
        decision=Decision(
            group.who,
            f'Compact {format_plural(len(osds), "OSD")}, one at a time',
            reason.statement,
            predictions[0].text if predictions else None,
            'write latency of an OSD while it compacts',
            'medium: cannot be undone; no restart',
            f'ceph rocksdb-tuner apply {advice_id}',
        ),
        places=where,
    )


def _is_campaign(record: PastChange) -> bool:
    return record.rollout_id.startswith(CAMPAIGN)


def _is_for(record: PastChange, group: GroupFacts) -> bool:
    own = {f'osd.{o.info.osd_id}' for o in group.osds}
    return record.who in {'osd', 'global', group.who} or record.who.partition('/')[0] in own


def _only_new_files(record: PastChange) -> Sequence[str]:
    """Options that it changed for new files only."""
    try:
        changes = diff(parse(record.options_from), parse(record.options_to))
    except OptionSyntaxError:
        return ()
    only = names('only-new-files')
    return [change.option for change in changes if change.option in only]


def _runs(osd: OsdFacts, options: str) -> bool:
    release = release_of_osd(osd.info)
    version = None if release is None else release.rocksdb_version
    return osd.options is not None and same_meaning(osd.options.running, options, version)


def _predictions(osd: OsdFacts, change: PastChange) -> tuple[Prediction, ...]:
    """The published space of a profile compared with the same options without compression."""
    release = release_of_osd(osd.info)
    profile = recognize(change.options_to, release)
    if (
        profile is None
        or release is None
        or 'compression=kNoCompression' not in change.options_from
    ):
        return ()
    for figure in profile.evidence:
        applies = release.name in figure.releases and storage_of(osd.info) in figure.hardware
        if figure.metric == DB_USED and applies:
            # Incompressible data gains nothing.
            ends = min(0.0, figure.change_percent), max(0.0, figure.change_percent)
            basis = f'{figure.setup}, against {figure.baseline}'
            return (Prediction(DB_USED, 'db_used_bytes', figure.change_percent, *ends, basis),)
    return ()


def _number(record: PastChange) -> int:
    return natural(record.rollout_id[1:]) or 0
