"""State that other threads may read; the serve thread replaces it as a whole."""

from __future__ import annotations

from dataclasses import replace

from ..snapshot import Snapshot
from ..steps import Steps
from .auto_apply import AutoApply
from .operation_control import OperationControl
from .published import Published


class Publication:
    """The newest snapshot with its inputs."""

    def __init__(
        self, operations: OperationControl, auto_apply: AutoApply, steps: Steps, first: Snapshot
    ) -> None:
        self._operations, self._auto_apply, self._steps = operations, auto_apply, steps
        self.newest = Published(first)

    def replace(self, snapshot: Snapshot) -> None:
        """Replace the snapshot and keep its inputs."""
        self.newest = Published(snapshot, self.newest.inputs)

    def show_changes(self, now_s: float) -> None:
        """Publish the current operations and failing steps at once."""
        self.replace(
            replace(
                self.newest.snapshot,
                **self._operations.shown(),
                auto_apply_refusals=self._auto_apply.refusals,
                failing=self._steps.failing,
                published_s=now_s,
            )
        )
