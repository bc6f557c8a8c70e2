"""coursekit: the course's own tooling. One chapter source in, every edition out.

Read it in this order: `source` (what a chapter is) → `exercises` (what is refused) →
`editions` (what each reader gets) → `store` (how files are written) → `build`, `book`, `slides`
(the commands).
"""
