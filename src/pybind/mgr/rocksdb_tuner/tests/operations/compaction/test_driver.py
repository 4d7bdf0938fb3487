"""The commands, stored state and messages of the driver of a campaign."""

from __future__ import annotations

import errno
import json
import logging
from typing import Callable, Optional, TypeVar

import pytest

from rocksdb_tuner.mgr.protocols import CommandError, TellArguments
from rocksdb_tuner.operations.compaction.driver import CURRENT
from rocksdb_tuner.operations.compaction.machine import Probe, parse_probe
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.store.stored import BROKEN
from rocksdb_tuner.tests.fake_compaction import FakeAnswer

from .conftest import USED_BYTES, Run

_T = TypeVar('_T')
SILENT = CommandError(110, 'no answer')


def compacting(run: Run) -> Run:
    """The first OSD is in the middle of it."""
    run.start()
    run.until(lambda state: bool(run.cluster.compactions.running()))
    return run


# -- what operators ask for


def test_actor_is_stored_once_known_and_only_for_this_campaign() -> None:
    run = Run()
    run.driver.name_actor('c1', 'client.ann')
    assert run.driver.state is None
    run.start()
    run.driver.name_actor('c2', 'client.ann')
    assert run.state.request.actor == 'operator'
    run.driver.name_actor('c1', 'client.ann')
    assert run.state.request.actor == 'client.ann'
    run.fail_over()
    assert run.state.request.actor == 'client.ann'
    run.driver.abort('operator', run.cluster.now_s)
    run.driver.name_actor('c1', 'client.bob')
    assert run.state.request.actor == 'client.ann'


def test_impossible_command_is_refused_with_its_errno() -> None:
    run = Run()
    acts: list[Callable[[], object]] = [
        lambda: run.driver.pause('a', 0.0),
        lambda: run.driver.resume(0.0),
        lambda: run.driver.abort('a', 0.0),
    ]
    for refused in acts:
        with pytest.raises(OperationRefused) as none:
            refused()
        assert none.value.errno == errno.ENOENT
    run.start()
    with pytest.raises(OperationRefused) as busy:
        run.start()
    assert busy.value.errno == errno.EBUSY
    assert busy.value.message.startswith('compaction campaign c1 is under way: wait for it')
    with pytest.raises(OperationRefused) as running:
        run.driver.resume(1.0)
    assert running.value.errno == errno.EINVAL
    assert running.value.message == 'the compaction campaign is not paused; it is running'
    run.store.error = CommandError(errno.EROFS, 'read-only')
    with pytest.raises(OperationRefused) as unstored:
        run.driver.pause('a', 1.0)
    assert unstored.value.errno == errno.EROFS
    assert unstored.value.message == 'cannot store the request: read-only; try again'
    assert run.state.paused_by is None
    run.store.error = None
    run.driver.abort('a', 1.0)
    assert not run.driver.under_way
    with pytest.raises(OperationRefused) as ended:
        run.driver.pause('a', 2.0)
    assert ended.value.errno == errno.ENOENT
    run.start()
    assert run.driver.under_way


# -- what it sends


class OsdCommandQueue:
    """Every question to an OSD, with its time; some of their answers are others."""

    def __init__(self, run: Run) -> None:
        self.sent: list[tuple[float, int, str, TellArguments]] = []
        self.answers: dict[tuple[int, str], Callable[[], Optional[str]]] = {}
        self._run = run
        self._ask = run.cluster.ask
        run.cluster.ask = self.ask  # type: ignore[method-assign]

    def ask(self, osd_id: int, prefix: str, args: TellArguments) -> FakeAnswer:
        self.sent.append((self._run.cluster.now_s, osd_id, prefix, args))
        answer = self.answers.get((osd_id, prefix))
        return self._ask(osd_id, prefix, args) if answer is None else FakeAnswer(answer)

    def times(self, osd_id: int, prefix: str) -> list[float]:
        begun_s = self.sent[0][0]
        return [at_s - begun_s for at_s, n, p, _ in self.sent if (n, p) == (osd_id, prefix)]


def test_only_the_compacting_osd_is_sampled_every_five_seconds() -> None:
    run = Run('reef')
    query_command = OsdCommandQueue(run)
    run.start()
    for _ in range(16):
        run.tick(1.0)
    assert query_command.times(0, 'perf dump') == [0.0, 5.0, 10.0, 15.0]
    assert {(n, p, str(args)) for _, n, p, args in query_command.sent} == {
        (0, 'perf dump', "{'logger': 'rocksdb'}")
    }


def test_unanswered_request_is_not_repeated_until_the_process_changes() -> None:
    run = Run('reef')
    query_command = OsdCommandQueue(run)
    query_command.answers[0, 'perf dump'] = lambda: None
    run.start()
    for _ in range(20):
        run.tick(1.0)
    assert query_command.times(0, 'perf dump') == [0.0]
    run.cluster.osds[0].nonce += 1
    run.tick(1.0)
    assert query_command.times(0, 'perf dump') == [0.0, 20.0]


def test_another_process_is_queried_at_once() -> None:
    run = Run('reef')
    query_command = OsdCommandQueue(run)
    run.start()
    run.tick(1.0)
    run.tick(1.0)
    run.cluster.osds[0].nonce += 1
    run.tick(1.0)
    assert query_command.times(0, 'perf dump') == [0.0, 2.0]


@pytest.mark.parametrize('error', [SILENT, None])
def test_unusable_answer_is_requested_again(
    error: Optional[CommandError], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    run = Run('reef')
    query_command = OsdCommandQueue(run)

    def answer() -> Optional[str]:
        if error is not None:
            raise error
        return 'nonsense'

    query_command.answers[0, 'perf dump'] = answer
    run.start()
    for _ in range(12):
        run.tick(1.0)
    assert query_command.times(0, 'perf dump') == [0.0, 5.0, 10.0]
    assert any('osd.0 did not report its compactions: ' in text for text in caplog.messages)
    query_command.answers.clear()
    assert run.run_to_end().outcome is Outcome.DONE


def test_nothing_is_queried_behind_an_unanswered_compaction() -> None:
    """An OSD of Pacific would answer it after the compaction."""
    run = Run('pacific')
    run.cluster.compactions.takes_s = 300.0
    compacting(run)
    query_command = OsdCommandQueue(run)
    for _ in range(20):
        run.tick(1.0)
    assert query_command.sent == []
    reef = Run('reef')
    reef.cluster.compactions.takes_s = 300.0
    compacting(reef)
    query_command = OsdCommandQueue(reef)
    for _ in range(20):
        reef.tick(1.0)
    assert len(query_command.times(0, 'perf dump')) == 4


@pytest.mark.parametrize(('release', 'answers'), [('pacific', False), ('reef', True)])
def test_duration_and_responsiveness_of_a_compacting_osd_are_reported(
    release: str, answers: bool
) -> None:
    run = Run(release)
    run.cluster.compactions.takes_s = 1e6
    compacting(run)
    stored = run.store.values.copy()
    for _ in range(100):
        run.tick()
    reported = str(run.driver.waits_for)
    assert reported.startswith('osd.0 has been compacting for 3m')
    assert reported.endswith(' and has not answered') is not answers
    assert run.store.values == stored, 'the time that passes is not stored'
    assert run.state.paused_reason is None
    run.fail_over()
    for _ in range(100):
        run.tick()
    assert 'osd.0 has been compacting for at least 3m' in str(run.driver.waits_for)
    run.cluster.compactions.takes_s = 20.0
    run.cluster.stop_osd(0)
    run.to_a_wait('osd.0 is down')
    assert run.driver.waits_for is None
    run.cluster.start_osd(0)
    run.run_to_end()
    assert run.driver.waits_for is None


def test_osd_that_returns_in_time_is_compacted_and_its_downtime_reset() -> None:
    run = Run('reef')
    run.start()
    run.until(lambda state: bool(state.in_flight))
    for _ in range(3):
        run.cluster.mark_out(0)
        for _ in range(120):
            run.tick()
        assert run.steps()[0] == 'compacting'
        run.cluster.osds[0].in_cluster, run.cluster.osds[0].broken = True, False
        run.cluster.start_osd(0)
        run.until(lambda _: run.cluster.osds[0].up)
        run.tick()
    run.run_to_end()
    assert set(run.steps().values()) == {'done'}


# -- checks before it starts


@pytest.mark.parametrize(
    ('failing', 'reason'),
    [
        ('osd ok-to-stop', 'no ok-to-stop answer for osd.0 yet'),
        ('versions', 'daemon versions are not known yet'),
        ('orch upgrade status', 'Ceph is being upgraded: its state is unknown (no answer)'),
    ],
)
def test_unresponsive_osd_blocks_the_next_one(failing: str, reason: str) -> None:
    run = Run()
    run.cluster.errors[failing] = SILENT
    run.start()
    run.to_a_wait(reason)
    for _ in range(50):
        run.tick()
    assert run.state.paused_reason == reason
    assert run.cluster.compactions.requested == []
    run.cluster.errors.clear()
    run.until(lambda state: bool(state.in_flight))


class Counting:
    """The number of calls of each of these to a cluster."""

    NAMES = ('cluster_map', 'ok_to_stop', 'daemon_versions', 'orchestrated_upgrade')

    def __init__(self, run: Run) -> None:
        self.asked: dict[str, list[tuple[object, ...]]] = {}
        for name in self.NAMES:
            setattr(run.cluster, name, self.counted(name, getattr(run.cluster, name)))

    def counted(self, name: str, ask: Callable[..., _T]) -> Callable[..., _T]:
        def asked(*args: object) -> _T:
            self.asked.setdefault(name, []).append(args)
            return ask(*args)

        return asked


def test_monitors_are_queried_only_for_the_next_osd_and_not_during_a_compaction() -> None:
    run = Run()
    counting = Counting(run)
    run.cluster.compactions.takes_s = 5000.0
    compacting(run)
    assert set(counting.asked['ok_to_stop']) == {((0,),)}
    assert set(counting.asked) == set(Counting.NAMES)
    counting.asked.clear()
    for _ in range(50):
        run.tick()
    assert {name: len(found) for name, found in counting.asked.items()} == {'cluster_map': 50}


def test_tick_without_changes_stores_nothing_and_ended_campaign_samples_nothing() -> None:
    run = Run()
    run.start()
    run.driver.pause('operator', run.cluster.now_s)
    run.tick()
    counting = Counting(run)
    written: list[str] = []
    run.store.on_set = written.append
    for _ in range(10):
        run.tick()
    assert written == []
    assert len(counting.asked['cluster_map']) == 10
    run.driver.abort('operator', run.cluster.now_s)
    counting.asked.clear()
    for _ in range(10):
        run.tick()
    assert counting.asked == {}


# -- stored state and messages


def test_stored_state_is_loaded_once_and_its_progress_shown_again() -> None:
    run = compacting(Run())
    shown = dict(run.cluster.progress)
    assert shown == {'rocksdb_tuner-c1': ('Compacting RocksDB of osd (0 of 4 OSDs, canary)', 0.0)}
    run.cluster.progress.clear()
    run.fail_over()
    assert run.cluster.progress == shown
    run.store.values.clear()
    run.driver.load()
    assert run.driver.state is not None


def test_event_ends_with_a_failure_but_not_with_an_abort() -> None:
    run = compacting(Run())
    run.driver.abort('operator', run.cluster.now_s)
    assert run.cluster.progress_ended == []
    run.run_to_end()
    assert run.cluster.progress_ended == [('rocksdb_tuner-c1', None)]
    assert run.cluster.progress == {}
    failed = Run()
    failed.total_bytes = dict.fromkeys(failed.cluster.osds, USED_BYTES)
    failed.start()
    failed.run_to_end()
    (ended,) = failed.cluster.progress_ended
    assert ended == ('rocksdb_tuner-c1', failed.state.failure)
    # Once that is stored, nothing is reported any more.
    for _ in range(5):
        failed.tick()
    assert len(failed.cluster.progress_ended) == 1


def test_refused_command_is_logged_with_its_answer(caplog: pytest.LogCaptureFixture) -> None:
    run = Run()
    run.cluster.compactions.refuses.add(0)
    run.start()
    with caplog.at_level(logging.WARNING):
        run.until(lambda state: state.errors > 0)
    assert 'osd.0 did not compact: no' in caplog.messages
    assert (run.state.errors, run.state.last_error) == (1, 'osd.0: no')


def test_broken_campaign_is_reported_with_its_error_and_quarantined(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = Run()
    run.store.values[CURRENT] = '[]'
    run.fail_over()
    assert run.driver.state is None
    reason = 'cannot read campaign/current, quarantining it: it is not a JSON object'
    assert reason in caplog.messages
    run.start()
    assert run.state.stage is Phase.PREFLIGHT


def test_campaign_that_can_be_read_again_waits_for_its_operator() -> None:
    """Another version of the module could not read it; meanwhile others may have been at work."""
    run = Run()
    run.start()
    run.until(lambda state: bool(state.in_flight))
    before = list(run.cluster.compactions.requested)
    run.store.values[BROKEN + CURRENT] = run.store.values.pop(CURRENT)
    run.fail_over()
    for _ in range(50):
        run.tick()
    assert run.state.paused_by == 'the module'
    assert run.cluster.compactions.requested == before
    run.driver.resume(run.cluster.now_s)
    run.until(lambda state: state.ended)


# -- the answer of an OSD


@pytest.mark.parametrize(
    ('counters', 'expected'),
    [
        ({'compact': 3}, Probe(7, 3, running=False)),
        ({'compact': 3, 'compact_running': 1}, Probe(7, 3, running=True)),
        ({'compact': 3, 'compact_queue_len': 1}, Probe(7, 3, running=True)),
        (
            {'compact': 3, 'compact_running': 0, 'compact_queue_len': 0},
            Probe(7, 3, running=False),
        ),
        ({'compact': '0'}, Probe(7, 0, running=False)),
    ],
)
def test_osd_counters_show_started_running_and_queued_compactions(
    counters: dict[str, object], expected: Probe
) -> None:
    assert parse_probe(json.dumps({'rocksdb': counters}), 7) == expected


@pytest.mark.parametrize(
    'text',
    [
        '',
        '[]',
        'null',
        '3',
        '{}',
        '{"rocksdb":null}',
        '{"rocksdb":[]}',
        '{"rocksdb":{}}',
        '{"rocksdb":{"compact":"x"}}',
        '{"rocksdb":{"compact":null}}',
        '{"rocksdb":{"compact":1e999}}',
        '[' * 100000,
    ],
)
def test_invalid_answer_is_a_descriptive_value_error(text: str) -> None:
    with pytest.raises(ValueError, match='unexpected RocksDB counters'):
        parse_probe(text, 7)


def test_next_campaign_starts_only_after_the_last_end_is_in_history() -> None:
    """Its state takes the place of the last one, which would be lost."""
    run = Run()
    run.start()

    def refuse(state: object) -> None:
        raise CommandError(30, 'read-only')

    kept, run.driver._on_end = run.driver._on_end, refuse
    run.run_to_end()
    run.tick()
    with pytest.raises(
        OperationRefused, match='cannot store the end of c1: read-only; try again'
    ) as reported:
        run.driver.start('c99', run.state.request, run.cluster.now_s)
    assert reported.value.errno == 30
    assert run.ended == []
    last, run.driver._on_end = run.state, kept
    run.driver.start('c99', last.request, run.cluster.now_s)
    assert (run.ended, run.state.campaign_id) == ([last], 'c99')
