"""What operators see of a change: `ceph -s`, `ceph progress`, the cluster log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness import Cluster
from module_client import ModuleClient

ORIGIN = 'rocksdb_tuner'


@dataclass
class Announced:
    """Collects it while a test waits.

    Monitors of Pacific keep 50 lines; later ones 10,000, of which `log last` first takes so many of
    all channels and levels and then filters them.
    """

    cluster: Cluster
    #: The messages of `ceph -s`, by event.
    shown: dict[str, list[str]] = field(default_factory=dict)
    #: In the order in which they were logged.
    lines: list[str] = field(default_factory=list)
    #: How many OSDs were down at once.
    most_down: int = 0

    def look(self) -> None:
        counts = self.cluster.ceph_json('osd', 'stat')
        self.most_down = max(self.most_down, counts['num_osds'] - counts['num_up_osds'])
        for event_id, event in self.cluster.ceph_json('status')['progress_events'].items():
            messages = self.shown.setdefault(event_id, [])
            if event['message'] not in messages:
                messages.append(event['message'])
        logged = self.cluster.ceph('log', 'last', '2000', 'info', 'cluster').splitlines()
        own = (line.partition(f' {ORIGIN}: ')[2] for line in logged)
        self.lines += [line for line in dict.fromkeys(own) if line and line not in self.lines]

    def ended(self, event_id: str) -> Any:
        """The event as `ceph progress json` has it once it is over; None before."""
        over = self.cluster.ceph_json('progress', 'json')['completed']
        return next((event for event in over if event['id'] == event_id), None)


def watched_rollout(tuner: ModuleClient, timeout_s: float = 240) -> tuple[Any, Announced]:
    """The rollout under way once it has ended, and what people saw of it."""
    announced = Announced(tuner.cluster)

    def ended() -> Any:
        announced.look()
        state = tuner.operation()
        return state if state['phase'] in {'done', 'failed', 'rolled-back'} else None

    return tuner.wait_for(ended, timeout_s, 'the end of the rollout'), announced


def _event_id(change_id: str) -> str:
    """The module's name of the event of a rollout or a campaign."""
    return f'{ORIGIN}-{change_id}'


def lines_of_finished(
    tuner: ModuleClient,
    announced: Announced,
    change: str,
    doing: str,
    is_over: Callable[[list[str]], bool],
) -> list[str]:
    """The cluster log of a change ("rollout r1") that was in `ceph -s` until it ended.

    ``doing`` is the start of its event's text each time; ``is_over`` whether lines are complete.
    """
    name, event_id = f'{change}: ', _event_id(change.rpartition(' ')[2])
    shown = announced.shown[event_id]
    assert all(text.startswith(doing) for text in shown), shown
    over = tuner.wait_for(lambda: announced.ended(event_id), 30, 'its event to be over')
    assert 'failed' not in over

    def reported() -> list[str]:
        announced.look()
        own = [line[len(name) :] for line in announced.lines if line.startswith(name)]
        return own if is_over(own) else []

    lines: list[str] = tuner.wait_for(reported, 30, 'its end in the cluster log')
    return lines


def assert_announced(tuner: ModuleClient, state: Any, announced: Announced) -> None:
    """A rollout that was done was in `ceph -s` until it ended, and the log has all of it."""
    lines = lines_of_finished(
        tuner,
        announced,
        f'rollout {state["id"]}',
        'Changing RocksDB options of ',
        lambda own: 'done' in own,
    )
    assert f' to {len(state["osds"])} OSD(s), osd.' in lines[0], lines
    assert 'operator applies ' in lines[0], lines
    for osd in state['osds']:
        steps = [
            lines.index(f'osd.{osd["osd"]} {step}')
            for step in ('gets its new options', 'is restarting', 'runs its new options')
            if f'osd.{osd["osd"]} {step}' in lines
        ]
        # Without an entry of its own, where one entry alone is removed
        assert len(steps) >= 2, lines
        assert steps == sorted(steps)
    assert lines[-1] == 'done'
    tuner.wait_for(
        lambda: _event_id(state['id']) not in tuner.cluster.ceph_json('status')['progress_events'],
        30,
        'its event gone from ceph -s',
    )
