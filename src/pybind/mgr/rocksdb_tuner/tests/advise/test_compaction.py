"""A compaction is offered after a change that only new files have, and until it was done."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.advise.compaction import compaction_advice
from rocksdb_tuner.advise.records import GroupFacts, Kind, Recommendation, Risk
from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.operations.compaction.plan import recommended
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.tests.advise.builders import facts, group, osd_info
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

PLAIN = DEFAULTS['pacific']
LZ4 = PLAIN.replace('kNoCompression', 'kLZ4Compression')


def changed(
    rollout_id: str = 'r1',
    before: str = PLAIN,
    after: str = LZ4,
    who: str = 'osd',
    outcome: Outcome = Outcome.DONE,
) -> HistoryRecord:
    return HistoryRecord(
        rollout_id=rollout_id,
        time_s=0.0,
        recommendation_id='ssd-1',
        who=who,
        options_from=before,
        options_to=after,
        actor='operator',
        outcome=outcome,
        reason=None,
        prediction=None,
        measured=None,
    )


def running(options: str, osds: int = 3) -> GroupFacts:
    return group(*(facts(osd_info(n), options) for n in range(osds)))


def offered(*history: HistoryRecord, options: str = LZ4) -> Recommendation:
    advice = compaction_advice(running(options), history)
    assert advice is not None
    return advice


def campaign_of(advice: Recommendation, number: int, outcome: Outcome) -> HistoryRecord:
    record = changed(f'c{number}', LZ4, LZ4, advice.who, outcome)
    return replace(record, recommendation_id=advice.recommendation_id)


def test_compression_change_offers_compaction_in_full() -> None:
    advice = offered(changed())
    assert (advice.kind, advice.risk, advice.who) == (Kind.COMPACT, Risk.MEDIUM, 'osd/class:ssd')
    assert dict(advice.places) == {n: osd_info(n).place for n in range(3)}
    assert advice.targets == tuple((n, LZ4) for n in advice.osds)
    assert advice.commands == ('ceph rocksdb-tuner compact osd/class:ssd',)
    assert (advice.undo_commands, advice.final_entries, advice.change) == ((), (), None)
    (reason,) = advice.reasons
    assert reason.statement == (
        'r1 changed compression. That applies only to files written since then: a compaction '
        'rewrites older files where they overlap with newer data.'
    )
    text = f'{LZ4},num_levels=8,ttl=5'
    several = offered(changed(after=text), options=text)
    assert 'r1 changed compression and num_levels. That' in several.reasons[0].statement
    request = recommended(advice, 'operator')
    assert [n for n, _ in request.osds] == list(advice.osds)
    assert request.options == LZ4
    assert request.recommendation_id == advice.recommendation_id


@pytest.mark.parametrize('outcome', [o for o in Outcome if o is not Outcome.DONE])
def test_rolled_back_change_offers_nothing(outcome: Outcome) -> None:
    assert compaction_advice(running(LZ4), [changed(outcome=outcome)]) is None


def test_only_osds_with_the_changed_options_are_compacted() -> None:
    osds = (facts(osd_info(0), LZ4), facts(osd_info(1), PLAIN))
    advice = compaction_advice(group(*osds), [changed()])
    assert advice is not None
    assert advice.osds == (0,)
    assert compaction_advice(running(PLAIN), [changed()]) is None


def test_compaction_is_offered_until_done_and_again_after_the_next_change() -> None:
    advice = offered(changed())
    for outcome in (Outcome.ABORTED, Outcome.FAILED):
        assert offered(changed(), campaign_of(advice, 2, outcome)) == advice
    done = campaign_of(advice, 2, Outcome.DONE)
    assert compaction_advice(running(LZ4), [changed(), done]) is None
    back = changed('r3', LZ4, PLAIN)
    again = changed('r4')
    assert offered(changed(), done, back, again).recommendation_id == advice.recommendation_id


def test_rollback_offers_compaction_too() -> None:
    back = changed('r2', LZ4, PLAIN)
    assert offered(changed(), back, options=PLAIN).options_to == PLAIN


REEF = DEFAULTS['reef']
PUBLISHED = REEF.replace('kLZ4Compression', 'kNoCompression')


def on_disk(info: OsdInfo) -> OsdInfo:
    return replace(
        info,
        device_class='hdd',
        main_rotational=True,
        db_rotational=False,
        dedicated_db=True,
        release='reef',
        version='18.2.7',
    )


def on_flash(advice: Optional[Recommendation]) -> bool:
    """Nothing was published of it."""
    return advice is not None and advice.prediction is None


@pytest.mark.parametrize(
    ('before', 'after', 'percent'),
    [
        (PUBLISHED, REEF, -62.7),
        # The published figure is of compression alone.
        (REEF.replace('=64,', '=32,'), REEF, None),
        (PLAIN, LZ4, None),
    ],
)
def test_space_is_predicted_if_published(before: str, after: str, percent: Optional[float]) -> None:
    change = changed(before=before.replace('kLZ4', 'kZSTD'), after=after)
    group = running(after)
    # It was measured on hard disks with their DB on flash.
    osds = tuple(osd._replace(info=on_disk(osd.info)) for osd in group.osds)
    assert on_flash(compaction_advice(group, [change]))
    advice = compaction_advice(replace(group, osds=osds), [change])
    assert advice is not None
    found = advice.prediction
    if percent is None:
        assert found is None
        return
    assert found is not None
    assert (found.metric, found.high_percent) == ('BlueFS db_used_bytes', 0.0)
    assert found.low_percent == pytest.approx(percent, abs=0.1)
    assert found.basis.endswith('against the same options without compression')
    request = recommended(advice, 'client.ann')
    assert request.prediction == 'BlueFS db_used_bytes: -63 to 0%'
    assert request.predicted is not None
    assert request.predicted.low_percent == found.low_percent
    assert (request.actor, request.who) == ('client.ann', 'osd/class:ssd')


@pytest.mark.parametrize(
    ('who', 'offers'),
    [
        ('osd', True),
        ('global', True),
        ('osd/class:ssd', True),
        ('osd.2', True),
        ('osd.2/class:ssd', True),
        ('osd.7', False),
        ('osd/class:hdd', False),
    ],
)
def test_change_of_one_osd_counts_for_its_group(who: str, offers: bool) -> None:
    assert (compaction_advice(running(LZ4), [changed(who=who)]) is not None) == offers


def test_last_change_by_number_counts() -> None:
    """The history may come in any order, and r10 comes after r9."""
    back = changed('r10', LZ4, PLAIN)
    for history in ([changed('r9'), back], [back, changed('r9')]):
        assert compaction_advice(running(LZ4), history) is None
        assert compaction_advice(running(PLAIN), history) is not None
    advice = offered(changed('r9'))
    earlier, later = (campaign_of(advice, n, Outcome.DONE) for n in (8, 10))
    assert compaction_advice(running(LZ4), [changed('r9'), earlier]) == advice
    assert compaction_advice(running(LZ4), [changed('r9'), later]) is None
    on_demand = replace(later, recommendation_id='c10')
    for who, compacted in (('osd', True), (advice.who, True), ('osd.0', False)):
        record = replace(on_demand, who=who)
        assert (compaction_advice(running(LZ4), [changed('r9'), record]) is None) == compacted
