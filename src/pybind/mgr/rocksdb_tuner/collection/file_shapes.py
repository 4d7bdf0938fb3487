"""Shapes of the JSON that each file holds."""

from __future__ import annotations

from typing import Callable, Mapping, TypeVar

from ..store.errors import StoredStateError
from .names import COMMANDS, Kind
from .shapes import Each, Shape, ShapeError, require

_FLAG: Shape = (int, bool)
SHAPES: Mapping[Kind, Shape] = {
    Kind.OSD_DUMP: {
        'epoch': int,
        'flags': str,
        'flags_set?': [str],
        'require_osd_release?': str,
        'osds': [
            {
                'osd': int,
                'up': _FLAG,
                'in': _FLAG,
                'public_addrs?': {'addrvec?': [{'nonce': int}]},
            }
        ],
        'pools': [
            {
                'pool': int,
                'pool_name': str,
                'size': int,
                'min_size': int,
                'crush_rule': int,
                'application_metadata?': Each(dict),
            }
        ],
    },
    Kind.CRUSH_DUMP: {
        'devices': [{'id': int, 'class?': str}],
        'rules': [
            {
                'rule_id': int,
                'steps': [{'op?': str, 'item?': int, 'item_name?': str, 'type?': str}],
            }
        ],
        'buckets?': [{'id': int, 'name': str, 'type_name': str, 'items': [{'id': int}]}],
    },
    Kind.CONFIG_DUMP: [{'section': str, 'mask?': str, 'name': str, 'value': str}],
    Kind.CONFIG_SHOW: [{'name': str, 'value': str, 'source': str}],
    Kind.HEALTH: {'checks': Each({'detail?': [{'message': str}]})},
    Kind.BLUEFS_FILES: [dict],
}


#: Used OSD metadata; all values are strings.
METADATA: Shape = Each(
    {
        f'{name}?': str
        for name in (
            'hostname',
            'ceph_version_short',
            'ceph_release',
            'osd_objectstore',
            'distro',
            'default_device_class',
            'bluefs_dedicated_db',
            'bluefs_dedicated_wal',
            'bluefs_db_size',
            'bluefs_db_rotational',
            'bluefs_wal_size',
            'bluestore_bdev_size',
            'bluestore_bdev_rotational',
            'bluestore_min_alloc_size',
            'ceph_version_when_created',
            'bluestore_db_sharding',
            'devices',
        )
    }
)


_T = TypeVar('_T')


class FileError(Exception):
    """A problem with the current file."""


def read_shaped(read_it: Callable[[], _T], kind: Kind) -> _T:
    try:
        return read_it()
    except (ShapeError, StoredStateError) as error:
        raise FileError(not_output_of(str(error), kind)) from None


def require_shape(value: object, shape: Shape, kind: Kind) -> None:
    read_shaped(lambda: require(value, shape), kind)


def not_output_of(reason: str, kind: Kind) -> str:
    return f'is not the output of "{COMMANDS[kind]}": {reason}'
