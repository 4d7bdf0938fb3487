"""The model of an OSD uses its measured writes, if they are sufficient, and reports that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.advise.whatif.situation import Situation, read_overrides, situation_of_osd
from rocksdb_tuner.advise.whatif.tree import modeled
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.records import WorkloadClass

from ..builders import PACIFIC, facts, model_in, osd_info, release, workload

GIB = 1 << 30
RELEASE = release('16.2.15')
TWO_HOURS_S = 7200.0


def osd(
    write_amp: Optional[float], window_s: Optional[float] = TWO_HOURS_S, **changes: Any
) -> OsdFacts:
    """10 GiB of metadata, 20 MB/s of WAL, RBD clients, on the default of Pacific."""
    signals = Signals(
        osd_id=3,
        wal_bytes_per_s=20e6,
        db_used_bytes=10 * GIB,
        slow_used_bytes=0,
        db_write_amp=write_amp,
        db_write_amp_window_s=window_s,
    )
    values = {'signals': signals, 'workload': workload(), 'sharded': True, **changes}
    return facts(osd_info(3))._replace(**values)


def situation(found: OsdFacts, **message: Any) -> Situation:
    return situation_of_osd(found, RELEASE, read_overrides(**message))


def test_number_of_objects_is_estimated_from_the_writes() -> None:
    """And the model then predicts what was measured."""
    found = situation(osd(1.4))
    assert found.objects is not None
    assert found.load.objects == found.objects.value
    write = model_in(found, PACIFIC).amplification.write
    assert write is not None
    assert write.low <= 1.4 <= write.high
    without = model_in(replace(found, load=replace(found.load, objects=None)), PACIFIC)
    assert without.amplification.write is not None
    assert without.amplification.write.low > 1.4


@pytest.mark.parametrize(
    'found',
    [
        osd(None),
        osd(1.4, None),
        osd(1.4, 60.0),
        osd(30.0),
    ],
    ids=['not measured', 'of no window', 'too short', 'not explained'],
)
def test_number_of_objects_falls_back_to_the_size_of_the_database(
    found: OsdFacts,
) -> None:
    seen = situation(found)
    assert seen.objects is None
    assert seen.load.objects is None


@pytest.mark.parametrize(
    'message',
    [{'workload': WorkloadClass.RGW_METADATA}, {'data': '5G'}],
    ids=['other clients', 'other database'],
)
def test_measured_writes_do_not_apply_to_an_imagined_osd(message: dict[str, Any]) -> None:
    found = situation(osd(1.4), **message)
    assert found.objects is None
    assert found.load.objects is None


def test_options_without_levels_have_no_number_and_no_model() -> None:
    found = osd(1.4)
    assert found.options is not None
    odd = found._replace(
        options=replace(found.options, running='compaction_style=kCompactionStyleUniversal')
    )
    assert situation(odd).objects is None
    assert modeled(odd) is None


def test_model_of_an_osd_is_shown_with_its_measurements() -> None:
    found = modeled(osd(1.4))
    assert found is not None
    assert found.write_amplification.low <= 1.4 <= found.write_amplification.high
    assert found.objects is not None
    unmeasured = modeled(osd(None))
    assert unmeasured is not None
    assert unmeasured.objects is None


@pytest.mark.parametrize(
    'found',
    [
        osd(1.4, options=None),
        osd(1.4, workload=None),
        osd(1.4, signals=Signals(osd_id=3)),
        facts(osd_info(3, release=None, version=None)),
    ],
    ids=['options', 'workload', 'size of the database', 'release'],
)
def test_osd_with_unknown_inputs_has_no_model(found: OsdFacts) -> None:
    assert modeled(found) is None


@pytest.mark.parametrize(
    ('value', 'entries'),
    [('10', 1000), ('3000', 300_000), ('10000', 300_000), ('many', None), (None, None)],
)
def test_trimmed_pg_log_is_modeled(value: Optional[str], entries: Optional[float]) -> None:
    settings = {} if value is None else {'osd_max_pg_log_entries': Setting(value, 'osd')}
    assert situation(osd(None, settings=settings)).load.log_entries == entries
