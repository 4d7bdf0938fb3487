"""The counters that are read are those that OSDs of each release send, under their names there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.sample import by_any_name, details_for, names_for

DATA = Path(__file__).parent / 'data'
MEASURED = ('pacific', 'reef', 'tentacle')
#: Published, or unknown: the names of their counters were not read.
UNMEASURED = ('quincy', 'squid', 'octopus', 'a later one', None)

AVERAGE = 4


def sent(release: str) -> dict[str, int]:
    """Type by path, of all that an OSD of this release sends to the mgr by default."""
    found: dict[str, int] = json.loads((DATA / release / 'counters_sent.json').read_text())
    return found


class Sender:
    """A CounterReader of an OSD that sends what one of ``release`` does; it counts the calls."""

    def __init__(self, release: str) -> None:
        self._sent = sent(release)
        self.calls = 0

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        self.calls += len(paths)
        return [
            CounterPoint(1.0, 7, 3 if self._sent[path] & AVERAGE else None)
            if path in self._sent
            else None
            for path in paths
        ]


@pytest.mark.parametrize('release', MEASURED)
def test_every_counter_used_reaches_the_mgr_of_this_release(release: str) -> None:
    """A name of another release, or one that is not sent by default, would read as unknown."""
    paths = {*names_for(release), *filter(None, details_for(release))}
    assert paths - set(sent(release)) == set()


@pytest.mark.parametrize('release', MEASURED)
def test_no_counter_sent_by_this_release_is_missed(release: str) -> None:
    newest = details_for('tentacle')._asdict()
    skipped = [f for f, path in details_for(release)._asdict().items() if path is None]
    assert {newest[field] for field in skipped} & set(sent(release)) == set()


@pytest.mark.parametrize('release', MEASURED)
def test_latency_counters_are_latencies_in_this_release(release: str) -> None:
    names = {**names_for(release)._asdict(), **details_for(release)._asdict()}
    for field, path in names.items():
        if path is not None:
            is_average = bool(sent(release)[path] & AVERAGE)
            is_amount = field.startswith(
                ('op_', 'recovery_', 'onode_', 'bluefs_', 'fragmentation', 'pgs')
            ) and field not in {
                'op_w_latency',
                'op_w_process',
                'op_w_prepare',
            }
            assert is_average != (is_amount or 'bytes' in field), field


@pytest.mark.parametrize('release', UNMEASURED)
@pytest.mark.parametrize('sender', MEASURED)
def test_every_known_name_is_tried_if_names_were_not_read(
    release: Optional[str], sender: str
) -> None:
    """Whichever of the three such a release resembles, the commit latency is measured."""
    reader = by_any_name(Sender(sender), release)
    assert None not in reader.latest(0, names_for(release))


@pytest.mark.parametrize('release', MEASURED)
def test_only_known_names_are_read_if_available(release: str) -> None:
    """Each read costs the manager microseconds, for every OSD and at every tick."""
    sender = Sender(release)
    reader = by_any_name(sender, release)
    reader.latest(0, names_for(release))
    assert sender.calls == len(names_for(release))
