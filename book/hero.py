# The live figure of the first page. coursekit runs this when the website is built, so that what a
# visitor sees is what the library computes: a real encoder, three of its heads.
from attnlab.pretrained import encode
from attnlab.widgets import AttentionHeatmap

look = encode("The animal did not cross the street because it was too tired.")
heads = {  # layer and head, from 0
    "“it” and its noun": (3, 1),
    "the word before": (0, 2),
    "mostly [CLS]": (4, 5),
}
layers, indices = zip(*heads.values(), strict=True)
AttentionHeatmap(
    q=look.q[list(layers), list(indices)],
    k=look.k[list(layers), list(indices)],
    tokens=look.tokens,
    head_names=list(heads),
    title="Who is “it”?",
    caption="Each row shows where one word looks. Find the row of “it”: this head of a small "
    "trained encoder looks at the animal. Does it understand why? Chapter 3 puts it to the test.",
    alt="A heatmap of attention weights of a trained encoder. The row of the word “it” is "
    "brightest in the column of the word “animal”.",
)
