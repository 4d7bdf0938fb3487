"""The active mgr and the files on its host."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from .parse import enabled_modules
from .records import ManagerHost

#: All that `make install-dashboard` installs, relative to the folder of all mgr modules. A test
#: compares it with that target.
TAB_FILES = tuple(
    f'dashboard/controllers/{name}'
    for name in (
        'rocksdb_tuner.py',
        '_rocksdb_tuner.py',
        '_rocksdb_tuner_api.py',
        '_rocksdb_tuner_experiments.py',
        '_rocksdb_tuner_operations.py',
        '_rocksdb_tuner_profiles.py',
        '_rocksdb_tuner_schemas.py',
        '_rocksdb_tuner_tab.py',
        '_rocksdb_tuner_tab.js',
    )
)


def manager_host(
    mgr_map: Mapping[str, Any], modules: Path, report_period_autotuned: Optional[bool] = None
) -> ManagerHost:
    """Map and option as the mgr API returns them; ``modules``: the folder of all mgr modules."""
    return ManagerHost(
        python=sys.version_info[:2],
        dashboard_enabled='dashboard' in enabled_modules(mgr_map),
        tab_installed=all((modules / name).is_file() for name in TAB_FILES),
        report_period_autotuned=report_period_autotuned,
    )
