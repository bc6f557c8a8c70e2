"""Published weights under our names: a list of rules, each "what they call it, what it is here".

    translated(published, RULES, kind="ViT", skip=re.compile("mask_token$"))

A rule's first part is a regular expression for the beginning of a key. The first that fits is
taken, so that one list can serve several publishers who name the same tensor differently.
"""

import re
from collections.abc import Mapping, Sequence

from torch import Tensor

Rules = Sequence[tuple[str, str]]


def translated(
    published: Mapping[str, Tensor], rules: Rules, *, kind: str, skip: re.Pattern[str]
) -> dict[str, Tensor]:
    """The same tensors under our names. A matrix called `qkv` becomes query, key and value.

    Keys in which `skip` is found are left out; one that no rule knows is refused by name.
    """
    ours: dict[str, Tensor] = {}
    for key, value in published.items():
        if skip.search(key):
            continue
        name = by_first_rule(key, rules, kind)
        if ".qkv." in name:
            for part, rows in zip(("query", "key", "value"), value.chunk(3), strict=True):
                ours[name.replace("qkv", part)] = rows
        else:
            ours[name] = value
    return ours


def by_first_rule(key: str, rules: Rules, kind: str) -> str:
    """Our name for a published key."""
    for theirs, here in rules:
        name, found = re.subn(f"^{theirs}", here, key)
        if found:
            return name
    raise KeyError(f"{key} is no weight of a {kind}: this state dict is of another model.")


def renamed(name: str, names: Mapping[str, str]) -> str:
    """Each pattern that occurs anywhere in `name` is replaced, once, in the order given."""
    for pattern, ours in names.items():
        name = re.sub(pattern, ours, name, count=1)
    return name
