"""The demo accepts that nothing can be gained, if the module gives a reason, but only if it does.

A change stays only if it is better by its own measurement. The second act fails without a finding,
a recommendation and a gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from harness import demo_stale
from harness.cluster import Cluster
from harness.demo import Demo
from harness.demo_console import Console, DemoError
from harness.demo_counting import space_of
from harness.demo_stale import FINDING, SIGNAL, STALE, StaleString
from harness.demo_table import (
    Counted,
    DbSpace,
    Load,
    Measured,
    Outcome,
    judge,
    space_row,
)
from harness.progress import Progress


class Reported:
    """Replaces a cluster: the module recommends nothing, with this conclusion."""

    def __init__(self, conclusion: str | None) -> None:
        self._conclusion = conclusion

    def ceph_json(self, *words: str, **_: float) -> Any:
        if words == ('rocksdb-tuner', 'recommend'):
            return []
        return {
            'decisions': [
                {'who': 'osd/class:ssd', 'do': 'Nothing to change', 'because': self._conclusion}
            ]
        }


def demo(conclusion: str | None, errors: int = 0) -> Demo:
    reported: Any = Reported(conclusion)
    cluster: Cluster = reported
    made = Demo(cluster, Progress(), seconds=1)
    client = {'workload': 'rbd-randwrite', 'errors': errors}

    def measure(*_: object, **__: object) -> Measured:
        return Measured(client, 'rbd-small-write', 0.9)

    made._measure = measure  # type: ignore[method-assign]
    return made


def test_nothing_to_gain_ends_the_demo_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The conclusion of the group is shown at the end."""
    assert 'nothing to gain' in demo('No option set is certain to gain 10%.').run()
    reason = 'osd/class:ssd: Nothing to change: No option set is certain to gain 10%.'
    assert reason in capsys.readouterr().out


def test_missing_recommendation_without_a_reason_is_a_failure() -> None:
    """An operator must learn why nothing changes."""
    with pytest.raises(DemoError, match='without a reason'):
        demo(None).run()


def test_client_errors_fail_the_demo_without_a_change_too() -> None:
    """A client that saw errors was not served well."""
    with pytest.raises(DemoError, match='saw 3 errors'):
        demo('Nothing to change.', errors=3).run()


def test_space_is_compared_per_byte_of_data() -> None:
    """However much data there is: twice as much in files of the same size is half the share."""
    rows = space_row(DbSpace(100, 100), DbSpace(100, 200)).splitlines()
    assert rows[-1].split()[-3:] == ['1', '0.5', '-50.0%']


#: A run of 100 requests: 1000 bytes in the WAL and none in SST files, 10 ms of kv_sync CPU.
RUN = Load(100, Counted(1000, 0, 0.0, 0.01))
UNCOMPRESSED = DbSpace(1000, 1000)


def judged(after: Counted, file_bytes: int = 1000) -> Outcome:
    return judge((UNCOMPRESSED, DbSpace(file_bytes, 1000)), [(RUN, RUN), (RUN, Load(100, after))])


def test_change_without_a_measured_difference_is_the_same() -> None:
    """Nor is one that is within the noise of a run."""
    assert judged(RUN.counted) is Outcome.SAME
    assert judged(Counted(950, 0, 9.0, 0.012), file_bytes=960) is Outcome.SAME


def test_less_space_or_less_cost_is_better() -> None:
    """DB space, DB writes or CPU time of the kv_sync thread."""
    assert judged(RUN.counted, file_bytes=900) is Outcome.BETTER
    assert judged(Counted(400, 0, 0.0, 0.01)) is Outcome.BETTER
    assert judged(Counted(1000, 0, 0.0, 0.007)) is Outcome.BETTER


def test_change_that_makes_anything_worse_is_worse() -> None:
    """Whatever it gains elsewhere."""
    assert judged(Counted(2300, 0, 0.0, 0.01), file_bytes=500) is Outcome.WORSE
    assert judged(Counted(1000, 0, 0.0, 0.013), file_bytes=500) is Outcome.WORSE
    assert judged(RUN.counted, file_bytes=1100) is Outcome.WORSE


def test_unflushed_bytes_speak_for_neither_side() -> None:
    """What the old memtables still held was not saved, and what the new ones hold is not either."""
    assert judged(Counted(1000, 1100, 0.0, 0.01)) is Outcome.SAME
    assert judged(Counted(500, 0, 0.0, 0.01)) is Outcome.SAME


CREATED = (
    '2026-01-01T00:00:00.000+0000 7f 4 rocksdb: EVENT_LOG_v1 {"cf_name": "O-0", '
    '"event": "table_file_creation", "file_number": %d, "file_size": %d, "table_properties": '
    '{"data_size": 1, "raw_key_size": 10, "raw_value_size": 90}}\n'
)


def test_space_counts_live_files_only() -> None:
    """Compactions delete their inputs, whose creation stays in the log."""
    log = CREATED % (7, 101) + 'rocksdb: other line\n' + CREATED % (8, 51)
    assert space_of({8}, log) == DbSpace(51, 100)
    assert space_of({7, 8}, log) == DbSpace(152, 200)


def applied(
    monkeypatch: pytest.MonkeyPatch, outcome: Outcome, client: Mapping[str, Any]
) -> tuple[Demo, list[str]]:
    """A first act whose change turns out so, and what was done to the cluster."""
    made = demo('A change is recommended.')
    done: list[str] = []

    def measure(*_: object, **__: object) -> Measured:
        return Measured(dict(client), 'rbd-small-write', 0.9, RUN)

    monkeypatch.setattr(made, '_measure', measure)
    monkeypatch.setattr(made, '_recommend', lambda: {'id': 'osd-1'})
    monkeypatch.setattr(made, '_space', lambda: UNCOMPRESSED)
    monkeypatch.setattr('harness.demo.judge', lambda *_: outcome)
    monkeypatch.setattr(Console, 'apply', lambda *_: done.append('apply'))
    monkeypatch.setattr(Console, 'verify', lambda *_: done.append('verify'))
    monkeypatch.setattr(Console, 'roll_back', lambda _: done.append('roll back'))
    monkeypatch.setattr(Console, 'tuner', lambda *_: 'history')
    return made, done


def test_better_change_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what the demo ends with."""
    made, done = applied(monkeypatch, Outcome.BETTER, {})
    assert 'better by measurement' in made.run()
    assert done == ['apply', 'verify']


def test_change_without_a_gain_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stays on OSDs for nothing."""
    made, done = applied(monkeypatch, Outcome.SAME, {})
    assert 'no gain could be measured' in made.run()
    assert done == ['apply', 'verify', 'roll back']


def test_harmful_change_is_rolled_back_and_fails_the_demo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Advice that makes something worse is a defect."""
    made, done = applied(monkeypatch, Outcome.WORSE, {})
    with pytest.raises(DemoError, match='made something worse'):
        made.run()
    assert done == ['apply', 'verify', 'roll back']


# -- the second act

DEFAULT = 'write_buffer_size=268435456'


#: The interval of DB bytes for a write ends here.
GAIN = -60.0


class Stale:
    """Replaces a cluster: what the module answers about the stale string."""

    def __init__(self, **answers: Any) -> None:
        offered = {'id': 'osd-1', 'options_from': STALE, 'options_to': DEFAULT}
        self.answers: dict[str, Any] = {
            'findings': [{'id': FINDING}],
            'recommend': [{**offered, 'prediction': [{}]}],
            'status': {'decisions': [{'who': 'osd', 'do': 'Nothing to change'}]},
            **answers,
        }
        self.asked: list[tuple[str, ...]] = []
        self.measured(GAIN)

    def measured(self, high_percent: float | None, of: str = 'osd-1') -> None:
        effect = {'signal': SIGNAL, 'high_percent': high_percent}
        record = {'recommendation': of, 'measured': 'DB -70%', 'measured_effects': [effect]}
        self.answers['history'] = [record]

    def ceph(self, *words: str, **_: float) -> str:
        self.asked.append(words)
        return ' '.join(words)

    def ceph_json(self, *words: str, **_: float) -> Any:
        return self.answers[words[1]]


def act(monkeypatch: pytest.MonkeyPatch, cluster: Stale) -> StaleString:
    """The second act without processes."""
    monkeypatch.setattr(demo_stale, 'POLL_S', 0.0)
    answers: Any = cluster
    made = StaleString(Console(answers, Progress(quiet=True)))

    def gone(*_: object) -> None:
        cluster.answers['findings'] = []

    monkeypatch.setattr(StaleString, '_set', lambda _: None)
    monkeypatch.setattr(StaleString, '_client', lambda _: nullcontext())
    monkeypatch.setattr(Console, 'apply', gone)
    monkeypatch.setattr(Console, 'verify', lambda *_: None)
    return made


# -- verification of both acts
