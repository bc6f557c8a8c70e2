"""Chapter 2: wrong answers with the words they must meet, and right answers written differently."""

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

# 02.1 my_context(e, h) ---------------------------------------------------------------------------


@wrong("02.1", "a softmax has to make weights of them first")
def forgets_the_softmax(e, h):
    return e @ h


@wrong("02.1", "shares out 1 among the source words")
def softmax_over_targets(e, h):
    return torch.softmax(e, dim=-2) @ h


@wrong("02.1", "still have to be multiplied")
def stops_at_the_weights(e, h):
    return F.pad(e.softmax(-1), (0, 0))[..., :4] if e.shape[-1] == 4 else e.softmax(-1)


@wrong("02.1", "hard look")
def takes_the_best_only(e, h):
    return h[e.argmax(-1)]


@wrong("02.1", "divided by their sum")
def only_exponentials(e, h):
    return torch.exp(e) @ h


@wrong("02.1", "the √d belongs to the dot product")
def scales(e, h):
    return (e / h.shape[-1] ** 0.5).softmax(-1) @ h


@wrong("02.1", "Count from the back")
def counts_from_the_front(e, h):
    return e.softmax(dim=1) @ h


@wrong("02.1", "`exp` of a large score overflows")
def exponentials_over_their_sum(e, h):
    return e.exp() / e.exp().sum(-1, keepdim=True) @ h


@wrong("02.1", "subtract the largest score of each row first")
def one_largest_score_for_all_rows(e, h):
    share = (e - e.max()).exp()
    return share / share.sum(-1, keepdim=True) @ h


@right("02.1")
def as_an_einsum(e, h):
    return torch.einsum("...ts,...sw->...tw", F.softmax(e, -1), h)


@right("02.1")
def word_by_word(e, h):
    if e.ndim > 2:
        return torch.stack([word_by_word(a, b) for a, b in zip(e, h, strict=True)])
    rows = []
    for row in e:
        share = (row - row.max()).exp()
        rows.append(((share / share.sum())[:, None] * h).sum(0))
    return torch.stack(rows)


# 02.2 my_additive_score(s, h, w, u, v) -----------------------------------------------------------


def meet(s, h, w, u):
    return (s @ w).unsqueeze(-2) + (h @ u).unsqueeze(-3)


@wrong("02.2", "The tanh is missing")
def linear(s, h, w, u, v):
    return meet(s, h, w, u) @ v


@wrong("02.2", "The tanh acts on each side alone")
def two_tanhs(s, h, w, u, v):
    return (torch.tanh(s @ w).unsqueeze(-2) + torch.tanh(h @ u).unsqueeze(-3)) @ v


@wrong("02.2", "the scores themselves")
def softmaxed(s, h, w, u, v):
    return (torch.tanh(meet(s, h, w, u)) @ v).softmax(-1)


@wrong("02.2", "summed up without v")
def forgets_v(s, h, w, u, v):
    return torch.tanh(meet(s, h, w, u)).sum(-1)


@wrong("02.2", "The additive score adds them")
def dot_product(s, h, w, u, v):
    return (s @ w) @ (h @ u).mT


@wrong("02.2", "Two shapes do not fit together")
def axes_from_the_front(s, h, w, u, v):
    return torch.tanh((s @ w).unsqueeze(1) + (h @ u).unsqueeze(0)) @ v


@right("02.2")
def without_a_gradient(s, h, w, u, v):
    return (torch.tanh(meet(s, h, w, u)) @ v).detach()


@right("02.2")
def by_einsum(s, h, w, u, v):
    a, b = torch.einsum("...tq,qd->...td", s, w), torch.einsum("...sk,kd->...sd", h, u)
    return torch.einsum("...tsd,d->...ts", (a[..., :, None, :] + b[..., None, :, :]).tanh(), v)


@right("02.2")
def one_state_at_a_time(s, h, w, u, v):
    columns = [torch.tanh((one @ w).unsqueeze(-2) + h @ u) @ v for one in s.unbind(-2)]
    return torch.stack(columns, dim=-2)


# 02.3 my_aer(alpha, sure, possible) --------------------------------------------------------------


def picked(alpha):
    return F.one_hot(alpha.argmax(-1), alpha.shape[-1]).bool()


def many(links):
    return links.sum((-2, -1)).float()


@wrong("02.3", "so the rate is 0, but there is 1.000")
def share_of_right(alpha, sure, possible):
    a = picked(alpha)
    return (many(a & sure) + many(a & possible)) / (many(a) + many(sure))


@wrong("02.3", "The sure links are counted twice")
def f_measure(alpha, sure, possible):
    a = picked(alpha)
    return 1 - 2 * many(a & sure) / (many(a) + many(sure))


@wrong("02.3", "It is |A| + |S|")
def possible_below(alpha, sure, possible):
    a = picked(alpha)
    return 1 - (many(a & sure) + many(a & possible)) / (many(a) + many(possible))


@wrong("02.3", "along the last axis")
def best_of_each_column(alpha, sure, possible):
    a = F.one_hot(alpha.argmax(-2), alpha.shape[-2]).bool().mT
    return 1 - (many(a & sure) + many(a & possible)) / (many(a) + many(sure))


@wrong("02.3", "take the largest weight of each row")
def threshold(alpha, sure, possible):
    a = alpha > 0.5
    return 1 - (many(a & sure) + many(a & possible)) / (many(a) + many(sure))


@wrong("02.3", "one rate for each sentence")
def one_number_for_all(alpha, sure, possible):
    a = picked(alpha)
    return 1 - ((a & sure).sum() + (a & possible).sum()) / (a.sum() + sure.sum())


@right("02.3")
def by_gathering(alpha, sure, possible):
    at = alpha.argmax(-1, keepdim=True)
    hits = sure.gather(-1, at).float() + possible.gather(-1, at).float()
    return 1 - hits.sum((-2, -1)) / (alpha.shape[-2] + sure.float().sum((-2, -1)))


@wrong("02.3", "both make a link here")
def both_of_two_equal_weights(alpha, sure, possible):
    a = (alpha == alpha.amax(-1, keepdim=True)).float()
    right_links = (a * sure).sum((-2, -1)) + (a * possible).sum((-2, -1))
    return 1 - right_links / (a.sum((-2, -1)) + sure.sum((-2, -1)))


# 02.4 my_gru_weights(z) --------------------------------------------------------------------------


def products(z):
    rows = [z[..., i + 1 :, :].prod(-2) for i in range(z.shape[-2])]
    return torch.stack(rows, dim=-2)


@wrong("02.4", "in our GRU z says how much of the *old* state stays")
def roles_swapped(z):
    return z * products(1 - z)


@wrong("02.4", "Each candidate enters with z")
def enters_with_z(z):
    return z * products(z)


@wrong("02.4", "starts one later")
def one_gate_too_many(z):
    return (1 - z) * z * products(z)


@wrong("02.4", "comes after it")
def keeps_the_past(z):
    return (1 - z) * z.cumprod(-2)


@wrong("02.4", "Only the entry 1 − z is here")
def only_the_entry(z):
    return 1 - z


@wrong("02.4", "have to be multiplied")
def sums_gates(z):
    return (1 - z) * (z.sum(-2, keepdim=True) - z.cumsum(-2))


@wrong("02.4", "A division by z")
def divides(z):
    return (1 - z) * z.prod(-2, keepdim=True) / z.cumprod(-2)


@right("02.4")
def by_slices(z):
    return (1 - z) * products(z)


@right("02.4")
def backwards_in_a_loop(z):
    kept, out = torch.ones_like(z[..., 0, :]), []
    for gate in reversed(z.unbind(-2)):
        out.append((1 - gate) * kept)
        kept = kept * gate
    return torch.stack(out[::-1], dim=-2)


# 02.5 my_local_weights(e, p, d) ------------------------------------------------------------------


def away(e, p):
    return torch.arange(e.shape[-1]) - p[..., None]


def bell(e, p, sigma):
    return torch.exp(-(away(e, p) ** 2) / (2 * sigma**2))


def windowed(e, p, d):
    return e.masked_fill(away(e, p).abs() > d, -torch.inf).softmax(-1)


@wrong("02.5", "The Gaussian is missing")
def no_gaussian(e, p, d):
    return windowed(e, p, d)


@wrong("02.5", "The window is missing")
def no_window(e, p, d):
    return e.softmax(-1) * bell(e, p, d / 2)


@wrong("02.5", "The window comes after the softmax")
def window_too_late(e, p, d):
    return e.softmax(-1) * bell(e, p, d / 2) * (away(e, p).abs() <= d)


@wrong("02.5", "leaves them as they are")
def renormalises(e, p, d):
    a = windowed(e, p, d) * bell(e, p, d / 2)
    return a / a.sum(-1, keepdim=True)


@wrong("02.5", "σ = d / 2")
def wide(e, p, d):
    return windowed(e, p, d) * bell(e, p, d)


@wrong("02.5", "`<` where it should be `<=`")
def open_window(e, p, d):
    return e.masked_fill(away(e, p).abs() >= d, -torch.inf).softmax(-1) * bell(e, p, d / 2)


@wrong("02.5", "It may lie between two words")
def rounds(e, p, d):
    return windowed(e, p.round(), d) * bell(e, p.round(), d / 2)


@wrong("02.5", "`exp` of a large score overflows")
def bare_exponentials(e, p, d):
    power = e.exp() * (away(e, p).abs() <= d)
    return power / power.sum(-1, keepdim=True) * bell(e, p, d / 2)


@right("02.5")
def with_where(e, p, d):
    i = torch.arange(e.shape[-1], dtype=torch.float32)
    gap = (i - p.unsqueeze(-1)) ** 2
    share = torch.where(gap <= d * d, e, torch.tensor(-1e9)).softmax(-1)
    return share * torch.where(gap <= d * d, torch.exp(-2 * gap / d**2), torch.tensor(0.0))


@right("02.5")
def exponentials_by_hand(e, p, d):
    inside = (away(e, p).abs() <= d).float()
    power = (e - e.amax(-1, keepdim=True)).exp() * inside
    return power / power.sum(-1, keepdim=True) * bell(e, p, d / 2)


# 02.6 my_spread(alpha) ---------------------------------------------------------------------------


@wrong("02.6", "This is the entropy itself")
def stops_at_the_entropy(alpha):
    return -(alpha * (alpha + 1e-12).log()).sum(-1)


@wrong("02.6", "Two bases are mixed")
def mixes_two_bases(alpha):
    return (-(alpha * (alpha + 1e-12).log2()).sum(-1)).exp()


@wrong("02.6", "A weight of 0 adds nothing")
def forgets_the_zeros(alpha):
    return torch.exp(-(alpha * alpha.log()).sum(-1))


@wrong("02.6", "sum over the last axis")
def sums_over_the_targets(alpha):
    return torch.special.entr(alpha).sum(-2).exp()


@wrong("02.6", "in another way")
def takes_the_squares(alpha):
    return 1 / (alpha**2).sum(-1)


@right("02.6")
def by_a_product(alpha):
    return 1 / (alpha**alpha).prod(dim=-1)


@right("02.6")
def in_base_two(alpha):
    return 2 ** -(alpha * alpha.clamp(min=1e-30).log2()).sum(-1)


# 02.7 padded_context(e, h, real) -----------------------------------------------------------------


@wrong("02.7", "it has taken its share already")
def still_the_bug(e, h, real):
    return (e.softmax(-1) * real.unsqueeze(-2)) @ h


@wrong("02.7", "`real` has no effect")
def ignores_the_padding(e, h, real):
    return e.softmax(-1) @ h


@wrong("02.7", "a share like any other")
def scores_of_zero(e, h, real):
    return e.masked_fill(~real.unsqueeze(-2), 0.0).softmax(-1) @ h


@wrong("02.7", "it has taken its share already")
def hides_the_annotations_instead(e, h, real):
    return e.softmax(-1) @ (h * real.unsqueeze(-1))


@wrong("02.7", "`exp` of a large score overflows")
def bare_exponentials_of_real_words(e, h, real):
    power = e.exp() * real[:, None]
    return power @ h / power.sum(-1, keepdim=True)


@right("02.7")
def shares_brought_back_to_one(e, h, real):
    alpha = e.softmax(-1) * real.unsqueeze(-2)
    return alpha / alpha.sum(-1, keepdim=True) @ h


@right("02.7")
def sentence_by_sentence(e, h, real):
    return torch.stack(
        [a[:, keep].softmax(-1) @ b[keep] for a, b, keep in zip(e, h, real, strict=True)]
    )


# 02.8 context_stays(change) ----------------------------------------------------------------------

KEPT = {
    "3 more for every score",
    "words in reverse order",
    "every word twice",
    "a word with score −∞",
}


@wrong("02.8", "above and below the fraction line")
def a_shift_counts(change):
    return change in KEPT - {"3 more for every score"}


@wrong("02.8", "Differences between scores double")
def a_factor_does_not(change):
    return change in KEPT | {"every score doubled"}


@wrong("02.8", "two shares")
def one_copy_does_not(change):
    return change in KEPT | {"the last word twice"}


@wrong("02.8", "takes a share like any other")
def zero_is_nothing(change):
    return change in KEPT | {"a word with score 0"}


@wrong("02.8", "the wrong way round")
def what_is_lost(change):
    return change not in KEPT


@wrong("02.8", "expected True or False")
def in_words(change):
    return "yes"


@right("02.8")
def what_stays(change):
    return change in KEPT


@right("02.8")
def what_changes(change):
    return not (change.endswith(("doubled", " 0")) or change == "the last word twice")
