"""attnlab: the small library behind the course on attention and Transformers.

Read it leaf to root: `scores` → `masks` → `attention` → `record` are the core; `layers` are built
on it, `models` on those; `training` makes models good, `inside` looks into them; `widgets` and
`checks` are what a chapter shows and asks. Imports point that way only.
"""

__version__ = "0.1.0"
