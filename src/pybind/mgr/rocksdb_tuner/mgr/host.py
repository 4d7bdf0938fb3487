"""The active mgr and the files on its host."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .parse import enabled_modules
from .records import ManagerHost

#: Relative to the folder of all mgr modules.
TAB_FILES = (
    'dashboard/controllers/rocksdb_tuner.py',
    'dashboard/controllers/_rocksdb_tuner.py',
    'dashboard/controllers/_rocksdb_tuner_tab.py',
    'dashboard/controllers/_rocksdb_tuner_tab.js',
)


def manager_host(mgr_map: Mapping[str, Any], modules: Path) -> ManagerHost:
    """``mgr_map`` as the mgr API returns it; ``modules``: the folder of all mgr modules."""
    return ManagerHost(
        python=sys.version_info[:2],
        dashboard_enabled='dashboard' in enabled_modules(mgr_map),
        tab_installed=all((modules / name).is_file() for name in TAB_FILES),
    )
