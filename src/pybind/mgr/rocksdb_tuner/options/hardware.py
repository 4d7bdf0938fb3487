"""Resources of an OSD for an option string, and its related options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .syntax import OptionSet


@dataclass(frozen=True)
class Hardware:
    """None is "unknown": rules that need the value are skipped, or report an assumption."""

    #: Cores per OSD.
    cores: Optional[int] = None
    #: `osd_memory_target`.
    memory_target_bytes: Optional[int] = None
    #: Sizes of dedicated devices; None also if there is none.
    wal_device_bytes: Optional[int] = None
    db_device_bytes: Optional[int] = None
    #: Options of each column family, shards listed separately.
    families: Optional[tuple[OptionSet, ...]] = None
    #: (name, value) of the related options that are set.
    related_options: tuple[tuple[str, str], ...] = ()

    def weakest(self, other: Hardware) -> Hardware:
        """The minimum of two OSDs that may run the same string."""
        return Hardware(
            cores=_least(self.cores, other.cores),
            memory_target_bytes=_least(self.memory_target_bytes, other.memory_target_bytes),
            wal_device_bytes=_least(self.wal_device_bytes, other.wal_device_bytes),
            db_device_bytes=_least(self.db_device_bytes, other.db_device_bytes),
            families=self.families if self.families is not None else other.families,
            related_options=tuple(dict.fromkeys((*self.related_options, *other.related_options))),
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions for unknown values, as sentences."""
        found = []
        if self.cores is None:
            found.append('The number of cores per OSD is unknown and assumed to be 6 to 10.')
        if self.memory_target_bytes is None:
            found.append('osd_memory_target is unknown and assumed to be 4 GiB, its default.')
        if self.families is None:
            found.append(
                'The column families are unknown and assumed to be 12, as in the default of all '
                'releases, without custom options.'
            )
        if self.wal_device_bytes is None and self.db_device_bytes is None:
            found.append('No WAL or DB device is known: it is not checked whether the options fit.')
        return tuple(found)


def _least(a: Optional[int], b: Optional[int]) -> Optional[int]:
    known = [number for number in (a, b) if number is not None]
    return min(known, default=None)
