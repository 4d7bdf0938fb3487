"""The manual's reference of findings is what the module declares."""

from __future__ import annotations

import re

from manual.finding_examples import examples
from manual.findings import reference
from rocksdb_tuner.advise.conditions.declaration import conditions


def test_every_finding_and_health_check_is_listed() -> None:
    page = reference()
    text = ' '.join(page.split())
    for known in conditions().values():
        heading = f'\n{known.condition_id}\n{"-" * len(known.condition_id)}\n'
        assert page.count(heading) == 1
        assert (f'``{known.health_code}``' in text) == (known.health is not None)


def test_remedies_have_no_placeholders() -> None:
    """A name in braces is filled in, or given in angle brackets; option strings may have some."""
    text = re.sub(r'^:Evidence: .*\n(?:   .*\n)*', '', reference(), flags=re.MULTILINE)
    assert ':Remedy: ' in text
    assert not set('{}') & set(text)


def test_each_finding_has_an_example_and_most_have_evidence() -> None:
    page = reference()
    assert set(examples()) == set(conditions())
    assert page.count('\n:Example: ') == len(conditions())
    # A comparison of OSDs has none but the OSDs that it names
    assert page.count('\n:Evidence: ') == sum(bool(e.evidence) for e in examples().values())
    assert page.count('\n:Evidence: ') > 0.9 * len(conditions())


def test_an_example_is_shown_as_the_module_reports_it() -> None:
    text = ' '.join(reference().split('\nspillover\n')[1].split(':Severity:')[0].split())
    assert ':Example: osd.3 keeps RocksDB data on the data device.' in text
    assert ':Evidence: ``slow_used_bytes`` 1 GiB, ``db_used_bytes`` 90 GiB' in text
