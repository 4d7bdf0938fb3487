"""The knowledge files fit their schemas, and each other."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.options.advice import RELATED_OPTIONS
from rocksdb_tuner.options.catalogue import catalogue, related_options
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.effective import read_option
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import parse
from rocksdb_tuner.options.values import ValueType, read_value

FOLDER = Path(loader.__file__).parent
FILES = [
    'options',
    'releases',
    'profiles',
    'check_rules',
    'related_options',
    'judged_signals',
    'experiments',
    'conditions',
    'reasons',
]


def schema(name: str) -> Any:
    return json.loads((FOLDER / 'schemas' / f'{name}.schema.json').read_text(encoding='utf-8'))


@pytest.mark.parametrize('name', [*FILES, 'choice', 'derivation', 'limits', 'model', 'workload'])
def test_each_file_matches_its_schema(name: str) -> None:
    validator = jsonschema.Draft202012Validator(schema(name))
    validator.check_schema(schema(name))
    assert not list(validator.iter_errors(loader.load(name)))


@pytest.mark.parametrize('name', FILES)
def test_each_schema_refuses_an_unknown_field(name: str) -> None:
    content = copy.deepcopy(loader.load(name))
    content[name][0]['typo'] = 1
    assert not jsonschema.Draft202012Validator(schema(name)).is_valid(content)


@pytest.mark.parametrize('name', FILES)
def test_names_are_unique(name: str) -> None:
    names = [entry['name'] for entry in loader.load(name)[name]]
    assert len(names) == len(set(names))


def test_every_option_of_profiles_and_defaults_is_cataloged_and_assessed() -> None:
    strings = [p['options'] for p in loader.load('profiles')['profiles']]
    strings += [release.default_options for release in known_releases()]
    for text in strings:
        for name, _ in parse(text):
            assert catalogue().options[name].assessed, name


def test_every_default_is_a_valid_value_of_its_option() -> None:
    for info in catalogue().options.values():
        for version, facts in info.versions.items():
            assert version in catalogue().measured_versions
            if facts.default is not None and info.value_type is not ValueType.OBJECT:
                assert read_option(info, facts.default, version).text == facts.default, info.name
        for member in info.members:
            for default in member.defaults.values():
                if member.value_type not in (None, ValueType.OBJECT):
                    names = tuple(choice.name for choice in member.choices)
                    assert read_value(default, member.value_type, names).text == default


def test_defaults_agree_between_releases_and_related_options() -> None:
    newest = {release.name: release for release in known_releases()}
    for name, release in newest.items():
        for option, text in (
            ('bluestore_rocksdb_options', release.default_options),
            ('bluestore_rocksdb_options_annex', release.default_annex),
            ('bluestore_rocksdb_cfs', release.default_cfs),
        ):
            assert related_options()[option].defaults.get(name, text) == text


def test_every_checked_related_option_is_explained() -> None:
    assert set(RELATED_OPTIONS) < set(related_options())


def test_no_related_option_is_an_option_of_the_string() -> None:
    assert not set(related_options()) & set(catalogue().options)


def test_four_keys_of_ceph_are_listed() -> None:
    own = {info.name for info in catalogue().options.values() if info.scope == 'ceph'}
    assert own == {'compaction_threads', 'flusher_threads', 'compact_on_mount', 'disableWAL'}


def test_every_default_is_within_its_sane_range() -> None:
    for version in catalogue().measured_versions:
        for name, text in check('', version).effective.items():
            info = catalogue().options.get(name)
            if info and info.sane and info.name != 'max_total_wal_size':
                assert info.sane.minimum <= int(float(text)) <= info.sane.maximum, name


def test_loaded_knowledge_is_kept_when_files_are_replaced_under_a_running_manager(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loader.load_all()
    before = {path.stem: loader.load(path.stem) for path in FOLDER.glob('*.json')}
    assert set(FILES) < set(before)
    monkeypatch.setattr(loader, '_FOLDER', tmp_path / 'gone')
    assert {name: loader.load(name) for name in before} == before


#: The headings of the published texts that are cited by them; of 2016 and 2018 there are none.
SECTIONS = {
    'Ceph RocksDB Tuning Deep-Dive, 2022': (
        *('A Brief History', 'Modern Ceph', 'Alternate Tuning', 'Pacific Testing (RBD)'),
        *('Profiling an OSD', 'New Tuning Candidate', 'Performance Comparison'),
        *('Pacific Testing (RGW)', 'The effects of Compression', 'The Effects of Limiting CPU'),
        *('Quincy Testing', 'Conclusion', 'Afterword'),
    ),
}


def test_every_cited_section_exists() -> None:
    cited = 0
    contents = {path.stem: loader.load(path.stem) for path in FOLDER.glob('*.json')}
    for name, content in contents.items():
        for text in texts_of(content):
            for title, sections in SECTIONS.items():
                for rest in text.split(f'{title}, ')[1:]:
                    cited += 1
                    assert rest.startswith(sections), (name, text)
    assert cited > 30


def texts_of(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, (list, dict)):
        for part in content.values() if isinstance(content, dict) else content:
            yield from texts_of(part)


@pytest.mark.parametrize(
    ('file', 'name', 'section'),
    [
        ('check_rules', 'short-pg-log', 'Afterword'),
        ('related_options', 'osd_min_pg_log_entries', 'Afterword'),
        ('related_options', 'osd_max_pg_log_entries', 'Afterword'),
        ('conditions', 'kv-sync-bound', 'Profiling an OSD'),
    ],
)
def test_cited_section_supports_the_claim(file: str, name: str, section: str) -> None:
    (source,) = [e['source'] for e in loader.load(file)[file] if e['name'] == name]
    assert f'Deep-Dive, 2022, {section}' in source
