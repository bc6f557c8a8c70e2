"""attnlab: the small library behind the course on attention and Transformers.

Read it from the leaves to the root: nothing here needs what comes after it.

    scores  masks  record          score functions, who may see whom, how weights are seen
    shapes  fused                  what is refused and why; the fast kernel
    attention                      the heart: weights(), attention()
    reproducible  fetching  checkpoints  assets  carried  palette  device  data  metrics  decoding
    layers  kernels                built on attention
    models                         built on layers, the published ones too
    pictures  posters  figures     printed figures, and what stands in for a plotly one
    translator  start              models to pass on, `attnlab start`
    training  inside               making models good, looking into them
    widgets  checks  certificate   what a chapter shows and asks
"""

__version__ = "0.1.0"
