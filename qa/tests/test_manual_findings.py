"""The manual's reference of findings is what the module declares."""

from __future__ import annotations

from manual.findings import reference
from rocksdb_tuner.advise.conditions.registry import conditions


def test_every_finding_health_check_and_option_is_listed() -> None:
    page = reference()
    text = ' '.join(page.split())
    for known in conditions().values():
        heading = f'\n{known.condition_id}\n{"-" * len(known.condition_id)}\n'
        assert page.count(heading) == 1
        assert (f'``{known.health_code}``' in text) == (known.health is not None)
        for option in known.limit_options:
            assert f':confval:`{option.name} <mgr/rocksdb_tuner/{option.name}>`' in text


def test_remedies_have_no_placeholders() -> None:
    """A name in braces is filled in, or given in angle brackets."""
    assert not set('{}') & set(reference())
