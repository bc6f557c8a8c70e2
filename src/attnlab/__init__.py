"""attnlab: the small library behind the course on attention and Transformers.

Read it leaf to root. The core: `scores` → `masks` → `shapes` → `fused` and `record` → `attention`.
`layers` are built on it, `models` on those; `training` makes models good, `inside` looks into them;
`widgets` and `checks` are what a chapter shows and asks. Beside them: `data`, and what several
models need (`decoding`, `metrics`, `checkpoints`, `translator` …). Imports point that way only.
"""

__version__ = "0.1.0"
