"""Phases and outcomes of every operation."""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    """Phase of an operation, as in `operation status`."""

    PLANNED = 'planned'
    PREFLIGHT = 'preflight'
    CANARY = 'canary'
    SOAKING = 'soaking'
    JUDGING = 'judging'
    PROMOTING = 'promoting'
    COLLAPSING = 'collapsing'
    DONE = 'done'
    ROLLING_BACK = 'rolling-back'
    ROLLED_BACK = 'rolled-back'
    #: For the operator or a gate; see `paused_reason` of the state.
    WAITING = 'waiting'
    FAILED = 'failed'


#: Phases that only a rollback can follow.
FINAL_PHASES = frozenset({Phase.DONE, Phase.ROLLED_BACK, Phase.FAILED})


class Outcome(str, Enum):
    """Outcome of a change, as in `history`."""

    DONE = 'done'
    ROLLED_BACK = 'rolled-back'
    FAILED = 'failed'
    ABORTED = 'aborted'
    #: Not ended yet.
    WAITING = 'waiting'
