"""Level sizes that keep an OSD's RocksDB on its DB device, and their cost. Pure."""

from __future__ import annotations

from typing import NamedTuple, Optional

from ...lsm.fit import Fit, fitting_levels, holds
from ...lsm.levels import paths, usable_bytes
from ...lsm.tree_options import NotModeledError, tree_options
from ...options.syntax import format, parse  # noqa: A004
from ...units import format_bytes
from ..facts import release_of_osd
from ..records import FindingEvidence, OsdFacts
from ..strings import check
from .situation import Situation, situation_of_osd
from .tree import model_in

__all__ = ['Proposal', 'level_sizes']

_BASE, _MULTIPLIER = 'max_bytes_for_level_base', 'max_bytes_for_level_multiplier'
_UNKNOWN = (
    f'Choose {_BASE} and {_MULTIPLIER} so that the levels in use fit on the DB device (see "ceph '
    'rocksdb-tuner model").'
)
_NEW_SHAPE = 'Restart the OSD, then compact it: '


class Proposal(NamedTuple):
    """A remedy with its evidence."""

    remedy: str
    evidence: tuple[FindingEvidence, ...] = ()


def level_sizes(facts: OsdFacts) -> Proposal:
    """Level sizes for the running options, with the modeled write amplification."""
    compact = f'ceph tell osd.{facts.info.osd_id} compact'
    unknown = Proposal(f'{_UNKNOWN} {_NEW_SHAPE}{compact}')
    release, signals, options = release_of_osd(facts.info), facts.signals, facts.options
    if release is None or options is None or signals is None or not signals.db_total_bytes:
        return unknown
    running, version = parse(options.running), release.rocksdb_version
    if not check(options.running, version).accepted:
        return unknown
    situation = situation_of_osd(facts, release)
    data_bytes = situation.load.data_bytes
    if data_bytes is None or paths(situation.selection) == 1:
        return unknown
    db_bytes = usable_bytes(signals.db_total_bytes)
    try:
        tree = tree_options(running, version)
        if holds(tree, db_bytes, data_bytes):
            return Proposal(
                f'The current level sizes hold this data. Let RocksDB move it: {compact}'
            )
        fit = fitting_levels(tree, db_bytes, data_bytes)
        if fit is None:
            return Proposal(
                f'No level sizes hold {format_bytes(data_bytes)} on a DB device of '
                f'{format_bytes(signals.db_total_bytes)}: compress, or give the OSD a larger one.'
            )
        values = {_BASE: str(fit.level_base_bytes), _MULTIPLIER: str(fit.level_multiplier)}
        before = _write_amplification(situation, options.running)
        after = _write_amplification(situation, format(running.replaced(values)))
    except NotModeledError:
        return unknown
    return _proposal(fit, db_bytes, before, after, compact)


def _write_amplification(situation: Situation, text: str) -> Optional[float]:
    """None for a workload without a model."""
    write = model_in(situation, text).amplification.write
    return None if write is None else write.value


def _proposal(
    fit: Fit,
    db_bytes: int,
    before: Optional[float],
    after: Optional[float],
    compact: str,
) -> Proposal:
    effect = (
        'the effect on write amplification is unknown for this workload'
        if before is None or after is None
        else f'the predicted write amplification changes from {before:.1f} to {after:.1f}'
    )
    return Proposal(
        f'Put {_BASE}={fit.level_base_bytes},{_MULTIPLIER}={fit.level_multiplier} into the option '
        f'string: levels 0 to {fit.last_level} then take {format_bytes(fit.taken_bytes)} of the '
        f'{format_bytes(db_bytes)} that RocksDB may use, and {effect}. '
        f'{_NEW_SHAPE}{compact}',
        (
            FindingEvidence(f'{_BASE} that fits', fit.level_base_bytes, 'bytes', None),
            FindingEvidence(f'{_MULTIPLIER} that fits', fit.level_multiplier, 'times', None),
            FindingEvidence('write amplification', before, 'bytes/byte', None),
            FindingEvidence('new write amplification', after, 'bytes/byte', None),
        ),
    )
