"""One decision of a state machine: the next state and at most one action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Optional, Protocol, TypeVar


class OperationState(Protocol):
    """Immutable state of one operation: everything that is stored."""

    @property
    def operation_id(self) -> str:
        """Unique among all operations of the module."""

    @property
    def paused_reason(self) -> Optional[str]:
        """Why it waits; None while it does not."""

    @property
    def ended(self) -> bool:
        """No step follows."""


StateT = TypeVar('StateT', bound=OperationState)
ActionT = TypeVar('ActionT')


@dataclass(frozen=True)
class Step(Generic[StateT, ActionT]):
    state: StateT
    #: At most one.
    actions: tuple[ActionT, ...] = ()
