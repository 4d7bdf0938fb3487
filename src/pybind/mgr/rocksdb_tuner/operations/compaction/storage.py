"""Storage of campaigns, so that they survive a manager failover."""

from __future__ import annotations

import logging
from typing import Optional

from ...mgr.protocols import CommandError, Store
from ...store.errors import StoredStateError
from ...store.quarantine import BROKEN, Quarantine
from ...store.spread import Spread
from .codec import LAYOUT, checked, is_of_first_format, of_first_format
from .records import CampaignState

log = logging.getLogger(__name__)

#: The head of the campaign; its parts are under `PARTS`.
CURRENT = 'campaign/current'
PARTS = 'campaign/parts/'
#: Chunks of OSDs in the first format, by campaign id and chunk number.
_FIRST_CHUNKS = 'campaign/osds/'


class CampaignStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._quarantine = Quarantine(store)
        self._spread = Spread(store, LAYOUT, CURRENT, PARTS)
        self._of_first_format = False

    def load(self) -> Optional[CampaignState]:
        """The last campaign, None before the first.

        Raises StoredStateError if it cannot be read; it is then quarantined.
        """
        head = self._store.get(CURRENT)
        if head is None:
            return None
        try:
            self._of_first_format = is_of_first_format(head)
            if self._of_first_format:
                return of_first_format(
                    head, lambda name, number: self._store.get(f'{_FIRST_CHUNKS}{name}/{number}')
                )
            return checked(self._spread.load(head))
        except StoredStateError as error:
            self._quarantine.add(CURRENT, head, str(error))
            raise

    def save(self, state: CampaignState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._spread.save(state)
        if self._of_first_format:
            self._forget_first_format()

    def _forget_first_format(self) -> None:
        if self._store.get(BROKEN + CURRENT) is not None:
            # They may belong to the quarantined campaign.
            return
        try:
            for key in self._store.keys(_FIRST_CHUNKS):
                self._store.set(key, None)
        except CommandError as error:
            log.warning('cannot remove a campaign in the first format: %s', error.message)
        else:
            self._of_first_format = False
