"""Finds the client whose command started a change."""

from __future__ import annotations

from typing import Callable, Mapping, Optional

from ..mgr.protocols import Audit
from .audit import sender
from .queries import Queries

#: A command reaches the audit log a second or two after the mgr.
AUDIT_TRIES = 5
AUDIT_PAUSE_S = 2.0


class Actors:
    """Queries the monitors in the background; without a result the actor stays unchanged."""

    def __init__(
        self,
        audit: Audit,
        queries: Queries,
        name_actor: Callable[[str, str], None],
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """``name_actor`` gets the id of a change and its actor, in the serve thread."""
        self._audit, self._queries, self._name_actor = audit, queries, name_actor
        self._clock, self._sleep = clock, sleep

    def find(self, change_id: str, command: Mapping[str, object]) -> None:
        """Find the client that sent the arguments ``command`` and name it; in the serve thread."""
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

        self._queries.ask(0, ask, take, failed)

    def take_answers(self) -> None:
        self._queries.take_answers()

    def drop(self) -> None:
        self._queries.drop()
