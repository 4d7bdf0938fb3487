"""The cluster log and `ceph -s` follow a rollout to any outcome."""

from __future__ import annotations

from itertools import islice

from rocksdb_tuner.judge.records import Verdict
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.records import OsdStep

from .conftest import NEW, Run
from .test_soak import SOAK, soaking


def lines(run: Run) -> list[str]:
    return [text for text, _ in run.cluster.logged]


def warnings(run: Run) -> list[str]:
    return [text for text, warning in run.cluster.logged if warning]


def test_transitions_of_a_successful_rollout_are_logged_in_order_without_warnings(
    run: Run,
) -> None:
    run.start(soak=SOAK)
    run.run_to_end()
    logged = lines(run)
    wanted = [
        'r1: client.admin applies ssd-lz4 (set-profile) for osd to 3 OSD(s), osd.0',
        'r1: planned -> preflight',
        'r1: preflight -> canary',
        'r1: osd.0 gets its new options',
        'r1: osd.0 is restarting',
        'r1: osd.0 runs its new options',
        'r1: canary -> soaking',
        'r1: the verdict on osd.0: no worse',
        'r1: osd.1 is restarting',
        'r1: osd.2 runs its new options',
        'r1: promoting -> collapsing',
        'r1: done',
    ]
    places = [next(i for i, text in enumerate(logged) if text[8:].startswith(w)) for w in wanted]
    assert places == sorted(places)
    assert logged[-1] == 'rollout r1: done'
    assert warnings(run) == []
    assert len(logged) == len(set(logged))


def test_progress_is_shown_while_running_and_completes_at_the_end(run: Run) -> None:
    run.start(soak=SOAK)
    shares = []
    while not run.state.ended:
        ((message, share),) = run.cluster.progress.values()
        assert 'Changing RocksDB options of osd' in message
        shares.append(share)
        run.tick()
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.6 < shares[-1] < 1.0
    assert run.cluster.progress == {}
    assert run.cluster.progress_ended == [('rocksdb_tuner-r1', None)]


def test_manager_taking_over_shows_progress_again_and_repeats_no_message(
    run: Run,
) -> None:
    run.start(soak=SOAK)
    run.until(soaking)
    before = list(lines(run))
    run.cluster.progress.clear()
    run.fail_over()
    ((message, _),) = run.cluster.progress.values()
    assert '1 of 3 OSDs' in message
    run.run_to_end()
    again = [text for text in islice(lines(run), len(before), None) if text in before]
    # It waits for reports to this manager, too.
    again = [text for text in again if not text.endswith(': continues')]
    assert again == []
    assert run.cluster.progress_ended == [('rocksdb_tuner-r1', None)]


def test_failed_osd_is_a_warning_and_a_failed_event(run: Run) -> None:
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    assert run.run_to_end().phase is Phase.FAILED
    assert any('restoring an OSD: osd.0 did not come back up' in text for text in warnings(run))
    assert warnings(run)[-1].startswith('rollout r1: failed: osd.0 did not come back up')
    ((event, failure),) = run.cluster.progress_ended
    assert event == 'rocksdb_tuner-r1'
    assert 'did not come back up' in str(failure)


def test_rollback_by_verdict_is_announced_with_the_measurements(run: Run) -> None:
    run.clients.factor = 1.3
    run.start(soak=SOAK)
    state = run.run_to_end()
    assert state.verdict is Verdict.WORSE
    assert any('rolling back all OSDs' in text for text in warnings(run))
    assert any('the verdict on osd.0: worse: client write latency +3' in t for t in lines(run))
    assert run.cluster.progress_ended[-1][1] is not None


def test_rollback_of_an_ended_rollout_is_a_separate_event(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'operator', run.cluster.now_s)
    ((message, share),) = run.cluster.progress.values()
    assert message.startswith('Restoring')
    assert share < 1.0
    run.run_to_end()
    assert run.cluster.progress_ended == [('rocksdb_tuner-r1', None)] * 2


def test_wait_is_announced_once_with_its_reason_and_once_when_over(run: Run) -> None:
    run.start()
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    run.cluster.flags.add('noout')
    run.to_a_wait('noout')
    for _ in range(20):
        run.tick()
    run.cluster.flags.clear()
    run.run_to_end()
    assert sum('waiting: flags set on the cluster: noout' in text for text in lines(run)) == 1
