"""What speaks against an option string, each objection by its name. Pure.

Nothing is removed or replaced without one of these against what runs. That nobody published a
string, or that another one has a better reputation, is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Mapping, Optional

from ..options.checks import Problem
from ..options.compression import NO_COMPRESSION
from ..options.releases import KnownRelease
from ..units import format_bytes
from ..workload.records import Evidence, WorkloadClass
from ..workload.writer import Writer
from .limit import limit_thresholds
from .records import Reason
from .strings import check, recognize

__all__ = [
    'METADATA',
    'Name',
    'Objection',
    'harmful',
    'has_large_memtables',
    'misfit_objections',
    'standing_objections',
    'workload_objections',
]

_MIB = 1 << 20
#: From this size on memtables were published to cost small writes what smaller ones gain: 64 MiB
#: was slower than each smaller size, by what the charts show of 32 MiB not by much.
_DEAR_MEMTABLE_BYTES = 64 * _MIB
METADATA = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})
_DEEP_DIVE = 'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022'
_LZ4 = 'D. A. Parkes, We Tested RocksDB LZ4 Compression in IBM Storage Ceph, 2025; ceph/ceph#53343'
#: Warnings of what is odd in a string, or beside it, and does no harm to an OSD that runs it.
_HARMLESS = frozenset(
    {
        'cache-autotune-off',
        'caution',
        'clamped',
        'duplicate',
        'empty',
        'jobs-switched-off',
        'lenient-number',
        'no-effect',
        'not-assessed',
        'removed-option',
        'short-pg-log',
        'unknown-version',
    }
)


#: Warnings that depend on the devices and the memory of an OSD.
_OF_HARDWARE = frozenset({'levels-beyond-device', 'memtables-beyond-memory', 'wal-beyond-device'})

#: Of a string that runs, these say that the module cannot judge it, not that anything is wrong.
_NOT_TOLD = frozenset({'ambiguous', 'not-judged', 'unknown-version'})


class Name(str, Enum):
    #: Its authors, or upstream, advise something else.
    SUPERSEDED = 'superseded'
    #: The checks call it an error.
    UNSAFE = 'unsafe'
    #: The checks warn of harm.
    HARMFUL = 'harmful'
    #: The checks warn of harm on these very OSDs, which have too little room for it.
    MISFIT = 'misfit'
    #: Memtables so large that inserting into them is what the busy kv_sync thread does.
    LARGE_MEMTABLES = 'large-memtables'
    #: Clients write metadata, and nothing compresses it.
    UNCOMPRESSED = 'uncompressed-metadata'
    #: What limits would be relieved by another set, by the model.
    OUTWEIGHED = 'outweighed'


#: What keeps an entry of a single OSD from being left alone: it may be somebody's experiment.
AGAINST_OWN_ENTRIES = frozenset({Name.SUPERSEDED, Name.UNSAFE})


@dataclass(frozen=True)
class Objection:
    name: Name
    reason: Reason
    #: Option that it is about; None: the string as a whole.
    option: Optional[str] = None


def standing_objections(text: str, release: KnownRelease) -> tuple[Objection, ...]:
    """What speaks against a string that somebody chose, whatever the clients do.

    Worst first: superseded, refused by the checks, warned of by them.
    """
    profile = recognize(text, release)
    found = []
    if profile is not None and profile.superseded:
        reason = Reason(f'{profile.title}: {profile.superseded}', profile.source)
        found.append(Objection(Name.SUPERSEDED, reason))
    problems = check(text, release.rocksdb_version).problems
    found += [_of_problem(Name.UNSAFE, p) for p in problems if p.severity == 'error']
    # What was published was tested as a whole.
    if profile is None:
        found += [_of_problem(Name.HARMFUL, p) for p in problems if harmful(p)]
    return tuple(found)


def misfit_objections(problems: Iterable[Problem]) -> tuple[Objection, ...]:
    """What OSDs have too little room for, be it the default; ``problems`` are of their hardware."""
    return tuple(
        _of_problem(Name.MISFIT, p) for p in problems if harmful(p) and p.rule in _OF_HARDWARE
    )


def harmful(problem: Problem) -> bool:
    """A warning that is a reason to restart OSDs."""
    return problem.severity == 'warning' and problem.rule not in _HARMLESS | _NOT_TOLD


def _of_problem(name: Name, problem: Problem) -> Objection:
    about = '' if problem.option is None else f'{problem.option}: '
    return Objection(name, Reason(f'{about}{problem.message}', problem.source), problem.option)


def workload_objections(
    effective: Mapping[str, str], writer: Writer, busy: Optional[Evidence]
) -> tuple[Objection, ...]:
    """What speaks against effective options under what clients write.

    ``busy`` is how busy the kv_sync threads are: what nobody measured is no objection.
    """
    found = []
    small_writes = writer.workload_class is WorkloadClass.RBD_SMALL_WRITE
    if (
        small_writes
        and has_large_memtables(effective)
        and busy is not None
        and busy.value >= limit_thresholds().kv_sync_idle
    ):
        size = int(effective['write_buffer_size'])
        found.append(
            Objection(
                Name.LARGE_MEMTABLES,
                Reason(
                    f'The kv_sync threads are {busy.value:.0%} busy with small writes, and '
                    f'inserting into memtables of {format_bytes(size)} takes them longer than '
                    'into smaller ones.',
                    f'measured; {_DEEP_DIVE}, Profiling an OSD',
                ),
                'write_buffer_size',
            )
        )
    if writer.workload_class in METADATA and effective.get('compression') == NO_COMPRESSION:
        found.append(
            Objection(
                Name.UNCOMPRESSED,
                Reason(f'{writer.workload_class.value} is kept uncompressed.', f'measured; {_LZ4}'),
                'compression',
            )
        )
    return tuple(found)


def has_large_memtables(effective: Mapping[str, str]) -> bool:
    """Whether smaller memtables were published to relieve a busy kv_sync thread."""
    return int(effective.get('write_buffer_size', '0')) >= _DEAR_MEMTABLE_BYTES
