"""The runs at real size: what is drawn, how a log is read, and what is cut out of a run."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_model_real as real
import pytest
from bench_model_judge import changes, compare, fitted_intervals, held
from bench_model_real_fit import fit, onodes
from bench_model_steady import Look, Made, RealRun, at, real_run
from bench_model_trials import DESIGN, Trial, committed, document, drawn, drawn_later

from bench_model_events import Compaction, Events, Flush, LiveFiles, read_events
from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.keys import Onodes


def test_committed_draw_matches_the_seed() -> None:
    """Held-out runs cannot be changed without a trace after they were evaluated."""
    assert committed() == [*drawn(), *drawn_later()]
    assert all(trial.held_out for trial in drawn_later())
    written = document(drawn(), drawn_later())
    assert json.loads(DESIGN.read_text()) == json.loads(json.dumps(written))


def test_forty_percent_of_each_kind_are_held_out() -> None:
    """Neither the fit nor its test is left without a kind of client."""
    trials = drawn()
    share = sum(trial.held_out for trial in trials) / len(trials)
    assert 0.35 <= share <= 0.45
    for kind in ('rbd', 's3', 'cephfs'):
        assert {t.held_out for t in trials if t.name.startswith(kind)} == {True, False}


def event(**content: Any) -> str:
    return f'2026-01-01T00:00:00 7f 4 rocksdb: EVENT_LOG_v1 {json.dumps(content)}\n'


def created(micros: int, job: int, number: int, family: str, keys: int) -> str:
    return event(
        time_micros=micros, cf_name=family, job=job, event='table_file_creation',
        file_number=number, file_size=1000 * keys,
        table_properties={'num_entries': keys, 'raw_key_size': 40 * keys,
                          'raw_value_size': 200 * keys},
    )  # fmt: skip


LOG = (
    '2026-01-01T00:00:00 7f 4 rocksdb: [db/flush_job.cc:338] [P] [JOB 7] Flushing memtable\n',
    event(time_micros=100, job=7, event='flush_started', num_memtables=2, memory_usage=4000,
          total_data_size=3500, flush_reason='Write Buffer Full'),
    created(110, 7, 21, 'P', 4),
    event(time_micros=120, job=7, event='flush_finished'),
    '2026-01-01T00:00:00 7f 4 rocksdb: [db/compaction_job.cc:1] [P] [JOB 8] Compacting 1@0\n',
    event(time_micros=130, job=8, event='compaction_started', files_L0=[21],
          input_data_size=4000),
    created(140, 8, 22, 'P', 3),
    event(time_micros=150, job=8, event='compaction_finished', output_level=1,
          total_output_size=3000),
    event(time_micros=151, job=8, event='table_file_deletion', file_number=21),
    'a line of another part of the OSD\n',
)  # fmt: skip


def test_log_has_the_end_and_the_size_of_each_flush_and_compaction() -> None:
    """Rounds are cut by these times, and bytes for each key come from what is left."""
    events = read_events(LOG, 0)
    assert events.flushes == [Flush('P', True, 2, 4000, 3500, 4000, 960, 120)]
    assert events.compactions == [Compaction('P', 0, 1, 1, 4000, 3000, 150)]
    assert events.live == {'P': LiveFiles(3000, 3, 720)}


def look(second: int, writes: int) -> Look:
    return Look(
        micros=second * 1_000_000, writes=writes, write_bytes=4096 * writes, onodes=0,
        wal_bytes=2000 * writes, flush_bytes=0, compaction_bytes=0, bluefs_wal_bytes=0,
        bluefs_sst_bytes=0, sst_bytes=5000, wal_allocated_bytes=second,
    )  # fmt: skip


def test_counter_is_interpolated_between_two_samples() -> None:
    looks = [look(0, 0), look(10, 100), look(20, 400)]
    assert [at(looks, second * 1e6, 'writes') for second in (5, 10, 15, 25)] == [50, 100, 250, 400]


def made(**trial: Any) -> Made:
    return Made(Trial(**{**vars(drawn()[0]), **trial}), '16.2.15', 1, 256, 4000)


def flush(second: int, family: str = 'P') -> Flush:
    return Flush(family, True, 1, 900, 800, 300, 250, second * 1_000_000)


def compaction(second: int, family: str = 'P', to_level: int = 1) -> Compaction:
    return Compaction(family, 0, to_level, 4, 1200, 700, second * 1_000_000)


def run(events: Events) -> RealRun:
    """3,000 writes fill the log of the one placement group at second 30; clients end at 90."""
    looks = [*(look(second, 100 * second) for second in range(0, 91, 10)), look(100, 9000)]
    return real_run(made(), looks, events)


def test_whole_rounds_start_when_the_logs_are_full() -> None:
    """A round cut off at either end would count flushes without their compaction."""
    found = run(
        Events(
            flushes=[flush(second) for second in (5, 25, 35, 45, 55, 65, 75, 85, 95)],
            compactions=[compaction(second) for second in (26, 40, 60, 80, 97)],
            live={'P': LiveFiles(300, 3, 720)},
        )
    )
    assert (found.writes_before, found.writes, found.seconds) == (3000, 6000, 60)
    (column,) = found.columns
    assert (column.full_flushes, column.level_0_bytes) == (6, 1800)
    # 5 flushes in the 5,000 writes from 35 to 85
    assert (column.data_bytes_per_write, column.level_0_bytes_per_write) == (0.8, 0.3)
    assert column.writes_per_flush == 1000
    assert (column.level_0_compactions, column.live_keys) == (3, 3)
    # Two rounds from 40 to 80
    assert column.compaction_bytes_per_write == 2 * 700 / 4000
    assert found.write_amplification == pytest.approx(1 + (0.3 + 0.35) / 2000)


def test_run_shorter_than_two_rounds_has_no_write_amplification() -> None:
    """An unknown ratio is not 1.0; its flushes are still counted."""
    found = run(Events(flushes=[flush(35), flush(70)], compactions=[compaction(40)]))
    assert (found.compactions, found.write_amplification) == (None, None)
    assert found.columns[0].full_flush_memory_bytes == 900


def test_shards_without_a_flush_are_assumed_to_match_the_others() -> None:
    """Three shards get three times what the two that were seen mean, not two times."""
    found = run(
        Events(
            flushes=[flush(s, f'O-{n}') for n in (0, 1) for s in (40, 60, 80)],
            live={'O-2': LiveFiles()},
        )
    )
    (column,) = found.columns
    assert column.families == 3
    assert column.data_bytes_per_write == pytest.approx(3 * 1600 / 4000)


def test_only_flush_of_a_family_covers_all_earlier_writes() -> None:
    """A memtable of 256 MiB fills once in a run, and what it held is still known."""
    (column,) = run(Events(flushes=[flush(80)])).columns
    assert (column.data_bytes_per_write, column.writes_per_flush) == (0.1, 8000)
    assert column.rates_at_writes == 4000


def test_each_shard_has_its_own_rounds() -> None:
    """Three shards that are compacted one after another are no three rounds."""
    found = run(
        Events(
            flushes=[flush(second, f'O-{second % 3}') for second in range(31, 90)],
            compactions=[
                *(compaction(second, f'O-{second % 3}') for second in (40, 41, 42, 70, 71, 72)),
            ],
        )
    )
    (column,) = found.columns
    assert (column.families, column.level_0_compactions) == (3, 6)
    assert column.compaction_bytes_per_write == pytest.approx(3 * 700 / 3000)


def test_unknown_column_is_ignored_only_if_small() -> None:
    """Its own writes may be the largest part."""
    busy = [flush(second) for second in range(31, 90)]
    rounds = [compaction(second) for second in (40, 60, 80)]
    small = run(Events(flushes=[*busy, flush(50, 'L')], compactions=rounds))
    assert small.write_amplification is not None
    large = run(Events(flushes=[*busy[:6], flush(50, 'L')], compactions=rounds))
    assert large.write_amplification is None


def test_held_out_runs_are_shown_only_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results keep that they were evaluated, and when."""
    runs = [
        real_run(made(name=name, held_out=held_out), [look(0, 0), look(9, 9)], Events())
        for name, held_out in (('fitted', False), ('tested', True))
    ]
    assert [run.trial.name for run in real.shown(runs, held_out=False)] == ['fitted']
    assert [run.trial.name for run in real.shown(runs, held_out=True)] == ['tested']
    path = tmp_path / 'results.json'
    path.write_text(json.dumps(real.document(runs, None)))
    for words, noted in ((['compare'], False), (['compare', '--held-out'], True)):
        monkeypatch.setattr('sys.argv', ['bench', '--results', str(path), *words])
        assert real.main() == 0
        assert (real.read(path)[1] is not None) is noted
        assert ('fitted' in capsys.readouterr().out) is not noted
    found, first = real.read(path)
    assert found == runs
    assert real.main() == 0
    assert real.read(path)[1] == first


def seen_objects(trial: Trial, onodes: Onodes, writes: int) -> RealRun:
    """A run over 1,000 objects, of which a fit is to find these sizes again."""
    each = writes / 1000
    size = onodes.onode_bytes + onodes.map_bytes(trial.block_bytes, each)
    keys = 1 + onodes.map_bytes(trial.block_bytes, each) / onodes.shard_bytes
    kinds = onodes.kinds(trial.block_bytes, each / 2)
    packed = onodes.packed(trial.block_bytes, each) if 'LZ4' in trial.compression else 1.0
    nothing = run(Events(flushes=[flush(40)]))
    column = replace(
        nothing.columns[0],
        name='O',
        data_bytes_per_write=sum(kind.written_bytes for kind in kinds),
        rates_at_writes=writes / 2,
        live_keys=round(1000 * keys),
        live_data_bytes=round(1000 * size),
        live_bytes=round(1000 * size * packed),
    )
    return replace(
        nothing, trial=trial, objects=1000, writes_before=0, writes=writes, columns=[column]
    )


def test_fit_recovers_the_sizes_of_onodes() -> None:
    """From small and full objects, blocks of two sizes, and with compression."""
    sizes = Onodes(600.0, 24.0, 6.0, 650.0, 0.4)
    trial = replace(drawn()[0], clients='rbd', held_out=False)
    runs = [
        seen_objects(replace(trial, block_bytes=block, compression=compression), sizes, writes)
        for block in (4096, 16384)
        for compression in ('kNoCompression', 'kLZ4Compression')
        for writes in (20_000, 60_000, 2_000_000)
    ]
    found = onodes(runs)
    for block in (4096, 16384):
        for writes in (30.0, 300.0, None):
            expected = sizes.onode_bytes + sizes.map_bytes(block, writes)
            fitted = found.onode_bytes + found.map_bytes(block, writes)
            assert fitted == pytest.approx(expected, rel=0.05)
            assert found.packed(block, writes) == pytest.approx(
                sizes.packed(block, writes), rel=0.1
            )


def test_held_out_runs_do_not_affect_the_fit() -> None:
    held_out = replace(run(Events()), trial=replace(drawn()[0], held_out=True))
    with pytest.raises(ValueError, match='held out'):
        fit([held_out], ['O'])


@pytest.mark.parametrize('number', [5, 8, 20])
def test_prediction_interval_covers_new_runs(number: int) -> None:
    """The narrowest interval around 80% of few comparisons covers much less of the next."""
    rng = random.Random(number)
    held = 0
    for _ in range(4000):
        seen = [math.exp(rng.gauss(0.0, 0.5)) for _ in range(number)]
        (interval,) = fitted_intervals({'x': seen})
        held += interval['low'] <= math.exp(rng.gauss(0.0, 0.5)) <= interval['high']
    assert held / 4000 == pytest.approx(0.8, abs=0.025)


def test_recorded_runs_are_within_their_intervals() -> None:
    """Of the quantity with the largest errors 75 to 85%."""
    known = calibration()
    compared = [c for run in real.read(real.RESULTS)[0] for c in compare(run, known)]
    lines = '\n'.join(held([*compared, *changes(compared)], known.quantities))
    shares = dict(re.findall(r'^(\w+): .*\((\d+)%\) within', lines, re.MULTILINE))
    assert 75 <= int(shares['level0_file_bytes']) <= 85
    assert shares['write_amplification'] == shares['write_amplification_change'] == '100'
