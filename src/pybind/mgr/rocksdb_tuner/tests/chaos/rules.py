"""What must always hold: the safety rules of the product, by name."""

from __future__ import annotations

from enum import Enum


class Rule(Enum):
    """One invariant; the number is that of the safety rule behind it."""

    #: Rule 1
    AS_REQUESTED = 'no entry gets a value that was neither there before nor asked for'
    #: Rule 2
    STORE_DECIDES = 'no OSD is begun whose options come from elsewhere'
    RUNS_NEW_OPTIONS = 'an OSD counts as changed once a new process runs the new options'
    ONE_AT_A_TIME = 'no OSD is begun beside another one in flight, the canary first'
    SAME_OSD = 'only the OSD that was checked is changed'
    LEFT_CORRECTLY = 'only an OSD that is away, or another one by now, is left behind'
    #: Rule 3
    ONE_DOWN = 'never are two OSDs down by the hand of the rollout'
    ONE_OUTSTANDING = 'no restart is asked for while another one may still happen'
    GATES = 'no OSD is stopped in a cluster that is not clean, or is held'
    OK_TO_STOP = 'no OSD is stopped that placement groups need'
    NO_UPGRADE = 'no OSD is stopped during an upgrade'
    #: Rule 4
    STARTS_AGAIN = 'options with which an OSD does not start are removed'
    BOUNDED_DOWNTIME = 'no OSD stays down by the hand of the rollout for longer than it starts'
    #: Rule 5
    SAVED_BEFORE = 'what is done was stored before'
    UNDO_EXACT = 'a rollback restores what was there'
    END_AS_PLANNED = 'at the end of a change the entries are those of the plan'
    ALL_OR_NONE = 'a change that fails leaves no part of the cluster changed'
    LEFT_CLEAN = 'an OSD that is left behind has the entry that its id had'
    LEFT_NAMED = 'who was left behind is named where the rollout ended'
    #: Rule 6
    OPERATOR_WINS = 'what an operator changed is not overwritten'
    PAUSE_HOLDS = 'nothing is begun after a pause, on no way'
    MODE = 'nothing is changed in mode off but for an OSD that cannot start'
    WINDOW = 'no OSD is begun outside the maintenance window'
    DAILY_LIMIT = 'no OSD is begun beyond restarts_per_day'
    REQUESTS = 'a request that is refused changes nothing'
    #: Rule 7
    OBSERVES_FIRST = 'a manager samples before it acts'
    REPORTS_ARRIVE = 'no OSD is begun while none reports'
    #: Rule 8
    STOPS = 'an OSD is not restarted again and again'
    ALARM = 'whoever needs an operator raises a health check'
    OFFER_IS_VALID = 'a rollback is offered where it would be accepted'
    #: Rule 9
    VERDICT_FIRST = 'no batch is begun before the verdict on the one before it'
    SAME_PROCESS = 'no batch passes of which a process ended'
    MEASURED = 'nothing passes of which nothing was measured'
    #: Rule 10
    BOUNDED_TICK = 'a look asks a bounded number of questions'
    #: Rule 11
    NO_MASKS = 'no entry with a mask is written'
    NO_OUTSIDER = 'no OSD outside the rollout changes at its next start'
    #: Rule 12
    NO_SPREAD = 'what brought no gain that was promised does not spread by itself'
    NOT_UNASKED = 'what begins by itself was recommended for long enough, and did not fail before'
    #: In all cases
    ENDS = 'it ends once all works and the operator does what he is told'
    RECORDED = 'each end is in the history'
    NO_TRACEBACK = 'nothing raises'


class Violation(AssertionError):  # noqa: N818 - what it is
    """An invariant does not hold."""

    def __init__(self, rule: Rule, text: str) -> None:
        super().__init__(f'{rule.name} ({rule.value}): {text}')
        self.rule = rule
