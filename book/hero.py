# The live figure of the first page. coursekit runs this when the website is built, so that what a
# visitor sees is what the library computes: a real encoder, three of its heads.
from attnlab.models.published import minilm, read
from attnlab.record import record, stack
from attnlab.widgets import AttentionHeatmap

_, encoder = minilm()
tokens, numbers = read("The animal did not cross the street because it was too tired.")
with record(encoder) as maps:
    encoder(numbers)
heads = {  # layer and head, from 0
    "“it” and its noun": (3, 1),
    "the word before": (0, 2),
    "mostly [CLS]": (4, 5),
}
layers, indices = zip(*heads.values(), strict=True)
AttentionHeatmap(
    maps=stack(maps)[0][list(layers), list(indices)],
    tokens=tokens,
    head_names=list(heads),
    title="Who is “it”?",
    caption="Each row shows where one word looks. Find the row of “it”: this head of a small "
    "trained encoder looks at the animal. Does it understand why? Chapter 3 puts it to the test.",
    alt="A heatmap of attention weights of a trained encoder. The row of the word “it” is "
    "brightest in the column of the word “animal”.",
)
