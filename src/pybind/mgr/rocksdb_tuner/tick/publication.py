"""What other threads may read: replaced as a whole by the serve thread."""

from __future__ import annotations

from dataclasses import replace

from ..snapshot import Snapshot
from ..steps import Steps
from .auto_apply import AutoApply
from .material import Published
from .operating import Operating


class Publication:
    """The newest snapshot, with what it was made of."""

    def __init__(
        self, operating: Operating, auto_apply: AutoApply, steps: Steps, first: Snapshot
    ) -> None:
        self._operating, self._auto_apply, self._steps = operating, auto_apply, steps
        self.newest = Published(first)

    def replace(self, snapshot: Snapshot) -> None:
        """Made of the same as the one before."""
        self.newest = Published(snapshot, self.newest.material)

    def show_changes(self, now_s: float) -> None:
        """What was done in this tick shows at once, and what does not work."""
        self.replace(
            replace(
                self._operating.shown_in(self.newest.snapshot),
                auto_apply_refusals=self._auto_apply.refusals,
                failing=self._steps.failing,
                published_s=now_s,
            )
        )
