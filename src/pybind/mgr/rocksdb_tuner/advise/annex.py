"""Changes that are better made in the annex than in the option string. Pure."""

from __future__ import annotations

from typing import Optional

from ..options.grammar import combine, diff, in_force
from ..options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from ..plan.records import ANNEX
from .cohort import Cohort
from .records import Reason
from .strings import safe_to_apply, same_meaning

#: A larger change is a complete tuning, kept together in the option string.
MOST_OPTIONS = 2
#: Options that are tuned together: a single one combined with a later default changes the tree.
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
    """Annex with which these OSDs run ``options_to``; None: change the option string.

    Only for OSDs that run their release's default without any entry: all other options then follow
    the default, also of the next release.
    """
    default, version = cohort.release.default_options, cohort.release.rocksdb_version
    if cohort.deciding_entries or not same_meaning(cohort.running, default, version):
        return None
    try:
        changes = diff(parse(default), parse(options_to))
    except OptionSyntaxError:
        return None
    values = {change.option: change.value_to for change in changes}
    # An option that the string leaves out has RocksDB's default, which an annex cannot restore.
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
        f'Set through {ANNEX}, since nothing else changes: all other options keep following the '
        f'default of the release, now {cohort.release.label} and after an upgrade the next one.',
        'Ceph option schema (global.yaml.in); joined as measured on 16.2.15, 18.2.7 and 20.2.4',
    )
