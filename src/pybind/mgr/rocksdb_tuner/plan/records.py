"""What is to be changed, in the form in which it can be carried out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional

from ..judge.records import Predicted
from ..mgr.records import FailureDomain

#: The two options that rollouts change, each rollout one of them. An OSD appends the annex to the
#: other: what it names keeps the value that it gives, whatever release the OSD is upgraded to.
OPTION = 'bluestore_rocksdb_options'
ANNEX = 'bluestore_rocksdb_options_annex'


class Purpose(str, Enum):
    """Why OSDs are changed at all."""

    #: Something is predicted to improve.
    GAIN = 'gain'
    #: Something speaks against what runs, or somebody asked for it: no gain is promised.
    SAFETY = 'safety'


class ChangeKind(str, Enum):
    """The kinds of recommendation that a rollout can carry out."""

    SET_PROFILE = 'set-profile'
    #: Every OSD's target is its own release's default; nothing shall decide for it at the end.
    REMOVE_OVERRIDE = 'remove-override'


@dataclass(frozen=True)
class ChangeRequest:
    """One recommendation, in the form in which it can be carried out.

    ``targets`` holds (OSD id, option string) for every OSD, ``order`` their ids, the canary
    first. ``final_entries`` is what the config store shall hold at the end: (who, value), None
    where the entry shall be gone, (('osd', '...'),) or (('osd', None),). Entries of
    the single OSDs ("osd.3") that are not among them are gone at the end.
    """

    recommendation_id: str
    kind: ChangeKind
    #: The mask that the change is about, "osd/class:ssd".
    who: str
    targets: tuple[tuple[int, str], ...]
    order: tuple[int, ...]
    final_entries: tuple[tuple[str, Optional[str]], ...]
    #: Who asked for it, as the audit log names it ("client.admin"); empty until somebody does.
    actor: str
    #: False where every OSD runs its target already: only entries change, nothing restarts.
    restart: bool = True
    #: OSDs that the first is compared with; unchanged until it was judged.
    controls: tuple[int, ...] = ()
    #: ``order`` in pieces, each of which is watched before the next one follows; the first is the
    #: canary alone. Empty: every OSD by itself.
    batches: tuple[tuple[int, ...], ...] = ()
    #: The failure domain that each batch lies in, None where that is not known. Empty: of none.
    domains: tuple[Optional[FailureDomain], ...] = ()
    #: What was predicted, in words, kept as it is for `history`.
    prediction: Optional[str] = None
    #: The same in numbers.
    predicted: Optional[Predicted] = None
    #: What targets and entries are values of: `OPTION` or `ANNEX`.
    option: str = OPTION
    #: What OSDs run before and after, of both options together; None: what they have of this one.
    strings: Optional[tuple[str, str]] = None
    purpose: Purpose = Purpose.SAFETY
    #: The judged signal in which the gain is to show; None: any that a verdict requires.
    promised: Optional[str] = None
    #: From one flush of memtables to the next under the load at the time of the request, in the
    #: slower of the two option sets; None: not known.
    fill_s: Optional[float] = None

    @property
    def other_option(self) -> str:
        """The one that this does not change, and that OSDs read with it."""
        return OPTION if self.option == ANNEX else ANNEX
