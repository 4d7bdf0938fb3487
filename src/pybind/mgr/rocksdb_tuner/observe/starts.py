"""How long OSDs were away until they were up again, as far as this manager watched it. Pure.

No release tells the mgr how long an OSD took to start. The OSD map tells which process is up, and
when none is: an absence lasts from one process to the next, with the time in which nobody started
the OSD. It is known no better than looks are apart, so each has a lower and an upper bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import OsdInfo

#: After a longer pause than this, and than two samples, nothing is known of the time between.
PAUSE_S = 60.0
#: OSDs that went within this time may have gone with their host: shutting it down takes minutes
#: at most. One that has been down for longer says nothing of the others.
TOGETHER_S = 600.0


class LastStart(NamedTuple):
    """The last absence of an OSD that was watched from one process up to the next."""

    #: Between the first look and the last that saw it down: it was away for at least so long.
    away_s: float
    #: Between the looks that saw the two processes: and for at most so long.
    away_most_s: float
    #: Whether most OSDs of its host were away with it; None: no other one was there to tell.
    host_away: Optional[bool]


class _Process(NamedTuple):
    uuid: Optional[str]
    nonce: int


class _Absence(NamedTuple):
    """One that has not ended."""

    #: The last look that saw it up.
    up_s: float
    #: The first look, and the last, that saw it down.
    first_s: float
    last_s: float
    host_away: Optional[bool] = None


class _Watched(NamedTuple):
    """One OSD that was seen up."""

    #: The one that was seen last.
    process: _Process
    start: Optional[LastStart] = None
    absence: Optional[_Absence] = None


class StartWatch:
    """Watches OSDs go and come back. Times are seconds of a clock that nobody sets."""

    def __init__(self) -> None:
        self._looked_s: Optional[float] = None
        self._osds: dict[int, _Watched] = {}
        #: By OSD; replaced, never changed: other threads read it.
        self.starts: Mapping[int, LastStart] = {}

    def look(self, osds: Sequence[OsdInfo], now_s: float, interval_s: float) -> None:
        """Look at the OSDs of the map; samples are ``interval_s`` apart."""
        before_s, self._looked_s = self._looked_s, now_s
        if before_s is not None and now_s - before_s > max(PAUSE_S, 2 * interval_s):
            before_s = None
        found = ((o, _look(self._osds.get(o.osd_id), o, before_s, now_s)) for o in osds)
        watched = {osd.osd_id: seen for osd, seen in found if seen is not None}
        _look_at_hosts(watched, osds, now_s)
        self._osds = watched
        self.starts = {n: seen.start for n, seen in watched.items() if seen.start is not None}


def _look(
    known: Optional[_Watched], osd: OsdInfo, before_s: Optional[float], now_s: float
) -> Optional[_Watched]:
    """What is known after one more look; ``before_s`` is the one before, None: not watched since.

    None: nothing is known of an OSD that was not seen up.
    """
    # What was made anew under the same id is another OSD.
    same = known if known is not None and known.process.uuid == osd.uuid else None
    if not osd.up:
        if same is None or before_s is None:
            return None
        absence = same.absence or _Absence(before_s, now_s, now_s)
        return same._replace(absence=absence._replace(last_s=now_s))
    if osd.nonce is None:
        return None
    process = _Process(osd.uuid, osd.nonce)
    if same is not None and same.process == process:
        # Marked down though it was alive, if it was
        return same if same.absence is None else same._replace(absence=None)
    if same is None or before_s is None:
        return _Watched(process)
    if same.absence is None:
        return _Watched(process, LastStart(0.0, now_s - before_s, None))
    up_s, first_s, last_s, host_away = same.absence
    return _Watched(process, LastStart(last_s - first_s, now_s - up_s, host_away))


def _look_at_hosts(watched: dict[int, _Watched], osds: Sequence[OsdInfo], now_s: float) -> None:
    """Note in each absence whether the OSDs of the host are away at once, as in its reboot."""
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
