"""Storage of campaigns, so that they survive a manager failover. Stored data is never trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from ...mgr.protocols import Store
from ...store.errors import StoredStateError
from ...store.stored import Quarantine, Stored
from ..phases import Phase
from .records import CampaignState

CURRENT = 'campaign/current'


class CampaignStorage:
    def __init__(self, store: Store) -> None:
        self._quarantine = Quarantine(store)
        self._current = Stored(store, CURRENT, CampaignState, _contradictions)

    def load(self) -> Optional[CampaignState]:
        """The last campaign, None before the first.

        Raises StoredStateError if it cannot be read; it is then quarantined.
        """
        try:
            return self._current.load()
        except StoredStateError as error:
            self._quarantine.add(CURRENT, str(error))
            raise

    def save(self, state: CampaignState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._current.save(state)


def _contradictions(state: CampaignState) -> Iterator[str]:
    ids = [osd.osd_id for osd in state.osds]
    if not ids or len(set(ids)) != len(ids):
        yield '"osds" is empty or names an OSD twice'
    if [osd_id for osd_id, _ in state.request.osds] != ids:
        yield '"osds" does not match "request.osds"'
    if state.stage is Phase.WAITING:
        yield '"waiting" is not a valid "stage"'
    if state.ended != (state.outcome is not None):
        yield '"outcome" and "stage" contradict each other'
    if state.request.parallel < 1:
        yield '"request.parallel" is less than 1'
