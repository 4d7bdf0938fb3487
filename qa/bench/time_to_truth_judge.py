"""Time to truth: how soon the module knows a workload, has a finding, ends a rollout. Pure.

Times are in seconds since what is measured began. Of a rollout, the cluster log has the time of
each step. An instant is, in this order:

* *soak*: OSDs are measured for a verdict. What goes beyond the configured minimum is *longer*:
  caches become warm, and the verdict needs more data;
* *restart*: from the request to restart an OSD until it is up and all placement groups are clean,
  as Ceph reports them;
* the module's *own*: it waits for its next tick, for the report of a new process or for gates, or
  writes entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

#: The goal for the module's own share of a rollout.
TARGET = 0.05
DONE = 'done'

_LOGGED = re.compile(r'^(\S+) .* : cluster \[\w+\] (.*)$')
_BOOT = re.compile(r'^(osd\.\d+) \[.* boot$')
_STEP = re.compile(r'^osd\.(\d+) (gets its new options|is restarting|runs its new options)$')
_SET, _RESTARTS, _RUNS = 'gets its new options', 'is restarting', 'runs its new options'


@dataclass(frozen=True)
class Taken:
    """When and where something was measured."""

    version: str
    date: str
    machine: str
    machine_load: float
    osds: int


@dataclass(frozen=True)
class Onset:
    """A workload that begins at 0 on idle OSDs, and the class that the module reported."""

    workload: str
    expected: str
    #: Between samples, as the module chose it.
    interval_s: float
    seconds: float
    #: The class, each time it changed; None: none yet.
    classes: tuple[tuple[float, str | None], ...]


@dataclass(frozen=True)
class Known:
    """When the class was right, in seconds; None: never."""

    first_s: float | None
    #: From then on it stayed right.
    stays_s: float | None
    #: Other classes from the start of the workload on, without those from before it.
    others: tuple[str, ...]


def known(onset: Onset) -> Known:
    during = [(at_s, name) for at_s, name in onset.classes if 0 <= at_s <= onset.seconds]
    right = [at_s for at_s, name in during if name == onset.expected]
    others = dict.fromkeys(
        name for _, name in during if name not in {None, onset.expected, 'idle', 'unknown'}
    )
    stays = bool(during) and during[-1][1] == onset.expected
    return Known(right[0] if right else None, right[-1] if stays else None, tuple(map(str, others)))


@dataclass(frozen=True)
class Enabling:
    """From `ceph mgr module enable` on a cluster with something to find."""

    #: The manager is active again; the module answers; it has sampled all OSDs.
    active_s: float
    answers_s: float
    sampled_s: float
    found_s: float
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Classes:
    """Workloads one after the other, on a cluster on which the module was just enabled."""

    taken: Taken
    enabling: Enabling
    onsets: tuple[Onset, ...]


@dataclass(frozen=True)
class Event:
    """A line of the cluster log: of the rollout without its name, or "osd.N boot"."""

    at_s: float
    text: str


@dataclass(frozen=True)
class Look:
    """The state of cluster and rollout, when it was another one than at the look before."""

    at_s: float
    #: Whether all placement groups were active and clean.
    clean: bool
    #: Of the batches, in order; None: none yet.
    verdicts: tuple[str | None, ...]


@dataclass(frozen=True)
class Rollout:
    """A rollout from the moment at which `apply` was sent."""

    taken: Taken
    #: Options of the module that differ from the defaults.
    options: Mapping[str, str]
    recommendation: str
    #: The OSDs of each batch.
    batches: tuple[tuple[int, ...], ...]
    #: Minimum of the baseline, of the soak of the canary and of those of later batches.
    baseline_s: float
    canary_s: float
    batch_s: float
    events: tuple[Event, ...]
    looks: tuple[Look, ...]
    phase: str


def minimums(soak: Mapping[str, Any]) -> tuple[float, float, float]:
    """The minimum of baseline, canary and later batches, from "soak" in `operation status`."""
    if not soak['most_s']:
        return 0.0, 0.0, 0.0
    later = soak['batches']
    return soak['baseline_least_s'], soak['least_s'], later['least_s'] if later else 0.0


def events_of(log: Iterable[str], rollout_id: str, began_s: float) -> list[Event]:
    """Of a rollout, from the cluster log of the monitors."""
    prefix, found = f'rocksdb_tuner: rollout {rollout_id}: ', []
    for line in log:
        logged = _LOGGED.match(line)
        if logged is None:
            continue
        boot = _BOOT.match(logged[2])
        text = f'{boot[1]} boot' if boot else logged[2].partition(prefix)[2]
        at_s = datetime.strptime(logged[1], '%Y-%m-%dT%H:%M:%S.%f%z').timestamp() - began_s
        if text and at_s >= 0:
            found.append(Event(round(at_s, 3), text))
    return sorted(found, key=lambda event: event.at_s)


@dataclass(frozen=True)
class Split:
    """The parts of a rollout, in seconds."""

    soak_s: float
    longer_s: float
    restarts_s: float
    own_s: float

    @property
    def total_s(self) -> float:
        return self.soak_s + self.longer_s + self.restarts_s + self.own_s

    @property
    def share(self) -> float:
        """The module's own."""
        return self.own_s / self.total_s


@dataclass(frozen=True)
class _Span:
    begin_s: float
    end_s: float
    #: Of a soak: its minimum.
    least_s: float = 0.0


class NotSplitError(Exception):
    """The rollout did not end as "done", or its log has gaps."""


def split(rollout: Rollout) -> Split:
    """Raises NotSplitError."""
    if rollout.phase != DONE or [event.text for event in rollout.events[-1:]] != [DONE]:
        raise NotSplitError(f'the rollout ended as {rollout.phase}')
    begin_s, end_s = 0.0, rollout.events[-1].at_s
    soaks = [span for span in _soaks(rollout) if span.end_s > span.begin_s]
    restarts = list(_restarts(rollout))
    ends = {begin_s, end_s}
    for span in (*soaks, *restarts):
        ends |= {span.begin_s, span.end_s}
    soak_s = restarts_s = own_s = 0.0
    cuts = sorted(at_s for at_s in ends if begin_s <= at_s <= end_s)
    for since_s, until_s in zip(cuts, cuts[1:]):
        if _within(soaks, since_s, until_s):
            soak_s += until_s - since_s
        elif _within(restarts, since_s, until_s):
            restarts_s += until_s - since_s
        else:
            own_s += until_s - since_s
    least_s = sum(min(span.least_s, span.end_s - span.begin_s) for span in soaks)
    return Split(least_s, soak_s - least_s, restarts_s, own_s)


def _within(spans: Sequence[_Span], since_s: float, until_s: float) -> bool:
    return any(span.begin_s <= since_s and until_s <= span.end_s for span in spans)


def _steps(rollout: Rollout, step: str) -> dict[int, float]:
    """When each OSD first took this step."""
    found: dict[int, float] = {}
    for event in rollout.events:
        match = _STEP.match(event.text)
        if match and match[2] == step:
            found.setdefault(int(match[1]), event.at_s)
    return found


def _soaks(rollout: Rollout) -> Iterator[_Span]:
    """The baseline, and the soak of each batch."""
    changed = _steps(rollout, _SET)
    verified = _steps(rollout, _RUNS)
    first_s = changed.get(rollout.batches[0][0])
    if first_s is None:
        raise NotSplitError('the log has no change of the first OSD')
    # It ends when it has lasted long enough; the rest is gates.
    begin_s = next((e.at_s for e in rollout.events if e.text.endswith('-> preflight')), first_s)
    yield _Span(begin_s, min(first_s, begin_s + rollout.baseline_s), rollout.baseline_s)
    for number, osds in enumerate(rollout.batches):
        least_s = rollout.canary_s if number == 0 else rollout.batch_s
        if least_s and all(osd in verified for osd in osds):
            since_s = max(verified[osd] for osd in osds)
            yield _Span(since_s, _soaked_until(rollout, number, since_s), least_s)


def _soaked_until(rollout: Rollout, number: int, since_s: float) -> float:
    """The first look with a verdict on the batch, or else the next step of the rollout."""
    following = [
        event.at_s
        for event in rollout.events
        if event.at_s > since_s and event.text.endswith((_SET, '-> collapsing'))
    ]
    judged = [
        look.at_s
        for look in rollout.looks
        if look.at_s > since_s and len(look.verdicts) > number and look.verdicts[number] is not None
    ]
    return min((*following, *judged[:1], rollout.events[-1].at_s))


def _restarts(rollout: Rollout) -> Iterator[_Span]:
    verified = _steps(rollout, _RUNS)
    for osd, asked_s in _steps(rollout, _RESTARTS).items():
        until_s = verified.get(osd, asked_s)
        boots = [event.at_s for event in rollout.events if event.text == f'osd.{osd} boot']
        back_s = min((at_s for at_s in (*boots, until_s) if at_s > asked_s), default=until_s)
        yield _Span(asked_s, max(back_s, _clean_from(rollout.looks, back_s, until_s)))


def _clean_from(looks: Sequence[Look], since_s: float, until_s: float) -> float:
    """From when on all placement groups were clean in this span; ``until_s`` if they were not."""
    clean_s: float | None = since_s
    for look in looks:
        if look.at_s > until_s:
            break
        if not look.clean:
            clean_s = None
        elif clean_s is None:
            clean_s = max(look.at_s, since_s)
    return until_s if clean_s is None else clean_s
