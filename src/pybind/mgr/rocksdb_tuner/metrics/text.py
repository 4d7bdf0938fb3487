"""The response to a scrape of the active manager."""

from __future__ import annotations

from typing import Callable, Optional

from ..snapshot import Snapshot
from .exposition import exposition
from .series import metrics


class MetricsText:
    """The text of the newest snapshot, rendered once per snapshot.

    Called in the endpoint's threads, one at a time; queries neither the cluster nor the serve
    thread.
    """

    def __init__(self, snapshot: Callable[[], Snapshot], osd_limit: Callable[[], int]) -> None:
        self._snapshot = snapshot
        self._osd_limit = osd_limit
        self._written_of: Optional[tuple[Snapshot, int]] = None
        self._text = ''

    def __call__(self) -> str:
        snapshot, osd_limit = self._snapshot(), self._osd_limit()
        written_of = self._written_of
        if written_of is None or written_of[0] is not snapshot or written_of[1] != osd_limit:
            self._text = exposition(metrics(snapshot, osd_limit))
            self._written_of = snapshot, osd_limit
        return self._text
