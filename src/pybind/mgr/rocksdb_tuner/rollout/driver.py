"""Carries out what the machine decides: the only part of a rollout that does I/O."""

from __future__ import annotations

from typing import Callable, Optional

from ..mgr.protocols import ClusterReader, ConfigStore, Orchestrator, OsdCommands, Store
from .history import HistoryRecord
from .records import ChangeRequest, RolloutState


class Driver:
    """One rollout at a time, over a cluster.

    Everything but the properties waits for monitors and must be called from the module's serve
    thread only. The properties never wait and may be read from any thread.
    """

    def __init__(  # noqa: PLR0917 - one argument per Protocol
        self,
        config: ConfigStore,
        osds: OsdCommands,
        orchestrator: Orchestrator,
        cluster: ClusterReader,
        store: Store,
        same_meaning: Callable[[str, str], bool],
    ) -> None:
        raise NotImplementedError

    @property
    def state(self) -> Optional[RolloutState]:
        """The running rollout, or the last one; None before the first."""
        raise NotImplementedError

    @property
    def history(self) -> tuple[HistoryRecord, ...]:
        """Every change, oldest first."""
        raise NotImplementedError

    @property
    def problems(self) -> tuple[str, ...]:
        """What an operator must know of the stored state, one sentence each."""
        raise NotImplementedError

    def load(self) -> None:
        """Read what is stored. Never raises: what cannot be read is set aside."""
        raise NotImplementedError

    def tick(self, now_s: float, may_act: bool) -> None:
        """Look, decide, save, act; returns at once where nothing is being rolled out."""
        raise NotImplementedError

    def start(self, request: ChangeRequest, now_s: float) -> RolloutState:
        """Begin to carry out a request; raises RolloutRefused."""
        raise NotImplementedError

    def rollback(self, rollout_id: Optional[str], actor: str, now_s: float) -> RolloutState:
        """Restore what was there before a rollout (None: the last one); raises RolloutRefused.

        ``rollout_id`` may also be the id of the recommendation that it carried out.
        """
        raise NotImplementedError

    def pause(self, actor: str, now_s: float) -> RolloutState:
        raise NotImplementedError

    def resume(self, now_s: float) -> RolloutState:
        raise NotImplementedError

    def abort(self, actor: str, now_s: float) -> RolloutState:
        raise NotImplementedError
