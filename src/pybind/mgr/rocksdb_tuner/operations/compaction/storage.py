"""What survives a failover of the manager of a campaign."""

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

#: The head of the campaign; what it names lies under `PARTS`.
CURRENT = 'campaign/current'
PARTS = 'campaign/parts/'
#: Where the first format had its OSDs, by the campaign's id and the number of the chunk.
_FIRST_CHUNKS = 'campaign/osds/'


class CampaignStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._quarantine = Quarantine(store)
        self._spread = Spread(store, LAYOUT, CURRENT, PARTS)
        self._of_first_format = False

    def load(self) -> Optional[CampaignState]:
        """The last campaign, None before the first.

        Raises StoredStateError for one that cannot be read, which is set aside.
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
        """Raises CommandError: then this state is stored, or the one before."""
        self._spread.save(state)
        if self._of_first_format:
            self._forget_first_format()

    def _forget_first_format(self) -> None:
        if self._store.get(BROKEN + CURRENT) is not None:
            # They may be of what was set aside, and are for an expert to look at, too.
            return
        try:
            for key in self._store.keys(_FIRST_CHUNKS):
                self._store.set(key, None)
        except CommandError as error:
            log.warning('a campaign of the first format is left over: %s', error.message)
        else:
            self._of_first_format = False
