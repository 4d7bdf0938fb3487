"""How well workloads are recognized, by the recordings of real clients, as tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rocksdb_tuner.tests.workload import evaluation, replay
from rocksdb_tuner.tests.workload.evaluation import Judged, Onset

from .cli import run_main
from .errors import UsageError
from .recording_plan import HELD_OUT, SET


def names_of(part: str) -> list[str]:
    """The recordings of a part of the campaign."""
    return [name for name in replay.campaign() if replay.load(name).part == part]


def by_span(onsets: Sequence[Onset]) -> Iterator[list[Onset]]:
    """The onsets of each span, at all offsets."""
    for run, what in dict.fromkeys((o.run, o.span.what) for o in onsets):
        yield [o for o in onsets if (o.run, o.span.what) == (run, what)]


def gather(names: Sequence[str], *, of_osds: bool) -> tuple[list[Judged], list[Onset]]:
    """The windows; of a device class also how each span was recognized."""
    judged: list[Judged] = []
    onsets: list[Onset] = []
    for name in names:
        recording = replay.load(name)
        for offset_s in evaluation.OFFSETS_S:
            if of_osds:
                for osd in recording.cluster_map().osds:
                    shown = evaluation.watch(recording, offset_s, osd.osd_id)
                    judged += evaluation.judge_osd(recording, shown)
            else:
                shown = evaluation.watch(recording, offset_s)
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
    for of_span in by_span(onsets):
        run, what = of_span[0].run, of_span[0].span.what
        after = [o.right_after_s for o in of_span if o.right_after_s is not None]
        never = len(of_span) - len(after)
        times = f'{min(after):.0f} to {max(after):.0f}' if after else ''
        times += f' ({never} never)' if never else ''
        print(
            f'{run:<22} {what:<34} {times:>15} {max(o.changes for o in of_span):>8} '
            f'{of_span[0].true_changes:>5}'
        )


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
    parser.add_argument('--wrong', action='store_true', help='show the windows with a wrong class')
    return parser.parse_args(argv)


def _work(arguments: argparse.Namespace) -> int:
    there = replay.campaign()
    for name in arguments.names:
        if name not in there:
            raise UsageError(f'no recording {name!r}: choose of {", ".join(there)}')
    names = arguments.names or names_of(arguments.part)
    judged, onsets = gather(names, of_osds=arguments.osds)
    _scores(judged)
    _confusion(judged)
    _reliability(judged)
    if onsets:
        _onsets(onsets)
    taken = evaluation.taken_for_clients(judged)
    print(f'\n{len(taken)} windows without clients were taken for client work')
    if arguments.wrong:
        _wrong(judged)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return run_main('qa/evaluate-workload', lambda: _work(_parse(argv)))
