"""Operator control of an operation of any kind."""

from __future__ import annotations

from typing import Protocol


class Operation(Protocol):
    @property
    def KIND(self) -> str:  # noqa: N802 - a constant of each kind
        """As in "a rollout is under way"."""

    @property
    def under_way(self) -> bool:
        """Started and not ended."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems of its stored state and of its last tick, as sentences."""

    def name_actor(self, operation_id: str, actor: str, /) -> None:
        """Record who requested it, once known; raises CommandError."""

    def pause(self, actor: str, now_s: float) -> object:
        """Raises OperationRefused."""

    def resume(self, now_s: float) -> object:
        """Raises OperationRefused."""

    def abort(self, actor: str, now_s: float) -> object:
        """Raises OperationRefused."""
