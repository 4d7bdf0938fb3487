"""Named steps of a tick that fail alone: a failure is logged once, and shown until it is over.

One thread runs steps; any thread may read what fails.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass
from typing import Callable, Optional, TypeVar

from .mgr.protocols import CommandError

log = logging.getLogger(__name__)

#: The same error of the same step is logged again after this.
LOG_AGAIN_S = 3600.0
#: Bound on the errors that are told apart.
KINDS_MAX = 200

_T = TypeVar('_T')


class ExplainedError(Exception):
    """An error whose text says to an operator what is wrong, and holds nothing else."""


@dataclass(frozen=True)
class StepFailure:
    """A step that did not work when it was last tried."""

    step: str
    #: What went wrong, for an operator.
    reason: str
    #: Since when it has not worked, in seconds since the epoch.
    since_s: float
    #: The cluster refused a command, as it does for a moment while monitors elect a leader. False:
    #: an error of the module itself, or of what it asks.
    refused: bool = False

    @property
    def sentence(self) -> str:
        return f'"{self.step}" fails: {self.reason}'


class Steps:
    """Runs steps; whatever one of them raises ends that step only.

    ``clock`` gives seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: Replaced as a whole.
        self._failing: dict[str, StepFailure] = {}
        #: When each kind of error was logged.
        self._logged_s: dict[tuple[str, ...], float] = {}

    @property
    def failing(self) -> tuple[StepFailure, ...]:
        """Steps that failed at their last try, in the order in which they began to."""
        return tuple(self._failing.values())

    def fails(self, step: str) -> bool:
        return step in self._failing

    def run(self, step: str, work: Callable[[], object]) -> bool:
        """Whether ``work`` went well."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - that is what this is for
            self.failed(step, error)
            return False
        self.works(step)
        return True

    def value(self, step: str, work: Callable[[], _T], otherwise: _T) -> _T:
        """What ``work`` returns; ``otherwise`` where it raises."""
        try:
            found = work()
        except Exception as error:  # noqa: BLE001 - that is what this is for
            self.failed(step, error)
            return otherwise
        self.works(step)
        return found

    def failed(self, step: str, error: Exception) -> None:
        """Keep that ``step`` failed; the first time of its kind it is logged."""
        now_s = self._clock()
        refused = isinstance(error, CommandError)
        reason = reason_of(error)
        known = self._failing.get(step)
        since_s = now_s if known is None else min(known.since_s, now_s)
        self._failing = {**self._failing, step: StepFailure(step, reason, since_s, refused)}
        kind = (step, type(error).__name__, _place(error))
        logged_s = self._logged_s.get(kind)
        if logged_s is not None and 0 <= now_s - logged_s < LOG_AGAIN_S:
            return
        if len(self._logged_s) >= KINDS_MAX:
            self._logged_s.clear()
        self._logged_s[kind] = now_s
        if refused:
            log.warning('%s: the cluster did not answer as needed: %s', step, error)
        elif isinstance(error, ExplainedError):
            log.warning('%s: %s', step, error)
        else:
            log.error('%s: unexpected error; the module goes on', step, exc_info=error)

    def works(self, step: str) -> None:
        """Clear a failure."""
        if step in self._failing:
            log.info('%s works again', step)
            self._failing = {name: f for name, f in self._failing.items() if name != step}


def reason_of(error: Exception) -> str:
    """What went wrong, for an operator."""
    if isinstance(error, (CommandError, ExplainedError)):
        return str(error)
    # Not its text: that may hold whatever it failed on.
    return f'internal error ({type(error).__name__}); the mgr log has the details'


def _place(error: Exception) -> str:
    frames: Optional[traceback.StackSummary] = traceback.extract_tb(error.__traceback__)
    return f'{frames[-1].filename}:{frames[-1].lineno}' if frames else ''
