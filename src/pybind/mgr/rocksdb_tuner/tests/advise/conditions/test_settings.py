"""Conditions of related options: reported if such an option is set, and not otherwise."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.facts import WATCHED_IF_SET
from rocksdb_tuner.advise.records import Finding, OsdFacts, Setting, Severity
from rocksdb_tuner.options.advice import related_options_advice

from .builders import found, seen

ABOUT_SETTINGS = {
    'iterator-bounds-off',
    'compact-on-start',
    'short-pg-log',
    'cache-autotune-off',
    'cache-ratios',
}
AUTOTUNE, KV, META = (
    'bluestore_cache_autotune',
    'bluestore_cache_kv_ratio',
    'bluestore_cache_meta_ratio',
)


def having(
    values: Optional[dict[str, str]], osd_id: int = 0, who: Optional[str] = 'osd'
) -> OsdFacts:
    settings = (
        None if values is None else {name: Setting(text, who) for name, text in values.items()}
    )
    return seen(osd_id, more={'settings': settings})


def about(*osds: OsdFacts) -> dict[str, Finding]:
    return {name: f for name, f in found(*osds).items() if name in ABOUT_SETTINGS}


@pytest.mark.parametrize(
    ('values', 'severity'),
    [
        ({KV: '0.45'}, Severity.INFO),
        ({KV: '0.55'}, Severity.INFO),
        ({KV: '0.56'}, Severity.ERROR),
        ({META: '-0.1'}, Severity.ERROR),
        ({META: '1.1'}, Severity.ERROR),
        ({META: '1', KV: '0'}, Severity.INFO),
        ({KV: '0.2', META: '0.8'}, Severity.INFO),
        # As published for a benchmark in 2019.
        ({KV: '0.2', META: '0.8', AUTOTUNE: 'false'}, Severity.WARNING),
        ({KV: '0.3', META: '0.8', AUTOTUNE: 'false'}, Severity.ERROR),
        ({KV: '0.2', AUTOTUNE: 'true'}, Severity.INFO),
        ({KV: 'nan'}, Severity.INFO),
        ({KV: 'a lot'}, Severity.INFO),
    ],
)
def test_cache_ratios_that_prevent_an_osd_start_are_an_error(
    values: dict[str, str], severity: Severity
) -> None:
    assert about(having(values))['cache-ratios'].severity is severity


def test_both_ratios_are_removed_together_each_from_its_own_entry() -> None:
    """Without the one, 0.8 and the other's default of 0.45 would prevent the OSD from starting."""
    settings = {KV: Setting('0.2', 'osd'), META: Setting('0.8', 'osd.0')}
    finding = found(seen(more={'settings': settings}))['cache-ratios']
    assert finding.commands == (f'ceph config rm osd {KV}', f'ceph config rm osd.0 {META}')
    alone = about(having({META: '0.3'}, 0, 'osd.0'))['cache-ratios']
    assert alone.commands == (f'ceph config rm osd.0 {KV}', f'ceph config rm osd.0 {META}')


@given(
    st.dictionaries(
        st.sampled_from(sorted(WATCHED_IF_SET)),
        st.sampled_from(('true', 'false', '0', '1', '10', '99', '100', '0.9', 'nan', 'inf', '')),
    )
)
def test_findings_and_check_object_to_the_same_options(values: dict[str, str]) -> None:
    """One source for both."""
    objected = {
        (problem.rule, problem.option)
        for problem in related_options_advice(values)
        if problem.rule in ABOUT_SETTINGS
    }
    osd = having(values)
    pointed_out = {
        (finding.finding_id, finding.evidence[0].signal)
        for finding in _all(osd)
        if finding.finding_id in {'short-pg-log', 'cache-autotune-off'}
    }
    assert pointed_out == objected
    ratio_set = any(p.rule == 'cache-ratio-set' for p in related_options_advice(values))
    assert ('cache-ratios' in about(osd)) is ratio_set


def _all(osd: OsdFacts) -> tuple[Finding, ...]:
    return findings(ClusterFacts((osd,), ()))
