"""Named steps of a tick, isolated from each other: a failure is logged once and shown until fixed.

One thread runs steps; any thread may read the failures.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass
from typing import Callable, Optional, TypeVar

from .mgr.protocols import CommandError

log = logging.getLogger(__name__)

#: A repeated error of a step is logged again after this.
LOG_AGAIN_S = 3600.0
#: Bound on the number of distinct errors.
KINDS_MAX = 200

_T = TypeVar('_T')


class ExplainedError(Exception):
    """An error whose text is safe to show to operators and explains the problem."""


@dataclass(frozen=True)
class StepFailure:
    """A step that failed at its last run."""

    step: str
    #: For operators.
    reason: str
    #: Start of the failure, in seconds since the epoch.
    since_s: float
    #: The cluster refused a command, for example during a monitor election. False: an error of the
    #: module or of its queries.
    refused: bool = False

    @property
    def sentence(self) -> str:
        return f'"{self.step}" failed: {self.reason}'


class Steps:
    """Runs steps; an exception ends its own step only.

    ``clock`` gives seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: Replaced as a whole.
        self._failing: dict[str, StepFailure] = {}
        #: Last log time of each kind of error.
        self._logged_s: dict[tuple[str, ...], float] = {}

    @property
    def failing(self) -> tuple[StepFailure, ...]:
        """Steps that failed at their last run, oldest failure first."""
        return tuple(self._failing.values())

    def fails(self, step: str) -> bool:
        return step in self._failing

    def run(self, step: str, work: Callable[[], object]) -> bool:
        """Run ``work``; whether it succeeded."""

        def succeeded() -> bool:
            work()
            return True

        return self.value(step, succeeded, False)

    def value(self, step: str, work: Callable[[], _T], otherwise: _T) -> _T:
        """The result of ``work``, or ``otherwise`` if it raises."""
        try:
            found = work()
        except Exception as error:  # noqa: BLE001 - reported by `failing`
            self.failed(step, error)
            return otherwise
        self.works(step)
        return found

    def failed(self, step: str, error: Exception) -> None:
        """Record a failure of ``step``, and log it if it is new."""
        now_s, refused = self._clock(), isinstance(error, CommandError)
        known = self._failing.get(step)
        since_s = now_s if known is None else min(known.since_s, now_s)
        failure = StepFailure(step, reason_of(error), since_s, refused)
        self._failing = {**self._failing, step: failure}
        kind = (step, type(error).__name__, _place(error))
        logged_s = self._logged_s.get(kind)
        if logged_s is not None and 0 <= now_s - logged_s < LOG_AGAIN_S:
            return
        if len(self._logged_s) >= KINDS_MAX:
            self._logged_s.clear()
        self._logged_s[kind] = now_s
        if refused:
            log.warning('%s: request to the cluster failed: %s', step, error)
        elif isinstance(error, ExplainedError):
            log.warning('%s: %s', step, error)
        else:
            log.error('%s: unexpected error; the module continues', step, exc_info=error)

    def works(self, step: str) -> None:
        """Clear a failure."""
        if step in self._failing:
            log.info('%s works again', step)
            self._failing = {name: f for name, f in self._failing.items() if name != step}


def reason_of(error: Exception) -> str:
    """The cause of an error, for operators."""
    if isinstance(error, (CommandError, ExplainedError)):
        return str(error)
    # Without its text, which may contain any data.
    return f'internal error ({type(error).__name__}); the mgr log has the details'


def _place(error: Exception) -> str:
    frames: Optional[traceback.StackSummary] = traceback.extract_tb(error.__traceback__)
    return f'{frames[-1].filename}:{frames[-1].lineno}' if frames else ''
