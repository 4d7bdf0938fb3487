"""What must always hold of an experiment, by name."""

from __future__ import annotations

from enum import Enum


class Rule(Enum):
    """What must always hold."""

    AS_REQUESTED = 'own entries of planned OSDs get the string of an arm or what they had'
    ONLY_PLANNED = 'never are more OSDs off their old string than planned'
    OF_ITS_PERIOD = 'an OSD gets the string of the arm that it has in this period'
    SAVED_BEFORE = 'what is done was stored before'
    ONE_DOWN = 'never are two OSDs down by the hand of the experiment'
    ONE_OUTSTANDING = 'no restart is asked for while another one may still happen'
    GATES = 'no OSD is stopped in a cluster that is not clean, or is held'
    OPERATOR_WINS = 'what an operator changed is not overwritten'
    PAUSE_HOLDS = 'nothing is done after a pause, but for an OSD that failed'
    MODE = 'nothing is done in mode off, but for an OSD that failed'
    WINDOW = 'no OSD is begun outside the maintenance window'
    OBSERVES_FIRST = 'a manager samples before it acts'
    DROPPED_STAYS_OFF = 'no OSD gets the string of an arm that was dropped, or any after a crash'
    UNDISTURBED = 'no block is of a time in which anything was changed or down'
    RIGHT_ARM = 'an OSD is measured in the arm whose string it runs'
    EVIDENCE_KEPT = 'what was measured is known to the next manager'
    RESTORED = 'at the end every OSD has its old entry and runs its old string'
    RIGHT_END = 'it ends as what happened says'
    RECORDED = 'its end is in the history, once'
    ENDS = 'it ends once all works'
    NO_TRACEBACK = 'nothing raises'


class Violation(AssertionError):  # noqa: N818 - what it is
    """An invariant does not hold."""

    def __init__(self, rule: Rule, text: str) -> None:
        super().__init__(f'{rule.name} ({rule.value}): {text}')
        self.rule = rule
