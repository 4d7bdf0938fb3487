"""The commands of the module: the words, the help text, what answers, the right that it needs.

Importing this registers them with Ceph and in `COMMANDS`.
"""

from __future__ import annotations

from typing import Callable

from . import changes, options, reads
from .command import COMMANDS, Answer, Command, Right, answer_module, guarded, register
from .context import Context

__all__ = ['COMMANDS', 'Command', 'Context', 'answer_module', 'guarded']

_Row = tuple[str, str, Callable[..., Answer], Right]
_READ, _WRITE, _MODULE = Right.READ, Right.WRITE, Right.MODULE
# fmt: off
_ROWS: tuple[_Row, ...] = (
    ('status', 'Show mode, sampling, groups, findings and the current operation',
     reads.status, _READ),
    ('osd', 'List OSDs, worst first, or show one in full', reads.osd, _READ),
    ('osd deep', 'Show the RocksDB statistics of an OSD', reads.osd_deep, _WRITE),
    ('workload', 'Show workloads and limits by group, and with --osds by OSD',
     reads.workload, _READ),
    ('findings', 'List findings, worst first, or show one in full', reads.findings, _READ),
    ('recommend', 'List recommendations, show one in full, or --all candidates',
     reads.recommend, _READ),
    ('apply', 'Apply a recommendation step by step; --dry-run only prints the plan',
     changes.apply, _WRITE),
    ('compact', 'Compact OSDs one at a time, all of them or those of a group or host',
     changes.compact, _WRITE),
    ('experiment plan', 'Show how an experiment would compare option strings on a group',
     changes.experiment_plan, _READ),
    ('experiment start', 'Compare option strings on OSDs of a group, then restore them',
     changes.experiment_start, _WRITE),
    ('operation status', 'Show the current or last operation', reads.operation_status, _READ),
    ('operation pause', 'Pause the operation once the OSD in flight is safe',
     changes.operation_pause, _WRITE),
    ('operation resume', 'Resume a paused operation, or acknowledge a failed one',
     changes.operation_resume, _WRITE),
    ('operation abort', 'End the operation once its OSD is safe; again: without waiting',
     changes.operation_abort, _WRITE),
    ('rollback', 'Restore the configuration before a rollout (default: the last)',
     changes.rollback, _WRITE),
    ('mode', 'Show or set the mode of the module', changes.mode, _WRITE),
    ('history', 'Show all changes, their actors and outcomes', reads.history, _READ),
    ('check', 'Check whether an OSD would start with an option string', options.check, _READ),
    ('explain', 'List known options, or explain one', options.explain, _READ),
    ('model', 'Model WAL, memory, levels and write amplification of options',
     options.model, _READ),
    ('profile ls', 'List profiles', options.profile_ls, _READ),
    ('profile show', 'Show a profile with its published evidence', options.profile_show, _READ),
    ('profile diff', 'Compare two profiles, or the options of an OSD with one',
     options.profile_diff, _READ),
    ('profile derive', 'Derive options for an OSD, and name the nearest profile',
     options.profile_derive, _READ),
    ('profile add', 'Add a custom profile, from the JSON given with -i <file>',
     options.profile_add, _WRITE),
    ('profile rm', 'Remove a custom profile', options.profile_rm, _WRITE),
    ('report', 'Show all module data as one JSON document', reads.report, _READ),
    ('doctor', 'Check installation, managers, sampling, orchestrator and dashboard',
     reads.doctor, _READ),
    # Of the dashboard.
    ('osd map', 'Show all OSDs by column', reads.osd_map, _MODULE),
    ('trend', 'Show the trend of OSDs ("1,2,3") or of a device class', reads.trend, _MODULE),
    ('growth', 'Show the growth of the DB of an OSD, with a forecast', reads.growth, _MODULE),
)
# fmt: on

for row in _ROWS:
    register(*row)
