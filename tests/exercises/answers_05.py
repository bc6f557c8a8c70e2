"""Chapter 5: wrong answers with the words they must meet, and right answers written differently."""

import math

import torch
from corpus import right, wrong

from attnlab.layers.positions import Rope

# 05.1 my_sinusoids(length, width) ----------------------------------------------------------------


@wrong("05.1", "All sines come first here")
def sines_then_cosines(length, width):
    angle = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)
    return torch.cat([angle.sin(), angle.cos()], -1)


@wrong("05.1", "Every column has a frequency of its own")
def no_pairs(length, width):
    pe = torch.zeros(length, width)
    for p in range(length):
        for d in range(width):
            angle = p / 10_000 ** (d / width)
            pe[p, d] = math.cos(angle) if d % 2 else math.sin(angle)
    return pe


@wrong("05.1", "The exponent is i/E")
def half_the_exponent(length, width):
    angle = torch.arange(length)[:, None] / 10_000 ** (torch.arange(width // 2) / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


@wrong("05.1", "Positions are counted from 0")
def from_one(length, width):
    angle = torch.arange(1, length + 1)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


@wrong("05.1", "Sine and cosine have changed places")
def cosines_first(length, width):
    angle = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angle.cos(), angle.sin()], -1).flatten(1)


@right("05.1")
def with_loops(length, width):
    pe = torch.zeros(length, width)
    for p in range(length):
        for i in range(width // 2):
            pe[p, 2 * i] = math.sin(p * 10_000 ** (-2 * i / width))
            pe[p, 2 * i + 1] = math.cos(p * 10_000 ** (-2 * i / width))
    return pe


@right("05.1")
def with_complex_numbers(length, width):
    speed = torch.exp(-math.log(10_000) * torch.arange(0, width, 2) / width)
    angle = torch.outer(torch.arange(float(length)), speed)
    return torch.view_as_real(torch.polar(torch.ones(()), math.pi / 2 - angle)).flatten(1)


# 05.2 shift_matrix(k, width) ---------------------------------------------------------------------


def rotation(angle):
    return torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


@wrong("05.2", "This matrix moves k positions back")
def turns_back(k, width):
    return torch.block_diag(*[rotation(k / 10_000 ** (i / width)).T for i in range(0, width, 2)])


@wrong("05.2", "Every pair is turned by the same angle")
def one_speed(k, width):
    return torch.block_diag(*[rotation(k)] * (width // 2))


@wrong("05.2", "lacks its minus")
def forgets_the_minus(k, width):
    blocks = [rotation(k / 10_000 ** (i / width)) for i in range(0, width, 2)]
    blocks = [torch.stack([block[0], block[0].flip(0)]) for block in blocks]
    return torch.block_diag(*blocks)


@wrong("05.2", "It belongs to the lower left one")
def minus_in_the_corner(k, width):
    flip = torch.tensor([[1.0], [-1.0]])
    return torch.block_diag(
        *[rotation(k / 10_000 ** (i / width)) * flip for i in range(0, width, 2)]
    )


@wrong("05.2", "M · PE(0) is not PE(1)")
def nothing_moves(k, width):
    return torch.eye(width)


@wrong("05.2", "is not the identity")
def ones(k, width):
    return torch.ones(width, width)


@right("05.2")
def by_least_squares(k, width):
    """Solve M PE(p) = PE(p + k) for many positions, in double precision."""
    speed = 10_000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)

    def waves(places):
        angle = places[:, None] * speed
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    places = torch.arange(3000, dtype=torch.float64) * 3
    return torch.linalg.lstsq(waves(places), waves(places + k)).solution.T.float()


@right("05.2")
def in_place_in_a_table(k, width):
    m = torch.zeros(width, width)
    for i in range(0, width, 2):
        angle = k * 10_000 ** (-i / width)
        m[i, i] = m[i + 1, i + 1] = math.cos(angle)
        m[i, i + 1], m[i + 1, i] = math.sin(angle), -math.sin(angle)
    return m


# 05.3 my_rope(x, offset) -------------------------------------------------------------------------


def turns(x, offset):
    places = torch.arange(offset, offset + x.shape[-2])
    return places[:, None] / 10_000 ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])


@wrong("05.3", "It turns clockwise")
def the_other_way(x, offset):
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.exp(-1j * turns(x, offset))).flatten(-2)


@wrong("05.3", "as in LLaMA's code")
def rotate_half(x, offset):
    a = turns(x, offset)
    cos, sin = torch.cat([a, a], -1).cos(), torch.cat([a, a], -1).sin()
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


@wrong("05.3", "`offset` has no effect")
def forgets_the_offset(x, offset):
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.exp(1j * turns(x, 0))).flatten(-2)


@wrong("05.3", "with a plus")
def a_reflection(x, offset):
    a, b, angle = x[..., ::2], x[..., 1::2], turns(x, offset)
    return torch.stack(
        [a * angle.cos() - b * angle.sin(), a * angle.sin() - b * angle.cos()], -1
    ).flatten(-2)


@wrong("05.3", "had length")
def adds_instead(x, offset):
    angle = turns(x, offset)
    return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)


@right("05.3")
def with_complex_products(x, offset):
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.exp(1j * turns(x, offset))).flatten(-2)


@right("05.3")
def with_matrices(x, offset):
    angle = turns(x, offset)
    cos, sin = angle.cos(), angle.sin()
    turn = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    return (turn @ x.unflatten(-1, (-1, 2)).unsqueeze(-1)).squeeze(-1).flatten(-2)


# 05.4 my_alibi(slopes, L, S) ---------------------------------------------------------------------


@wrong("05.4", "Far keys are rewarded here")
def with_a_plus(slopes, n, m):
    far = (torch.arange(m - n, m)[:, None] - torch.arange(m)).abs()
    return slopes.view(-1, 1, 1) * far


@wrong("05.4", "take the absolute value")
def without_abs(slopes, n, m):
    return -slopes.view(-1, 1, 1) * (torch.arange(m - n, m)[:, None] - torch.arange(m))


@wrong("05.4", "The queries are the last L of the S positions")
def from_the_left(slopes, n, m):
    return -slopes.view(-1, 1, 1) * (torch.arange(n)[:, None] - torch.arange(m)).abs()


@wrong("05.4", "No mask here: causality is a separate argument")
def with_a_causal_mask(slopes, n, m):
    far = (torch.arange(m - n, m)[:, None] - torch.arange(m)).abs()
    later = torch.full((n, m), -torch.inf).triu(m - n + 1)
    return -slopes.view(-1, 1, 1) * far + later


@wrong("05.4", "Later keys have bias 0 here")
def only_the_past(slopes, n, m):
    return -slopes.view(-1, 1, 1) * (torch.arange(m - n, m)[:, None] - torch.arange(m)).relu()


@wrong("05.4", "All heads have the same bias")
def one_slope(slopes, n, m):
    far = (torch.arange(m - n, m)[:, None] - torch.arange(m)).abs()
    return -(slopes[0] * far).repeat(len(slopes), 1, 1)


@wrong("05.4", "expected 0")
def starts_at_one(slopes, n, m):
    return -slopes.view(-1, 1, 1) * ((torch.arange(m - n, m)[:, None] - torch.arange(m)).abs() + 1)


@right("05.4")
def with_einsum(slopes, n, m):
    far = torch.cdist(torch.arange(m - n, m)[:, None].float(), torch.arange(m)[:, None].float())
    return -torch.einsum("h,ls->hls", slopes, far)


@right("05.4")
def cut_from_a_square(slopes, n, m):
    square = -(torch.arange(m)[:, None] - torch.arange(m)).abs().float()
    return torch.stack([s * square[m - n :] for s in slopes])


# 05.5 count_back(k, width) -----------------------------------------------------------------------


@wrong("05.5", "Its query points where its key does")
def identity(k, width):
    return 100 * torch.eye(width), torch.eye(width)


@wrong("05.5", "the turn goes the wrong way")
def looks_ahead(k, width):
    return 200 * in_place_in_a_table(-k, width), torch.eye(width)


@wrong("05.5", "the direction is right, but only")
def too_blunt(k, width):
    return in_place_in_a_table(k, width), torch.eye(width)


@wrong("05.5", "Does your turn depend on k?")
def always_three(k, width):
    return 200 * in_place_in_a_table(3, width), torch.eye(width)


@wrong("05.5", "spreads its attention evenly")
def zeros(k, width):
    return torch.zeros(width, width), torch.zeros(width, width)


@wrong("05.5", "End with `return w_q, w_k`")
def only_the_product(k, width):
    return in_place_in_a_table(k, width)


@right("05.5")
def turns_the_keys(k, width):
    return torch.eye(width), 200 * in_place_in_a_table(-k, width)


@right("05.5")
def with_the_fastest_pairs_only(k, width):
    """The slow pairs hardly tell neighbours apart, so they can be left out."""
    keep = torch.eye(width)[:, : width // 2]
    return 300 * in_place_in_a_table(k, width) @ keep, keep


# 05.6 rope_scores(q, k) --------------------------------------------------------------------------


def scores_of(q, k, first_query, first_key=0):
    rope = Rope(q.shape[-1])
    return rope(q, first_query) @ rope(k, first_key).T / math.sqrt(q.shape[-1])


@wrong("05.6", "as if they stood at the first positions")
def still_the_bug(q, k):
    return scores_of(q, k, 0)


@wrong("05.6", "The first query is put at position S")
def one_text_too_far(q, k):
    return scores_of(q, k, len(k))


@wrong("05.6", "one position too early")
def off_by_one(q, k):
    return scores_of(q, k, len(k) - len(q) - 1)


@wrong("05.6", "as if they stood at the first positions")
def moves_the_keys_along(q, k):
    """Moved alike, queries and keys are where they were: RoPE sees distances only."""
    return scores_of(q, k, len(k) - len(q), len(k) - len(q))


@wrong("05.6", "not divided by √D")
def forgot_the_scale(q, k):
    return scores_of(q, k, len(k) - len(q)) * math.sqrt(q.shape[-1])


@right("05.6")
def pad_turn_and_cut(q, k):
    """Put the queries where they stand, turn all positions, and keep the last ones."""
    rope = Rope(q.shape[-1])
    padded = torch.cat([torch.zeros(len(k) - len(q), q.shape[-1]), q])
    turned = rope(padded)[len(k) - len(q) :]
    return torch.einsum("ld,sd->ls", turned, rope(k)) / math.sqrt(q.shape[-1])


@right("05.6")
def one_query_at_a_time(q, k):
    rope, first = Rope(q.shape[-1]), len(k) - len(q)
    rows = [rope(q[i : i + 1], first + i) @ rope(k).T for i in range(len(q))]
    return torch.cat(rows) / q.shape[-1] ** 0.5


# 05.7 moves_with_you(kind) -----------------------------------------------------------------------


@wrong("05.7", "words meet positions in two of its four terms")
def sinusoids_are_relative(kind):
    return kind != "learned"


@wrong("05.7", "Turning back by i and forward by j")
def rope_is_absolute(kind):
    return kind in ("Shaw", "T5", "ALiBi")


@wrong("05.7", "The bias depends on |j − i| alone")
def alibi_is_absolute(kind):
    return kind in ("Shaw", "T5", "RoPE")


@wrong("05.7", "row 28 has nothing to do with row 8")
def everything_is_relative(kind):
    return kind != "sinusoidal"


@wrong("05.7", "expected True or False")
def with_words(kind):
    return "yes"


@right("05.7")
def by_a_table(kind):
    return {"sinusoidal": False, "learned": False}.get(kind, True)


@right("05.7")
def what_is_added_to_the_tokens_is_not(kind):
    return not (kind == "learned" or kind.startswith("sin"))


# 05.8 my_base(factor, width, base) ---------------------------------------------------------------


@wrong("05.8", "Times `factor` is a little too small")
def simply_times(factor, width, base):
    return factor * base


@wrong("05.8", "upside down")
def power_upside_down(factor, width, base):
    return base * factor ** (1 - 2 / width)


@wrong("05.8", "the hands turn faster")
def smaller_base(factor, width, base):
    return base / factor ** (width / (width - 2))


@wrong("05.8", "Only `factor` has one")
def power_of_both(factor, width, base):
    return (factor * base) ** (width / (width - 2))


@wrong("05.8", "Asked for is the base")
def speed_instead(factor, width, base):
    return base ** (2 / width - 1) / factor


@wrong("05.8", "in steps of 2")
def last_column(factor, width, base):
    return base * factor ** (width / (width - 1))


@right("05.8")
def by_logarithms(factor, width, base):
    pairs = width // 2
    return math.exp(math.log(base) + math.log(factor) * pairs / (pairs - 1))


@right("05.8")
def from_the_speed(factor, width, base):
    power = 1 - 2 / width
    slow = base**-power / factor
    return slow ** (-1 / power)
