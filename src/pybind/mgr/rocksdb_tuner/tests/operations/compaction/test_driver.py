"""A compaction campaign: one OSD at a time, watched, and nothing started with a closed gate."""

from __future__ import annotations

import json
import logging
from typing import Callable, Optional

import pytest

from rocksdb_tuner.mgr.protocols import CommandError, TellArguments
from rocksdb_tuner.operations.announce import ACTION_AFTER_S, GATE_ALARM_AFTER_S
from rocksdb_tuner.operations.compaction.driver import CURRENT
from rocksdb_tuner.operations.compaction.machine import Probe, parse_probe
from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.store.stored import BROKEN
from rocksdb_tuner.tests.fake_compaction import FakeAnswer

from .conftest import USED_BYTES, WAITING, Run

SILENT = CommandError(110, 'no answer')


def compacting(run: Run) -> Run:
    """The first OSD is in the middle of it."""
    run.start()
    run.until(lambda _: bool(run.cluster.compactions.running()))
    return run


# -- the whole of it


def test_every_osd_is_compacted_once_in_order_and_freed_space_reported(run: Run) -> None:
    run.start()
    state = run.run_to_end()
    assert (state.stage, state.outcome, state.failure) == (Phase.DONE, Outcome.DONE, None)
    assert run.cluster.compactions.requested == [0, 1, 2, 3]
    assert run.cluster.compactions.most_at_once == 1
    assert state.used_bytes == (4 * USED_BYTES, 4 * int(USED_BYTES * 0.6))
    assert run.ended == [state]
    assert (run.cluster.progress, run.cluster.progress_ended) == ({}, [('rocksdb_tuner-c1', None)])
    assert run.cluster.logged[-1][0].endswith('DB 400 MiB -> 240 MiB (-40%)')


def test_osd_that_never_reports_is_skipped_and_the_others_compact(run: Run) -> None:
    """Its guards cannot be evaluated; those of the others can, without it."""
    run.writes_unknown[1] = 0.0
    run.start()
    run.to_a_wait('no current sample of client writes on osd.1')
    assert run.cluster.compactions.requested == []
    assert run.run_to_end().outcome is Outcome.DONE
    assert run.steps() == ['done', 'skipped', 'done', 'done']


@pytest.mark.parametrize('at', list(CompactionStep)[:4])
def test_manager_taking_over_only_watches_the_running_compaction(
    run: Run, at: CompactionStep
) -> None:
    run.start()
    run.until(lambda state: state.osds[1].step is at)
    run.fail_over()
    assert run.run_to_end().outcome is Outcome.DONE
    assert run.cluster.compactions.requested == [0, 1, 2, 3]
    assert run.cluster.compactions.most_at_once == 1


def lost_in_a_failover(run: Run) -> None:
    run.cluster.compactions.loses.add(0)
    run.start()
    run.until(lambda state: state.in_flight is not None)
    run.cluster.compactions.loses.clear()
    run.fail_over()


def restarted_by_hand(run: Run) -> None:
    compacting(run)
    run.cluster.restart_by_hand(0)


def refused(run: Run) -> None:
    run.cluster.compactions.refuses.add(0)
    run.start()


@pytest.mark.parametrize('happens', [lost_in_a_failover, restarted_by_hand, refused])
def test_compaction_that_did_not_come_about_is_requested_once_more(
    run: Run, happens: Callable[[Run], None], caplog: pytest.LogCaptureFixture
) -> None:
    happens(run)
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    assert run.cluster.compactions.requested == [0, 0, 1, 2, 3]
    assert run.cluster.compactions.most_at_once == 1
    if happens is refused:
        assert 'osd.0 did not compact: no' in caplog.messages
        reason = 'it did not start compacting after 2 requests (osd.0: no)'
        assert state.osds[0].reason == reason


@pytest.mark.parametrize('pending', [False, True])
def test_campaign_ends_without_an_osd_that_is_down_and_out(pending: bool) -> None:
    """One in flight would not even be ended by an abort, and no other operation could start."""
    run, left = compacting(Run()), 3 if pending else 0
    run.cluster.mark_out(left)
    if not pending:
        run.driver.abort('client.a', run.cluster.now_s)
    assert f'osd.{left}: it is down and out' in (run.run_to_end().failure or '')
    assert run.start()


def test_osd_that_returns_in_time_is_compacted_and_its_downtime_reset() -> None:
    run = compacting(Run('reef'))
    for _ in range(2):
        run.cluster.mark_out(0)
        run.ticks(120)
        run.cluster.osds[0].in_cluster, run.cluster.osds[0].broken = True, False
        run.cluster.start_osd(0)
        run.until(lambda _: run.cluster.osds[0].up)
        run.tick()
    run.run_to_end()
    assert set(run.steps()) == {'done'}


# -- what it sends


class Sent:
    """Every question to an OSD, with its time; some of their answers are others."""

    def __init__(self, run: Run) -> None:
        self.sent: list[tuple[float, int, str, TellArguments]] = []
        self.answers: dict[str, Callable[[], Optional[str]]] = {}
        self._run, self._ask = run, run.cluster.ask
        run.cluster.ask = self.ask  # type: ignore[method-assign]

    def ask(self, osd_id: int, prefix: str, args: TellArguments) -> FakeAnswer:
        self.sent.append((self._run.cluster.now_s, osd_id, prefix, args))
        answer = self.answers.get(prefix)
        return self._ask(osd_id, prefix, args) if answer is None else FakeAnswer(answer)

    @property
    def times(self) -> list[float]:
        return [at_s - self.sent[0][0] for at_s, *_ in self.sent]


def test_only_the_osd_at_hand_is_queried_every_five_seconds_and_a_new_process_at_once() -> None:
    run = Run('reef')
    asked = Sent(run)
    run.start()
    run.ticks(12, 1.0)
    assert asked.times == [0.0, 5.0, 10.0]
    assert {tuple(sent[1:3]) for sent in asked.sent} == {(0, 'perf dump')}
    assert asked.sent[0][3] == {'logger': 'rocksdb'}
    run.cluster.osds[0].nonce += 1
    run.tick(1.0)
    assert asked.times == [0.0, 5.0, 10.0, 12.0]


def _raise() -> Optional[str]:
    raise SILENT


@pytest.mark.parametrize('answer', [_raise, lambda: 'nonsense', lambda: None])
def test_unusable_answer_is_requested_again_and_a_missing_one_awaited(
    answer: Callable[[], Optional[str]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    run = Run('reef')
    asked = Sent(run)
    asked.answers['perf dump'] = answer
    run.start()
    run.ticks(12, 1.0)
    told = any('osd.0 did not report its compactions: ' in text for text in caplog.messages)
    assert asked.times == ([0.0, 5.0, 10.0] if told else [0.0])
    assert told is (answer is _raise or answer() is not None)


def test_answer_of_an_osd_that_was_not_asked_for_long_decides_nothing() -> None:
    """After a pause it may be compacting, as asked for by an operator."""
    run = Run('pacific')
    run.cluster.flags.add('noout')
    run.start()
    run.ticks(12, 1.0)
    run.driver.pause('client.ann', run.cluster.now_s)
    run.ticks(12, 1.0)
    asked = Sent(run)
    asked.answers['perf dump'] = lambda: None
    run.cluster.flags.discard('noout')
    run.driver.resume(run.cluster.now_s)
    run.ticks(40, 1.0)
    assert 'compact' not in {prefix for _, _, prefix, _ in asked.sent}


@pytest.mark.parametrize(('release', 'queries'), [('pacific', 0), ('reef', 4)])
def test_nothing_is_queried_behind_an_unanswered_compaction(release: str, queries: int) -> None:
    """An OSD of Pacific would answer it after the compaction."""
    run = Run(release)
    run.cluster.compactions.takes_s = 300.0
    compacting(run)
    asked = Sent(run)
    run.ticks(20, 1.0)
    assert len(asked.sent) == queries


@pytest.mark.parametrize(('release', 'answers'), [('pacific', False), ('reef', True)])
def test_duration_and_responsiveness_of_a_compacting_osd_are_reported_and_not_stored(
    release: str, answers: bool
) -> None:
    run = Run(release)
    run.cluster.compactions.takes_s = 1e6
    compacting(run)
    stored = run.store.values.copy()
    run.ticks(100)
    reported = str(run.driver.waits_for)
    assert reported.startswith('osd.0 has been compacting for 3m')
    assert reported.endswith(' and has not answered') is not answers
    assert (run.store.values, run.state.paused_reason) == (stored, None)
    run.fail_over()
    run.ticks(100)
    assert 'osd.0 has been compacting for at least 3m' in str(run.driver.waits_for)
    run.cluster.stop_osd(0)
    run.to_a_wait('osd.0 is down')
    assert run.driver.waits_for is None


@pytest.mark.parametrize(
    ('failing', 'reason'),
    [
        ('osd ok-to-stop', 'no ok-to-stop answer for osd.0 yet'),
        ('versions', 'daemon versions are not known yet'),
        ('orch upgrade status', 'Ceph is being upgraded: its state is unknown (no answer)'),
    ],
)
def test_monitor_that_does_not_answer_holds_the_next_osd(failing: str, reason: str) -> None:
    run = Run()
    run.cluster.errors[failing] = SILENT
    run.start()
    run.to_a_wait(reason)
    run.ticks(50)
    assert run.state.paused_reason == reason
    assert run.cluster.compactions.requested == []
    run.cluster.errors.clear()
    run.until(lambda state: state.in_flight is not None)


def test_monitors_are_queried_only_for_the_next_osd() -> None:
    """Not during a compaction, nor in a pause, in which nothing is stored, nor after the end."""
    run, asked = Run(), list[str]()
    for name in ('cluster_map', 'ok_to_stop', 'daemon_versions', 'orchestrated_upgrade'):
        query = getattr(run.cluster, name)

        def counted(
            *args: object, name: str = name, query: Callable[..., object] = query
        ) -> object:
            asked.append(name)
            return query(*args)

        setattr(run.cluster, name, counted)
    found = run.measured()
    run.measured = lambda: found  # type: ignore[method-assign]
    run.cluster.compactions.takes_s = 5000.0
    compacting(run)
    assert len(set(asked)) == 4
    for act in (lambda: None, lambda: run.driver.pause('a', 0.0)):
        act()
        run.tick()
        asked.clear()
        run.store.error = SILENT
        run.ticks(10)
        assert asked == ['cluster_map'] * 10
        run.store.error = None
    run.driver.abort('a', 0.0)
    run.cluster.compactions.takes_s = 0.0
    run.cluster.mark_out(0)
    run.run_to_end()
    run.tick()
    asked.clear()
    run.ticks(10)
    assert asked == []


# -- stored state, the answers of OSDs


def test_broken_campaign_is_quarantined_and_waits_for_its_operator_once_it_can_be_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Another version of the module could not read it; meanwhile others may have been at work."""
    run = compacting(Run())
    kept = run.store.values[CURRENT]
    run.store.values[CURRENT] = '[]'
    run.fail_over()
    assert run.driver.state is None
    reason = 'cannot read campaign/current, quarantining it: it is not a JSON object'
    assert reason in caplog.messages
    run.store.values[BROKEN + CURRENT] = kept
    run.fail_over()
    run.ticks(50)
    assert run.state.paused_by == 'the module'
    assert run.cluster.compactions.requested == [0]
    run.driver.resume(run.cluster.now_s)
    run.run_to_end()


def test_actor_is_stored_once_known() -> None:
    run = Run()
    run.start()
    run.driver.name_actor('c1', 'client.ann')
    run.fail_over()
    assert run.state.request.actor == 'client.ann'


@pytest.mark.parametrize(
    ('counters', 'started', 'running'),
    [
        ({'compact': 3}, 3, False),
        ({'compact': 3, 'compact_running': 1}, 3, True),
        ({'compact': 3, 'compact_queue_len': 1}, 3, True),
        ({'compact': '0', 'compact_running': 0, 'compact_queue_len': 0}, 0, False),
    ],
)
def test_osd_counters_show_started_running_and_queued_compactions(
    counters: dict[str, object], started: int, running: bool
) -> None:
    assert parse_probe(json.dumps({'rocksdb': counters}), 7) == Probe(7, started, running)


@pytest.mark.parametrize(
    'text',
    [
        *('', '[]', 'null', '3', '{}', '{"rocksdb":null}', '{"rocksdb":[]}', '{"rocksdb":{}}'),
        *('{"rocksdb":{"compact":"x"}}', '{"rocksdb":{"compact":null}}'),
        *('{"rocksdb":{"compact":1e999}}', '[' * 100000),
    ],
)
def test_invalid_answer_is_a_descriptive_value_error(text: str) -> None:
    with pytest.raises(ValueError, match='unexpected RocksDB counters'):
        parse_probe(text, 7)


# -- when it requires operator action


def slow(run: Run) -> str:
    run.latency_ms = 50.0
    return 'operation resume'


def down(run: Run) -> str:
    run.cluster.stop_osd(0)
    return 'osd.0 is down'


def held(run: Run) -> str:
    run.cluster.flags.add('noout')
    return 'noout'


@pytest.mark.parametrize(
    ('cause', 'after_s', 'remedy'),
    [
        (slow, ACTION_AFTER_S, 'accepts the current latency'),
        (down, ACTION_AFTER_S, 'osd.0 is down; start it'),
        (held, GATE_ALARM_AFTER_S, 'ceph osd unset'),
    ],
)
def test_wait_that_requires_operator_action_raises_a_health_check_in_time(
    cause: Callable[[Run], str], after_s: float, remedy: str
) -> None:
    """Seen by one manager, and with what ends the campaign unless it is ending."""
    run = compacting(Run())
    run.to_a_wait(cause(run))
    for _ in range(2):
        run.ticks(int(after_s / 2) - 5)
        assert WAITING not in run.health()
        run.ticks(10)
        check = run.health()[WAITING]
        assert 'campaign c1 of osd requires operator action' in str(check['summary'])
        assert remedy in str(check['detail'])
        assert '"ceph rocksdb-tuner operation abort" ends the campaign' in str(check['detail'])
        run.fail_over()
    run.driver.abort('client.a', run.cluster.now_s)
    run.ticks(int(after_s / 2) + 5)
    assert 'operation abort' not in str(run.health().get(WAITING))
    assert (WAITING in run.health()) is (cause is down)
    run.cluster.start_osd(0)
    run.ticks(30)
    assert WAITING not in run.health()


@pytest.mark.parametrize('chosen', ['pause', 'mode', 'window'])
def test_waits_chosen_by_the_operator_raise_no_alarm(chosen: str) -> None:
    run = Run()
    run.start()
    if chosen == 'pause':
        run.driver.pause('client.a', run.cluster.now_s)
    run.may_act = chosen != 'mode'
    run.outside_window = 'outside the maintenance window' if chosen == 'window' else None
    run.ticks(int(GATE_ALARM_AFTER_S))
    assert run.state.paused_reason
    assert WAITING not in run.health()
