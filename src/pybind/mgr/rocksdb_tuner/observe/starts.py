"""Downtime of OSDs across restarts, as observed by this mgr. Pure.

No release reports the startup time of an OSD to the mgr. The OSD map shows which process is up: an
absence lasts from one process to the next, including the time before anything started the OSD. Its
precision is the sampling interval, so there is a lower and an upper bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Mapping, NamedTuple, Optional

from ..mgr.records import OsdInfo
from ..notes import Amount, Unbounded

#: After a pause longer than this and than two sampling intervals, earlier observations are dropped.
PAUSE_S = 60.0
#: OSDs that went down within this time may have gone down with their host: a shutdown takes
#: minutes at most.
TOGETHER_S = 600.0


class LastStart(NamedTuple):
    """The last observed restart."""

    away_s: Annotated[Amount, Unbounded(), 'Minimum downtime, in seconds.']
    away_most_s: Annotated[Amount, Unbounded(), 'Maximum downtime, in seconds.']
    host_away: Annotated[
        Optional[bool],
        'Whether most OSDs of its host were down with it; null: the host has no other OSDs.',
    ]


class _Absence(NamedTuple):
    """A current absence."""

    #: The last sample that saw it up.
    up_s: float
    #: The first and the last sample that saw it down.
    first_s: float
    last_s: float
    host_away: Optional[bool] = None


class _Watched(NamedTuple):
    """An OSD that was seen up."""

    #: The last process seen: UUID of the OSD, and nonce.
    process: tuple[Optional[str], int]
    start: Optional[LastStart] = None
    absence: Optional[_Absence] = None


class StartWatch:
    """Observes OSDs going down and coming up. Times are seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._sampled_s: Optional[float] = None
        self._osds: dict[int, _Watched] = {}
        #: By OSD; replaced, never modified: other threads read it.
        self.starts: Mapping[int, LastStart] = {}

    def sample(self, osds: Sequence[OsdInfo], now_s: float, interval_s: float) -> None:
        """Sample the OSDs of the map; samples are ``interval_s`` apart."""
        before_s, self._sampled_s = self._sampled_s, now_s
        if before_s is not None and now_s - before_s > max(PAUSE_S, 2 * interval_s):
            before_s = None
        found = ((o, _sample(self._osds.get(o.osd_id), o, before_s, now_s)) for o in osds)
        watched = {osd.osd_id: seen for osd, seen in found if seen is not None}
        _check_hosts(watched, osds, now_s)
        self._osds = watched
        self.starts = {n: seen.start for n, seen in watched.items() if seen.start is not None}


def _sample(
    known: Optional[_Watched], osd: OsdInfo, before_s: Optional[float], now_s: float
) -> Optional[_Watched]:
    """The state after another sample; ``before_s``: the previous one, None after a pause.

    None: the OSD was not seen up yet.
    """
    # A recreated OSD with the same id is a different OSD.
    same = known if known is not None and known.process[0] == osd.uuid else None
    if not osd.up:
        if same is None or before_s is None:
            return None
        absence = same.absence or _Absence(before_s, now_s, now_s)
        return same._replace(absence=absence._replace(last_s=now_s))
    if osd.nonce is None:
        return None
    process = osd.uuid, osd.nonce
    if same is not None and same.process == process:
        # The process is the same, so it was only marked down.
        return same if same.absence is None else same._replace(absence=None)
    if same is None or before_s is None:
        return _Watched(process)
    if same.absence is None:
        return _Watched(process, LastStart(0.0, now_s - before_s, None))
    up_s, first_s, last_s, host_away = same.absence
    return _Watched(process, LastStart(last_s - first_s, now_s - up_s, host_away))


def _check_hosts(watched: dict[int, _Watched], osds: Sequence[OsdInfo], now_s: float) -> None:
    """Record in each absence whether most OSDs of the host are down, as in a reboot."""
    absences = {n: seen.absence for n, seen in watched.items() if seen.absence is not None}
    lately = {n for n, absence in absences.items() if now_s - absence.first_s <= TOGETHER_S}
    if not lately:
        return
    gone = Counter(osd.host for osd in osds if osd.osd_id in lately)
    up = Counter(osd.host for osd in osds if osd.up)
    for osd in osds:
        absence = absences.get(osd.osd_id)
        if absence is None or osd.host is None:
            continue
        host_away = absence.host_away
        if gone[osd.host] > max(1, up[osd.host]):
            host_away = True
        elif absence.first_s == now_s and gone[osd.host] + up[osd.host] > 1:
            host_away = False
        absence = absence._replace(host_away=host_away)
        watched[osd.osd_id] = watched[osd.osd_id]._replace(absence=absence)
