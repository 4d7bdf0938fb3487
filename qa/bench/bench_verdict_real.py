#!/usr/bin/python3
"""How often the verdict is wrong on what real OSDs do, not on what is drawn from recordings.

`record` runs a real cluster under a steady client and writes down what its OSDs counted; in some
phases some of them are slower: each sync of their disk takes so many percent longer. `judge` takes
each OSD in turn for a canary, at every minute at which nothing was done to it: a fail and a
"better" are wrong there. The same trials are judged once more with a worsening that is reckoned
onto what the canary counted after the change. Where an OSD truly became slower, anything but a fail
is wrong. Blocks are made and judged by the module's own code, as in a rollout, with a look at every
block.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness import Cluster, ClusterSpec, Progress  # noqa: E402 - after the path to it
from harness.record import save  # noqa: E402
from harness.verdict_run import parse_phase, run  # noqa: E402
from rocksdb_tuner.observe.counters import names_for  # noqa: E402
from rocksdb_tuner.observe.sample import Sample, take_sample  # noqa: E402
from rocksdb_tuner.observe.window import window  # noqa: E402
from rocksdb_tuner.rollout.evidence import Block, Evidence, Measured, measured  # noqa: E402
from rocksdb_tuner.rollout.recorder import Part, Recorder  # noqa: E402
from rocksdb_tuner.rollout.records import Judgement, SoakPlan, Verdict  # noqa: E402
from rocksdb_tuner.rollout.verdict import (  # noqa: E402
    baseline_s,
    block_length_s,
    in_words,
    is_better,
    judge,
    limits,
)
from rocksdb_tuner.tests.rollout.simulated import OneReport  # noqa: E402
from rocksdb_tuner.tests.workload.replay import SAMPLE_INTERVAL_S, load_file  # noqa: E402

#: soak_min and soak_max; the first are the defaults.
SOAKS_S = ((600.0, 3600.0), (300.0, 900.0), (240.0, 240.0))
#: With OSDs that become slower, or are so no more.
SOAK_CHANGED_S = (240.0, 900.0)
#: Every so often another change of nothing begins.
STRIDE_S = 60.0
SIGNALS = ('op_w_latency_ms', 'kv_sync_ms_per_txn')
#: What is reckoned onto one signal of the changed OSDs.
IMPOSED = 0.2
#: As many controls as a rollout of a group of this size would have at least.
LEAST_CONTROLS = 3


@dataclass(frozen=True)
class Span:
    """A time in which nothing changes."""

    begin_s: float
    end_s: float
    slowed_percent: Mapping[int, float]


@dataclass(frozen=True)
class Recorded:
    """What the module would have sampled, every ten seconds."""

    osds: tuple[int, ...]
    looks: Sequence[tuple[float, Mapping[int, Optional[Sample]]]]
    spans: Sequence[Span]

    def between(
        self, begin_s: float, end_s: float
    ) -> Iterator[tuple[float, Mapping[int, Optional[Sample]]]]:
        return (look for look in self.looks if begin_s <= look[0] <= end_s)

    def unchanged(self, begin_s: float, end_s: float) -> tuple[int, ...]:
        """The OSDs that nothing was done to meanwhile, though some may be slow all the time.

        One that was restarted is not among them; that they noticed what was done to others is
        what the controls of a rollout do, too.
        """
        spans = [s for s in self.spans if s.begin_s < end_s and s.end_s > begin_s]
        processes: dict[int, set[Optional[int]]] = {n: set() for n in self.osds}
        for _, samples in self.between(begin_s, end_s):
            for n, sample in samples.items():
                processes[n].add(None if sample is None else sample.nonce)
        return tuple(
            n
            for n in self.osds
            if len({s.slowed_percent.get(n, 0.0) for s in spans}) == 1 and len(processes[n]) == 1
        )

    def end_s(self, begin_s: float, most_s: float, least_osds: int) -> float:
        """The end of the longest time from then on in which nothing is done to so many OSDs."""
        last_s = min(begin_s + most_s, self.spans[-1].end_s)
        ends = sorted({last_s, *(s.end_s for s in self.spans if s.end_s < last_s)}, reverse=True)
        return next(
            (end for end in ends if len(self.unchanged(begin_s, end)) >= least_osds), begin_s
        )


def read(path: Path) -> tuple[Recorded, dict[str, Any]]:
    document = json.loads(lzma.decompress(path.read_bytes()))
    recording = load_file(path)
    names = names_for(recording.release)
    osds = tuple(sorted({report.osd_id for report in recording.reports}))
    newest: dict[int, Sample] = {}
    looks = []
    pending = list(recording.reports)
    now_s = pending[0].time_s
    while pending:
        while pending and pending[0].time_s <= now_s:
            report = pending.pop(0)
            sample = take_sample(
                OneReport(report), report.osd_id, report.nonce, names, report.time_s
            )
            if sample is not None:
                newest[report.osd_id] = sample
        looks.append((now_s, {n: newest.get(n) for n in osds}))
        now_s += SAMPLE_INTERVAL_S
    spans = [
        Span(s['begin_s'], s['end_s'], {int(n): p for n, p in s['slowed_percent'].items()})
        for s in document['spans']
    ]
    return Recorded(osds, looks, spans), document


@dataclass(frozen=True)
class Case:
    """What is judged: some OSDs against others, from when to when, and what was true."""

    changed: tuple[int, ...]
    controls: tuple[int, ...]
    before_s: float
    change_s: float
    end_s: float


@dataclass(frozen=True)
class Found:
    """A verdict, and how long after the change it came."""

    judgement: Judgement
    took_s: float


def soak(
    recorded: Recorded, case: Case, plan: SoakPlan, worsened: Optional[str] = None
) -> Optional[Found]:
    """The verdict on a case; None where the recording is too short for one.

    `worsened` is the signal that is made worse by `IMPOSED` after the change.
    """
    recorder = Recorder(Evidence('r1', 0, case.changed, case.controls, block_length_s(plan)))
    osds = recorder.evidence.osds
    for now_s, samples in recorded.between(case.before_s, case.change_s):
        recorder.add(Part.BEFORE, {n: samples[n] for n in osds}, now_s)
    judgement: Optional[Judgement] = None
    now_s = case.change_s
    for now_s, samples in recorded.between(case.change_s, case.end_s):
        if not recorder.add(Part.AFTER, {n: samples[n] for n in osds}, now_s):
            continue
        judgement = judge(_made_worse(recorder.evidence, worsened))
        soaked_s = len(recorder.evidence.after) * recorder.evidence.block_s
        enough = soaked_s >= plan.least_s
        if judgement.verdict is Verdict.FAILED or (enough and judgement.verdict is Verdict.PASSED):
            break
        if soaked_s >= plan.most_s:
            break
    soaked_s = len(recorder.evidence.after) * recorder.evidence.block_s
    # One that fails does so before the others would count
    if judgement is None or (
        case.end_s < case.change_s + limits().warm_up_s + plan.least_s or soaked_s <= 0
    ):
        return None
    return Found(judgement, now_s - case.change_s)


def _made_worse(evidence: Evidence, signal: Optional[str]) -> Evidence:
    if signal is None:
        return evidence

    def worse(block: Block, osd: int) -> Measured:
        one = block.of(osd)
        value = getattr(one, signal)
        return one if value is None else one._replace(**{signal: value * (1 + IMPOSED)})

    after = tuple(
        Block({**block.by_osd, **{n: worse(block, n) for n in evidence.changed}})
        for block in evidence.after
    )
    return replace(evidence, after=after)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share, in percent."""
    if of == 0:
        return 0.0, 100.0
    z = statistics.NormalDist().inv_cdf(0.975)
    share = hits / of
    middle = share + z * z / (2 * of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    low, high = max(middle - half, 0.0), middle + half
    return round(100 * low / scale, 1), round(100 * high / scale, 1)


def _before_s(plan: SoakPlan) -> float:
    """So long that all blocks of the time before are complete, whenever it begins."""
    return baseline_s(plan) + 2 * SAMPLE_INTERVAL_S


def _share(hits: int, of: int) -> dict[str, Any]:
    low, high = wilson(hits, of)
    percent = round(100 * hits / of, 1) if of else None
    return {'count': hits, 'percent': percent, 'low_percent': low, 'high_percent': high}


@dataclass
class Tally:
    """What became of trials; those of one group of OSDs that share no time are counted apart."""

    kinds: Counter[str] = field(default_factory=Counter)
    apart: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _free_s: dict[tuple[int, ...], float] = field(default_factory=dict)

    def add(self, case: Case, found: Found) -> None:
        kind = found.judgement.verdict.value
        if is_better(found.judgement):
            kind = 'better'
        self.kinds[kind] += 1
        if case.before_s >= self._free_s.get(case.changed, 0.0):
            self.apart[kind] += 1
            self._free_s[case.changed] = case.change_s + found.took_s

    def shares(self, *names: str) -> dict[str, Any]:
        return {
            part: {
                'trials': sum(kinds.values()),
                **{name: _share(kinds[name], sum(kinds.values())) for name in names},
                'counts': dict(sorted(kinds.items())),
            }
            for part, kinds in (('all', self.kinds), ('of_own_time', self.apart))
        }


def _cases(recorded: Recorded, plan: SoakPlan, size: int) -> Iterator[Case]:
    """Changes of nothing: every OSD (or every group of ``size``) again and again."""
    before_s = _before_s(plan)
    least_s = before_s + limits().warm_up_s + plan.least_s + 3 * SAMPLE_INTERVAL_S
    begin_s = recorded.spans[0].begin_s
    while begin_s + least_s <= recorded.spans[-1].end_s:
        most_s = least_s + plan.most_s - plan.least_s
        end_s = recorded.end_s(begin_s, most_s, size + LEAST_CONTROLS)
        if end_s - begin_s >= least_s:
            calm = recorded.unchanged(begin_s, end_s)
            for i in range(0, len(calm) - size + 1, size):
                changed = calm[i : i + size]
                controls = tuple(n for n in calm if n not in changed)[: limits().most_controls]
                yield Case(changed, controls, begin_s, begin_s + before_s, end_s)
        begin_s += STRIDE_S


def _nothing(recorded: Recorded, plan: SoakPlan, size: int) -> dict[str, Any]:
    nothing = Tally()
    imposed = {signal: Tally() for signal in SIGNALS}
    for case in _cases(recorded, plan, size):
        found = soak(recorded, case, plan)
        if found is None:
            continue
        nothing.add(case, found)
        if found.judgement.verdict is Verdict.FAILED or is_better(found.judgement):
            nothing.wrong.append(
                f'{case.before_s:.0f} s {case.changed}: {in_words(found.judgement)}'
            )
        for signal, tally in imposed.items():
            worse = soak(recorded, case, plan, signal)
            if worse is not None:
                tally.add(case, worse)
    return {
        'soak_s': [plan.least_s, plan.most_s],
        'changed_osds': size,
        'nothing': nothing.shares('fail', 'better'),
        'wrong': nothing.wrong,
        'reckoned_worse': {signal: tally.shares('fail') for signal, tally in imposed.items()},
    }


def _moved(recorded: Recorded, case: Case) -> dict[str, Optional[float]]:
    """By how many percent the OSD moved more than its controls, over all of the time."""

    def mean(n: int, begin_s: float, end_s: float, signal: str) -> Optional[float]:
        seen = [s[n] for _, s in recorded.between(begin_s, end_s)]
        known = [s for s in seen if s is not None]
        if len(known) < 2:
            return None
        value: Optional[float] = getattr(measured(window(known[0], known[-1]), None, 1), signal)
        return value

    found: dict[str, Optional[float]] = {}
    for signal in SIGNALS:
        ratios = {}
        for n in (*case.changed, *case.controls):
            before = mean(n, case.before_s, case.change_s, signal)
            after = mean(n, case.change_s, case.end_s, signal)
            if before and after:
                ratios[n] = after / before
        others = [ratios[n] for n in case.controls if n in ratios]
        ours = [ratios[n] for n in case.changed if n in ratios]
        known = bool(ours and others)
        found[signal] = (
            round((statistics.median(ours) / statistics.median(others) - 1) * 100, 1)
            if known
            else None
        )
    return found


def _changes(recorded: Recorded, plan: SoakPlan) -> list[dict[str, Any]]:
    """Each OSD that became slower, or was so no more, against those that nothing was done to."""
    found = []
    for last, now in zip(recorded.spans, recorded.spans[1:]):
        before_s = max(last.begin_s, now.begin_s - _before_s(plan))
        most_s = now.begin_s + limits().warm_up_s + plan.most_s + 3 * SAMPLE_INTERVAL_S - before_s
        for n in recorded.osds:
            percent = [span.slowed_percent.get(n, 0.0) for span in (last, now)]
            if percent[0] == percent[1]:
                continue
            ends = [s.end_s for s in recorded.spans if s.end_s >= now.end_s]
            same = [e for e in ends if n in recorded.unchanged(now.begin_s, e)]
            end_s = min(max(same, default=now.end_s), before_s + most_s)
            end_s = min(end_s, recorded.end_s(before_s, most_s, LEAST_CONTROLS))
            controls = recorded.unchanged(before_s, end_s)[: limits().most_controls]
            case = Case((n,), controls, before_s, now.begin_s, end_s)
            result = soak(recorded, case, plan)
            if result is None:
                continue
            better = is_better(result.judgement)
            found.append(
                {
                    'osd': n,
                    'at_s': round(now.begin_s),
                    'syncs_slower_percent': percent,
                    'controls': list(controls),
                    'true_percent': _moved(recorded, case),
                    'verdict': 'better' if better else result.judgement.verdict.value,
                    'told': in_words(result.judgement),
                    'missing': list(result.judgement.missing),
                    'took_s': round(result.took_s),
                }
            )
    return found


def _as_told(changes: Sequence[Mapping[str, Any]], verdict: str) -> dict[str, Any]:
    told = sum(change['verdict'] == verdict for change in changes)
    return {'trials': len(changes), verdict: _share(told, len(changes)), 'each': list(changes)}


def _judge(path: Path, out: Optional[Path]) -> None:
    recorded, document = read(path)
    changes = _changes(recorded, SoakPlan(*SOAK_CHANGED_S))
    slower = [c for c in changes if c['syncs_slower_percent'][0] < c['syncs_slower_percent'][1]]
    undone = [c for c in changes if c not in slower]
    result: dict[str, Any] = {
        'release': document['release'],
        'date': document['date'],
        'osds': len(recorded.osds),
        'hosts': document['cluster']['crush_hosts'],
        'rate_iops': document['rate_iops'],
        'spans': document['spans'],
        'nothing': [
            _nothing(recorded, SoakPlan(least_s, most_s), size)
            for least_s, most_s in SOAKS_S
            for size in (1, 3)
        ],
        'changed_soak_s': list(SOAK_CHANGED_S),
        'slower': _as_told(slower, 'fail'),
        'undone': _as_told(undone, 'better'),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if out is not None:
        out.write_text(text + '\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_subparsers(dest='what', required=True)
    record = what.add_parser('record', help='run a cluster and write down what its OSDs count')
    record.add_argument('--dir', type=Path, required=True, help='folder of the cluster')
    record.add_argument('--release', default='pacific')
    record.add_argument('--osds', type=int, default=9)
    record.add_argument('--hosts', type=int, default=3)
    record.add_argument('--rate-iops', type=int, default=300)
    record.add_argument('--settle', type=float, default=60.0, help='seconds before it begins')
    record.add_argument('--option', action='append', default=[], help='of the module, NAME=VALUE')
    record.add_argument('--out', type=Path, required=True, help='a file, NAME.json.xz')
    record.add_argument('phases', nargs='+', help='"900", "330:0=25,4=30"')
    judged = what.add_parser('judge', help='hold the verdict against a recording')
    judged.add_argument('recording', type=Path)
    judged.add_argument('--out', type=Path, help='a JSON file')
    arguments = parser.parse_args()
    if arguments.what == 'judge':
        _judge(arguments.recording, arguments.out)
        return 0
    phases = [parse_phase(text) for text in arguments.phases]
    spec = ClusterSpec(
        release=arguments.release,
        osds=arguments.osds,
        crush_hosts=arguments.hosts,
        slow_sync=True,
    )
    with Cluster.up(spec, arguments.dir, Progress()) as cluster:
        for option in arguments.option:
            name, _, value = option.partition('=')
            cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{name}', value)
        save(run(cluster, phases, arguments.rate_iops, arguments.settle), arguments.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
