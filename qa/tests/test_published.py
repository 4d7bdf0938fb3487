"""Published results beside ours: each figure has a source, and is declared once."""

from __future__ import annotations

import re
from pathlib import Path

import published
import pytest
import readme_results
from published import BENCH, OURS, headlines, ours, section, sources

from rocksdb_tuner.advise.profiles import profiles

TEXT = (BENCH / 'published.json').read_text(encoding='utf-8')


def test_each_figure_has_its_source() -> None:
    for headline in headlines():
        source = headline.source
        assert source.title
        assert source.author
        assert 2016 <= source.year <= 2026
        assert source.hardware
        described = (headline.section, headline.baseline, headline.release, headline.workload)
        assert all(described), headline
        assert headline.published, headline
        assert headline.why, headline


def test_each_of_the_five_publications_is_there() -> None:
    assert sorted({headline.source.year for headline in headlines()}) == [
        *(2018, 2019, 2022, 2023, 2025),
    ]
    assert {headline.source for headline in headlines()} == set(sources().values())


def test_no_figure_of_the_module_is_repeated() -> None:
    """The module quotes it with a source of its own; a second copy would go stale."""
    numbers = set(re.findall(r'\d[\d.]*\d', TEXT.replace(',', '')))
    quoted = [evidence for profile in profiles() for evidence in profile.evidence]
    assert quoted
    for evidence in quoted:
        for value in (evidence.value, evidence.baseline_value):
            if value is not None and value >= 1000:
                assert f'{value:.0f}' not in numbers
    assert '2.68' not in numbers


def test_a_figure_of_the_module_is_shown_as_the_module_has_it() -> None:
    (quincy,) = [h for h in headlines() if h.evidence and h.evidence.releases == ('quincy',)]
    assert quincy.published == '4 KiB random write IOPS: 741,228 instead of 648,620 (+14.3%)'


def test_evidence_that_no_profile_has_is_an_error() -> None:
    with pytest.raises(LookupError, match='no evidence of IOPS against nothing'):
        published._evidence('lz4-2025', 'IOPS', 'nothing')


def test_every_figure_of_ours_is_shown_and_no_other() -> None:
    named = {name for headline in headlines() for name in headline.ours}
    assert set(OURS) == {name for name in named if not name.startswith('regret:')}
    with pytest.raises(KeyError):
        ours('nonsense')
    with pytest.raises(KeyError):
        ours('regret:nonsense')


def test_without_a_result_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(published, 'RESULTS', tmp_path)
    monkeypatch.setattr(published, 'REGRET', tmp_path / 'regret.json')
    assert [name for h in headlines() for name in h.ours if ours(name) is not None] == []
    assert {headline.measured for headline in headlines()} == {'not measured'}


def test_the_table_has_a_row_for_each_headline() -> None:
    text = section()
    # And a row of headings for each source
    assert text.count('   * - ') == len(headlines()) + len(sources())
    assert text.count('     - not measured\n') == sum(
        headline.measured == 'not measured' for headline in headlines()
    )


def test_readme_quotes_results_with_commands_that_are_there() -> None:
    """That their figures are current, `test_bench_regret.py` asserts of all files of the page."""
    lines = '\n'.join(readme_results.lines())
    assert len(re.findall(r'^\* \*\*', lines, re.MULTILINE)) == 5
    commands = re.findall(r'^  Repeat: `(.+)`$', lines, re.MULTILINE)
    assert len(commands) == 5
    checkout = BENCH.parents[1]
    makefile = (checkout / 'Makefile').read_text(encoding='utf-8')
    for command in commands:
        for part in command.split(' && '):
            program, argument = part.split()[:2] if ' ' in part else (part, '')
            if program == 'make':
                assert f'\n{argument}:' in makefile
            else:
                assert (checkout / program).is_file()


def test_a_readme_without_a_place_for_them_is_an_error() -> None:
    with pytest.raises(readme_results.MarkError, match='begin'):
        readme_results.replaced('# rocksdb_tuner\n')
