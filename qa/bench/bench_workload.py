#!/usr/bin/python3
"""How well workloads are named in the recordings, and how far thresholds are from what they divide.

Writes results/workload.json; `qa/evaluate-workload` and `qa/derive-workload-thresholds` show more.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness import workload_thresholds  # noqa: E402 - after the path to it
from harness.evaluate_workload import by_span, gather, names_of  # noqa: E402
from harness.recording_plan import HELD_OUT, SET  # noqa: E402
from rocksdb_tuner.tests.workload import evaluation  # noqa: E402
from rocksdb_tuner.tests.workload.evaluation import Judged, Onset  # noqa: E402

RESULTS = BENCH / 'results/workload.json'


def confidence(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    return [
        {
            'confidence': [low, high],
            'windows': windows,
            'right': round(right / windows, 3) if windows else None,
        }
        for low, high, windows, right in evaluation.reliability(judged)
    ]


def onsets(found: Sequence[Onset]) -> list[dict[str, Any]]:
    told = []
    for of_span in by_span(found):
        after = [o.right_after_s for o in of_span if o.right_after_s is not None]
        told.append(
            {
                'run': of_span[0].run,
                'what': of_span[0].span.what,
                'right_after_s': [round(min(after)), round(max(after))] if after else [],
                'changes': max(o.changes for o in of_span),
                'true_changes': of_span[0].true_changes,
            }
        )
    return told


def thresholds() -> list[dict[str, Any]]:
    found = workload_thresholds.ranges(
        workload_thresholds.windows(workload_thresholds.recordings())
    )
    return [
        {
            'threshold': one.threshold,
            'value': one.value,
            'below': float(f'{one.below.nearest:.4g}'),
            'above': float(f'{one.above.nearest:.4g}'),
            'margins': [
                float(f'{margin:.3g}') if math.isfinite(margin) else None for margin in one.margins
            ],
        }
        for one in found
    ]


def document() -> dict[str, Any]:
    judged, starts = gather(names_of(HELD_OUT), of_osds=False)
    return {
        'command': 'qa/bench/bench_workload.py',
        'device_class': {
            'classes': [
                {
                    'class': name,
                    'windows': score.windows,
                    'precision': round(score.precision, 3),
                    'recall': round(score.recall, 3),
                    'f1': round(score.f1, 3),
                }
                for name, score in evaluation.scores(judged).items()
            ],
            'macro': {'windows': len(judged), 'f1': round(evaluation.macro_f1(judged), 3)},
            'confidence': confidence(judged),
            'onsets': onsets(starts),
        },
        'osds': {
            name: confidence(gather(names_of(part), of_osds=True)[0])
            for name, part in (('held_out', HELD_OUT), ('set', SET))
        },
        'thresholds': thresholds(),
    }


if __name__ == '__main__':
    RESULTS.write_text(json.dumps(document(), indent=1) + '\n')
