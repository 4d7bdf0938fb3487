"""The support report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal


@dataclass(frozen=True)
class Report:
    """All collected data in one document."""

    format: Annotated[Literal['ceph-rocksdb-tuner-report'], 'Document format.']
    version: Annotated[Literal[1], 'Version of the format.']
    anonymous: Annotated[bool, 'Whether names were replaced and free text dropped.']
    module_version: Annotated[str, 'Version of the module.']
    collection: Annotated[
        Mapping[str, object],
        "The module's records, for `python3 -m rocksdb_tuner.offline`.",
    ]
