"""The demo accepts that nothing can be gained, if the module gives a reason, but only if it does.

A change stays only if it is better by its own measurement. The second act fails without a finding,
a recommendation and a gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness import demo_console, demo_stale
from harness.cluster import Cluster
from harness.demo import Demo
from harness.demo_console import OPTION, Console, DemoError
from harness.demo_counting import space_of
from harness.demo_stale import FINDING, SIGNAL, STALE, StaleString
from harness.demo_table import (
    Counted,
    DbSpace,
    Load,
    Measured,
    Outcome,
    client_table,
    counted_table,
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


def test_client_table_shows_changes_in_percent_and_unknown_as_a_dash() -> None:
    """Before and after by name; a client without a 99th percentile has none in the table."""
    client = {'ops_per_s': 200.0, 'latency_ms': {'mean': 2.0}}
    before = Measured(client, None, None)
    after = Measured({**client, 'ops_per_s': 220.0}, None, None)
    table = client_table(before, after)
    rows = {line[:34].strip(): line[34:].split() for line in table.splitlines()}
    assert rows['client operations per s'] == ['200', '220', '+10.0%']
    assert rows['client 99th percentile, ms'] == ['-', '-', '-']
    assert rows['client mean latency, ms'] == ['2', '2', '+0.0%']


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


def test_stale_string_is_found_and_replaced_with_a_gain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result is what the module measured, and its history is shown at the end."""
    cluster = Stale()
    assert act(monkeypatch, cluster).run() == 'found and replaced a stale string: DB -70%.'
    assert ('rocksdb-tuner', 'findings', FINDING) in cluster.asked
    assert ('rocksdb-tuner', 'recommend', 'osd-1') in cluster.asked
    assert cluster.asked[-1] == ('rocksdb-tuner', 'history')
    assert f'The finding {FINDING} is gone.' in capsys.readouterr().out


def test_second_act_fails_without_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A string that the module does not report is none for this demo."""
    with pytest.raises(DemoError, match=f'does not report {FINDING}'):
        act(monkeypatch, Stale(findings=[])).run()


@pytest.mark.parametrize('other', [{'options_from': DEFAULT}, {'prediction': None}])
def test_second_act_fails_without_a_recommendation(
    monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    """One for another string or without a prediction is none; the error has the conclusion."""
    monkeypatch.setattr(demo_stale, 'ANSWER_TIMEOUT_S', 0.05)
    cluster = Stale()
    cluster.answers['recommend'][0].update(other)
    with pytest.raises(DemoError, match='Nothing to change'):
        act(monkeypatch, cluster).run()


@pytest.mark.parametrize(('high_percent', 'of'), [(-10.0, 'osd-1'), (None, 'osd-1'), (GAIN, 'x')])
def test_second_act_fails_without_a_measured_gain(
    monkeypatch: pytest.MonkeyPatch, high_percent: float | None, of: str
) -> None:
    """Also if that is unknown, or of another change."""
    cluster = Stale()
    cluster.measured(high_percent, of)
    with pytest.raises(DemoError, match='measured no gain'):
        act(monkeypatch, cluster).run()


def test_second_act_fails_if_the_finding_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was applied must clear it."""
    made = act(monkeypatch, Stale())
    monkeypatch.setattr(Console, 'apply', lambda *_: None)
    monkeypatch.setattr(StaleString, '_recommended', lambda _: {})
    monkeypatch.setattr(demo_stale, 'ANSWER_TIMEOUT_S', 0.05)
    with pytest.raises(DemoError, match=f'still reports {FINDING}'):
        made.run()


def test_counters_are_shown_per_request_and_in_percent() -> None:
    """Of all OSDs together; CPU in microseconds."""
    before = Load(100, Counted(3_000_000, 9_000_000, 0.01, 0.03))
    after = Load(200, Counted(6_000_000, 0, 0.0, 0.06))
    rows = {
        line[:34].strip(): line[34:].split() for line in counted_table(before, after).splitlines()
    }
    assert rows['client requests'] == ['100', '200', '+100.0%']
    assert rows['WAL bytes per request'] == ['30,000', '30,000', '+0.0%']
    assert rows['SST bytes per request'] == ['90,000', '0', '-100.0%']
    assert rows['WAL and SST bytes per request'] == ['120,000', '30,000', '-75.0%']
    assert rows['flush and compaction CPU, us'] == ['100', '0', '-100.0%']
    assert rows['kv_sync CPU, us'] == ['300', '300', '+0.0%']
    assert rows['all of these threads, us'] == ['400', '300', '-25.0%']


def test_counters_add_up_and_have_differences() -> None:
    """Of OSDs, and of two times."""
    one, two = Counted(1, 2, 3.0, 4.0), Counted(10, 20, 30.0, 40.0)
    assert one.plus(two).since(one) == two


# -- verification of both acts


class Applied:
    """Replaces a cluster of one OSD: its configuration, its log and the config store."""

    def __init__(self, folder: Path, source: str, entries: int, logged: str = DEFAULT) -> None:
        self.host = self.layout = self
        self._log = folder / 'osd.log'
        self._log.write_text(f'x opened rocksdb path db options {logged}\n')
        self._source, self._entries = source, entries

    def log(self, _name: str) -> Path:
        return self._log

    def outside(self, path: Path) -> Path:
        return path

    def ceph_json(self, *words: str, **_: float) -> Any:
        if words == ('rocksdb-tuner', 'osd'):
            return [{'osd': 0}]
        if words == ('config', 'dump'):
            return [{'name': OPTION, 'section': 'osd', 'mask': ''}] * self._entries
        assert words == ('config', 'show-with-defaults', 'osd.0')
        return [{'name': OPTION, 'value': DEFAULT, 'source': self._source}]


@pytest.mark.parametrize(
    ('kind', 'source', 'entries', 'logged', 'error'),
    [
        ('set-profile', 'mon', 1, DEFAULT, None),
        ('set-profile', 'default', 1, DEFAULT, 'does not run the new value'),
        ('set-profile', 'mon', 0, DEFAULT, 'does not hold exactly one entry'),
        ('set-profile', 'mon', 1, STALE, 'the log of osd.0'),
        ('remove-override', 'default', 0, DEFAULT, None),
        ('remove-override', 'mon', 0, DEFAULT, 'does not run the new value'),
        ('remove-override', 'default', 1, DEFAULT, 'still holds an entry'),
    ],
)
def test_new_value_must_be_running_and_configured(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    source: str,
    entries: int,
    logged: str,
    error: str | None,
) -> None:
    """From the release if the entry was to be removed, else from one entry for all OSDs."""
    monkeypatch.setattr(demo_console, 'REPORT_TIMEOUT_S', 0.0)
    monkeypatch.setattr(demo_console, 'POLL_S', 0.0)
    applied: Any = Applied(tmp_path, source, entries, logged)
    recommendation = {'kind': kind, 'options_to': DEFAULT}
    expected = nullcontext() if error is None else pytest.raises(DemoError, match=error)
    with expected:
        Console(applied, Progress(quiet=True)).verify(recommendation)
