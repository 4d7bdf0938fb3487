"""The maintenance window: read as written, and a gate before each OSD."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.automatic import DAYS, MaintenanceWindow, outside
from rocksdb_tuner.operations.rollout.records import OsdStep

from .conftest import Run

FRI, SAT, SUN, MON, TUE = 4, 5, 6, 0, 1


def at(hour: int, minute: int = 0) -> int:
    return hour * 60 + minute


@given(st.integers(0, 6), st.integers(0, at(24) - 1))
def test_without_bounds_every_time_is_inside(weekday: int, minute: int) -> None:
    assert outside(MaintenanceWindow(), weekday, minute) is None
    assert outside(MaintenanceWindow(' ', ' '), weekday, minute) is None


@pytest.mark.parametrize(
    ('days', 'hours', 'weekday', 'minute', 'inside'),
    [
        ('sat,sun', '', SAT, at(0), True),
        ('sat,sun', '', MON, at(0), False),
        ('Mon - Fri', '', FRI, at(23, 59), True),
        ('mon-fri', '', SAT, at(0), False),
        ('sat-mon', '', MON, at(12), True),
        ('sat-mon', '', FRI, at(12), False),
        ('sat-mon', '', TUE, at(12), False),
        ('', '08:00-09:30', SUN, at(8), True),
        ('', '08:00-09:30', SUN, at(9, 30), False),
        ('', '08:00-09:30', SUN, at(9, 29), True),
        ('', '08:00-09:30', SUN, at(7, 59), False),
        ('', '08:30-09:00', SUN, at(8, 29), False),
        ('', '08:30-09:00', SUN, at(8, 30), True),
        # A window belongs to the day on which it begins.
        ('sat', '22:00-04:00', SAT, at(22), True),
        ('sat', '22:00-04:00', SUN, at(3, 59), True),
        ('sat', '22:00-04:00', SUN, at(4), False),
        ('sat', '22:00-04:00', SAT, at(3), False),
        ('sun', '22:00-04:00', MON, at(1), True),
    ],
)
def test_window_is_parsed_as_written(
    days: str, hours: str, weekday: int, minute: int, inside: bool
) -> None:
    found = outside(MaintenanceWindow(days, hours), weekday, minute)
    assert (found is None) == inside
    assert inside or 'outside the maintenance window' in (found or '')


@pytest.mark.parametrize(
    ('days', 'hours', 'shown'),
    [('sat', ' ', 'sat'), (' ', '01:00-02:00', '01:00-02:00'), ('sat', '01:00-02:00', None)],
)
def test_configured_bounds_are_shown(days: str, hours: str, shown: str) -> None:
    shown = shown or f'{days} {hours}'
    assert outside(MaintenanceWindow(days, hours), MON, at(12)) == (
        f"outside the maintenance window ({shown}, the manager's local time)"
    )


@pytest.mark.parametrize(
    ('days', 'hours', 'message'),
    [
        ('weekend', '', 'invalid maintenance_days "weekend": use days as in "sat,sun"'),
        ('sat,', '', 'invalid maintenance_days "sat,"'),
        ('sat-', '', 'invalid maintenance_days "sat-"'),
        ('', '22-4', 'invalid maintenance_hours "22-4": use hours as in "22:00-04:00"'),
        ('', '24:00-25:00', 'maintenance_hours'),
        ('', '08:00-08:00', 'maintenance_hours'),
    ],
)
def test_invalid_window_is_closed_with_the_valid_form(days: str, hours: str, message: str) -> None:
    assert message in (outside(MaintenanceWindow(days, hours), SAT, at(12)) or '')


@given(st.text(max_size=12), st.text(max_size=12), st.integers(0, 6), st.integers(0, 1439))
def test_any_text_is_a_window_or_closed(days: str, hours: str, weekday: int, minute: int) -> None:
    found = outside(MaintenanceWindow(days, hours), weekday, minute)
    assert found is None or 'maintenance' in found


@given(st.sampled_from(DAYS), st.integers(0, 6), st.integers(0, 1439))
def test_a_day_and_its_hours_are_open_as_long_as_they_say(
    day: str, weekday: int, minute: int
) -> None:
    """Eight hours of one day, over midnight or not: a third of a day a week."""
    for hours in ('00:00-08:00', '20:00-04:00'):
        window = MaintenanceWindow(day, hours)
        inside = [
            (d, m) for d in range(7) for m in range(0, 1440, 30) if outside(window, d, m) is None
        ]
        assert len(inside) == 16


def test_no_osd_starts_outside_the_window_and_the_wait_is_named(run: Run) -> None:
    run.outside_window = 'outside the maintenance window (sat)'
    run.start()
    run.to_a_wait('outside the maintenance window (sat)')
    for _ in range(100):
        run.tick()
    assert run.cluster.commands == []
    run.outside_window = None
    assert run.run_to_end().phase is Phase.DONE


def test_started_osd_is_finished_when_the_window_closes(run: Run) -> None:
    run.start()
    run.until(lambda state: state.osds[0].step is OsdStep.RESTARTING)
    run.outside_window = 'outside the maintenance window (sat)'
    state = run.to_a_wait('outside the maintenance window')
    assert [osd.step for osd in state.osds] == [OsdStep.VERIFIED, OsdStep.PENDING, OsdStep.PENDING]


def test_rollback_does_not_wait_for_the_window(run: Run) -> None:
    run.start()
    run.until(lambda state: state.osds[1].step is OsdStep.RESTARTING)
    run.outside_window = 'outside the maintenance window (sat)'
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
