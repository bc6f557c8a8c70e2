"""The capstone's exercises: seven parts, the block they make, and the model that tells a story."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from attnlab.checks.answer import OVERFLOWS, Answer
from attnlab.checks.capstone_suspects import (
    ATTENTION,
    BLOCK,
    CACHE,
    MASK,
    MODEL,
    RMS,
    ROPE,
    SHARES,
    SWIGLU,
    Notes,
    Pairs,
    attend,
    block,
    extend,
    mask,
    model,
    rms_norm,
    rope,
    shares,
    swiglu,
)
from attnlab.checks.cause import MORE
from attnlab.checks.compare import a_kind_of, close, difference, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake, raised
from attnlab.checks.verdict import Verdict
from attnlab.models.stories import Layer, Weights, open_weights, stories15m

# C.1 ─────────────────────────────────────────────────────────────────────────────────────────────

norm_exercise = Exercise(
    "C.1",
    title="RMSNorm",
    call="my_rms_norm(x, weight)",
    returns="every token normalised, in the shape of x",
    reference=rms_norm,
    suspects=RMS,
    lesson="One division and one product per number: the size is set, the direction stays.",
)


@norm_exercise.property
def the_shape_stays(answer: Answer) -> None:
    answer(numbers(3, 4), numbers(4, seed=1))


@norm_exercise.property
def the_numbers_are_those_of_the_formula(answer: Answer) -> None:
    answer.must_match(numbers(3, 4) * 2 + 1, numbers(4, seed=1))
    answer.must_match(numbers(2, 3, 6, seed=2), numbers(6, seed=3))


@norm_exercise.property
def tiny_tokens_meet_eps(answer: Answer) -> None:
    answer.must_survive(
        numbers(3, 4) * 1e-3, numbers(4, seed=1), likely="eps = 1e-5 is added inside the root."
    )
    answer.must_survive(torch.zeros(2, 4), numbers(4, seed=1), likely="eps saves a token of zeros.")


@norm_exercise.draws
def tokens_and_a_weight(draw: Draw) -> tuple[Tensor, Tensor]:
    front, width = draw.front() if draw.chance(0.4) else [], draw.size(1, 9)
    x = draw.numbers(*front, draw.size(), width, spread=draw.choice([1.0, 0.01, 100.0]))
    return x + draw.choice([0.0, 2.0]), draw.numbers(width)


# C.2 ─────────────────────────────────────────────────────────────────────────────────────────────

rope_exercise = Exercise(
    "C.2",
    title="RoPE with an offset",
    call="my_rope(x, offset)",
    returns="x with each pair turned, in the shape of x",
    reference=rope,
    suspects=ROPE,
    lesson="Pairs of neighbours, turned by position · 10000^(−2i/D): lengths stay, and distances "
    "count.",
)


@rope_exercise.property
def position_0_is_not_turned(answer: Answer) -> None:
    x = numbers(2, 1, 6)
    if not close(answer(x, 0), x):
        answer.must_match(x, 0, likely="At position 0 every angle is 0.")


@rope_exercise.property
def pairs_turn_by_their_position(answer: Answer) -> None:
    answer.must_match(numbers(3, 5, 8), 0)


@rope_exercise.property
def positions_go_on_after_the_past(answer: Answer) -> None:
    answer.must_match(numbers(3, 4, 8), 7)
    answer.must_match(numbers(2, 1, 6, seed=1), 100)


@rope_exercise.draws
def heads_and_an_offset(draw: Draw) -> tuple[Tensor, int]:
    """Up to position 50: further out, an angle in float32 depends on how it was computed."""
    heads, tokens, pairs = draw.size(), draw.choice([draw.size(1, 7), 25]), draw.size(1, 5)
    return draw.numbers(heads, tokens, 2 * pairs), draw.choice([0, draw.size(0, 20)])


# C.3 ─────────────────────────────────────────────────────────────────────────────────────────────

mask_exercise = Exercise(
    "C.3",
    title="Who may look where",
    call="my_mask(L, S)",
    returns="a bool tensor of shape (L, S), True = may attend",
    reference=mask,
    suspects=MASK,
    lesson="Aligned at the lower right: right for a whole prompt, and for one token after it.",
)


@mask_exercise.property
def it_is_a_bool_mask(answer: Answer) -> None:
    answer(4, 4)


@mask_exercise.property
def no_token_sees_the_future(answer: Answer) -> None:
    answer.must_match(4, 4)


@mask_exercise.property
def with_a_cache_the_last_query_sees_all(answer: Answer) -> None:
    answer.must_match(2, 5)
    answer.must_match(1, 6)


@mask_exercise.draws
def two_lengths(draw: Draw) -> tuple[int, int]:
    keys = draw.size(1, 9)
    return draw.size(1, keys), keys


# C.4 ─────────────────────────────────────────────────────────────────────────────────────────────

attention_exercise = Exercise(
    "C.4",
    title="Attention with shared heads",
    call="my_attention(q, k, v, mask)",
    returns="one output for each query, shape (H, L, D)",
    reference=attend,
    suspects=ATTENTION,
    lesson="H heads of queries, G of keys and values: the cache is H/G times smaller.",
)


def heads_case(
    queries: int = 4, keys: int = 6, heads: int = 4, groups: int = 2
) -> tuple[Tensor, ...]:
    return (
        numbers(heads, queries, 8),
        numbers(groups, keys, 8, seed=1),
        numbers(groups, keys, 8, seed=2),
        mask(queries, keys),
    )


@attention_exercise.property
def every_query_gets_an_output(answer: Answer) -> None:
    answer(*heads_case(groups=4))


@attention_exercise.property
def the_formula_holds_for_every_head(answer: Answer) -> None:
    answer.must_match(*heads_case(groups=4))


@attention_exercise.property
def neighbouring_heads_share_keys_and_values(answer: Answer) -> None:
    answer.must_match(*heads_case(queries=3, keys=5))
    answer.must_match(*heads_case(queries=1, keys=7, heads=6))


@attention_exercise.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    q, k, v, allowed = heads_case()
    answer.must_survive(1000 * q, k, v, allowed, likely=OVERFLOWS)


@attention_exercise.draws
def heads_in_groups(draw: Draw) -> tuple[Tensor, ...]:
    """Every query may see something: the text does not say what becomes of one that may not."""
    groups, (queries, keys, width) = draw.size(1, 3), draw.sizes(3)
    q = draw.numbers(groups * draw.size(1, 4), queries, width)
    k, v = (draw.numbers(groups, keys, width) for _ in range(2))
    allowed = draw.mask(queries, keys)
    allowed[torch.arange(queries), draw.whole(0, keys, queries)] = True
    return q * draw.choice([1.0, 3.0, 40.0]), k, v, allowed


# C.5 ─────────────────────────────────────────────────────────────────────────────────────────────

swiglu_exercise = Exercise(
    "C.5",
    title="SwiGLU",
    call="my_swiglu(x, gate, wide, narrow)",
    returns="one vector for each token, in the shape of x",
    reference=swiglu,
    suspects=SWIGLU,
    lesson="The gate says how much of the straight projection passes, number by number.",
)


@swiglu_exercise.property
def the_shape_of_x_comes_back(answer: Answer) -> None:
    answer(numbers(3, 4), *(numbers(6, 4, seed=s) for s in (1, 2)), numbers(4, 6, seed=3))


@swiglu_exercise.property
def the_gate_opens_and_closes(answer: Answer) -> None:
    answer.must_match(
        numbers(3, 4), *(numbers(6, 4, seed=s) for s in (1, 2)), numbers(4, 6, seed=3)
    )
    answer.must_match(
        numbers(2, 5, seed=4), *(numbers(7, 5, seed=s) for s in (5, 6)), numbers(5, 7, seed=7)
    )


@swiglu_exercise.draws
def tokens_and_three_matrices(draw: Draw) -> tuple[Tensor, ...]:
    tokens, width, hidden = draw.sizes(3)
    gate, wide = draw.numbers(hidden, width), draw.numbers(hidden, width)
    x = draw.numbers(tokens, width, spread=draw.choice([1.0, 3.0]))
    return x, gate, wide, draw.numbers(width, hidden)


# C.6 ─────────────────────────────────────────────────────────────────────────────────────────────

cache_exercise = Exercise(
    "C.6",
    title="The KV cache grows",
    call="my_cache(past, new)",
    returns="the past and then the new, shape (G, S + L, D)",
    reference=extend,
    suspects=CACHE,
    lesson="A new token computes its own key and value, and finds all others where they were.",
)


@cache_exercise.property
def one_token_is_added(answer: Answer) -> None:
    answer.must_match(numbers(2, 5, 3), numbers(2, 1, 3, seed=1))


@cache_exercise.property
def several_tokens_are_added(answer: Answer) -> None:
    answer.must_match(numbers(3, 4, 2), numbers(3, 6, 2, seed=1))


@cache_exercise.property
def the_past_may_be_empty(answer: Answer) -> None:
    answer.must_match(numbers(2, 0, 3), numbers(2, 4, 3, seed=1))


@cache_exercise.draws
def past_and_new(draw: Draw) -> tuple[Tensor, Tensor]:
    groups, width = draw.size(), draw.size()
    return draw.numbers(groups, draw.size(0, 6), width), draw.numbers(groups, draw.size(), width)


# C.7 ─────────────────────────────────────────────────────────────────────────────────────────────

shares_exercise = Exercise(
    "C.7",
    title="What may be drawn",
    call="my_shares(logits, temperature, top_p)",
    returns="the probability of each token, shape (V,)",
    reference=shares,
    suspects=SHARES,
    lesson="Temperature flattens or sharpens; top-p cuts the long tail of unlikely tokens.",
)


@shares_exercise.property
def they_are_probabilities(answer: Answer) -> None:
    total = float(answer(numbers(6, spread=2), 1.0, 1.0).sum())
    if not close(total, 1.0):
        raise Mistake(
            f"The shares add up to {unlike(total, 1)}, not 1.", likely="A softmax is missing?"
        )


@shares_exercise.property
def temperature_flattens(answer: Answer) -> None:
    answer.must_match(numbers(6, spread=2), 2.0, 1.0)
    answer.must_match(numbers(6, spread=2), 0.5, 1.0)


@shares_exercise.property
def the_likeliest_that_reach_top_p_are_kept(answer: Answer) -> None:
    answer.must_match(numbers(7, spread=2, seed=1), 1.0, 0.8)
    answer.must_match(numbers(9, seed=2), 1.6, 0.6)
    answer.must_match(numbers(9, seed=3, spread=2), 0.7, 0.9)


@shares_exercise.property
def of_equal_tokens_no_more_than_needed(answer: Answer) -> None:
    for tokens, top_p, count in ((4, 0.5, 2), (8, 0.3, 3), (2, 0.1, 1)):
        seen = answer(torch.ones(tokens), 1.0, top_p)
        kept = int((seen > 0).sum())
        if kept != count or not close(seen.sum(), 1.0):
            raise Mistake(
                f"Of {tokens} tokens with {1 / tokens} each, {count} reach top_p = {top_p}, but "
                f"{kept} were kept.",
                likely="Tokens that are equally likely are still counted one by one.",
            )


@shares_exercise.property
def a_low_temperature_does_not_overflow(answer: Answer) -> None:
    answer.must_survive(numbers(6, spread=2), 0.01, 0.9, likely=OVERFLOWS)
    answer.must_survive(numbers(6, spread=2, seed=1) - 20, 0.1, 0.9, likely=OVERFLOWS)


@shares_exercise.draws
def logits_temperature_and_top_p(draw: Draw) -> tuple[Tensor, float, float]:
    logits = draw.numbers(draw.size(1, 9), spread=2)
    return logits, draw.choice([0.5, 1.0, 1.7]), draw.choice([0.3, 0.55, 0.8, 0.9, 1.0, 1e-6])


# C.8 ─────────────────────────────────────────────────────────────────────────────────────────────

# What each intermediate value needs, for an answer that no suspect explains.
WHERE = {
    "normed": "A block begins with `my_rms_norm(x, layer.norm)`.",
    "queries": "The projection is `h @ layer.query.T`, cut into heads: (H, L, D).",
    "keys": "The projection is `h @ layer.key.T`, cut into heads of D numbers: (G, L, D).",
    "values": "The projection is `h @ layer.value.T`, cut into heads of D numbers: (G, L, D).",
    "queries turned": "`my_rope` takes the number of tokens in the past as its offset.",
    "keys turned": "`my_rope` takes the number of tokens in the past as its offset.",
    "all keys": "`my_cache(past_k, k)`, with the keys as they are after RoPE.",
    "all values": "`my_cache(past_v, v)`; values are never turned.",
    "looked up": "`my_attention` with all keys, all values, and the mask for L queries, S keys.",
    "after attention": "Put the heads side by side, multiply by `layer.out.T`, add x.",
    "normed again": "The second norm reads x *after* attention, with `layer.norm_2`.",
    "network": "`my_swiglu(h, layer.gate, layer.wide, layer.narrow)`, on the normed h.",
    "the result": "The last line adds the network to the x from before its norm.",
    "embedded": "A token's vector is a row of `weights.words`.",
    "logits": "The table of words is used again: `x @ weights.words.T`.",
}


def silent_block(
    x: Tensor, layer: Layer, heads: int, past_k: Tensor, past_v: Tensor, note: Notes
) -> tuple[Tensor, Tensor, Tensor]:
    return block(x, layer, heads, past_k, past_v, Notes())


block_exercise = Exercise(
    "C.8",
    title="One block",
    call="my_block(x, layer, heads, past_k, past_v, note)",
    returns="x (L, E), and all keys and values, (G, S, D) each",
    reference=silent_block,
    suspects=BLOCK,
    lesson="Look back, think, and remember: the whole architecture, in a dozen lines.",
)


def some_layer(width: int, heads: int, groups: int, hidden: int, seed: int = 0) -> Layer:
    side = groups * width // heads
    sizes = {
        "norm": (width,), "query": (width, width), "key": (side, width), "value": (side, width),
        "out": (width, width), "norm_2": (width,), "gate": (hidden, width),
        "wide": (hidden, width), "narrow": (width, hidden),
    }  # fmt: skip
    return Layer(**{
        name: numbers(*size, seed=100 * seed + n, spread=0.6) + (len(size) == 1)
        for n, (name, size) in enumerate(sizes.items())
    })  # fmt: skip


def block_case(tokens: int, past: int) -> tuple[Any, ...]:
    width, heads, groups, hidden = 16, 4, 2, 10
    each = width // heads
    return (
        numbers(tokens, width, seed=50),
        some_layer(width, heads, groups, hidden),
        heads,
        numbers(groups, past, each, seed=51),
        numbers(groups, past, each, seed=52),
    )


def parted(seen: Notes, ours: Notes, whole: str) -> None:
    """Name the first value on the way at which the learner's model and ours are different."""
    agree: list[str] = []
    for name, value in ours.kept.items():
        if name not in seen.kept or close(seen.kept[name], value):
            agree += [name] * (name in seen.kept)
            continue
        found = seen.kept[name]
        same = isinstance(found, Tensor) and found.shape == value.shape
        what = difference(found, value) if same else f"there is {a_kind_of(found)}"
        wanted = "" if same else f", expected one of shape {tuple(value.shape)}"
        before = f"Until then all agrees ({', '.join(agree)}). " if agree else ""
        raise Mistake(
            f"{before}The first place where {whole} and ours part is “{name}”: {what}{wanted}.",
            likely=WHERE.get(name, "Each layer has its own weights and its own cache."),
        )


def apart(mine: Any, wanted: Any) -> str:
    """Where they differ: in a cache, in which layer, and in its keys or its values."""
    if isinstance(mine, Tensor) and mine.shape == getattr(wanted, "shape", None):
        return difference(mine, wanted)
    if isinstance(mine, tuple | list) and isinstance(wanted, tuple):
        if len(mine) != len(wanted):
            return f"it holds {len(mine)} layers, expected {len(wanted)}"
        for n, (pair, ours) in enumerate(zip(mine, wanted, strict=True), start=1):
            pair = pair if isinstance(pair, tuple | list) else (pair,)
            for what, one, other in zip(("keys", "values"), pair, ours, strict=False):
                if not close(one, other):
                    return f"in layer {n} the {what} are others: {apart(one, other)}"
    return f"there is {a_kind_of(mine)}"


def must_follow(answer: Answer, case: tuple[Any, ...]) -> None:
    """Every value on the way, then what is returned."""
    seen, ours = Notes(), Notes()
    small = answer.name == "my_block"
    whole: Any = block if small else model
    expected = whole(*case, ours)
    result = answer(*case, seen)
    parted(seen, ours, "your block" if small else "your model")
    names = ["the result", "all keys", "all values"] if small else ["logits", "the cache"]
    for name, mine, wanted in zip(names, result, expected, strict=True):
        if not close(mine, wanted):
            raise Mistake(
                f"All that you noted on the way agrees with ours, but {name} does not: "
                f"{apart(mine, wanted)}.",
                likely=WHERE.get(name, "Return the keys and values of every layer, old and new."),
            )


@block_exercise.property
def three_tensors_come_back(answer: Answer) -> None:
    answer(*block_case(3, 0), Notes())


@block_exercise.property
def every_step_is_right_at_the_start(answer: Answer) -> None:
    must_follow(answer, block_case(5, 0))


@block_exercise.property
def every_step_is_right_after_a_past(answer: Answer) -> None:
    must_follow(answer, block_case(1, 6))
    must_follow(answer, block_case(3, 4))


def some_sizes(draw: Draw) -> tuple[int, int, int, int]:
    """Model width, heads, groups, hidden width."""
    groups = draw.size(1, 3)
    heads = groups * draw.size(1, 3)
    return 2 * heads * draw.size(1, 3), heads, groups, draw.size(2, 9)


@block_exercise.draws
def a_block_of_any_size(draw: Draw) -> tuple[Any, ...]:
    width, heads, groups, hidden = some_sizes(draw)
    past = draw.size(0, 5)
    past_k, past_v = (draw.numbers(groups, past, width // heads) for _ in range(2))
    layer = some_layer(width, heads, groups, hidden, seed=draw.seed)
    return draw.numbers(draw.size(1, 5), width), layer, heads, past_k, past_v, Notes()


# C.9 ─────────────────────────────────────────────────────────────────────────────────────────────


def silent_model(
    tokens: Tensor, weights: Weights, past: Pairs | None, note: Notes
) -> tuple[Tensor, Pairs]:
    return model(tokens, weights, past, Notes())


class WithStory(Exercise):
    """The published weights are loaded before the clock of the answer starts, and only once.

    So are the inputs for suspects, since making them tells the story as well.
    """

    def judge(self, function: Any) -> Verdict:
        the_story()
        self.inputs(seeds=MORE)
        return super().judge(function)


model_exercise = WithStory(
    "C.9",
    title="Your own model",
    call="my_model(tokens, weights, past, note)",
    returns="the logits (L, V), and keys and values of every layer",
    reference=silent_model,
    suspects=MODEL,
    lesson="Your own lines, their published weights, the same story: token for token.",
)


def model_case(tokens: int, past: int, layers: int = 3) -> tuple[Any, ...]:
    width, heads, groups, hidden, words = 16, 4, 2, 10, 11
    weights = Weights(
        numbers(words, width, seed=60),
        tuple(some_layer(width, heads, groups, hidden, seed=n) for n in range(layers)),
        numbers(width, seed=61) + 1,
        heads,
    )
    said = torch.arange(past + tokens) * 5 % words
    before = model(said[:past], weights, None, Notes())[1] if past else None
    return said[past:], weights, before


@model_exercise.property
def logits_and_a_cache_come_back(answer: Answer) -> None:
    answer(*model_case(4, 0), Notes())


@model_exercise.property
def every_layer_is_right(answer: Answer) -> None:
    must_follow(answer, model_case(6, 0))


@model_exercise.property
def the_cache_goes_on(answer: Answer) -> None:
    must_follow(answer, model_case(1, 5))
    must_follow(answer, model_case(3, 4))


@cache
def the_story() -> tuple[Weights, list[int], list[int]]:
    """The published weights, an opening, and what the published model says next."""
    teller = stories15m()
    opening = teller.numbers("Lily had a red")[0].tolist()
    return open_weights(), opening, teller.continue_("Lily had a red", length=6)


@model_exercise.property
def the_published_weights_tell_the_same_story(answer: Answer) -> None:
    weights, opening, ours = the_story()
    past, tokens, told = None, torch.tensor(opening), []
    for n, wanted in enumerate(ours):
        try:
            logits, past = answer.run(tokens, weights, past, Notes())
            told.append(int(logits[-1].argmax()))
        except Exception as error:
            raise raised(error, answer.name, "the published weights") from None
        if told[-1] != wanted:
            words = [stories15m().pieces.decode(x) for x in (told, ours[: n + 1])]
            raise Mistake(
                f"With the published weights, word {n + 1} after “Lily had a red” parts: you tell "
                f"“{words[0]}”, the model “{words[1]}”.",
                likely="Small weights went well, so look at what depends on the size: D, eps, V.",
            )
        tokens = torch.tensor(told[-1:])


@model_exercise.draws
def a_model_of_any_size(draw: Draw) -> tuple[Any, ...]:
    width, heads, groups, hidden = some_sizes(draw)
    layers = (some_layer(width, heads, groups, hidden, seed=draw.seed + n) for n in (0, 1))
    words = draw.numbers(draw.size(2, 9), width)
    weights = Weights(words, tuple(layers), draw.numbers(width) + 1, heads)
    past, tokens = draw.size(0, 4), draw.size(1, 4)
    said = draw.whole(0, len(words), past + tokens)
    before = model(said[:past], weights, None, Notes())[1] if past else None
    return said[past:], weights, before, Notes()
