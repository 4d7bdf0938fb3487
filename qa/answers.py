"""Generates files from the answers of the module: their JSON Schemas and the types of the tab.

python3 qa/answers.py      (make answers)

Both are committed beside their source. Tests compare them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

_MGR = Path(__file__).resolve().parents[1] / 'src/pybind/mgr'
if __name__ == '__main__':
    sys.path[:0] = [str(_MGR), str(Path(__file__).resolve().parent / 'doubles')]

from rocksdb_tuner.present.schema import json_schema, typescript  # noqa: E402
from rocksdb_tuner.present.views import VIEWS  # noqa: E402

SCHEMAS = _MGR / 'rocksdb_tuner/present/schemas'
_OSD_PAGE = _MGR / 'dashboard/frontend/src/app/ceph/cluster/osd'
TYPES = _OSD_PAGE / 'osd-rocksdb-tuner/panel/answers.ts'


def results() -> Mapping[Path, str]:
    """The text of each file."""
    schemas = {
        SCHEMAS / f'{name}.schema.json': json.dumps(json_schema(name, view), indent=2) + '\n'
        for name, view in VIEWS.items()
    }
    return {**schemas, TYPES: typescript(view for view in VIEWS.values() if view.in_tab)}


if __name__ == '__main__':
    for path, text in results().items():
        path.write_text(text)
