"""The commands of the module: words, help text, arguments, what answers, the right that it needs.

An argument in brackets may be missing, one with dashes is a flag. Importing this registers the
commands with Ceph and in `COMMANDS`.
"""

from __future__ import annotations

from typing import Callable

from . import changes, reads
from .command import COMMANDS, Answer, Command, Context, Right, answer_module, guarded, register

__all__ = ['COMMANDS', 'Command', 'Context', 'answer_module', 'guarded']

_Row = tuple[str, str, str, Callable[..., Answer], Right]
_READ, _WRITE, _MODULE = Right.READ, Right.WRITE, Right.MODULE
_EXPERIMENT = '[who] [arms] [signal] [min_effect] [max_duration]'
# fmt: off
_ROWS: tuple[_Row, ...] = (
    ('status', 'Show mode, sampling, groups, findings and the current operation', '',
     reads.status, _READ),
    ('osd', 'List OSDs, worst first, or show one in full', '[osd_id] [who] [worst] --all',
     reads.osd, _READ),
    ('osd deep', 'Show the RocksDB statistics of an OSD', 'osd_id --all', reads.osd_deep, _WRITE),
    ('workload', 'Show workloads and limits by group, and with --osds by OSD', '--osds --all',
     reads.workload, _READ),
    ('findings', 'List findings, worst first, or show one in full', '[finding_id]',
     reads.findings, _READ),
    ('recommend', 'List recommendations, show one in full, or --all candidates',
     '[recommendation_id] --all', reads.recommend, _READ),
    ('apply', 'Apply a recommendation step by step; --dry-run only prints the plan',
     'recommendation_id --dry_run', changes.apply, _WRITE),
    ('compact', 'Compact OSDs one at a time, all of them or those of a group or host',
     '[who] --dry_run', changes.compact, _WRITE),
    ('experiment plan', 'Show how an experiment would compare option strings on a group',
     _EXPERIMENT, changes.experiment_plan, _READ),
    ('experiment start', 'Compare option strings on OSDs of a group, then restore them',
     f'{_EXPERIMENT} --dry_run --adopt', changes.experiment_start, _WRITE),
    ('operation status', 'Show the current or last operation', '',
     reads.of_snapshot('operation'), _READ),
    ('operation pause', 'Pause the operation once the OSD in flight is safe', '',
     changes.operation_pause, _WRITE),
    ('operation resume', 'Resume a paused operation, or acknowledge a failed one', '',
     changes.operation_resume, _WRITE),
    ('operation abort', 'End the operation once its OSD is safe; again: without waiting', '',
     changes.operation_abort, _WRITE),
    ('rollback', 'Restore the configuration before a rollout (default: the last)', '[rollout_id]',
     changes.rollback, _WRITE),
    ('mode', 'Show or set the mode of the module', '[mode]', changes.mode, _WRITE),
    ('history', 'Show all changes, their actors and outcomes', '',
     reads.of_snapshot('history', lambda snapshot: snapshot.history), _READ),
    ('check', 'Check whether an OSD would start with an option string',
     'options [release] [osd] [device_class] [cores] [db_size] [wal_size] [memory] [cfs]',
     reads.check, _READ),
    ('explain', 'List known options, or explain one', '[option]', reads.explain, _READ),
    ('model', 'Model WAL, memory, levels and write amplification of options',
     ('options [osd] [workload] [cores] [release] [db_size] [wal_size] [memory] [data] [ingest] '
      '[key_size] [cfs]'), reads.model, _READ),
    ('profile ls', 'List profiles', '', reads.profile_ls, _READ),
    ('profile show', 'Show a profile with its published evidence', 'name',
     reads.profile_show, _READ),
    ('profile diff', 'Compare two profiles, or the options of an OSD with one',
     'name [other] [osd] [release]', reads.profile_diff, _READ),
    ('profile derive', 'Derive options for an OSD, and name the nearest profile',
     '[osd] [workload] [cores] [release] [db_size] [wal_size] [memory]',
     reads.profile_derive, _READ),
    ('profile add', 'Add a custom profile, from the JSON given with -i <file>', '[inbuf]',
     changes.profile_add, _WRITE),
    ('profile rm', 'Remove a custom profile', 'name', changes.profile_rm, _WRITE),
    ('report', 'Show all module data as one JSON document', '--anonymous', reads.report, _READ),
    ('doctor', 'Check installation, managers, sampling, orchestrator and dashboard', '',
     reads.doctor, _READ),
    # Of the dashboard.
    ('osd map', 'Show all OSDs by column', '', reads.of_snapshot('osd-map'), _MODULE),
    ('trend', 'Show the trend of OSDs ("1,2,3") or of a device class', '[osds] [device_class]',
     reads.trend, _MODULE),
    ('growth', 'Show the growth of the DB of an OSD, with a forecast', 'osd_id',
     reads.growth, _MODULE),
)
# fmt: on

for row in _ROWS:
    register(*row)
