"""bertviz's view of a translator: the encoder, the decoder, and the decoder looking at the encoder.

translation_view(french.model, batch, source=["the", "cat", …], target=["le", "chat", …])
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnlab.data.sequences import Batch
from attnlab.inside.bertviz_views import DIGITS, MOST, View, _document
from attnlab.models.transformer import Transformer
from attnlab.record import record

# What bertviz calls it, the modules whose maps it shows, and the sentences on its two sides.
KINDS = {
    "Cross": ("decoder.layers.*.cross_attention", "target", "source"),
    "Encoder": ("encoder.layers.*.self_attention", "source", "source"),
    "Decoder": ("decoder.layers.*.self_attention", "target", "target"),
}


@torch.no_grad()
def translation_view(
    model: Transformer,
    batch: Batch,
    *,
    source: Sequence[str],
    target: Sequence[str],
    layer: int = 0,
    heads: Sequence[int] | None = None,
) -> View:
    """One pair of sentences: a menu chooses between the three attentions of a Transformer.

    `source` and `target` are the words the model reads, marks included: as many as the columns of
    `batch.source` and `batch.target_in`.
    """
    texts = {"source": [str(w) for w in source], "target": [str(w) for w in target]}
    shapes = {"source": batch.source.shape, "target": batch.target_in.shape}
    for name, words in texts.items():
        if tuple(shapes[name]) != (1, len(words)):
            raise ValueError(
                f"the {name} has shape {tuple(shapes[name])} for {len(words)} words: give one "
                "sentence, and a word for each of its columns."
            )
        if not 0 < len(words) <= MOST:
            raise ValueError(f"the {name} has {len(words)} words; a view draws 1 to {MOST}.")
    if not 0 <= layer < model.config.layers:
        raise ValueError(f"layer is {layer}; there are 0 to {model.config.layers - 1}.")
    parts = []
    for name, (which, left, right) in KINDS.items():
        with record(model.eval(), which) as maps:
            model(batch)
        weights = [_rows(m[0]) for m in maps.values() if isinstance(m, Tensor)]
        parts.append(
            {"name": name, "attn": weights, "left_text": texts[left], "right_text": texts[right]}
        )
    params: dict[str, Any] = {
        "attention": parts,
        "default_filter": "0",
        "root_div_id": "bertviz",
        "layer": layer,
        "heads": None if heads is None else list(heads),
        "include_layers": list(range(model.config.layers)),
    }
    options = "".join(f'<option value="{n}">{name}</option>' for n, name in enumerate(KINDS))
    body = (
        '<label>Layer: <select id="layer"></select></label> '
        f'<label>Attention: <select id="filter">{options}</select></label><div id="vis"></div>'
    )
    longest = max(map(len, texts.values()))
    return View(
        _document("head_view", body, params, "translation view"),
        height=round(22.5 * longest) + 90,
        title=f"head view of a translation of {len(source)} words",
    )


def _rows(weights: Tensor) -> list[list[list[float]]]:
    """(H, L, S) as lists with few digits."""
    return [[[round(x, DIGITS) for x in row] for row in head] for head in weights.float().tolist()]
