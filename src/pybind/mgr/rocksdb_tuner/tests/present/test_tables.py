"""Plain output has what an operator needs, in 80 columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.advise.decision import nothing
from rocksdb_tuner.advise.limit import limited_by
from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.advise.records import UNKNOWN_LIMIT, Limit, Resource, Severity
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.doctor import examine
from rocksdb_tuner.judge.records import Inconclusive, Judgement, SoakPlan, Verdict
from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.latency import WriteLatency
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.observe.trend import Forecast, Outlook
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.phases import Phase as PhaseOf
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import findings_named, in_full, plan_of
from rocksdb_tuner.present.layout import WIDTH, clean, display_width, paragraph, shell_command
from rocksdb_tuner.present.osd import detail_of, worst_osds
from rocksdb_tuner.snapshot import Mode, Snapshot
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

from . import samples


def answers(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Every plain answer that can be made of a snapshot."""
    yield 'status', views.show('status', snapshot, 'plain')
    yield 'osds', views.show('osd', worst_osds(snapshot), 'plain')
    yield 'workload', views.show('workload', snapshot, 'plain')
    yield 'findings', views.show('findings', snapshot, 'plain')
    for found in snapshot.findings:
        yield 'finding', views.show('finding', findings_named(snapshot, found.finding_id), 'plain')
    yield 'recommend', views.show('recommend', snapshot, 'plain')
    yield 'recommend --all', views.show('recommend-all', snapshot, 'plain')
    yield 'operation', views.show('operation', snapshot, 'plain')
    yield 'history', views.show('history', snapshot.history, 'plain')
    yield 'mode', views.show('mode', snapshot.mode, 'plain')
    yield 'doctor', views.show('doctor', examine(snapshot, samples.ENVIRONMENT), 'plain')
    for facts in snapshot.osds:
        yield 'osd', views.show('osd-detail', detail_of(snapshot, facts.info.osd_id), 'plain')
    for recommendation in snapshot.recommendations:
        yield (
            'recommend <id>',
            views.show('recommend-detail', in_full(recommendation, samples.SOAK), 'plain'),
        )
        if recommendation.change is not None:
            yield 'plan', views.show('plan', plan_of(recommendation, samples.SOAK), 'plain')


def of_rollout(state: RolloutState, form: str) -> str:
    return views.show('operation', samples.operating(state), form)


def too_wide(text: str, width: int = WIDTH) -> list[str]:
    return [line for line in text.split('\n') if display_width(line) > width]


BUSY = Evidence('kv_sync_busy', 0.9, 'ratio', 30.0, 'The kv_sync threads are 90% busy.')


def limited(resource: Resource, *evidence: Evidence) -> Snapshot:
    snapshot = samples.small_cluster()
    limit = Limit(resource, 0.95, evidence)
    return replace(
        snapshot,
        groups=tuple(replace(group, limit=limit) for group in snapshot.groups),
        assessments=tuple(
            replace(a, recommendations=tuple(replace(r, limit=limit) for r in a.recommendations))
            for a in snapshot.assessments
        ),
    )


def test_known_client_limit_of_a_group_is_shown_with_its_evidence() -> None:
    snapshot = limited(Resource.KV_SYNC, BUSY)
    line = 'kv-sync (confidence 95%). The kv_sync threads are 90% busy. Relieved by options'
    text = views.show('status', snapshot, 'plain')
    assert f'Limited by: osd/class:ssd: {line}' in ' '.join(text.split())
    idle = limited(Resource.NONE)
    assert 'none of the measured resources (confidence 95%)' in views.show('status', idle, 'plain')
    unknown = limited(Resource.UNKNOWN)
    for text in dict(answers(unknown)).values():
        assert 'Limited by' not in text


def row_of(text: str, first: str) -> list[str]:
    """The cells of the table row that begins with ``first``."""
    for line in text.split('\n'):
        cells = line.split()
        if len(cells) > 1 and cells[0] == first:
            return cells
    raise AssertionError(f'no row {first!r} in:\n{text}')


def printed_commands(snapshot: Snapshot) -> Iterator[str]:
    """The lines of all commands of a snapshot."""
    advice = snapshot.recommendations
    for command in (
        *(command for finding in snapshot.findings for command in finding.commands),
        *(command for r in advice for command in (*r.commands, *r.undo_commands)),
        *(f'ceph rocksdb-tuner apply {r.recommendation_id}' for r in advice),
    ):
        yield from map(clean, shell_command(command).split('\n'))


# Not shrunk: of so large a record that takes minutes, and a failure names the answer anyway.
@settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_any_snapshot_fits(data: st.DataObject) -> None:
    """Odd names, huge numbers, unknowns, control and wide characters: 80 columns always.

    Except a command that cannot be continued on another line.
    """
    snapshot = data.draw(samples.any_snapshot())
    whole = set(printed_commands(snapshot))
    for name, text in answers(snapshot):
        assert whole.issuperset(too_wide(text)), name


@given(st.text(max_size=300), st.integers(0, 40), st.text(alphabet='abc: ', max_size=60))
def test_a_paragraph_keeps_to_the_width_whatever_its_label(
    text: str, indent: int, first: str
) -> None:
    assert not too_wide(paragraph(text, indent=indent, first=first))


@example('node-e\u0301', '\u0fc6' * 9 + 'x' * 99)
@example('\u2764\ufe0f' * 60, '\U0001f1e9\U0001f1ea' * 40)
@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_long_names_of_hosts_and_profiles_fit(host: str, profile: str) -> None:
    snapshot = samples.small_cluster()
    first = snapshot.osds[0]
    assert first.options is not None
    odd = first._replace(
        info=replace(first.info, host=host, device_class=host),
        options=replace(first.options, profile=profile, running=profile),
    )
    snapshot = replace(
        snapshot,
        osds=(odd, *snapshot.osds[1:]),
        groups=(replace(snapshot.groups[0], device_class=host, osds=(odd,)),),
    )
    for name, text in answers(snapshot):
        assert not too_wide(text), name


def test_profiles_fit() -> None:
    assert not too_wide(views.show('profile-ls', profiles(), 'plain'))
    for profile in profiles():
        assert not too_wide(views.show('profile-show', profile, 'plain'))


def test_osd_detail_shows_the_effect_of_a_restart() -> None:
    text = views.show('osd-detail', detail_of(samples.large_cluster(), 4), 'plain')
    assert 'at the next start the entry of osd/class:hdd' in text
    assert row_of(text, 'compression') == ['compression', 'kNoCompression', 'kLZ4Compression']


def test_workload_shows_the_evidence_of_groups_and_osds() -> None:
    text = views.show('workload', samples.small_cluster(), 'plain', osds=True)
    for piece in samples.SMALL_WRITES.evidence:
        assert piece.statement in ' '.join(text.split())
    assert row_of(text, '2')[3:5] == ['rbd-small-write', '92%']
    assert 'CONFIDENCE' not in views.show('workload', samples.small_cluster(), 'plain')


def test_unusual_workloads_come_first() -> None:
    small = samples.small_cluster()
    odd = small.osds[2]._replace(workload=samples.METADATA)
    text = views.show('workload', replace(small, osds=(*small.osds[:2], odd)), 'plain', osds=True)
    assert text.index('rgw-metadata') < text.rindex('rbd-small-write')


def test_findings_of_one_id_and_severity_share_a_row_and_are_shown_together() -> None:
    """As where each of a hundred OSDs spills over."""
    spilled = samples.FINDINGS[2]
    others = tuple(replace(spilled, osds=(n, n + 1), summary=f'Of osd.{n}.') for n in (5, 6))
    # Ceph does not list the affected OSDs of each of its health checks.
    milder = replace(spilled, severity=Severity.INFO, osds=())
    snapshot = replace(samples.small_cluster(), findings=(spilled, *others, milder))
    text = views.show('findings', snapshot, 'plain')
    assert '[WRN] spillover (4 OSDs): ' in text
    assert '[INF] spillover: ' in text
    assert '(and 2 more)' in ' '.join(text.split())
    whole = views.show('finding', findings_named(snapshot, 'spillover'), 'plain')
    assert [line[:5] for line in whole.split('\n') if line.startswith('[')] == [
        *['[WRN]'] * 3, '[INF]',
    ]  # fmt: skip


def test_no_findings_is_reported_with_its_scope() -> None:
    known = replace(samples.small_cluster(), findings=())
    assert views.show('findings', known, 'plain') == 'No findings.'
    assert 'osd.0-2 are unknown' in views.show('findings', samples.fresh_cluster(), 'plain')


def test_no_change_is_an_answer_with_a_reason_per_group() -> None:
    reason = 'The BlueStore default suits idle best among the known profiles.'
    decided = [nothing(f'osd/class:{c}', reason, UNKNOWN_LIMIT) for c in ('hdd', 'ssd')]
    snapshot = replace(
        samples.large_cluster(),
        assessments=tuple(Assessment(d.who, d, ()) for d in decided),
        findings=(),
        rollout=None,
    )
    text = ' '.join(views.show('recommend', snapshot, 'plain').split())
    for who in ('osd/class:hdd', 'osd/class:ssd'):
        assert f'{who} Do: Nothing to change Because: {reason}' in text


def test_show_has_reasons_prediction_commands_and_undo() -> None:
    recommendation = samples.recommendation()
    text = views.show('recommend-detail', in_full(recommendation, None), 'plain')
    flat = ' '.join(text.split())
    for reason in recommendation.reasons:
        assert f'{reason.statement} [{reason.source}]' in flat
    assert '4 KiB random write IOPS: 0 to +23%' in text
    assert 'not measured on this hardware' in flat
    assert row_of(text, 'write_buffer_size') == ['write_buffer_size', '268435456', '16777216']
    commands, undo = text.split('Undo:')
    for command in recommendation.commands:
        # Continued lines: in the shell '\ + newline + ' is nothing.
        assert command in commands.replace("'\\\n'", '').replace(' \\\n', ' ')
    for command in recommendation.undo_commands:
        assert command in undo


def test_show_reports_a_missing_prediction() -> None:
    text = views.show(
        'recommend-detail',
        in_full(replace(samples.recommendation(), predictions=()), None),
        'plain',
    )
    assert 'No prediction:' in text


def test_show_reports_incomparable_options() -> None:
    text = views.show(
        'recommend-detail',
        in_full(replace(samples.recommendation(), options_from='compression'), None),
        'plain',
    )
    assert 'Cannot compare' in text


def test_plan_shows_that_nothing_was_changed_and_the_order() -> None:
    places = (
        (2, Place('a', None)),
        *((n, Place('b', FailureDomain('rack', 'r1'))) for n in (0, 1)),
    )
    planned = samples.changing(
        replace(samples.recommendation(osds=(2, 0, 1)), places=places),
        batches=((2,), (0, 1)),
        domains=(None, FailureDomain('rack', 'r1')),
    )
    text = views.show('plan', plan_of(planned, samples.SOAK), 'plain')
    assert 'no changes were made' in text
    assert 'of at most one failure domain (rack, unknown)' in ' '.join(text.split())
    assert row_of(text, '1') == ['1', '-', '2', '-']
    assert row_of(text, '2') == [
        '2',
        'rack',
        'r1',
        '0,1',
        *['none,', 'watched', 'for', 'crashes', 'only'],
    ]
    assert 'Undo:' in text


def test_rollout_shows_the_failure_domain_of_the_watched_batch() -> None:
    state = samples.rollout()
    passed = Judgement(Verdict.NO_WORSE)
    racks = (FailureDomain('rack', 'r1'), FailureDomain('rack', 'r2'))
    request = replace(state.request, batches=((0,), (1, 2)), domains=racks)
    state = replace(
        state,
        request=request,
        soak=samples.SOAK,
        judgement=passed,
        verdicts=(Verdict.NO_WORSE,),
        batch_judgement=passed,
    )
    assert 'Batch 2 (rack r2)' in of_rollout(state, 'plain')
    found = json.loads(of_rollout(state, 'json'))
    assert [batch['failure_domain'] for batch in found['batches']] == [
        {'type': 'rack', 'name': 'r1'},
        {'type': 'rack', 'name': 'r2'},
    ]


def test_plan_shows_canary_controls_soak_gates_and_duration() -> None:
    planned = samples.changing(samples.recommendation(osds=(2, 0, 1)), controls=(1, 0))
    text = ' '.join(views.show('plan', plan_of(planned, samples.SOAK), 'plain').split())
    times = 'osd.2, measured before the change and for 10m to 1h after it'
    assert f'{times}, compared with osd.1, osd.0' in text
    assert 'if inconclusive: wait' in text
    assert 'ok-to-stop agrees' in text
    assert 'about 35m to 1h 25m' in text
    assert 'each soaks for 5m to 15m and is compared with OSDs that are not changed yet' in text
    shown = ' '.join(
        views.show('recommend-detail', in_full(planned, samples.SOAK), 'plain').split()
    )
    assert 'compared with osd.1, osd.0' in shown


@pytest.mark.parametrize(
    ('osds', 'changes', 'soak', 'message'),
    [
        ((0, 1, 2), {'controls': ()}, SoakPlan(600.0, 3600.0), 'too few OSDs to compare it with'),
        ((1,), {'controls': ()}, SoakPlan(600.0, 3600.0), 'ends as done, "not judged"'),
        (
            (1,),
            {'controls': ()},
            SoakPlan(600.0, 3600.0, Inconclusive.ROLLBACK),
            'soak_inconclusive applies (rollback)',
        ),
        ((0, 1, 2), {'controls': (1, 2)}, SoakPlan(), 'soak_max is 0, so there is no verdict'),
        ((0, 1, 2), {'restart': False}, SoakPlan(600.0, 3600.0), 'no OSD restarts'),
    ],
)
def test_plan_explains_a_missing_verdict(
    osds: tuple[int, ...], changes: dict[str, Any], soak: SoakPlan, message: str
) -> None:
    text = views.show(
        'plan', plan_of(samples.changing(samples.recommendation(osds), **changes), soak), 'plain'
    )
    assert message in ' '.join(text.split())


def test_annex_change_names_the_option_everywhere() -> None:
    """Readers of a recommendation, its plan and the rollout see which of the two is written."""
    advice, state = samples.by_annex(), samples.annex_rollout()
    for text in (
        views.show('recommend-detail', in_full(advice, None), 'plain'),
        views.show('plan', plan_of(advice, samples.SOAK), 'plain'),
        of_rollout(state, 'plain'),
    ):
        assert re.search('^Option: +bluestore_rocksdb_options_annex$', text, re.MULTILINE), text
    other = of_rollout(samples.rollout(), 'plain')
    assert re.search('^Option: +bluestore_rocksdb_options$', other, re.MULTILINE)
    record = replace(samples.HISTORY[0], option=ANNEX)
    text = views.show(
        'history', replace(samples.small_cluster(), history=(record,)).history, 'plain'
    )
    assert 'in bluestore_rocksdb_options_annex' in ' '.join(text.split())


def test_campaign_shows_its_wait_reason_in_its_status_and_in_the_module_status() -> None:
    """Nothing else would show that an unresponsive OSD is awaited."""
    waits_for = 'osd.0 has been compacting for 2h 10m and has not answered'
    campaign = samples.compacting()
    snapshot = replace(
        samples.small_cluster(), rollout=None, campaign=campaign, campaign_waits_for=waits_for
    )
    status = ' '.join(views.show('status', snapshot, 'plain').split())
    assert f'Operation: c8 for osd: canary, 0 of 2 OSDs; {waits_for}' in status
    last = snapshot
    assert f'Waiting for: {waits_for}' in ' '.join(views.show('operation', last, 'plain').split())
    assert json.loads(views.show('operation', last))['waits_for'] == waits_for
    found = json.loads(views.show('status', snapshot))['operation']
    assert (found['id'], found['osds_total'], found['osds_finished']) == ('c8', 2, 0)
    assert (found['kind'], found['phase'], found['paused_reason']) == ('compaction', 'canary', None)
    over = replace(snapshot, campaign=replace(campaign, stage=PhaseOf.DONE, outcome=Outcome.DONE))
    assert waits_for not in views.show('status', over, 'plain')
    assert json.loads(views.show('operation', over))['waits_for'] is None


def test_history_shows_unparsable_options_unchanged() -> None:
    record = replace(samples.HISTORY[0], options_from='broken', options_to='')
    text = views.show(
        'history', replace(samples.small_cluster(), history=(record,)).history, 'plain'
    )
    assert 'from broken to (empty)' in text


@pytest.mark.parametrize('mode', list(Mode))
def test_each_mode_is_explained(mode: Mode) -> None:
    assert views.show('mode', mode, 'plain').startswith(f'{mode.value}: ')


@pytest.mark.parametrize(
    ('unit', 'value', 'shown'),
    [
        ('bytes', 4096.0, 'x 4 KiB over 60s'),
        ('bytes/s', 4096.0, 'x 4 KiB/s over 60s'),
        ('ms', 0.5, 'x 0.5 ms over 60s'),
        ('ratio', 0.5, 'x 50% over 60s'),
        ('operations/s', 1500.0, 'x 1.5k op/s over 60s'),
        ('apples', 3.0, 'x 3 apples over 60s'),
    ],
)
def test_evidence_is_printed_in_its_unit(unit: str, value: float, shown: str) -> None:
    found = Workload(WorkloadClass.MIXED, 0.5, (Evidence('x', value, unit, 60.0, 'So it is.'),))
    snapshot = samples.small_cluster()
    facts = snapshot.osds[0]._replace(workload=found)
    text = views.show('osd-detail', detail_of(replace(snapshot, osds=(facts,)), 0), 'plain')
    assert f'So it is. ({shown})' in text


def sampled_in_detail() -> Snapshot:
    """The small cluster with all data of detailed samples."""
    latency = WriteLatency(
        window_s=60.0,
        client_op_ms=4.9,
        osd_queue_ms=0.6,
        osd_prepare_ms=0.34,
        bluestore_ms=3.6,
        prepare_ms=0.07,
        throttle_ms=0.004,
        data_write_ms=0.004,
        kv_queue_ms=2.3,
        kv_round_ms=1.2,
        kv_flush_ms=0.0003,
        kv_commit_ms=0.76,
    )
    closer = samples.facts(0)._replace(
        details=Details(1.0, latency, 0.02, 900, 3 << 30, 4 << 30),
        forecast=Forecast(
            Outlook.FILLING, 1e9, 86400.0, 49, 1e9, 5e8, 2e9, 864000.0, 432000.0, 1728000.0
        ),
        rocksdb_times=RocksdbTimes(300.0, 0.0, 0.58, 0.024),
        sharded=False,
        last_start=LastStart(250.0, 258.5, False),
    )
    small = samples.small_cluster()
    return replace(small, osds=(closer, *small.osds[1:]))


def test_stages_of_a_write_are_shown_without_another_word_for_the_limit() -> None:
    text = views.show('osd-detail', detail_of(sampled_in_detail(), 0), 'plain')
    assert re.search(r'client-op +4\.9 ms +100%', text)
    assert re.search(r'kv-queue +2\.3 ms +47%', text)
    assert re.search(r'wal-sync +0\.58 ms', text)
    assert 'throttle' not in text
    assert 'ottleneck' not in text


def test_part_that_takes_the_time_follows_the_limit_and_has_a_relief() -> None:
    flushing = 'flushing the data device'
    limit = Limit(Resource.KV_SYNC, 0.9, (BUSY,), flushing)
    assert limited_by(limit) == (
        'kv-sync, mostly flushing the data device (confidence 90%). The kv_sync threads are 90% '
        'busy. Relieved by flash with power-loss protection.'
    )
    # A thread that waits for a core is busy as well.
    cores = limited_by(Limit(Resource.CORES, 0.6, (BUSY,), "the OSD's queue"))
    assert 'busy' not in cores
    assert cores.endswith('Relieved by more cores for each OSD.')


def test_osd_shows_its_db_forecast_and_sharding() -> None:
    text = views.show('osd-detail', detail_of(sampled_in_detail(), 0), 'plain')
    assert 'in 10d (5d to 20d)' in text
    assert 'not sharded' in text
    snapshot = sampled_in_detail()
    young = Forecast(Outlook.NOT_ENOUGH_HISTORY, 1e9, 3600.0, 3)

    def shown(forecast: Forecast) -> str:
        first = snapshot.osds[0]._replace(forecast=forecast)
        return views.show(
            'osd-detail', detail_of(replace(snapshot, osds=(first, *snapshot.osds[1:])), 0), 'plain'
        )

    assert 'not enough history (1h of 3d)' in shown(young)
    known = snapshot.osds[0].forecast
    assert known is not None
    # An interval to the end of time says no more than its beginning.
    assert 'in 10d (5d or later)' in shown(replace(known, full_latest_s=1e12))


@pytest.mark.parametrize(
    ('start', 'reported'),
    [
        (LastStart(250.0, 250.2, False), 'was down 4m 10s'),
        (LastStart(250.0, 260.0, None), 'was down 4m 10s (at most 4m 20s)'),
        (LastStart(250.0, 250.0, True), 'was down 4m 10s, with most OSDs of its host'),
        (LastStart(0.0, 9.6, None), 'was down for at most 10s'),
    ],
)
def test_downtime_of_an_osd_is_shown_with_its_precision(start: LastStart, reported: str) -> None:
    """And nothing where no start was watched."""
    snapshot = samples.small_cluster()
    assert 'Last start' not in views.show('osd-detail', detail_of(snapshot, 0), 'plain')
    osds = (snapshot.osds[0]._replace(last_start=start), *snapshot.osds[1:])
    text = views.show('osd-detail', detail_of(replace(snapshot, osds=osds), 0), 'plain')
    assert re.search(rf'^Last start:? +{re.escape(reported)}$', text, re.MULTILINE), text


def test_finding_shows_its_commands_and_cautions() -> None:
    finding = replace(
        samples.FINDINGS[1],
        commands=('ceph config rm osd.1 x', 'ceph osd ok-to-stop 1'),
        do_not='Do not restart it.',
    )
    snapshot = replace(samples.small_cluster(), findings=(finding,))
    lines = views.show(
        'finding', findings_named(snapshot, finding.finding_id), 'plain'
    ).splitlines()
    assert 'ceph osd ok-to-stop 1' in lines
    assert '    do not:     Do not restart it.' in lines


# -- candidates


def test_each_reason_against_a_candidate_has_its_own_line() -> None:
    """Sentences that run together read as one."""
    snapshot = samples.large_cluster()
    (known,) = (a for a in snapshot.assessments if a.weighing is not None)
    assert known.weighing is not None
    weighed = tuple(
        replace(w, infeasible=(*w.infeasible, 'It has no limit of the WAL.')) if w.infeasible else w
        for w in known.weighing.weighed
    )
    assessment = replace(known, weighing=replace(known.weighing, weighed=weighed))
    text = views.show('recommend-all', replace(snapshot, assessments=(assessment,)), 'plain')
    assert '  - lz4-2025: It has no limit of the WAL.' in text.splitlines()


def test_plentiful_resources_are_named() -> None:
    """In JSON, so that a picture of a decision shows what it went by."""
    snapshot = samples.large_cluster()
    (known,) = (a for a in snapshot.assessments if a.weighing is not None)
    assert known.weighing is not None
    bars = replace(known.weighing.bars, plenty=frozenset({Resource.CORES, Resource.DB_DEVICE}))
    assessment = replace(known, weighing=replace(known.weighing, bars=bars))
    found = json.loads(views.show('recommend-all', replace(snapshot, assessments=(assessment,))))
    assert found[0]['unconstrained'] == ['cores', 'db-device']
    groups = json.loads(views.show('recommend-all', snapshot))
    assert all(group['unconstrained'] == [] for group in groups)


def test_osd_that_would_not_start_again_is_not_marked_as_pending() -> None:
    doomed = replace(samples.options(3), next_start='foo=1', starts=False, pending_restart=False)
    snapshot = replace(samples.small_cluster(), osds=(samples.facts(3)._replace(options=doomed),))
    text = ' '.join(views.show('osd-detail', detail_of(snapshot, 3), 'plain').split())
    assert 'Next start: foo=1' in text
    assert 'Starts: NO: the OSD would not start with these options' in text
    assert 'estart' not in text
