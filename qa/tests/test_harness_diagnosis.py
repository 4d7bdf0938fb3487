"""What is told of a cluster that went wrong."""

from __future__ import annotations

from pathlib import Path

from harness import Cluster, ClusterSpec, diagnosis
from harness.layout import Record, save_record


def test_who_does_not_run_is_told_with_the_reason_in_its_log(tmp_path: Path) -> None:
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
