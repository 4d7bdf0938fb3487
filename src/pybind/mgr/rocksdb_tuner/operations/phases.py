"""The words in which every operation says where it stands and how it ended."""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    """Where an operation stands, in the words of `rollout status`."""

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
    #: For the operator or a gate; `paused_reason` of its state says which.
    WAITING = 'waiting'
    FAILED = 'failed'


#: Phases that nothing follows but a rollback.
FINAL_PHASES = frozenset({Phase.DONE, Phase.ROLLED_BACK, Phase.FAILED})


class Outcome(str, Enum):
    """How a change ended, in the words of `history`."""

    DONE = 'done'
    ROLLED_BACK = 'rolled-back'
    FAILED = 'failed'
    ABORTED = 'aborted'
    #: Not ended yet.
    WAITING = 'waiting'
