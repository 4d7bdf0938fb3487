"""Change requests.

Entries and OSDs of a change request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Annotated, Optional

from ..judge.records import Predicted
from ..mgr.records import FailureDomain, OsdInfo, RunningOption
from ..notes import Named
from ..options.grammar import in_force, same_meaning
from ..options.releases import release_of
from .entries import own, starts_with

#: A rollout changes one of these. An OSD appends the annex to the option string, so values in the
#: annex survive an upgrade that changes the default option string.
OPTION = 'bluestore_rocksdb_options'
ANNEX = 'bluestore_rocksdb_options_annex'


class Purpose(str, Enum):
    """Why OSDs are changed."""

    #: A predicted improvement.
    GAIN = 'gain'
    #: An objection to the running options, or an operator's request; no gain is predicted.
    SAFETY = 'safety'


class ChangeKind(str, Enum):
    """The kinds of recommendation that a rollout can apply."""

    SET_PROFILE = 'set-profile'
    #: Every OSD's target is its release's default; no entry is left at the end.
    REMOVE_OVERRIDE = 'remove-override'


@dataclass(frozen=True)
class ChangeRequest:
    """One recommendation, ready to be applied.

    ``targets`` has (OSD id, option string) for every OSD, ``order`` the ids, the canary first.
    ``final_entries`` are the config store's entries at the end: (who, value), or (who, None) for a
    removed entry. Entries of single OSDs ("osd.3") that are not listed are removed.
    """

    recommendation_id: Annotated[
        str, Named('recommendation'), 'Id of the recommendation that it applies.'
    ]
    kind: Annotated[ChangeKind, Named('change'), 'Kind of change.']
    who: Annotated[str, 'Config mask of the change.']
    targets: tuple[tuple[int, str], ...]
    order: tuple[int, ...]
    final_entries: tuple[tuple[str, Optional[str]], ...]
    #: The requester as in the audit log ("client.admin"); empty until applied.
    actor: Annotated[str, 'Client that requested it.']
    #: False if every OSD already runs its target: only entries change.
    restart: bool = True
    #: OSDs that the canary is compared with; unchanged until its verdict.
    controls: tuple[int, ...] = ()
    #: ``order`` in batches, each with its own soak; the first is the canary alone. Empty: every
    #: OSD is its own batch.
    batches: tuple[tuple[int, ...], ...] = ()
    #: The failure domain of each batch, None if unknown. Empty: all unknown.
    domains: tuple[Optional[FailureDomain], ...] = ()
    #: The prediction in words, for `history`.
    prediction: Optional[str] = None
    #: The same in numbers.
    predicted: Optional[Predicted] = None
    option: Annotated[
        str, 'Changed option: the option string, or the annex that OSDs append to it.'
    ] = OPTION
    #: Old and new option string, both options together; None: see ``targets``.
    strings: Optional[tuple[str, str]] = None
    purpose: Annotated[
        Purpose,
        'Purpose of the change: "gain" if a gain is predicted, which the canary has to '
        'confirm; else "safety".',
    ] = Purpose.SAFETY
    #: The judged signal with the predicted gain; None: any required signal.
    promised: Optional[str] = None
    #: Time between memtable flushes under the load at the time of the request, with the slower of
    #: the two option strings; None: unknown.
    fill_s: Optional[float] = None

    @cached_property
    def target_by_osd(self) -> Mapping[int, str]:
        return dict(self.targets)

    @cached_property
    def final_by_who(self) -> Mapping[str, Optional[str]]:
        return dict(self.final_entries)

    @cached_property
    def shared_entries(self) -> tuple[tuple[str, Optional[str]], ...]:
        """The final entries except for those of single OSDs."""
        owned = {own(osd_id) for osd_id in self.order}
        return tuple((who, value) for who, value in self.final_entries if who not in owned)

    @cached_property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """The OSDs of each batch."""
        return self.batches or tuple((osd_id,) for osd_id in self.order)

    @cached_property
    def position(self) -> Mapping[int, int]:
        """Index of each OSD in ``order``."""
        return {osd_id: index for index, osd_id in enumerate(self.order)}

    @property
    def other_option(self) -> str:
        """The unchanged one of the two options."""
        return OPTION if self.option == ANNEX else ANNEX


def target(request: ChangeRequest, osd_id: int) -> str:
    return request.target_by_osd[osd_id]


def end_value(request: ChangeRequest, osd_id: int) -> Optional[str]:
    """Final value of the OSD's own entry; None if it is removed."""
    return request.final_by_who.get(own(osd_id))


def starts_alike(
    option: str,
    osd: OsdInfo,
    before: Mapping[str, str],
    after: Mapping[str, str],
    other_entries: Optional[Mapping[str, str]],
) -> bool:
    """Whether ``osd`` starts with the same options by these entries of ``option``.

    ``other_entries``: of the other option, None if unknown. Without an entry the default of the
    OSD's release applies.
    """
    found = [starts_with(entries, osd.osd_id) for entries in (before, after)]
    old, new = (None if started is None else started[1] for started in found)
    release = release_of(osd.version, osd.release)
    version = release.rocksdb_version if release else None
    if old == new or (old is not None and new is not None and same_meaning(old, new, version)):
        return True
    if release is None:
        return False
    if option == OPTION:
        default = release.default_options
        return same_meaning(
            default if old is None else old, default if new is None else new, version
        )
    if other_entries is None:
        return False
    started = starts_with(other_entries, osd.osd_id)
    main = release.default_options if started is None else started[1]
    one, other = (in_force(main, release.default_annex if a is None else a) for a in (old, new))
    return same_meaning(one, other, version)


def overruled(request: ChangeRequest, osd_id: int, running: RunningOption) -> str:
    origin = {
        'file': 'its ceph.conf',
        'env': 'its environment',
        'cmdline': 'its command line',
    }.get(running.source, 'a value set in the running daemon')
    return (
        f'{request.option} of osd.{osd_id} comes from {origin}, which the config store '
        'does not override: remove it there first, and restart the OSD'
    )
