"""Makes an OSD with options, in a scratch folder, to see whether it opens its database.

What only an OSD has, a monitor's store cannot show: the annex. No cluster is needed. `python -m
rocksdb_tuner.tests.options.osd_oracle` records ``data/osd_mkfs.json``
(root; PYTHONPATH=src/pybind/mgr:qa:qa/doubles).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Mapping

from harness import chroot_build
from harness.chroot import ChrootHost
from harness.progress import Progress
from harness.releases import RELEASES, get_release

RECORDING = Path(__file__).parent / 'data' / 'osd_mkfs.json'

_TIMEOUT_S = 60
_UUID = '11111111-2222-3333-4444-555555555555'
#: A gibibyte that is not there: the file has holes, and nothing of it may grow beyond.
_MAKE = """
set -e
ulimit -c 0
ulimit -f 2097152
folder=$(mktemp -d /var/tmp/rocksdb-osd-XXXXXX)
trap 'rm -rf "$folder"' EXIT
truncate -s 1G "$folder/block"
timeout 40 ceph-osd --mkfs -i 0 --no-config-file --no-mon-config --osd-data "$folder" \
    --osd-objectstore bluestore --osd-uuid "$UUID" --fsid "$UUID" \
    --bluestore-block-size 1073741824 --log-to-file=false "$@" >/dev/null 2>&1
"""

#: bluestore_rocksdb_options and its annex
ANNEXES = (
    ('write_buffer_size=1M', 'ttl=7'),
    ('write_buffer_size=1M,', 'ttl=7'),
    ('write_buffer_size=1M;', 'ttl=7'),
    ('write_buffer_size=1M, ', 'ttl=7'),
    ('', 'ttl=7'),
    ('write_buffer_size=1M', ',ttl=7'),
    ('write_buffer_size=1M', 'foo=1'),
    ('ttl=x', 'ttl=7'),
)


def starts(release: str, options: Mapping[str, str]) -> bool:
    """Whether an OSD can be made with these options; leaves nothing behind."""
    settings = [f'--{name.replace("_", "-")}={value}' for name, value in options.items()]
    argv = ['/bin/sh', '-c', f'UUID={_UUID}\n{_MAKE}', 'make-osd', *settings]
    known = get_release(release)
    if known.in_chroot:
        argv = ChrootHost(chroot_build.ensure(known, Progress())).command(argv)
    result = subprocess.run(
        argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=False
    )
    return result.returncode == 0


def annex_starts(release: str, main: str, annex: str) -> bool:
    return starts(
        release, {'bluestore_rocksdb_options': main, 'bluestore_rocksdb_options_annex': annex}
    )


def record() -> None:
    content = {
        'annexes': [
            [main, annex, {release: annex_starts(release, main, annex) for release in RELEASES}]
            for main, annex in ANNEXES
        ],
    }
    RECORDING.write_text(json.dumps(content, indent=1) + '\n', encoding='utf-8')


if __name__ == '__main__':
    record()
