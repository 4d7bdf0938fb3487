"""Runs the binaries on the strings of the fixed seed and records the results.

PYTHONPATH=src/pybind/mgr:qa:qa/doubles python -m rocksdb_tuner.tests.options.record RELEASE...
"""

from __future__ import annotations

import json
import lzma
import sys

from .oracle import FIXED_COUNT, FIXED_SEED, ROCKSDB_VERSIONS, ask, recording
from .strings import strings


def record(release: str) -> None:
    """Write ``data/oracle-RELEASE.json.xz``: only what differs from an empty string's values."""
    texts = strings(ROCKSDB_VERSIONS[release], FIXED_SEED, FIXED_COUNT)
    empty, *answers = ask(release, ['', *texts])
    defaults = dict(empty.values)
    content = {
        'release': release,
        'seed': FIXED_SEED,
        'defaults': defaults,
        'answers': [
            (
                answer.text,
                answer.accepted,
                {
                    name: value
                    for name, value in answer.values.items()
                    if defaults.get(name) != value
                },
            )
            for answer in answers
        ],
    }
    recording(release).write_bytes(lzma.compress(json.dumps(content).encode(), preset=9))


if __name__ == '__main__':
    for name in sys.argv[1:]:
        record(name)
