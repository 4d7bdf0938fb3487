"""Asynchronous commands to OSDs for a campaign.

On Pacific `compact` blocks until it is done, for minutes or hours, and later commands to that OSD
queue behind it. So commands are sent without waiting, and their answers are polled.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable, Optional

from ...mgr.protocols import Answer, CommandError, OsdQuestions
from .rules import COMPACT_COMMAND, PROBE_ARGUMENTS, PROBE_COMMAND, Probe, parse_probe

log = logging.getLogger(__name__)

#: Minimum interval between two counter queries to one OSD.
PROBE_PERIOD_S = 5.0


@dataclass
class _Asked:
    """Commands of this manager to one OSD."""

    #: The compact command, and the process it was sent to; None once answered.
    compact: Optional[Answer] = None
    compacting: Optional[int] = None
    probe: Optional[Answer] = None
    #: The process that the probe was sent to.
    nonce: Optional[int] = None
    probed_s: Optional[float] = None


class OsdCommandQueue:
    def __init__(self, osds: OsdQuestions) -> None:
        self._osds = osds
        self._asked: dict[int, _Asked] = {}
        self._probes: dict[int, Probe] = {}

    def probes(self, nonces: Mapping[int, Optional[int]]) -> dict[int, Probe]:
        """The latest answers from the OSDs' current processes."""
        return {n: p for n, p in self._probes.items() if p.nonce == nonces.get(n)}

    def compact(self, osd_id: int, nonce: Optional[int]) -> None:
        """``nonce`` identifies the process that gets the command."""
        answer = self._osds.ask(osd_id, COMPACT_COMMAND, {})
        self._asked[osd_id] = _Asked(compact=answer, compacting=nonce)

    def forget(self, osd_id: int) -> None:
        """Drop an earlier answer: it does not cover the next compaction."""
        self._probes.pop(osd_id, None)

    def poll(
        self, osd_id: int, nonce: Optional[int], now_s: float, refused: Callable[[str], object]
    ) -> None:
        """Collect the answers of one OSD, and query it again when due.

        ``refused`` is called with the reason if it did not compact; it may raise CommandError.
        """
        asked = self._asked.setdefault(osd_id, _Asked())
        if nonce is not None and asked.compacting not in {None, nonce}:
            # That process is gone, and its commands with it.
            asked.compact = asked.compacting = None
        if asked.compact is not None:
            if not _answered(osd_id, asked.compact, refused):
                # Another command would queue behind the unanswered one.
                return
            asked.compact = None
        if asked.probe is not None:
            self._take_probe(osd_id, asked, asked.probe)
        if nonce is None or (asked.probe is not None and asked.nonce == nonce):
            return
        probed_s = asked.probed_s if asked.nonce == nonce else None
        if probed_s is not None and now_s - probed_s < PROBE_PERIOD_S:
            return
        asked.nonce, asked.probed_s = nonce, now_s
        asked.probe = self._osds.ask(osd_id, PROBE_COMMAND, PROBE_ARGUMENTS)

    def _take_probe(self, osd_id: int, asked: _Asked, probe: Answer) -> None:
        try:
            output = probe.output()
            if output is None:
                return
            self._probes[osd_id] = parse_probe(output, asked.nonce)
        except (CommandError, ValueError) as error:
            log.debug('osd.%d did not report its compactions: %s', osd_id, error)
        asked.probe = None


def _answered(osd_id: int, compact: Answer, refused: Callable[[str], object]) -> bool:
    try:
        if compact.output() is None:
            return False
    except CommandError as error:
        log.warning('osd.%d did not compact: %s', osd_id, error.message)
        refused(error.message)
    return True
