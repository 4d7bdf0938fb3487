"""Would it start, what is in effect, what is unwise: judged as real OSDs behaved."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocksdb_tuner.options.catalogue import catalogue
from rocksdb_tuner.options.checks import TEXT_MAX_BYTES, check, safe_to_apply
from rocksdb_tuner.options.problems import Hardware
from rocksdb_tuner.options.problems import rules as rules_of_check
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import parse

from .oracle import differences, recorded

STARTS = recorded('osd_starts')['cases']
VERSIONS = {'pacific': '6.8', 'reef': '7.9', 'tentacle': '7.9'}


@pytest.mark.parametrize('case', STARTS, ids=lambda case: case['name'])
@pytest.mark.parametrize('release', VERSIONS)
def test_predictions_match_real_osds(case: dict[str, Any], release: str) -> None:
    """25 strings on OSDs of three releases: whether each started, and what was in effect."""
    result = check(case['string'], VERSIONS[release])
    real = case['releases'][release]
    assert result.accepted is real['starts']
    assert not differences(result.effective, real['effective'])
    if not real['starts']:
        assert any(problem.severity == 'error' for problem in result.problems)
        assert safe_to_apply(case['string'], VERSIONS[release])


def test_every_release_default_is_accepted_and_safe_on_its_release() -> None:
    """Pacific's own recycle_log_file_num=4 has no effect, which is harmless."""
    for release in known_releases():
        result = check(release.default_options, release.rocksdb_version)
        assert result.accepted
        assert not [p for p in result.problems if p.severity == 'error']
        assert safe_to_apply(release.default_options, release.rocksdb_version) == ()


@pytest.mark.parametrize(
    'text',
    [
        'a=1,,',
        'foo=1',
        'write_buffer_size=4.5G',
        'write_buffer_size=1TB',
        'max_write_buffer_number=1',
        'max_write_buffer_number=4,min_write_buffer_number_to_merge=4',
        'level0_stop_writes_trigger=10',
        'disableWAL=1',
        'compression=kZSTD',
        'bottommost_compression=kZSTD',
        'soft_rate_limit=1',
        'use_adaptive_mutex=true',
        'max_open_files=1000',
        '',
    ],
)
def test_unknown_clamped_or_dangerous_options_are_not_safe(text: str) -> None:
    assert safe_to_apply(text, '6.8')
    assert safe_to_apply(text, '7.9')


def test_unknown_version_is_never_safe() -> None:
    assert [p.rule for p in safe_to_apply('ttl=7', '12.0')] == ['unknown-version']


def test_problems_are_ordered_worst_first_with_a_source() -> None:
    problems = check('ttl=1,ttl=2,disableWAL=1,max_bytes_for_level_base=4GB', '6.8').problems
    ranks = [{'error': 0, 'warning': 1, 'info': 2}[p.severity] for p in problems]
    assert ranks == sorted(ranks)
    assert all(p.source and p.message for p in problems)


@example('{write_buffer_size=1M},write_buffer_size=2M')
@example('{max_total_wal_size=1M},max_total_wal_size=2M,compression_opts.level=1,compression_opts=')
@given(st.text(alphabet='ab=,;{} \n0123456789MGtruewifs_zckLZ4Cmponi', max_size=60))
def test_any_text_is_judged_without_an_exception(text: str) -> None:
    for version in ('6.8', '7.9', '6.15', '12.0', ''):
        result = check(text, version, Hardware(2, 1, 1, 1, (parse('ttl=x,num_levels=2'),), ()))
        if not result.accepted:
            assert result.effective == {}
            assert safe_to_apply(text, version)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    'write_buffer_size',
                    'max_write_buffer_number',
                    'ttl',
                    'compression',
                    'num_levels',
                    'max_bytes_for_level_multiplier',
                    'compaction_threads',
                    'max_open_files',
                ]
            ),
            st.one_of(st.integers(-(2**65), 2**65).map(str), st.floats().map(str)),
        ),
        max_size=5,
    )
)
def test_what_is_safe_takes_effect_as_written(pairs: list[tuple[str, str]]) -> None:
    """Rule 1 of the product: what may be applied is what will run."""
    text = ','.join(f'{name}={value}' for name, value in pairs)
    if safe_to_apply(text, '7.9'):
        return
    values = check(text, '7.9').effective
    for name, value in dict(pairs).items():
        assert float(values[name]) == float(value)


def test_text_as_long_as_all_options_is_still_read() -> None:
    longest = 'x' * TEXT_MAX_BYTES
    assert [p.rule for p in check(longest, '7.9').problems] == ['syntax']
    assert [p.rule for p in check(longest + 'x', '7.9').problems] == ['not-judged']
    # Bytes, not characters.
    assert [p.rule for p in check('\u00e9' * (TEXT_MAX_BYTES // 2 + 1), '7.9').problems] == [
        'not-judged'
    ]


@pytest.mark.parametrize(
    ('text', 'accepted'),
    [
        ('ttl=1', True),
        ('error_if_exists=1', False),
        ('max_background_flushes=8193', False),
        ('ttl=x', False),
        ('memtable_factory={id=x;a=b}', None),
        ('{ttl=1},ttl=2', None),
        ('{ttl=1},ttl=2,memtable_factory={id=x;a=b}', None),
        ('{ttl=1},ttl=2,foo=1', False),
    ],
)
def test_nothing_is_in_effect_unless_known_to_be_accepted(
    text: str, accepted: Optional[bool]
) -> None:
    result = check(text, '7.9')
    assert result.accepted is accepted
    assert bool(result.effective) is (accepted is True)


def test_unwise_nested_option_has_a_source() -> None:
    output = {p.rule: p.source for p in check('num_levels=0,soft_rate_limit=1', '7.9').problems}
    known = catalogue().options
    assert output['forbidden'] == known['num_levels'].source
    assert output['removed-option'] == known['soft_rate_limit'].source
    assert output['clamped'] == rules_of_check()['clamped'].source
