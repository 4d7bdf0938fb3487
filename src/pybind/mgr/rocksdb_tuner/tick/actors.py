"""Finds out which client sent the command that began a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, Mapping, Optional

from ..mgr.protocols import Audit
from .audit import sender
from .questions import Questions

#: The audit log has a command a second or two after the manager.
AUDIT_TRIES = 5
AUDIT_PAUSE_S = 2.0


class Actors:
    """Asks the monitors beside the serve thread; what is unknown stays as it is."""

    def __init__(
        self,
        audit: Audit,
        questions: Questions,
        name_actor: Callable[[str, str], None],
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """``name_actor`` is given the id of a change and who began it, in the serve thread."""
        self._audit, self._questions, self._name_actor = audit, questions, name_actor
        self._clock, self._sleep = clock, sleep

    def find(self, change_id: str, command: Mapping[str, Sequence[object]]) -> None:
        """Find who sent ``command``, and name that client; only in the serve thread.

        Of each argument it has one of the values given.
        """
        taken_s = self._clock()

        def ask() -> Optional[str]:
            for attempt in range(AUDIT_TRIES):
                if attempt:
                    self._sleep(AUDIT_PAUSE_S)
                found = sender(self._audit.audited(), command, taken_s)
                if found is not None:
                    return found
            return None

        def take(found: Optional[str]) -> None:
            if found is not None:
                self._name_actor(change_id, found)

        def failed(error: Exception) -> None:
            raise error

        self._questions.ask(0, ask, take, failed)

    def take_answers(self) -> None:
        self._questions.take_answers()

    def drop(self) -> None:
        self._questions.drop()
