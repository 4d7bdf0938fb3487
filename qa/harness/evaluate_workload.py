"""How well workloads are recognised, by the recordings of real clients, as tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from rocksdb_tuner.tests.workload import evaluation, replay
from rocksdb_tuner.tests.workload.evaluation import Judged, Onset
from rocksdb_tuner.workload.activity import Activity

from .cli import run_main
from .errors import UsageError
from .recording_plan import HELD_OUT, SET


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


#: What thresholds are set on, by name.
SIGNALS: tuple[tuple[str, Callable[[Activity], float | None]], ...] = (
    ('operations/s and OSD', lambda a: a.operations_per_s / a.osds),
    ('KiB/s and OSD', lambda a: a.bytes_per_s / a.osds / 1024),
    ('mean write, KiB', lambda a: _share(a.write_bytes_per_s / 1024, a.writes_per_s)),
    ('share of reads', lambda a: _share(a.reads_per_s, a.operations_per_s)),
    ('class calls in changes', lambda a: _share(a.class_calls_per_s, a.changes_per_s)),
    ('recovery per change', lambda a: _share(a.recovery_per_s, a.changes_per_s)),
)


def _gather(names: Sequence[str], *, of_osds: bool) -> tuple[list[Judged], list[Onset]]:
    judged: list[Judged] = []
    onsets: list[Onset] = []
    for name in names:
        recording = replay.load(name)
        osds = [osd.osd_id for osd in recording.cluster_map().osds] if of_osds else [None]
        for osd_id in osds:
            for offset_s in evaluation.OFFSETS_S:
                shown = evaluation.watch(recording, offset_s, osd_id)
                judged += evaluation.judge(recording, shown)
                onsets += evaluation.onsets(recording, shown, offset_s)
    return judged, onsets


def _scores(judged: Sequence[Judged]) -> None:
    print(f'{"class":<18} {"windows":>7} {"precision":>9} {"recall":>7} {"F1":>6}')
    for name, score in evaluation.scores(judged).items():
        print(
            f'{name:<18} {score.windows:>7} {score.precision:>9.3f} {score.recall:>7.3f} '
            f'{score.f1:>6.3f}'
        )
    print(f'{"macro average":<18} {len(judged):>7} {"":>17} {evaluation.macro_f1(judged):>6.3f}')


def _confusion(judged: Sequence[Judged]) -> None:
    counts = evaluation.confusion(judged)
    shown = sorted({seen for _, seen in counts})
    print(f'\n{"true, shown as:":<18}' + ''.join(f'{name[:15]:>17}' for name in shown))
    for truth in sorted({truth for truth, _ in counts}):
        print(f'{truth:<18}' + ''.join(f'{counts[truth, seen] or "":>17}' for seen in shown))


def _reliability(judged: Sequence[Judged]) -> None:
    print(f'\n{"confidence":<18} {"windows":>7} {"right":>6}')
    for low, high, windows, right in evaluation.reliability(judged):
        share = f'{right / windows:.3f}' if windows else ''
        print(f'{low:.2f} to {high:.2f}       {windows:>7} {share:>6}')


def _onsets(onsets: Sequence[Onset]) -> None:
    print(f'\n{"run":<22} {"what":<34} {"right after, s":>15} {"changes":>8} {"true":>5}')
    for run, what in dict.fromkeys((o.run, o.span.what) for o in onsets):
        of_span = [o for o in onsets if (o.run, o.span.what) == (run, what)]
        after = [o.right_after_s for o in of_span if o.right_after_s is not None]
        never = len(of_span) - len(after)
        times = f'{min(after):.0f} to {max(after):.0f}' if after else ''
        times += f' ({never} never)' if never else ''
        print(
            f'{run:<22} {what:<34} {times:>15} {max(o.changes for o in of_span):>8} '
            f'{of_span[0].true_changes:>5}'
        )


def _signals(judged: Sequence[Judged]) -> None:
    """What the thresholds of the module lie between, by true class."""
    print(f'\n{"class":<18}' + ''.join(f'{name:>28}' for name, _ in SIGNALS))
    for truth in sorted({j.span.labels[0] for j in judged}):
        seen = [j.seen.activity for j in judged if j.span.labels[0] == truth]
        ranges = []
        for _, signal in SIGNALS:
            found = [signal(a) for a in seen if a is not None]
            values = sorted(value for value in found if value is not None)
            ranges.append(f'{values[0]:.3g} to {values[-1]:.3g}' if values else '')
        print(f'{truth:<18}' + ''.join(f'{text:>28}' for text in ranges))


def _wrong(judged: Sequence[Judged]) -> None:
    for j in judged:
        if not j.right:
            print(
                f'{j.run} {j.span.what} at {j.seen.now_s:.0f} s: {j.seen.workload_class} '
                f'{j.seen.confidence:.2f} for {j.span.labels[0]}: {" ".join(j.seen.evidence)}'
            )


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='qa/evaluate-workload', description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='recordings; default: of the part')
    parser.add_argument('--part', choices=(SET, HELD_OUT), default=HELD_OUT)
    parser.add_argument('--osds', action='store_true', help='judge OSDs, not their device class')
    parser.add_argument('--signals', action='store_true', help='show what was measured, by class')
    parser.add_argument('--wrong', action='store_true', help='show the windows with a wrong class')
    return parser.parse_args(argv)


def _work(arguments: argparse.Namespace) -> int:
    there = replay.campaign()
    for name in arguments.names:
        if name not in there:
            raise UsageError(f'no recording {name!r}: choose of {", ".join(there)}')
    names = arguments.names or [n for n in there if replay.load(n).part == arguments.part]
    judged, onsets = _gather(names, of_osds=arguments.osds)
    _scores(judged)
    _confusion(judged)
    _reliability(judged)
    _onsets(onsets)
    if arguments.signals:
        _signals(judged)
    taken = evaluation.taken_for_clients(judged)
    print(f'\n{len(taken)} windows without clients were taken for client work')
    if arguments.wrong:
        _wrong(judged)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return run_main('qa/evaluate-workload', lambda: _work(_parse(argv)))
