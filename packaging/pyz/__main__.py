"""rocksdb-tuner.pyz: the answers of the module for a cluster that does not have it, from one file.

Python 3.6 has to be able to read this file, to say that it is too old.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from rocksdb_tuner.version import MINIMUM_PYTHON

PROGRAM = 'rocksdb-tuner.pyz'
USAGE = """\
usage: rocksdb-tuner.pyz collect [options]      gather files from a cluster; changes nothing
       rocksdb-tuner.pyz report PATH [command]  evaluate them; --html FILE writes one page

Options of each: rocksdb-tuner.pyz collect --help, rocksdb-tuner.pyz report --help
"""


def main(words: list) -> int:
    if words[:1] in (['-h'], ['--help']):
        sys.stdout.write(USAGE)
        return 0
    if words[:1] not in (['collect'], ['report']):
        sys.stderr.write(USAGE)
        return 2
    if words[0] == 'report' and sys.version_info < MINIMUM_PYTHON:
        required = '.'.join(map(str, MINIMUM_PYTHON))
        message = ': "report" requires Python ' + required + ' or newer, on any machine\n'
        sys.stderr.write(PROGRAM + message)
        return 1
    with tempfile.TemporaryDirectory(prefix='rocksdb-tuner-') as folder:
        with zipfile.ZipFile(sys.argv[0]) as archive:
            archive.extractall(folder)
        if words[0] == 'collect':
            return subprocess.call(['sh', str(Path(folder, 'collect')), *words[1:]])
        environment = dict(
            os.environ, PYTHONPATH=folder, ROCKSDB_TUNER_PROGRAM=PROGRAM + ' ' + words[0]
        )
        offline = [sys.executable, '-S', '-m', 'rocksdb_tuner.offline', *words[1:]]
        return subprocess.call(offline, env=environment)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
