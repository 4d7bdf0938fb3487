"""Storage of OSDs, in the classes of published figures. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..mgr.records import OsdInfo
from .profiles import Storage
from .records import OsdFacts

#: Device classes that override the kernel's rotational flag: RAID controllers and virtual disks
#: report flash as rotational.
_FLASH_CLASSES = frozenset({'ssd', 'nvme'})


def storage_of(info: OsdInfo) -> Optional[Storage]:
    """None: unknown."""
    flash = _is_flash(info.device_class, info.main_rotational)
    if flash is None:
        return None
    if flash:
        return Storage.NVME
    if not info.dedicated_db:
        return None if info.dedicated_db is None else Storage.HDD
    if info.db_rotational is None:
        return None
    return Storage.HDD if info.db_rotational else Storage.SSD_DB_HDD


def _is_flash(device_class: Optional[str], rotational: Optional[bool]) -> Optional[bool]:
    if device_class in _FLASH_CLASSES:
        return True
    if rotational is None:
        return False if device_class == 'hdd' else None
    return not rotational


def common_storage(osds: Iterable[OsdFacts]) -> Optional[Storage]:
    """Common storage of all OSDs; None if they differ or any is unknown."""
    # Called for whole groups at every tick, which have a handful of kinds.
    kinds = {
        (i.device_class, i.main_rotational, i.dedicated_db, i.db_rotational): i
        for i in (osd.info for osd in osds)
    }
    found = {storage_of(info) for info in kinds.values()}
    return found.pop() if len(found) == 1 else None
