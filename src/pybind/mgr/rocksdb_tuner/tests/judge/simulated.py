"""Canaries and controls made of what real OSDs were recorded to do (tests/workload/data).

A recording has two or three OSDs for one or two minutes. More of them, for longer, are drawn from
it by the stationary bootstrap of Politis and Romano: runs of consecutive windows of random length,
so that what follows one another in the recording does so here. What all OSDs of a recording have
in common is drawn once for all, what each has beyond that for each OSD by itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean, median
from typing import NamedTuple, Optional

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured, measured
from rocksdb_tuner.judge.records import Judgement, SoakPlan, ends_with
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.judge.verdict import judge
from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.sample import Sample, names_for, take_sample
from rocksdb_tuner.observe.window import window
from rocksdb_tuner.tests.workload.replay import Recording, Report, load

#: Reports came every 5 s.
WINDOW_S = 5.0
#: The mean length of a run: half of the shortest recordings.
RUN_WINDOWS = 6
#: Recordings of clients that write.
RECORDINGS = (
    'rbd-randwrite',
    'rbd-randwrite-2',
    'reef-rbd-randwrite',
    'tentacle-rbd-randwrite',
    'rbd-seqwrite',
    's3-put',
    's3-put-2',
    's3-put-3',
    's3-delete',
    'reef-s3-put',
    'tentacle-s3-put',
)
MEANS = ('op_w_latency_ms', 'kv_sync_ms_per_txn', 'db_bytes_per_txn')


class OneReport:
    """A CounterReader that knows one report."""

    def __init__(self, report: Report) -> None:
        self._points = report.points

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        return [self._points.get(path) for path in paths]


class Track(NamedTuple):
    """One signal of one recording: logarithms, each around 0."""

    middle: float
    common: Sequence[float]
    own: Sequence[Sequence[float]]


@dataclass(frozen=True)
class Source:
    """The recorded variation of OSDs."""

    name: str
    tracks: Mapping[str, Track]


def source(name: str) -> Source:
    recording = load(name)
    columns = [
        column
        for osd_id in sorted({report.osd_id for report in recording.reports})
        if len(column := _windows(recording, osd_id)) >= RUN_WINDOWS
    ]
    return Source(name, {signal: _track(signal, columns) for signal in MEANS})


def _windows(recording: Recording, osd_id: int) -> list[Measured]:
    """The work of the OSD under the client, window by window."""
    samples = [
        sample
        for report in recording.reports
        if report.osd_id == osd_id
        and recording.load_start_s + WINDOW_S <= report.time_s <= recording.load_end_s
        and (sample := _sample(recording, report)) is not None
    ]
    found = [
        measured(window(a, b), b.db_used_bytes, least_writes=10)
        for a, b in zip(samples, samples[1:])
    ]
    return [m for m in found if None not in (m.op_w_latency_ms, m.kv_sync_ms_per_txn)]


def _sample(recording: Recording, report: Report) -> Optional[Sample]:
    names = names_for(recording.release)
    return take_sample(OneReport(report), report.osd_id, report.nonce, names, report.time_s)


def _track(signal: str, columns: Sequence[Sequence[Measured]]) -> Track:
    length = min(map(len, columns))
    logs = [[math.log(getattr(m, signal)) for m in column[:length]] for column in columns]
    centered = [[v - median(column) for v in column] for column in logs]
    common = [fmean(at) for at in zip(*centered)]
    # The mean of k columns holds a k-th of each: what is left of one varies too little by that.
    stretch = math.sqrt(len(columns) / (len(columns) - 1))
    own = [[stretch * (v - c) for v, c in zip(column, common)] for column in centered]
    return Track(fmean(median(column) for column in logs), common, own)


@dataclass(frozen=True)
class Trial:
    """One canary or batch, and how it differs from its controls."""

    controls: int
    before_blocks: int
    #: An evaluation from this many blocks on, and the end.
    least_after: int
    most_after: int
    #: The effect of the change on one signal: 0.2 is 20% more.
    worsening: float = 0.0
    worsened: str = MEANS[0]
    #: OSDs that share a machine differ less than others: by how much more these do.
    noise: float = 1.0
    #: By how much (standard deviation of the logarithm) each OSD drifts by itself from before to
    #: after, which no recording of minutes shows.
    drift: float = 0.0
    block_s: float = 30.0
    #: How many OSDs are changed.
    changed: int = 1
    #: How many verdicts share the rate of errors.
    among: int = 1
    #: The signal in which a gain was promised.
    promised: Optional[str] = None


class Outcome(NamedTuple):
    judgement: Judgement
    #: When it was given.
    after_blocks: int


def run(trial: Trial, drawn_from: Source, rng: random.Random) -> Outcome:
    """Soak as a rollout does: evaluate every block, and end with the first verdict."""
    blocks = _blocks(trial, drawn_from, rng)
    before = blocks[: trial.before_blocks]
    first = min(limits().least_blocks, trial.least_after)
    plan = SoakPlan(trial.least_after * trial.block_s, trial.most_after * trial.block_s)
    for after in range(first, trial.most_after + 1):
        judgement = judge(
            Evidence(
                rollout_id='r1',
                batch=0,
                changed=tuple(range(trial.changed)),
                controls=tuple(range(trial.changed, trial.changed + trial.controls)),
                block_s=trial.block_s,
                before=before,
                after=tuple(islice(blocks, trial.before_blocks, trial.before_blocks + after)),
            ),
            trial.among,
            trial.promised,
        )
        if ends_with(judgement, after * trial.block_s, plan) is not None:
            return Outcome(judgement, after)
    return Outcome(judgement, trial.most_after)


def _blocks(trial: Trial, drawn_from: Source, rng: random.Random) -> tuple[Block, ...]:
    windows = round(trial.block_s / WINDOW_S)
    count = trial.before_blocks + trial.most_after
    change_at = trial.before_blocks * windows
    columns: dict[int, dict[str, list[float]]] = {
        n: {} for n in range(trial.changed + trial.controls)
    }
    for signal, track in drawn_from.tracks.items():
        common = drawn(track.common, count * windows, rng)
        for n, column in columns.items():
            own = drawn(rng.choice(track.own), count * windows, rng)
            level = track.middle + rng.gauss(0, 0.2)
            moved = rng.gauss(0, trial.drift)
            if n < trial.changed and signal == trial.worsened:
                moved += math.log1p(trial.worsening)
            values = [
                math.exp(level + c + trial.noise * o + moved * (i >= change_at))
                for i, (c, o) in enumerate(zip(common, own))
            ]
            column[signal] = [
                fmean(islice(values, i, i + windows)) for i in range(0, len(values), windows)
            ]
    return tuple(
        Block(
            {n: Measured(*(column[signal][i] for signal in MEANS)) for n, column in columns.items()}
        )
        for i in range(count)
    )


def drawn(track: Sequence[float], count: int, rng: random.Random) -> list[float]:
    """``count`` values in runs of random length, each from a random place of the track."""
    found: list[float] = []
    while len(found) < count:
        start = rng.randrange(len(track))
        length = min(1 + int(rng.expovariate(1 / RUN_WINDOWS)), count - len(found))
        found += [track[(start + i) % len(track)] for i in range(length)]
    return found
