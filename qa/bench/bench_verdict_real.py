#!/usr/bin/python3
"""How often the verdict is wrong on what real OSDs do, not on what is drawn from recordings.

`record` runs a real cluster under a steady client and writes down what its OSDs counted; in some
phases some of them are slowed down, by stopping their processes for some milliseconds again and
again. `judge` takes each OSD in turn for a canary: where nothing was slowed down, a fail and a
"better" are wrong; where it was, anything but a fail is. Blocks are made and judged by the module's
own code, as in a rollout, with a look at every block.
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
from dataclasses import dataclass
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
from rocksdb_tuner.rollout.evidence import Evidence, measured  # noqa: E402
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
#: With OSDs that are slowed down, as long as that lasts.
SOAK_WORSE_S = (240.0, 900.0)
#: Every so often another change of nothing begins.
STRIDE_S = 60.0
SIGNALS = ('op_w_latency_ms', 'kv_sync_ms_per_txn')


@dataclass(frozen=True)
class Span:
    """A time in which nothing changes; `slowed` holds the OSDs that were slowed down in it."""

    begin_s: float
    end_s: float
    slowed: Mapping[int, str]


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

    def undisturbed(self, begin_s: float, span: Span) -> tuple[int, ...]:
        """The OSDs that nothing was done to from then to the end of the span.

        One that a rollout restarted meanwhile is not among them; that the others noticed it is what
        the controls of a rollout do, too.
        """
        processes: dict[int, set[Optional[int]]] = {n: set() for n in self.osds}
        for _, samples in self.between(begin_s, span.end_s):
            for n, sample in samples.items():
                processes[n].add(None if sample is None else sample.nonce)
        return tuple(n for n in self.osds if n not in span.slowed and len(processes[n]) == 1)


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
        Span(
            s['begin_s'],
            s['end_s'],
            {int(n): f'{p["stopped_ms"]:g}/{p["period_ms"]:g}' for n, p in s['slowed'].items()},
        )
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


def soak(recorded: Recorded, case: Case, plan: SoakPlan) -> Optional[tuple[Judgement, float]]:
    """The verdict and how long after the change it came; None where the recording is too short."""
    recorder = Recorder(Evidence('r1', 0, case.changed, case.controls, block_length_s(plan)))
    osds = recorder.evidence.osds
    for now_s, samples in recorded.between(case.before_s, case.change_s):
        recorder.add(Part.BEFORE, {n: samples[n] for n in osds}, now_s)
    judgement: Optional[Judgement] = None
    for now_s, samples in recorded.between(case.change_s, case.end_s):
        if not recorder.add(Part.AFTER, {n: samples[n] for n in osds}, now_s):
            continue
        judgement = judge(recorder.evidence)
        soaked_s = len(recorder.evidence.after) * recorder.evidence.block_s
        enough = soaked_s >= plan.least_s
        if judgement.verdict is Verdict.FAILED or (enough and judgement.verdict is Verdict.PASSED):
            return judgement, now_s - case.change_s
        if soaked_s >= plan.most_s:
            return judgement, now_s - case.change_s
    soaked_s = len(recorder.evidence.after) * recorder.evidence.block_s
    if judgement is None or soaked_s < plan.least_s:
        return None
    return judgement, case.end_s - case.change_s


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share, in percent."""
    if of == 0:
        return 0.0, 100.0
    z = statistics.NormalDist().inv_cdf(0.975)
    share = hits / of
    middle = share + z * z / (2 * of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return round(100 * (middle - half) / scale, 1), round(100 * (middle + half) / scale, 1)


def _before_s(plan: SoakPlan) -> float:
    """So long that all blocks of the time before are complete, whenever it begins."""
    return baseline_s(plan) + 2 * SAMPLE_INTERVAL_S


def _share(hits: int, of: int) -> dict[str, Any]:
    low, high = wilson(hits, of)
    percent = round(100 * hits / of, 1) if of else None
    return {'count': hits, 'percent': percent, 'low_percent': low, 'high_percent': high}


def _nothing(recorded: Recorded, plan: SoakPlan, size: int) -> dict[str, Any]:
    """Changes of nothing: every OSD (or every group of ``size``) again and again."""
    kinds: Counter[str] = Counter()
    failed: list[str] = []
    apart = 0
    before_s = _before_s(plan)
    least_s = before_s + limits().warm_up_s + plan.least_s + 3 * SAMPLE_INTERVAL_S
    for span in recorded.spans:
        if span.slowed or span.end_s - span.begin_s < least_s:
            continue
        begin_s = span.begin_s
        while begin_s + least_s <= span.end_s:
            calm = recorded.undisturbed(begin_s, span)
            groups = [calm[i : i + size] for i in range(0, len(calm) - size + 1, size)]
            if begin_s == span.begin_s:
                apart += len(groups) * int((span.end_s - span.begin_s) // least_s)
            for group in groups:
                controls = tuple(n for n in calm if n not in group)[: limits().most_controls]
                case = Case(group, controls, begin_s, begin_s + before_s, span.end_s)
                found = soak(recorded, case, plan)
                if found is None:
                    continue
                judgement, _ = found
                better = is_better(judgement)
                kinds['better' if better else judgement.verdict.value] += 1
                if judgement.verdict is Verdict.FAILED or better:
                    failed.append(f'{begin_s:.0f} s {group}: {in_words(judgement)}')
            begin_s += STRIDE_S
    of = sum(kinds.values())
    return {
        'soak_s': [plan.least_s, plan.most_s],
        'changed_osds': size,
        'trials': of,
        'trials_that_share_no_time': apart,
        'fail': _share(kinds['fail'], of),
        'better': _share(kinds['better'], of),
        'pass': kinds['pass'],
        'inconclusive': kinds['inconclusive'] + kinds['no-data'],
        'wrong': failed,
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


def _worse(recorded: Recorded, plan: SoakPlan) -> list[dict[str, Any]]:
    """Each OSD that was slowed down, against those that were not."""
    found = []
    for calm, slow in zip(recorded.spans, recorded.spans[1:]):
        if calm.slowed or not slow.slowed:
            continue
        before_s = max(calm.begin_s, slow.begin_s - _before_s(plan))
        controls = recorded.undisturbed(before_s, slow)
        for n, pauses in slow.slowed.items():
            case = Case((n,), controls, before_s, slow.begin_s, slow.end_s)
            result = soak(recorded, case, plan)
            if result is None:
                continue
            judgement, took_s = result
            found.append(
                {
                    'osd': n,
                    'stopped_ms_of_ms': pauses,
                    'true_percent': _moved(recorded, case),
                    'verdict': judgement.verdict.value,
                    'told': in_words(judgement),
                    'missing': list(judgement.missing),
                    'took_s': round(took_s),
                }
            )
    return found


def _judge(path: Path, out: Optional[Path]) -> None:
    recorded, document = read(path)
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
        'worse_soak_s': list(SOAK_WORSE_S),
        'worse': _worse(recorded, SoakPlan(*SOAK_WORSE_S)),
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
    record.add_argument('phases', nargs='+', help='"900", "330:0=10/60,4=20/60"')
    judged = what.add_parser('judge', help='hold the verdict against a recording')
    judged.add_argument('recording', type=Path)
    judged.add_argument('--out', type=Path, help='a JSON file')
    arguments = parser.parse_args()
    if arguments.what == 'judge':
        _judge(arguments.recording, arguments.out)
        return 0
    phases = [parse_phase(text) for text in arguments.phases]
    spec = ClusterSpec(release=arguments.release, osds=arguments.osds, crush_hosts=arguments.hosts)
    with Cluster.up(spec, arguments.dir, Progress()) as cluster:
        for option in arguments.option:
            name, _, value = option.partition('=')
            cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{name}', value)
        save(run(cluster, phases, arguments.rate_iops, arguments.settle), arguments.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
