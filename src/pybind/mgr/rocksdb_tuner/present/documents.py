"""Records as JSON documents, in the names that `schemas/` publishes.

Outside tests and tools read these names: add to them, never rename one. Keys end in their unit.
What is not known is null. Points in time are ISO 8601 in UTC.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..advise.profiles import Profile, PublishedEvidence
from ..units import rounded
from .json_types import JsonObject
from .summaries import suited_workloads


def profile_list(profiles: Sequence[Profile]) -> list[JsonObject]:
    """The known option sets, the best-tested first."""
    return [_profile_summary(profile) for profile in profiles]


def profile(shown: Profile) -> JsonObject:
    """One option set with whom it suits and what was published of it."""
    return {
        **_profile_summary(shown),
        'suitability': [
            {
                'workload': rule.workload.value,
                'rocksdb_min': rule.rocksdb_min,
                'rocksdb_max': rule.rocksdb_max,
                'only_as_release_default': rule.only_as_release_default,
                'score': rounded(rule.score),
                'reasons': list(rule.reasons),
            }
            for rule in shown.suitability
        ],
        'hardware': {
            'loses_at_cores_per_osd': shown.hardware.loses_at_cores_per_osd,
            'notes': list(shown.hardware.notes),
        },
        'evidence': [_published(figure) for figure in shown.evidence],
        'cautions': list(shown.cautions),
        'superseded_from_rocksdb': shown.superseded_from_rocksdb,
    }


def _profile_summary(shown: Profile) -> JsonObject:
    return {
        'name': shown.name,
        'title': shown.title,
        'options': shown.options,
        'release_defaults': list(shown.release_defaults),
        'workloads': [workload.value for workload in suited_workloads(shown)],
        'superseded': shown.superseded,
        'source': shown.source,
        'own': shown.own,
        'own_releases': list(shown.own_releases),
    }


def _published(figure: PublishedEvidence) -> JsonObject:
    return {
        'workload': figure.workload.value,
        'metric': figure.metric,
        'unit': figure.unit,
        'baseline': figure.baseline,
        'baseline_value': rounded(figure.baseline_value),
        'baseline_options': [
            {'option': name, 'value': value} for name, value in figure.baseline_options.items()
        ],
        'value': rounded(figure.value),
        'change_percent': rounded(figure.change_percent),
        'setup': figure.setup,
        'releases': list(figure.releases),
        'hardware': [storage.value for storage in figure.hardware],
        'headline': figure.headline,
        'source': {
            'title': figure.source.title,
            'author': figure.source.author,
            'year': figure.source.year,
            'section': figure.source.section,
            'url': figure.source.url,
        },
    }
