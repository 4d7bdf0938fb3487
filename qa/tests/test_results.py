"""What README and the manual claim is what lies in qa/bench/results."""

from __future__ import annotations

import re

import readme_results

from manual.pages import CHECKOUT, DOC

CLAIMS = DOC / 'dev/rocksdb_tuner/claims.rst'
RESULTS = CHECKOUT / 'qa/bench/results'
ROW = re.compile(r'^\* (\S+): "(.+)": (.+)$')


def claims() -> list[tuple[str, str, list[str]]]:
    """Page, words of it, and files that bear them."""
    text = re.sub(r'\n  +', ' ', CLAIMS.read_text(encoding='utf-8'))
    rows = [ROW.match(line) for line in text.splitlines() if line.startswith('* ')]
    return [(row[1], row[2], row[3].split(', ')) for row in rows if row]


def flat(text: str) -> str:
    return ' '.join(re.sub(r'[*`]', '', text).split())


def page(name: str) -> str:
    path = CHECKOUT / name if name == 'README.md' else DOC / 'mgr/rocksdb_tuner' / name
    return path.read_text(encoding='utf-8')


def test_readme_quotes_the_stored_results() -> None:
    """`make results` writes them."""
    text = readme_results.README.read_text(encoding='utf-8')
    assert readme_results.replaced(text) == text


def test_each_claim_is_said_and_borne_by_results() -> None:
    assert claims()
    for name, words, files in claims():
        assert flat(words) in flat(page(name)), (name, words)
        for file in files:
            assert list(RESULTS.glob(file.strip('`.'))), (words, file)


def test_no_result_of_readme_or_the_page_is_without_a_claim() -> None:
    said = {(name, flat(words)) for name, words, _ in claims()}
    for title in re.findall(r'^\* \*\*(.+?)\*\*', page('README.md'), re.MULTILINE):
        assert ('README.md', flat(title)) in said, title
    for title in re.findall(r'^\* \*(.+?)\*:', page('results.rst'), re.MULTILINE):
        assert ('results.rst', flat(title)) in said, title
