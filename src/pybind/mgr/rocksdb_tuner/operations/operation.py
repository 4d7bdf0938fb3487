"""An operation, of whatever kind, as operators steer it."""

from __future__ import annotations

from typing import Protocol


class Operation(Protocol):
    @property
    def KIND(self) -> str:  # noqa: N802 - a constant of each kind
        """As in "a rollout is under way"."""

    @property
    def under_way(self) -> bool: ...

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with what is stored of it, and with its last tick, in sentences."""

    def name_actor(self, operation_id: str, actor: str, /) -> None:
        """Who asked for it, now that it is known; raises CommandError."""

    def pause(self, actor: str, now_s: float) -> object:
        """Raises OperationRefused, as the two below."""

    def resume(self, now_s: float) -> object: ...

    def abort(self, actor: str, now_s: float) -> object: ...
