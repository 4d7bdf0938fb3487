"""Conditions of dedicated DB devices: spillover and free space."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Optional

from ...lsm.levels import MAX_LEVELS
from ...mgr.records import OsdInfo
from ...observe.growth import Forecast, Outlook
from ...observe.signals import Signals
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from ..whatif.level_sizes import level_sizes
from .declaration import Condition, condition
from .facts import ClusterFacts, Measured, effective_options, worst_of
from .subjects import METADATA_WORK

_DAY_S = 86400.0


@condition('spillover')
def spillover(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """RocksDB data on the slow device of an OSD with a dedicated DB device."""
    spilled = _spilled(cluster)
    # From one flash device to another it costs little.
    flash = [m for m in spilled if m.osd.info.main_rotational is False]
    slow = [m for m in spilled if m.osd.info.main_rotational is not False]
    for measured, severity in ((slow, Severity.WARNING), (flash, Severity.INFO)):
        worst = worst_of(measured)
        if worst:
            yield condition.finding(
                f'{worst.names} '
                + ('keeps' if len(worst.ids) == 1 else 'keep')
                + ' RocksDB data on the data device',
                worst.ids,
                worst.evidence,
                severity=severity,
            )


def _spilled(cluster: ClusterFacts) -> list[Measured]:
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if signals is not None and osd.info.dedicated_db and signals.slow_used_bytes:
            evidence = partial(_spillover, signals)
            measured.append(Measured(signals.slow_used_bytes, osd, evidence))
    return measured


def _spillover(signals: Signals) -> tuple[FindingEvidence, ...]:
    slow = FindingEvidence('slow_used_bytes', signals.slow_used_bytes, 'bytes', None)
    return (slow, *_db_use(signals))


@condition('level-does-not-fit')
def level_does_not_fit(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Spillover despite free space: RocksDB places each level on one device."""
    limit = condition.limit('used_share', cluster.limits)
    measured = []
    for spilled in _spilled(cluster):
        signals = spilled.osd.signals
        if signals is None or signals.db_used_bytes is None or not signals.db_total_bytes:
            continue
        if signals.db_used_bytes < limit * signals.db_total_bytes:
            measured.append(spilled)
    worst = worst_of(measured)
    total = worst.osd.signals.db_total_bytes if worst and worst.osd.signals else None
    if worst and total:
        proposal = level_sizes(worst.osd)
        sizes = _level_sizes(worst.osd, total)
        yield condition.finding(
            f'{worst.names}: RocksDB data spilled while the DB device has room; '
            + _what_does_not_fit(sizes, total),
            worst.ids,
            (
                *worst.evidence,
                *(
                    FindingEvidence(f'level_{number}', size, 'bytes', None)
                    for number, size in enumerate(sizes or (), start=1)
                ),
                *proposal.evidence,
            ),
            proposal=proposal.remedy,
        )


def _level_sizes(osd: OsdFacts, total: int) -> Optional[tuple[int, ...]]:
    """Target sizes from level 1 to the first level that does not fit; None if unknown."""
    effective = effective_options(osd)
    if effective is None:
        return None
    if effective.get('level_compaction_dynamic_level_bytes') == 'true':
        return None
    try:
        size = float(effective['max_bytes_for_level_base'])
        multiplier = float(effective['max_bytes_for_level_multiplier'])
        levels = int(effective['num_levels'])
    except (KeyError, ValueError):
        return None
    if not math.isfinite(multiplier):
        return None
    sizes: list[int] = []
    left = total
    while len(sizes) < min(levels, MAX_LEVELS) - 1:
        sizes.append(int(size))
        left -= sizes[-1]
        if left < 0:
            break
        size *= multiplier
    return tuple(sizes)


def _what_does_not_fit(sizes: Optional[tuple[int, ...]], total_bytes: int) -> str:
    if sizes is None:
        return 'a level, or a WAL file, does not fit as a whole'
    fits = [n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) <= total_bytes]
    if len(fits) == len(sizes):
        return (
            'all its levels would fit: it is being compacted, or spilled before the device was '
            'enlarged'
        )
    if not fits:
        return 'not even level 1 fits'
    return f'levels 1 to {fits[-1]} fit, level {fits[-1] + 1} does not'


@condition('db-device-small')
def db_device_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A DB device below the documented size for the OSD."""
    for_metadata = condition.limit('share_rgw', cluster.limits)
    for_others = condition.limit('share_other', cluster.limits)
    by_share: dict[float, list[Measured]] = {}
    for osd in cluster.osds:
        info = osd.info
        if not info.dedicated_db or not info.db_device_bytes or not info.main_device_bytes:
            continue
        metadata = osd.workload is not None and osd.workload.workload_class in METADATA_WORK
        advised = for_metadata if metadata else for_others
        share = info.db_device_bytes / info.main_device_bytes
        if share < advised:
            by_share.setdefault(advised, []).append(Measured(-share, osd, partial(_sizes, info)))
    for advised, measured in by_share.items():
        worst = worst_of(measured)
        if worst:
            yield condition.finding(
                f"the DB device of {worst.names} has less than {advised:.0%} of the data device's "
                'size',
                worst.ids,
                worst.evidence,
            )


def _sizes(info: OsdInfo) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('db_device_bytes', info.db_device_bytes, 'bytes', None),
        FindingEvidence('main_device_bytes', info.main_device_bytes, 'bytes', None),
    )


@condition('db-device-nearly-full')
def db_device_nearly_full(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A DB device that is nearly full, without spillover so far."""
    limit = condition.limit('used_share', cluster.limits)
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if signals is None or not osd.info.dedicated_db or signals.slow_used_bytes:
            continue
        if signals.db_used_bytes is None or not signals.db_total_bytes:
            continue
        share = signals.db_used_bytes / signals.db_total_bytes
        if share >= limit:
            measured.append(Measured(share, osd, partial(_db_use, signals)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'the DB device of {worst.names} is nearly full', worst.ids, worst.evidence
        )


def _db_use(signals: Signals) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('db_used_bytes', signals.db_used_bytes, 'bytes', None),
        FindingEvidence('db_total_bytes', signals.db_total_bytes, 'bytes', None),
    )


@condition('db-device-filling')
def db_device_filling(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A DB device that will be full within the horizon at its growth rate."""
    horizon_s = condition.limit('horizon_s', cluster.limits)
    measured = []
    for osd in cluster.osds:
        forecast, signals = osd.forecast, osd.signals
        # No forecast for an OSD without current signals.
        if forecast is None or signals is None or forecast.outlook is not Outlook.FILLING:
            continue
        if forecast.full_in_s is not None and forecast.full_in_s <= horizon_s:
            evidence = partial(_growth, forecast, signals)
            measured.append(Measured(-forecast.full_in_s, osd, evidence))
    worst = worst_of(measured)
    forecast = worst.osd.forecast if worst else None
    if worst and forecast and forecast.full_in_s is not None:
        yield condition.finding(
            f'the DB device of {worst.names} will be full in '
            f'{forecast.full_in_s / _DAY_S:.1f} days, if it grows as in the last '
            f'{forecast.history_s / _DAY_S:.0f} days',
            worst.ids,
            worst.evidence,
        )


def _growth(forecast: Forecast, signals: Signals) -> tuple[FindingEvidence, ...]:
    history_s = forecast.history_s
    return (
        FindingEvidence('full_in', forecast.full_in_s, 's', history_s),
        FindingEvidence('full_earliest', forecast.full_earliest_s, 's', history_s),
        FindingEvidence('full_latest', forecast.full_latest_s, 's', history_s),
        *_db_use(signals),
    )
