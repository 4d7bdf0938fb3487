"""Every declared condition is decided once, is tested, and has a remedy."""

from __future__ import annotations

import re

import pytest

from rocksdb_tuner.advise.conditions import (
    ClusterFacts,
    findings,
)
from rocksdb_tuner.advise.conditions.declaration import Condition, conditions
from rocksdb_tuner.workload.records import limit_thresholds

from .builders import example, examples


def test_thresholds_of_limits_and_conditions_agree() -> None:
    limits, known = limit_thresholds(), conditions()
    assert known['slow-sync'].thresholds['round_ms'].value == limits.slow_round_ms
    assert known['db-device-nearly-full'].thresholds['used_share'].value == limits.db_full_share


@pytest.mark.parametrize('known', conditions().values(), ids=list(conditions()))
def test_remedies_have_no_placeholders(known: Condition) -> None:
    for finding in examples(known, 3):
        text = ' '.join((finding.summary, finding.remedy, *finding.commands))
        assert not re.search(r'\{[a-z]+\}', text)


@pytest.mark.parametrize('known', conditions().values(), ids=list(conditions()))
def test_commands_have_the_form_of_commands(known: Condition) -> None:
    finding = example(known.condition_id, 3)
    ceph = ('ceph ', 'ceph-bluestore-tool ', 'ceph-volume ', 'radosgw-admin ')
    programs = (*ceph, 'lvcreate ', 'lvextend ', 'smartctl ')
    assert all(command.startswith(programs) for command in finding.commands)


def test_no_advice_to_compact_or_restart_all_at_once() -> None:
    for known in conditions().values():
        assert 'osd.*' not in ' '.join((*known.remedies.values(), *known.commands))


def test_reshard_and_compaction_have_cautions() -> None:
    assert 'Never interrupt a reshard' in (conditions()['unsharded'].do_not or '')
    for known in conditions().values():
        if any(command.endswith(' compact') for command in known.commands):
            assert known.do_not, known.condition_id


def test_empty_cluster_has_no_findings() -> None:
    assert findings(ClusterFacts((), ())) == ()


def test_no_warning_pushes_to_the_default_of_the_release() -> None:
    """It may lose what else is in the string: on Pacific 8.6% of the IOPS of the set of 2019."""
    names = list(conditions())
    of_strings = names[names.index('superseded-options') : names.index('spillover')]
    for known in (conditions()[name] for name in of_strings if name != 'dangerous-options'):
        assert 'remove the override' not in ''.join(known.remedies.values()), known.condition_id
        assert not [command for command in known.commands if 'config rm' in command]
