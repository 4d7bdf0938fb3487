"""The `ceph` command without the start of an interpreter for each: many commands of one process.

Order (first argument, JSON): nothing. Each line of standard input is a list of the words of a
command, as JSON; the response is a line: [0 or a negative errno, stdout, stderr]. The
cluster is that of $CEPH_CONF. Not `ceph tell`. Runs under Debian's Python with python3-rados and
python3-ceph-argparse, which ceph-common has.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import Any

# Debian packages of the machine that runs the client
import rados  # type: ignore[import-not-found, import-untyped, unused-ignore]
from ceph_argparse import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    json_command,
    parse_json_funcsigs,
    validate_command,
)


class Commands:
    """The command signatures of the cluster, loaded again for an unknown command."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._signatures: Any = None
        #: Matching words against all signatures takes a tenth of a second.
        self._known: dict[tuple[str, ...], Any] = {}

    def run(self, words: list[str]) -> tuple[int, str, str]:
        """(0 or a negative errno, output, complaint) of a command."""
        output_format = None
        if '--format' in words:
            at = words.index('--format')
            output_format = words[at + 1]
            words = words[:at] + words[at + 2 :]
        # What follows may be negative
        words = [word for word in words if word != '--']
        command = dict(self._known.get(tuple(words)) or self._validated(words) or {})
        if not command:
            return -errno.EINVAL, '', 'invalid command'
        self._known[tuple(words)] = dict(command)
        if output_format:
            command['format'] = output_format
        code, output, complaint = json_command(
            self._cluster, target=('mon', ''), argdict=command, inbuf=b''
        )
        text = output.decode(errors='replace') if isinstance(output, bytes) else output
        return (-code if code == errno.ETIMEDOUT else code), text, complaint

    def _validated(self, words: list[str]) -> Any:
        if self._signatures is not None:
            found = validate_command(self._signatures, words)
            if found:
                return found
        code, output, complaint = json_command(
            self._cluster, target=('mon', ''), prefix='get_command_descriptions', timeout=10
        )
        if code:
            raise OSError(code, f'no command descriptions: {complaint}')
        self._signatures = parse_json_funcsigs(output.decode(), 'cli')
        return validate_command(self._signatures, words)


def main() -> int:
    cluster = rados.Rados(conffile=os.environ['CEPH_CONF'])
    cluster.connect()
    commands = Commands(cluster)
    # Messages of the libraries about an unknown command are no answer
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            answer = commands.run(json.loads(line))
        except Exception as error:  # noqa: BLE001  # any error is the answer to this command
            answer = -errno.EIO, '', f'{type(error).__name__}: {error}'
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
