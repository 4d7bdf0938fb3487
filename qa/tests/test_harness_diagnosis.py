"""The report on a failed cluster."""

from __future__ import annotations

from pathlib import Path

from harness import Cluster, ClusterSpec, diagnosis
from harness.layout import Record, save_record


def test_dead_daemon_is_reported_with_the_reason_in_its_log(tmp_path: Path) -> None:
    """A client that waits for ever for a dead OSD cannot know it."""
    names = ('mon.a', 'osd.0')
    spec = ClusterSpec(osds=1)
    save_record(tmp_path, Record('running', 'fsid', 16000, str(tmp_path / 'run'), spec, names))
    (tmp_path / 'log').mkdir()
    (tmp_path / 'log/osd.0.log').write_text(
        'pwritev error: (28) No space left on device\n--- begin dump of recent events ---\nx\n'
    )
    text = diagnosis.report(Cluster.open(tmp_path))
    assert 'GiB' in text
    assert 'mon.a does not run' in text
    assert f'osd.0 does not run; the end of {tmp_path}/log/osd.0.log:' in text
    assert 'No space left on device' in text
    assert 'begin dump' not in text


def test_reason_of_a_past_crash_is_reported_though_the_osd_runs_again(tmp_path: Path) -> None:
    spec = ClusterSpec(osds=2)
    names = ('mon.a', 'osd.0', 'osd.1')
    save_record(tmp_path, Record('running', 'fsid', 16000, str(tmp_path / 'run'), spec, names))
    (tmp_path / 'log').mkdir()
    time = '2026-11-22T18:22:41.235+0000 7f60bdff36c0'
    error = f'{time} -1 osd.0 0 OSD:init: unable to mount object store'
    (tmp_path / 'log/osd.0.log').write_text(f'{error}\n{time}  1 journal started -1 times\n')
    (tmp_path / 'log/osd.1.log').write_text(f'{time}  0 all is well\n')
    text = diagnosis.osd_errors(Cluster.open(tmp_path))
    assert text.splitlines() == [f'the last errors in {tmp_path}/log/osd.0.log:', f'    {error}']
    assert text in diagnosis.report(Cluster.open(tmp_path))
