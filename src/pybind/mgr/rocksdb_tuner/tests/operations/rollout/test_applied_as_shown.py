"""A rollout is applied as shown: the same commands, batches, canary and controls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.advise.case import Circumstances
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.proposal import change_request
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import Recommendation
from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.mgr.records import ConfigEntry, FailureDomain
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.records import watched_batch
from rocksdb_tuner.operations.rollout.storage import EVIDENCE, RolloutStorage
from rocksdb_tuner.plan.records import Purpose
from rocksdb_tuner.present.advice import plan_of
from rocksdb_tuner.present.views import show
from rocksdb_tuner.tests.advise.builders import facts, group, osd_info, workload
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION, FakeCluster

from .conftest import Run

SOAKS = (
    SoakPlan(),
    *(
        replace(soak, inconclusive=Inconclusive.PROMOTE)
        for soak in (
            SoakPlan(240.0, 480.0, batches=SoakPlan(0.0, 240.0, Inconclusive.PROMOTE)),
            SoakPlan(0.0, 240.0, batches=SoakPlan()),
            SoakPlan(0.0, 240.0),
        )
    ),
)


def recommended(cluster: FakeCluster, loads: Sequence[float | None]) -> Recommendation:
    entries = tuple(ConfigEntry(who, OPTION, v) for who, v in cluster.entries_of().items())
    osds = tuple(
        facts(
            osd_info(
                n, host=osd.host, device_class=osd.device_class, failure_domain=osd.failure_domain
            ),
            value=cluster.runs(n),
            source='mon' if entries else 'default',
            entries=entries,
            write_iops=load,
        )
        for (n, osd), load in zip(cluster.osds.items(), loads)
    )
    ssds = tuple(f for f in osds if f.info.device_class == 'ssd')
    found = assess(group(*ssds, does=workload()), Circumstances(osds)).recommendations
    # An override of OSDs of two classes is no recommendation for one of them.
    assume(found)
    return found[0]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    layout=st.lists(
        st.tuples(
            st.sampled_from('abc'),
            st.sampled_from(['ssd', 'ssd', 'ssd', 'hdd']),
            st.none() | st.floats(0, 1000),
        ),
        min_size=2,
        max_size=7,
    ).filter(lambda osds: any(device_class == 'ssd' for _, device_class, _ in osds)),
    kind=st.sampled_from(['host', 'rack', 'osd']),
    override=st.none() | st.sampled_from([DEFAULTS['pacific'], profile('alternate-2019').options]),
    soak=st.sampled_from(SOAKS),
)
def test_what_is_carried_out_is_what_was_shown(
    layout: list[tuple[str, str, float | None]], kind: str, override: str | None, soak: SoakPlan
) -> None:
    cluster = FakeCluster(osds=len(layout))
    for osd, (host, device_class, _) in zip(cluster.osds.values(), layout):
        osd.host, osd.device_class = host, device_class
        names = {'rack': 'r1' if host in 'ab' else 'r2', 'osd': f'osd.{osd.osd_id}'}
        osd.domain = FailureDomain(kind, names.get(kind, host))
    if override is not None:
        # The release's own default, written down, or an old string: its removal is recommended.
        cluster.operator_sets('osd', override)
        for n in cluster.osds:
            cluster.restart_by_hand(n)
            cluster.advance(60)
    before = cluster.entries_of()
    run = Run(cluster)
    recommendation = recommended(cluster, [load for _, _, load in layout])
    shown: Any = json.loads(show('plan', plan_of(recommendation, soak)))
    # Nothing gets better here, and all is to be changed all the same.
    request = replace(change_request(recommendation, 'operator'), purpose=Purpose.SAFETY)
    run.start(request, soak)

    watched: dict[int, tuple[list[int], list[int]]] = {}
    while not run.state.ended:
        run.tick()
        batch = watched_batch(run.state)
        key = f'{EVIDENCE}{batch.number}' if batch else ''
        if batch is not None and batch.judged and key in run.store.values:
            (evidence,) = (
                e for e in RolloutStorage(run.store).load_evidence() if e.batch == batch.number
            )
            watched[batch.number] = (list(evidence.changed), list(evidence.controls))

    assert run.state.phase is Phase.DONE
    assert run.cluster.commands == [c for c in shown['commands'] if 'config show' not in c]
    restarted = [int(c.rpartition('.')[2]) for c in run.cluster.commands if 'restart' in c]
    assert restarted == [n for batch in shown['batches'] for n in batch['osds']] or not restarted
    for batch in shown['batches']:
        (domain,) = {cluster.osds[n].failure_domain for n in batch['osds']}
        assert batch['failure_domain'] == {'type': domain.kind, 'name': domain.name}
    for number, (osds, controls) in watched.items():
        batch_shown = shown['batches'][number]
        assert set(osds) <= set(batch_shown['osds'])
        assert controls == batch_shown['controls']
    if 0 in watched:
        assert [shown['canary']] == watched[0][0]
        assert shown['controls'] == watched[0][1]

    cluster.commands.clear()
    run.driver.rollback(None, 'operator', cluster.now_s)
    run.run_to_end()
    assert cluster.commands == [c for c in shown['undo_commands'] if 'config show' not in c]
    assert cluster.entries_of() == before
