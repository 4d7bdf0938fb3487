"""The pictures of the dashboard that `make pictures` takes on real clusters.

A manual that is built before they are taken leaves them out.
"""

from __future__ import annotations

from pathlib import Path

#: Beside the pages.
FOLDER = Path(__file__).resolve().parents[2] / 'doc/mgr/rocksdb_tuner/images'
_RELEASES = ('pacific', 'reef', 'tentacle')


def dashboards() -> str:
    """Of the tab in the dashboard of each release."""
    return '\n'.join(
        f'.. figure:: images/{name}\n'
        f'   :alt: The tab RocksDB Tuner in the dashboard of {release.capitalize()}\n\n'
        f'   {release.capitalize()}\n'
        for release in _RELEASES
        for name in [f'dashboard-{release}.png']
        if (FOLDER / name).is_file()
    )
