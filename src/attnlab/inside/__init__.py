"""Looking into trained models: what heads do, which ones matter, how features share room.

    head_roles  knockout                  the job of each head; what a model loses without it
    rollout  outlines                     maps through all layers; objects in maps of pictures
    online                                the maps of GPT-2, fetched
    rewired                               a Transformer wired differently
    superposition                         more features than numbers
    bertviz_views  bertviz_translation    bertviz, without a network

Whatever reads attention weights takes what `attnlab.record.record` gives.
"""

from attnlab.inside.bertviz_views import head_view, model_view
from attnlab.inside.head_roles import rank, roles
from attnlab.inside.knockout import knock_out, margins
from attnlab.inside.rollout import rollout

__all__ = ["head_view", "knock_out", "margins", "model_view", "rank", "roles", "rollout"]
