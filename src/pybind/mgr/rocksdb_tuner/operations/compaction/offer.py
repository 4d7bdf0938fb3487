"""When to recommend a campaign: after a change that applies only to new RocksDB files. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from ...advise.facts import places, release_of_osd, write_iops
from ...advise.proposal import predicted_effect, prediction_text, recommendation_id
from ...advise.records import (
    GroupFacts,
    Kind,
    OsdFacts,
    Prediction,
    Priority,
    Reason,
    Recommendation,
    Risk,
)
from ...advise.storage import storage_of
from ...advise.strings import recognize, same_meaning
from ...options.grammar import OptionSyntaxError, diff, parse
from ...plan.steps import Change, ShownSteps
from ...units import natural
from ..history import HistoryRecord
from ..phases import Outcome
from .records import CampaignRequest

#: Options that apply when a file is written. RocksDB reads existing files as they are and rewrites
#: them only in a compaction: data that is never overwritten keeps its old format.
ONLY_NEW_FILES = frozenset(
    {
        'block_based_table_factory',
        'bottommost_compression',
        'bottommost_compression_opts',
        'compression',
        'compression_opts',
        'compression_per_level',
        'num_levels',
    }
)
#: The published metric a campaign measures.
DB_USED = 'BlueFS db_used_bytes'
SOURCE = (
    'RocksDB wiki, Compression and Manual Compaction: a changed compression applies to files that '
    'are written from then on; existing ones are rewritten by compaction, at the lowest level '
    'only where newer ones overlap them (CompactRangeOptions::bottommost_level_compaction)'
)
#: Prefix of campaign ids in the history; rollout ids begin with "r".
CAMPAIGN = 'c'


def compaction_advice(
    group: GroupFacts,
    history: Sequence[HistoryRecord],
    shown_steps: Optional[ShownSteps] = None,
) -> Optional[Recommendation]:
    """Recommend compacting the OSDs of ``group`` that run the result of the last such change.

    None if there was none, or they were compacted since. ``shown_steps`` keeps the displayed order
    stable.
    """
    changes = [r for r in history if _is_change(r) and _is_for(r, group)]
    changes.sort(key=_number)
    if not changes or changes[-1].outcome is not Outcome.DONE:
        return None
    change = changes[-1]
    options = [name for name in _changed(change) if name in ONLY_NEW_FILES]
    osds = [o for o in group.osds if o.info.up and _runs(o, change.options_to)]
    advice_id = recommendation_id(Kind.COMPACT, group.who, change.options_to)
    compacted = any(
        r.recommendation_id == advice_id
        and r.outcome is Outcome.DONE
        and _number(r) > _number(change)
        for r in history
        if is_campaign(r)
    )
    if not options or not osds or compacted:
        return None
    where = places(osds)
    steps = (shown_steps or ShownSteps()).of(
        Change(
            recommendation_id=advice_id,
            kind=None,
            who=group.who,
            options_from=change.options_to,
            options_to=change.options_to,
            deciding_entries=(),
            restart=False,
            orchestrated=False,
            places=where,
        ),
        write_iops(osds),
    )
    return Recommendation(
        recommendation_id=advice_id,
        kind=Kind.COMPACT,
        who=group.who,
        osds=steps.order,
        profile=None,
        options_from=change.options_to,
        options_to=change.options_to,
        reasons=(
            Reason(
                f'{change.rollout_id} changed {" and ".join(options)}. That applies only to files '
                'written since then: a compaction rewrites older files where they overlap with '
                'newer data.',
                SOURCE,
            ),
        ),
        predictions=_predictions(osds[0], change),
        # It cannot be undone, and it slows down clients while it runs.
        risk=Risk.MEDIUM,
        priority=Priority.PLANNED,
        change=None,
        commands=tuple(f'ceph tell osd.{osd_id} compact' for osd_id in steps.order),
        undo_commands=(),
        places=where,
    )


def campaign_request(recommendation: Recommendation, actor: str, parallel: int) -> CampaignRequest:
    """The campaign of ``recommendation``, exactly as displayed."""
    where = dict(recommendation.places)
    return CampaignRequest(
        recommendation_id=recommendation.recommendation_id,
        who=recommendation.who,
        options=recommendation.options_to,
        osds=tuple((osd_id, where[osd_id]) for osd_id in recommendation.osds),
        actor=actor,
        parallel=parallel,
        prediction=prediction_text(recommendation.prediction),
        predicted=predicted_effect(recommendation.prediction),
    )


def _is_change(record: HistoryRecord) -> bool:
    """Whether it changed options for good."""
    return not is_campaign(record) and record.experiment is None


def is_campaign(record: HistoryRecord) -> bool:
    return record.rollout_id.startswith(CAMPAIGN)


def _is_for(record: HistoryRecord, group: GroupFacts) -> bool:
    section = record.who.partition('/')[0]
    own = {f'osd.{o.info.osd_id}' for o in group.osds}
    return record.who in {'osd', 'global', group.who} or section in own


def _changed(record: HistoryRecord) -> Iterable[str]:
    try:
        changes = diff(parse(record.options_from), parse(record.options_to))
    except OptionSyntaxError:
        return ()
    return [change.option for change in changes]


def _runs(osd: OsdFacts, options: str) -> bool:
    release = release_of_osd(osd.info)
    version = None if release is None else release.rocksdb_version
    return osd.options is not None and same_meaning(osd.options.running, options, version)


def _predictions(osd: OsdFacts, change: HistoryRecord) -> tuple[Prediction, ...]:
    """The published space of a profile compared with the same options without compression."""
    release = release_of_osd(osd.info)
    profile = recognize(change.options_to, release)
    figures = () if profile is None else profile.evidence
    for figure in figures:
        if (
            figure.metric == DB_USED
            and 'compression=kNoCompression' in change.options_from
            and release is not None
            and release.name in figure.releases
            and storage_of(osd.info) in figure.hardware
        ):
            return (
                Prediction(
                    metric=DB_USED,
                    signal='db_used_bytes',
                    estimate_percent=figure.change_percent,
                    # Incompressible data gains nothing.
                    low_percent=min(0.0, figure.change_percent),
                    high_percent=max(0.0, figure.change_percent),
                    basis=f'{figure.setup}, against {figure.baseline}',
                ),
            )
    return ()


def _number(record: HistoryRecord) -> int:
    digits = record.rollout_id[1:]
    return natural(digits) or 0
