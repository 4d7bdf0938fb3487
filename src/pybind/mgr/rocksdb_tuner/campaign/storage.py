"""What survives a failover of the manager of a campaign: its head, and its OSDs in chunks."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Optional

from ..mgr.protocols import CommandError, Store
from ..rollout.errors import StoredStateError
from .codec import chunk_count, chunk_finished, decode, encode_chunk, encode_head
from .records import CampaignState

log = logging.getLogger(__name__)

#: The head. What it refers to is there before it, so whoever reads it finds one whole state.
CURRENT = 'campaign/current'
#: The OSDs, by the campaign's id and the number of the chunk.
CHUNKS = 'campaign/osds/'
BROKEN = 'broken/' + CURRENT


class CampaignStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        #: What is in the store, as far as this manager wrote or read it.
        self._kept: Optional[CampaignState] = None

    def load(self) -> Optional[CampaignState]:
        """The last campaign, None before the first.

        Raises StoredStateError for one that cannot be read, which is set aside.
        """
        head = self._store.get(CURRENT)
        if head is None:
            return None
        try:
            state = decode(head, lambda name, number: self._store.get(_key(name, number)))
        except StoredStateError:
            with suppress(CommandError):
                self._store.set(BROKEN, head)
                self._store.set(CURRENT, None)
            raise
        # An older version of the module kept everything in the head: then all is written anew.
        in_chunks = self._store.get(_key(state.campaign_id, 0)) is not None
        self._kept = state if in_chunks else None
        return state

    def save(self, state: CampaignState) -> None:
        """Raises RolloutRefused (E2BIG), CommandError."""
        kept = self._kept
        anew = kept is None or not _same_campaign(kept, state)
        for number in range(chunk_count(state)):
            finished = chunk_finished(state, number)
            if anew or kept is None or chunk_finished(kept, number) != finished:
                self._store.set(_key(state.campaign_id, number), encode_chunk(state, number))
        self._store.set(CURRENT, encode_head(state))
        self._kept = state
        if anew:
            self._forget_others(state)

    def _forget_others(self, state: CampaignState) -> None:
        """Remove the chunks that no head refers to."""
        if self._store.get(BROKEN) is not None:
            # Those of what was set aside are for an expert to look at, too.
            return
        ours = {_key(state.campaign_id, number) for number in range(chunk_count(state))}
        try:
            for key in self._store.keys(CHUNKS):
                if key not in ours:
                    self._store.set(key, None)
        except CommandError as error:
            log.warning('an older campaign is still stored: %s', error.message)


def _key(campaign_id: str, number: int) -> str:
    return f'{CHUNKS}{campaign_id}/{number}'


def _same_campaign(one: CampaignState, other: CampaignState) -> bool:
    return one.campaign_id == other.campaign_id and one.request == other.request
