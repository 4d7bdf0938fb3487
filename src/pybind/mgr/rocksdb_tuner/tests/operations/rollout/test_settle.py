"""After a restart: the process stays, runs what it should, and placement groups become clean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import AskedRestart, Direction, Ending, OsdBefore
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import ALL, NEW, OLD
from .one_step import (
    ABORTED,
    BACK,
    CHECKING,
    DUE,
    FORWARD,
    RECOVER,
    RESTARTING,
    RESTORED,
    SETTLING,
    VERIFIED,
    at,
    case,
    decides,
    osd,
    runs,
    table,
)
from .test_restart import MAY_STILL, UNCLEAN

DEFAULT = DEFAULTS['pacific']
ODD = 'write_buffer_size=1 a'
AGAIN = Ending(Outcome.FAILED, 'osd.0 came up and went down again 3 times')


# -- the process stays


@table(
    *(
        case(f'{way.value}: {name}', at(CHECKING, way), seen, step=RESTARTING, flaps=1)
        for way in (FORWARD, BACK)
        for name, seen in (
            ('another one', {'nonce': 99}), ('an unknown one', {'nonce': None}),
            ('down', {'up': False}), ('gone', {'gone': True}),
        )
        if (way, name) != (FORWARD, 'gone')
    ),
    case('twice', at(SETTLING, flaps=1), {'up': False}, direction=FORWARD, flaps=2),
    case('three times', at(SETTLING, flaps=2), {'up': False}, direction=RECOVER, ending=AGAIN),
    case('in a rollback for ever', at(SETTLING, BACK, flaps=20), {'up': False}, flaps=21),
    # The requested restart may come late, after another one.
    *(
        case(
            f'late: settled {settled}, requested {asked}', at(CHECKING, flaps=2, asked=asked),
            {'nonce': 99, 'restart_settled': settled},
            **({'ending': AGAIN} if counts else {'step': RESTARTING, 'flaps': 2}),
        )
        for settled, asked, counts in (
            (False, None, True), (True, None, False), (False, AskedRestart(0), False),
            (False, AskedRestart(3), True),
        )
    ),
)  # fmt: skip
def test_process_that_is_not_the_one_that_came_up(
    state: Any, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    """Even if it was never seen down; one that goes down for the third time has failed."""
    decides(state, seen, expected)


# -- placement groups


@table(
    *(
        case(
            f'after {waited_s} s, moved {moved}, asked {asked and asked.osd_id}, unclean {unclean}',
            at(SETTLING, asked=asked),
            {'waited_s': waited_s, 'osds_moved': moved, **({'pgs': UNCLEAN} if unclean else {})},
            **(
                {'step': VERIFIED}
                if says is None
                else {'same': True, 'has': says, **({} if says else {'says': ''})}
            ),
        )
        for waited_s, moved, asked, unclean, says in (
            (299.9, True, None, False, ''),
            (300.0, True, None, False, 'not every OSD'),
            (0.0, False, None, False, None),
            (299.9, True, AskedRestart(3), False, ''),
            (0.0, False, AskedRestart(3), False, MAY_STILL.format(3)),
            (0.0, False, AskedRestart(3), True, MAY_STILL.format(3)),
            (299.9, False, None, True, ''),
            (300.0, False, None, True, 'placement groups'),
        )
    ),
)
def test_osd_is_settled_with_clean_placement_groups_and_no_pending_request(
    state: Any, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    decides(state, seen, expected)


# -- what it runs


ELSEWHERE = (
    'bluestore_rocksdb_options of osd.0 comes from its ceph.conf, which the config store does not '
    'override: remove it there first, and restart the OSD'
)


@pytest.mark.parametrize(
    ('seen', 'reason'),
    [
        ({'running': {}}, 'osd.0 was restarted, but its running options cannot be read'),
        (runs(OLD, 'file'), ELSEWHERE),
        (runs(ODD), f"osd.0 was restarted without effect: it runs '{ODD}' (source mon)"),
        (
            runs(NEW, 'default'),
            f'osd.0 was restarted without effect: it runs {NEW} (source default)',
        ),
    ],
)
def test_osd_without_the_effect_fails_with_its_reason(seen: dict[str, object], reason: str) -> None:
    fails = {'direction': RECOVER, 'stage': Phase.ROLLING_BACK}
    late, state = {**seen, 'waited_s': 60.0}, at(CHECKING)
    decides(state, late, {**fails, 'ending': Ending(Outcome.FAILED, reason)})
    decides(state, {**seen, 'waited_s': 59.9}, {'same': True, 'says': ''})
    # The first reason is kept, and so is its ending.
    both = Ending(Outcome.FAILED, f'aborted by client.ann; {reason}')
    decides(replace(state, ending=ABORTED), late, {**fails, 'ending': both})


@pytest.mark.parametrize('known', [True, False])
@pytest.mark.parametrize(('way', 'then'), [(BACK, SETTLING), (RECOVER, RESTORED)])
def test_process_under_rollback_is_trusted_after_five_seconds_and_given_up_after_a_minute(
    way: Direction, then: object, known: bool
) -> None:
    state = at(CHECKING, way)
    decides(state, {**runs(DEFAULT, 'default'), 'waited_s': 4.9}, {'same': True})
    decides(state, {**runs(DEFAULT, 'default'), 'waited_s': 5.0}, {'step': then})
    wrong = runs(NEW) if known else {'running': {}}
    decides(state, {**wrong, 'waited_s': 59.9}, {'same': True, 'says': '', 'ended': False})
    late = {**wrong, 'waited_s': 60.0}
    decides(state, {**late, 'nonce': 99}, {'step': RESTARTING, 'flaps': 1})
    gone = decides(state, late, {'stage': Phase.FAILED, 'outcome': Outcome.FAILED}).state
    found = f'it runs {NEW} (source mon)' if known else 'its running options cannot be read'
    failure = gone.failure or ''
    assert f'osd.0 was restarted during the rollback, but {found}' in failure
    assert failure.startswith('it failed; ') == (way is RECOVER)


def test_osd_with_other_running_options_is_not_given_up_while_others_are_changed() -> None:
    """Ending here would leave them as they are."""
    says = (
        f"osd.0 was restarted during the rollback, but it runs '{ODD}' (source file); correct it "
        'and restart the OSD'
    )
    seen = {**runs(ODD, 'file'), 'waited_s': 60.0}
    decides(at(CHECKING, BACK, DUE), seen, {'ended': False, 'same': True, 'says': says})


HOST, OTHER_HOST, BY_CLASS = 'osd/host:node0', 'osd/host:node1', 'osd/class:ssd'


@pytest.mark.parametrize(
    ('entries', 'value', 'source', 'before', 'believed'),
    [
        # Nothing decides: its own default, and nothing else.
        ({}, DEFAULT, 'default', None, True),
        ({}, DEFAULT, 'mon', None, False),
        # The entry that it starts with.
        ({ALL: OLD}, OLD, 'mon', None, True),
        ({ALL: OLD}, OLD, 'default', None, False),
        ({ALL: OLD}, NEW, 'mon', None, False),
        # A mask that may reach it, and means something else than what the rollout wrote.
        ({HOST: OLD}, OLD, 'mon', None, True),
        ({HOST: OLD}, OLD, 'file', None, False),
        ({HOST: OLD}, DEFAULT, 'mon', None, False),
        ({OTHER_HOST: OLD}, OLD, 'mon', None, False),
        ({ALL: DEFAULT, HOST: OLD}, OLD, 'mon', None, True),
        ({ALL: DEFAULT, HOST: OLD}, DEFAULT, 'mon', None, True),
        # It has the same meaning: then only the previous value decides.
        ({HOST: NEW}, NEW, 'mon', None, False),
        ({HOST: NEW}, NEW, 'mon', (NEW, 'mon'), True),
        ({HOST: NEW}, NEW, 'mon', (NEW, 'file'), False),
        ({HOST: NEW}, NEW, 'mon', (OLD, 'mon'), False),
        ({HOST: NEW, BY_CLASS: OLD}, OLD, 'mon', None, True),
    ],
)
def test_restored_values_are_distinguished_from_written_ones(
    entries: dict[str, str],
    value: str,
    source: str,
    before: Optional[tuple[str, str]],
    believed: bool,
) -> None:
    state = at(CHECKING, BACK)
    recorded = OsdBefore(0, *(before or (DEFAULT, 'default')), 'pacific')
    osds = (recorded, *state.before.osds[1:])
    state = osd(replace(state, before=replace(state.before, osds=osds)))
    seen = {'entries': entries, 'waited_s': 59.9, **runs(value, source)}
    decides(state, seen, {'step': SETTLING if believed else CHECKING})
