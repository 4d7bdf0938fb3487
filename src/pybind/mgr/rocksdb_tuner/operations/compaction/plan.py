"""What a campaign compacts. Pure."""

from __future__ import annotations

from ...advise.proposal import predicted_effect, prediction_text
from ...advise.records import Recommendation
from .records import CampaignRequest


def recommended(recommendation: Recommendation, actor: str, parallel: int) -> CampaignRequest:
    """The campaign of ``recommendation``, exactly as displayed."""
    where = dict(recommendation.places)
    return CampaignRequest(
        recommendation_id=recommendation.recommendation_id,
        who=recommendation.who,
        options=recommendation.options_to,
        osds=tuple((osd_id, where[osd_id]) for osd_id in recommendation.osds),
        actor=actor,
        parallel=parallel,
        prediction=prediction_text(recommendation.prediction),
        predicted=predicted_effect(recommendation.prediction),
    )
