"""The invariants: the safety rules of the product, by name."""

from __future__ import annotations

from enum import Enum


class Rule(Enum):
    """One invariant; the number is that of the safety rule behind it."""

    #: Rule 1
    AS_REQUESTED = 'an entry only gets its previous or its requested value'
    #: Rule 2
    STORE_DECIDES = 'no OSD is started whose options come from another source'
    RUNS_NEW_OPTIONS = 'an OSD counts as changed once a new process runs the new options'
    ONE_AT_A_TIME = 'one OSD is in flight at a time, the canary first'
    SAME_OSD = 'only the OSD that was checked is changed'
    LEFT_CORRECTLY = 'only an absent or replaced OSD is left behind'
    #: Rule 3
    ONE_DOWN = 'the rollout never has two OSDs down'
    ONE_OUTSTANDING = 'no restart is requested while another one may still happen'
    GATES = 'no OSD is stopped in a cluster that is not clean, or is held'
    OK_TO_STOP = 'no OSD is stopped that placement groups need'
    NO_UPGRADE = 'no OSD is stopped during an upgrade'
    #: Rule 4
    STARTS_AGAIN = 'options with which an OSD does not start are removed'
    BOUNDED_DOWNTIME = 'the rollout keeps no OSD down for longer than its start'
    NOT_ABANDONED = 'no end leaves an OSD down with options with which it does not start'
    #: Rule 5
    SAVED_BEFORE = 'every action was stored before'
    UNDO_EXACT = 'a rollback restores the previous state'
    END_AS_PLANNED = 'at the end of a change the entries are those of the plan'
    ALL_OR_NONE = 'a change that fails leaves no part of the cluster changed'
    LEFT_CLEAN = 'an OSD left behind has the previous entry of its id'
    LEFT_NAMED = 'the conclusion names OSDs left behind'
    #: Rule 6
    OPERATOR_WINS = "an operator's change is not overwritten"
    PAUSE_HOLDS = 'nothing starts after a pause, in either direction'
    MODE = 'nothing is changed in mode off except for an OSD that cannot start'
    WINDOW = 'no OSD is started outside the maintenance window'
    DAILY_LIMIT = 'no OSD is started beyond restarts_per_day'
    REQUESTS = 'a request that is refused changes nothing'
    #: Rule 7
    OBSERVES_FIRST = 'a manager samples before it acts'
    REPORTS_ARRIVE = 'no OSD is started while none reports'
    #: Rule 8
    STOPS = 'an OSD is not restarted again and again'
    ALARM = 'a need for the operator raises a health check'
    OFFER_IS_VALID = 'a rollback is offered where it would be accepted'
    #: Rule 9
    SAMPLED = 'no OSD is started while the canary or a control has no current sample'
    VERDICT_FIRST = 'no batch is started before the verdict on the previous one'
    SAME_PROCESS = 'no batch passes of which a process ended'
    MEASURED = 'nothing passes without measurements'
    #: Rule 10
    BOUNDED_TICK = 'a sample has a bounded number of queries'
    #: Rule 11
    NO_MASKS = 'no entry with a mask is written'
    NO_OUTSIDER = 'no OSD outside the rollout changes at its next start'
    #: Rule 12
    NO_SPREAD = 'a change without its expected gain does not spread by itself'
    NOT_UNASKED = 'an automatic change was recommended for long enough, and did not fail before'
    #: In all cases
    ENDS = 'it ends once everything works and the operator follows the instructions'
    RECORDED = 'each end is in the history'
    NO_TRACEBACK = 'nothing raises'
