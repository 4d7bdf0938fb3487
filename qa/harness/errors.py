"""The exceptions of the harness. Their messages are printed without a traceback."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


class HarnessError(Exception):
    """Something that the user of the harness can understand and act upon."""

    exit_status = 1


class UsageError(HarnessError):
    """The request cannot be served as it was put: a bad argument, or something not built yet."""

    exit_status = 2


class CancelledError(HarnessError):
    """The work was given up because another part of it failed, or because of a signal."""


class CommandError(HarnessError):
    """A command of the cluster's host ended with an exit status other than 0."""

    def __init__(
        self, argv: Sequence[str], returncode: int | None, stdout: str, stderr: str, why: str = ''
    ) -> None:
        self.argv = tuple(argv)
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        ending = why or f'exit status {returncode}'
        detail = (stderr.strip() or stdout.strip())[-2000:]
        super().__init__(f'{shlex.join(argv)}: {ending}' + (f'\n{detail}' if detail else ''))
