"""The events of a chaos schedule: faults of the cluster and its managers, and operator actions."""

from __future__ import annotations

from enum import Enum, auto


class ChaosEvent(Enum):
    # -- managers
    FAIL_OVER = auto()
    KILLED_BEFORE_A_WRITE = auto()
    KILLED_AFTER_A_WRITE = auto()
    MODULE_RELOADED = auto()
    MANAGER_STALLS = auto()
    ADVICE_RAISES = auto()
    ADVICE_WORKS = auto()
    SAMPLING_RAISES = auto()
    SAMPLING_WORKS = auto()
    # -- operators, of whom there are two
    PAUSE = auto()
    RESUME = auto()
    OTHER_OPERATOR_PAUSES = auto()
    OTHER_OPERATOR_RESUMES = auto()
    ABORT = auto()
    ROLLBACK = auto()
    ROLLBACK_UNKNOWN = auto()
    APPLY_ANOTHER = auto()
    MODE_OFF = auto()
    MODE_OFF_IN_A_WRITE = auto()
    MODE_ON = auto()
    WINDOW_CLOSES = auto()
    WINDOW_OPENS = auto()
    DAILY_LIMIT = auto()
    NO_DAILY_LIMIT = auto()
    # -- entries that others change
    SETS_OSD = auto()
    SETS_OSD_MASKED = auto()
    SETS_ALL = auto()
    SETS_GLOBAL = auto()
    SETS_CLASS = auto()
    SETS_HOST = auto()
    SETS_OTHER_OPTION = auto()
    #: Of the string and its annex, the one that the rollout does not change.
    SETS_OTHER_STRING = auto()
    REMOVES_OSD = auto()
    REMOVES_ALL = auto()
    # -- OSDs
    RESTARTED_BY_HAND = auto()
    OSD_DIES = auto()
    OSD_STARTS = auto()
    HOST_DIES = auto()
    HOST_STARTS = auto()
    DIES_AND_IS_OUT = auto()
    MARKED_OUT = auto()
    MARKED_IN = auto()
    MARKED_DOWN = auto()
    PURGED = auto()
    REPLACED = auto()
    REPLACED_BY_ANOTHER_CLASS = auto()
    JOINS = auto()
    ANOTHER_CLASS_JOINS = auto()
    BREAKS = auto()
    STUBBORN = auto()
    SILENT = auto()
    CRASHES = auto()
    STARTS_SLOWLY = auto()
    OVERRULED = auto()
    NEXT_OVERRULED = auto()
    OF_ANOTHER_RELEASE = auto()
    METADATA_MISSING = auto()
    METADATA_OLD = auto()
    OSD_HEALED = auto()
    # -- orchestrator
    ORCHESTRATOR_GONE = auto()
    ORCHESTRATOR_IDLE = auto()
    ORCHESTRATOR_LATE = auto()
    ORCHESTRATOR_REFUSES = auto()
    ORCHESTRATOR_WRONG = auto()
    ORCHESTRATOR_BACK = auto()
    # -- monitors, and what they keep
    WRITE_REFUSED = auto()
    WRITE_ANSWER_LOST = auto()
    WRITE_LOST = auto()
    WRITE_DELAYED = auto()
    MONITORS_SLOW = auto()
    REFUSES_SET = auto()
    REFUSES_RM = auto()
    REFUSES_DUMP = auto()
    #: Nothing asks for it: `config get` shows entries with a mask, with which no OSD starts.
    REFUSES_GET = auto()
    REFUSES_OK_TO_STOP = auto()
    REFUSES_VERSIONS = auto()
    MONITORS_BACK = auto()
    STORE_REFUSES = auto()
    STORE_BACK = auto()
    STORE_LOSES_EVIDENCE = auto()
    # -- the cluster as a whole
    FLAG = auto()
    NO_FLAG = auto()
    NEARFULL = auto()
    NO_NEARFULL = auto()
    SCRUB_FINDS_DAMAGE = auto()
    DAMAGE_REPAIRED = auto()
    UPGRADE_BEGINS = auto()
    UPGRADE_ENDS = auto()
    CLOCK_FORWARD = auto()
    CLOCK_BACK = auto()
    CLIENTS_STOP = auto()
    CLIENTS_COME = auto()
    NEW_IS_SLOW = auto()
    OSD_IS_SLOW = auto()
    REPORTS_STOP = auto()
    REPORTS_COME = auto()
    #: Of one OSD, which works.
    SAMPLES_STOP = auto()
    SAMPLES_COME = auto()
    REPORTS_ARE_RARE = auto()
    REPORTS_ARE_FREQUENT = auto()


#: These go through the manager, between two samples; all others may happen within one.
REQUESTS = frozenset(
    {
        ChaosEvent.FAIL_OVER,
        ChaosEvent.MODULE_RELOADED,
        ChaosEvent.MANAGER_STALLS,
        ChaosEvent.PAUSE,
        ChaosEvent.RESUME,
        ChaosEvent.OTHER_OPERATOR_PAUSES,
        ChaosEvent.OTHER_OPERATOR_RESUMES,
        ChaosEvent.ABORT,
        ChaosEvent.ROLLBACK,
        ChaosEvent.ROLLBACK_UNKNOWN,
        ChaosEvent.APPLY_ANOTHER,
        # Read once a tick.
        ChaosEvent.MODE_OFF,
        ChaosEvent.MODE_ON,
        ChaosEvent.WINDOW_CLOSES,
        ChaosEvent.WINDOW_OPENS,
        ChaosEvent.DAILY_LIMIT,
        ChaosEvent.NO_DAILY_LIMIT,
        ChaosEvent.REPORTS_STOP,
        ChaosEvent.REPORTS_COME,
        ChaosEvent.SAMPLES_STOP,
        ChaosEvent.SAMPLES_COME,
        # These take time.
        ChaosEvent.MARKED_DOWN,
    }
)

#: Only the whole loop has what these break.
OF_THE_LOOP = frozenset(
    {
        ChaosEvent.ADVICE_RAISES,
        ChaosEvent.ADVICE_WORKS,
        ChaosEvent.SAMPLING_RAISES,
        ChaosEvent.SAMPLING_WORKS,
    }
)

#: Events after the end of a rollout; all others are then the operator's business.
AFTER_THE_END = frozenset(
    {
        ChaosEvent.ROLLBACK,
        ChaosEvent.FAIL_OVER,
        ChaosEvent.MODULE_RELOADED,
        ChaosEvent.ROLLBACK_UNKNOWN,
    }
)
