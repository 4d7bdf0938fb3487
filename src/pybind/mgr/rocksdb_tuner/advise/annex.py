"""When a change is better made by the annex than by another option string. Pure."""

from __future__ import annotations

from typing import Optional

from ..options.grammar import combine, diff, in_force
from ..options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from ..plan.records import ANNEX
from .cohort import Cohort
from .records import Reason
from .strings import safe_to_apply, same_meaning

#: A change of more options than this is a tuning of its own, which is kept together in the string.
MOST_OPTIONS = 2
#: Sizes and numbers that were chosen for one another: beside those of a later default one alone
#: makes another tree.
TUNED_TOGETHER = frozenset(
    {
        'arena_block_size',
        'compaction_style',
        'db_write_buffer_size',
        'level0_file_num_compaction_trigger',
        'level0_slowdown_writes_trigger',
        'level0_stop_writes_trigger',
        'level_compaction_dynamic_level_bytes',
        'max_bytes_for_level_base',
        'max_bytes_for_level_multiplier',
        'max_total_wal_size',
        'max_write_buffer_number',
        'min_write_buffer_number_to_merge',
        'num_levels',
        'target_file_size_base',
        'target_file_size_multiplier',
        'write_buffer_size',
    }
)


def annex_for(cohort: Cohort, options_to: str) -> Optional[str]:
    """What the annex has to hold for these OSDs to run ``options_to``; None: the string changes.

    Only OSDs that run the default of their release, by no entry, are changed so: what the annex
    leaves alone is then the default's, of the next release too.
    """
    default, version = cohort.release.default_options, cohort.release.rocksdb_version
    if cohort.deciding_entries or not same_meaning(cohort.running, default, version):
        return None
    try:
        changes = diff(parse(default), parse(options_to))
    except OptionSyntaxError:
        return None
    values = {change.option: change.value_to for change in changes}
    # What a string leaves out has RocksDB's own default, which no annex brings back.
    if not 0 < len(values) <= MOST_OPTIONS or None in values.values():
        return None
    if TUNED_TOGETHER & set(values):
        return None
    annex = format(parse('').replaced(values))
    if not same_meaning(combine(default, annex), options_to, version):
        return None
    return None if safe_to_apply(in_force(default, annex), version) else annex


def why_annex(cohort: Cohort) -> Reason:
    return Reason(
        f'{ANNEX} sets it, since nothing else changes: all that it does not name stays the default '
        f'of the release, now that of {cohort.release.label} and after an upgrade that of the '
        'next.',
        'Ceph option schema (global.yaml.in); joined as measured on 16.2.15, 18.2.7 and 20.2.4',
    )
