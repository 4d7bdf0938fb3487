"""Named objections to option strings. Pure.

The running options are removed or replaced only because of an objection. An unpublished string, or
one with a lower suitability, is no objection.
"""

from __future__ import annotations

from enum import Enum
from typing import Mapping, NamedTuple, Optional

from ..options.catalogue import NO_COMPRESSION
from ..options.checks import Problem
from ..options.problems import rules
from ..options.releases import KnownRelease
from ..units import format_bytes
from ..workload.classify import Writer
from ..workload.records import Evidence, WorkloadClass, limit_thresholds
from .profiles import recognize
from .records import Reason, names
from .strings import check

#: Memtables of this size slow down small writes: in the published charts 64 MiB is slower than all
#: smaller sizes, although not much slower than 32 MiB.
_LARGE_MEMTABLE_BYTES = 64 << 20
METADATA = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})


class Name(str, Enum):
    #: Its authors, or upstream, recommend another string.
    SUPERSEDED = 'superseded'
    #: An error in the checks.
    UNSAFE = 'unsafe'
    #: A harmful warning in the checks.
    HARMFUL = 'harmful'
    #: A harmful warning for the devices or memory of these OSDs.
    MISFIT = 'misfit'
    #: Large memtables keep the kv_sync threads busy with inserts.
    LARGE_MEMTABLES = 'large-memtables'
    #: Clients write metadata without compression.
    UNCOMPRESSED = 'uncompressed-metadata'


#: Objections to entries of single OSDs. Others are ignored, since such an entry may be an
#: operator's experiment.
AGAINST_OWN_ENTRIES = frozenset({Name.SUPERSEDED, Name.UNSAFE})


class Objection(NamedTuple):
    name: Name
    reason: Reason
    #: None: the string as a whole.
    option: Optional[str] = None
    #: The options that cause it together with ``option``.
    weighs: tuple[str, ...] = ()


def standing_objections(text: str, release: KnownRelease) -> tuple[Objection, ...]:
    """Objections to a configured string, independent of the workload.

    Worst first: superseded, errors of the checks, warnings of the checks.
    """
    profile = recognize(text, release)
    found = []
    if profile is not None and profile.superseded:
        found.append(Objection(Name.SUPERSEDED, Reason.of('superseded', profile=profile)))
    problems = check(text, release.rocksdb_version).problems
    found += [objection(Name.UNSAFE, p) for p in problems if p.severity == 'error']
    # Published strings were tested as a whole.
    if profile is None:
        found += [objection(Name.HARMFUL, p) for p in problems if harmful(p)]
    return tuple(found)


def harmful(problem: Problem) -> bool:
    """Whether a warning is a reason to restart OSDs."""
    ignored = names('harmless') | names('not-checked')
    return problem.severity == 'warning' and problem.rule not in ignored


def objection(name: Name, problem: Problem) -> Objection:
    about = '' if problem.option is None else f'{problem.option}: '
    reason = Reason.of('problem', about=about, problem=problem)
    return Objection(name, reason, problem.option, rules()[problem.rule].weighs)


def workload_objections(
    effective: Mapping[str, str], writer: Writer, busy: Optional[Evidence]
) -> tuple[Objection, ...]:
    """Objections to effective options under a workload.

    ``busy``: load of the kv_sync threads; None (not measured) is no objection.
    """
    found = []
    size = int(effective.get('write_buffer_size', '0'))
    if (
        writer.workload_class is WorkloadClass.RBD_SMALL_WRITE
        and size >= _LARGE_MEMTABLE_BYTES
        and busy is not None
        and busy.value >= limit_thresholds().kv_sync_idle
    ):
        why = Reason.of('large-memtables', busy=busy.value, size=format_bytes(size))
        found.append(Objection(Name.LARGE_MEMTABLES, why, 'write_buffer_size'))
    if writer.workload_class in METADATA and effective.get('compression') == NO_COMPRESSION:
        why = Reason.of('uncompressed-metadata', workload=writer.workload_class.value)
        found.append(Objection(Name.UNCOMPRESSED, why, 'compression'))
    return tuple(found)
