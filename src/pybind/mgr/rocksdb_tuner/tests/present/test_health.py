"""Health checks are raised for what an operator must see, and cleared with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocksdb_tuner.advise.conditions.declaration import Condition, conditions
from rocksdb_tuner.advise.records import Severity
from rocksdb_tuner.present import health
from rocksdb_tuner.present.health import health_checks

from ..advise.conditions.builders import example
from . import samples


@pytest.mark.parametrize('known', conditions().values(), ids=list(conditions()))
def test_checks_raised_by_ceph_are_not_duplicated(known: Condition) -> None:
    finding = example(known.condition_id, 0)
    raised = health_checks(
        replace(samples.small_cluster(), notices=(), rollout=None, alarms=(finding,))
    )
    if known.health is None:
        assert raised == {}
        assert known.ceph_checks or known.severity is Severity.INFO
    else:
        code = 'ROCKSDB_TUNER_' + known.condition_id.upper().replace('-', '_')
        assert list(raised) == [code]
        assert raised[code]['severity'] == known.severity.value


def test_every_module_health_check_is_in_the_manual() -> None:
    page = 'doc/mgr/rocksdb_tuner/troubleshooting.rst'
    manual = (Path(__file__).parents[6] / page).read_text()
    codes = [
        health.OPTIONS_CONFLICT,
        health.STATE_BROKEN,
        health.ROLLOUT_FAILED,
        health.ROLLOUT_WAITING,
        health.COMPACTION_WAITING,
    ]
    codes += [health.STEP_FAILED, health.METRICS_UNAVAILABLE]
    assert [code for code in codes if f'``{code}``' not in manual] == []
