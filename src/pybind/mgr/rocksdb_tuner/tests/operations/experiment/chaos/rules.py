"""The invariants of an experiment, by name."""

from __future__ import annotations

from enum import Enum


class Rule(Enum):
    """One invariant."""

    AS_REQUESTED = 'own entries of planned OSDs get the string of an arm or what they had'
    ONLY_PLANNED = 'no more OSDs than planned are off their old string'
    OF_ITS_ARM = 'an OSD gets the string of its arm'
    SAVED_BEFORE = 'every action was stored before'
    ONE_DOWN = 'the experiment never has two OSDs down'
    ONE_OUTSTANDING = 'no restart is requested while another one may still happen'
    GATES = 'no OSD is stopped in a cluster that is not clean, or is held'
    OPERATOR_WINS = "an operator's change is not overwritten"
    PAUSE_HOLDS = 'nothing is done after a pause, except for a failed OSD'
    MODE = 'nothing is done in mode off, except for a failed OSD'
    WINDOW = 'no OSD is started outside the maintenance window'
    OBSERVES_FIRST = 'a manager samples before it acts'
    DROPPED_STAYS_OFF = 'no OSD gets the string of an arm that was dropped, or any after a crash'
    UNDISTURBED = 'no block covers a change or a down OSD'
    RIGHT_ARM = 'an OSD is measured in the arm whose string it runs'
    EVIDENCE_KEPT = 'measurements are known to the next manager'
    RESTORED = 'at the end every OSD has its old entry and runs its old string'
    RIGHT_END = 'its conclusion matches the events'
    RECORDED = 'its end is in the history, once'
    ENDS = 'it ends once everything works'
    NO_TRACEBACK = 'nothing raises'
