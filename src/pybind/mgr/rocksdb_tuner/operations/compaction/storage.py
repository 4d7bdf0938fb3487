"""Storage of campaigns, so that they survive a manager failover. Stored data is never trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from ...mgr.protocols import Store
from ...store.errors import StoredStateError
from ...store.quarantine import Quarantine
from ...store.spread import Layout, Spread
from ..phases import Phase
from .records import CampaignState, OsdCompaction

#: The head of the campaign; its parts are under `PARTS`.
CURRENT = 'campaign/current'
PARTS = 'campaign/parts/'

#: A step changes one OSD, or a few. The plan never changes.
LAYOUT: Layout[CampaignState] = Layout(
    kind=CampaignState,
    version=1,
    parts=('request',),
    rows='osds',
    row=OsdCompaction,
)


class CampaignStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._quarantine = Quarantine(store)
        self._spread = Spread(store, LAYOUT, CURRENT, PARTS)

    def load(self) -> Optional[CampaignState]:
        """The last campaign, None before the first.

        Raises StoredStateError if it cannot be read; it is then quarantined.
        """
        head = self._store.get(CURRENT)
        if head is None:
            return None
        try:
            return _checked(self._spread.load(head))
        except StoredStateError as error:
            self._quarantine.add(CURRENT, head, str(error))
            raise

    def save(self, state: CampaignState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._spread.save(state)


def _checked(state: CampaignState) -> CampaignState:
    for wrong in _contradictions(state):
        raise StoredStateError(wrong)
    return state


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
