"""The administrator's `ceph` command against one cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from . import ending
from .errors import HarnessError
from .host import Completed, Host
from .layout import Layout
from .releases import Release

COMMAND_TIMEOUT_S = 60.0
POLL_S = 0.25
_Answer = TypeVar('_Answer')


class CephClient:
    """Runs `ceph` and other client programs with a cluster's configuration.

    They are of the same release as the monitors.
    """

    def __init__(self, host: Host, layout: Layout, release: Release) -> None:
        self.host = host
        self.release = release
        self._conf = str(layout.conf)

    @property
    def environment(self) -> dict[str, str]:
        return {'CEPH_CONF': self._conf}

    def run(
        self,
        *argv: str,
        stdin: str = '',
        timeout_s: float = COMMAND_TIMEOUT_S,
        check: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run any program in the cluster's environment."""
        return self.host.run(
            argv,
            environment={**self.environment, **(environment or {})},
            stdin=stdin,
            timeout_s=timeout_s,
            check=check,
        )

    def ceph(self, *arguments: str, stdin: str = '', timeout_s: float = COMMAND_TIMEOUT_S) -> str:
        """The output of `ceph ARGUMENTS`; CommandError when it fails."""
        return self.run('ceph', *arguments, stdin=stdin, timeout_s=timeout_s).stdout

    def ceph_json(self, *arguments: str, timeout_s: float = COMMAND_TIMEOUT_S) -> Any:
        """The document that `ceph ARGUMENTS --format json` prints."""
        text = self.ceph(*arguments, '--format', 'json', timeout_s=timeout_s)
        return parse_json(text, arguments)


def parse_json(text: str, arguments: Sequence[str]) -> Any:
    """The document that this command printed."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise HarnessError(f'ceph {" ".join(arguments)}: not JSON: {text[:200]!r}') from error


def wait_until(
    condition: Callable[[], _Answer],
    timeout_s: float,
    what: str,
    *,
    detail: Callable[[], str] = str,
    poll_s: float = POLL_S,
) -> _Answer:
    """The first true answer of the condition; HarnessError with `detail` after `timeout_s`."""
    deadline_s = time.monotonic() + timeout_s
    while not (answer := condition()):
        if time.monotonic() > deadline_s:
            more = detail()
            raise HarnessError(f'{what}: not so after {timeout_s:g} s' + (f': {more}' * bool(more)))
        ending.pause(poll_s)
    return answer
