"""The report on the data of a cluster, by doubles of its answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness import integrity
from harness.cluster import Cluster


class Doubles:
    """A cluster whose placement groups are scrubbed on request."""

    def __init__(self, broken: str) -> None:
        self.stamps = dict.fromkeys(['1.0', '1.1', '2.0'], 0)
        self.broken = broken

    def ceph(self, *words: str) -> str:
        if words[:2] == ('pg', 'deep-scrub'):
            self.stamps[words[2]] += 1
        return ''

    def ceph_json(self, *words: str) -> Any:
        if words == ('health',):
            return {'checks': {'PG_DAMAGED': {}} if self.broken else {}}
        return {
            'pg_stats': [
                {
                    'pgid': pg,
                    'last_deep_scrub_stamp': str(stamp),
                    'state': 'active+clean' + '+inconsistent' * (pg == self.broken),
                    'stat_sum': {'num_scrub_errors': int(pg == self.broken)},
                }
                for pg, stamp in self.stamps.items()
            ]
        }


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('harness.integrity.time.sleep', lambda _: None)


def scrubbed(cluster: Doubles) -> integrity.DeepScrub:
    return integrity.deep_scrub(cast('Cluster', cluster))


def test_damaged_placement_group_is_named() -> None:
    found = scrubbed(Doubles('2.0')).inconsistent
    assert found == ('2.0 active+clean+inconsistent, 1 scrub errors', 'PG_DAMAGED')


class Tool:
    """An OSD whose store is checked: the output of the tool each time."""

    def __init__(self, *outputs: tuple[int, str]) -> None:
        self.outputs = list(outputs)
        self.record = SimpleNamespace(daemons={'osd.0': None})
        self.layout = SimpleNamespace(data=lambda name: f'/data/{name}')
        self.client = SimpleNamespace(run=self.run)

    def status(self) -> Any:
        return SimpleNamespace(daemons=())

    def stop_daemon(self, name: str) -> None:
        raise AssertionError(f'{name} does not run')

    def run(self, *argv: str, **_: Any) -> Any:
        assert argv[:2] == ('ceph-bluestore-tool', 'fsck')
        assert argv[-1] == '/data/osd.0'
        status, text = self.outputs.pop(0)
        return SimpleNamespace(returncode=status, stdout=text, stderr='')


@pytest.mark.parametrize(
    ('outputs', 'complaint'),
    [
        ([(0, 'fsck success')], ''),
        ([(1, 'fsck found 2 error(s)'), (1, 'fsck found 2 error(s)')], 'found 2 error(s)'),
        # The holder of the lock is gone; a broken store would still be broken.
        ([(1, 'failed to lock'), (0, 'fsck success')], ''),
        # Success without output is no error.
        ([(0, ''), (0, '')], 'status 0: '),
    ],
)
def test_store_error_must_occur_twice(outputs: list[tuple[int, str]], complaint: str) -> None:
    tool = Tool(*outputs)
    (found,) = integrity.fsck(cast('Cluster', tool)).complaints.values()
    assert (complaint in found, bool(found)) == (True, bool(complaint))
    assert tool.outputs == []
