"""Sinusoids, learned places and rotations, each against a formula written another way."""

import math

import pytest
import torch

from attnlab.layers.heads import MultiHead
from attnlab.layers.positions import (
    Learned,
    Rope,
    Rope2D,
    Sinusoidal,
    frequencies,
    rotate,
    sinusoidal,
    sinusoidal_2d,
    stretched_base,
    waves,
)

B, H, L, D, E = 2, 3, 7, 8, 12


def test_sinusoids_are_those_of_the_paper():
    table = sinusoidal(L, E)
    for place in range(L):
        for pair in range(E // 2):
            angle = place / 10_000 ** (2 * pair / E)
            assert table[place, 2 * pair] == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[place, 2 * pair + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_wavelengths_run_from_2_pi_to_nearly_2_pi_base():
    lengths = 2 * math.pi / frequencies(512)
    assert lengths[0] == pytest.approx(2 * math.pi)
    assert lengths[-1] == pytest.approx(2 * math.pi * 10_000 ** (510 / 512))
    ratios = lengths[1:] / lengths[:-1]
    torch.testing.assert_close(ratios, torch.full_like(ratios, 10_000 ** (2 / 512)))


def test_a_shift_is_one_rotation_for_all_places():
    shift = 5
    blocks = []
    for w in frequencies(E).tolist():  # sin(a + b) and cos(a + b), written as a matrix
        cos, sin = math.cos(shift * w), math.sin(shift * w)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    turn = torch.block_diag(*blocks)
    torch.testing.assert_close(turn @ turn.T, torch.eye(E))
    torch.testing.assert_close(sinusoidal(L, E) @ turn.T, sinusoidal(L, E, offset=shift))


def test_dot_products_of_sinusoids_depend_on_the_offset_only():
    table = sinusoidal(40, E)
    products = table @ table.T
    for offset in (0, 1, 9):
        expected = sum(math.cos(offset * w) for w in frequencies(E).tolist())
        diagonal = products.diagonal(offset)
        torch.testing.assert_close(diagonal, torch.full_like(diagonal, expected))


def test_far_places_stay_exact():
    far = 1_000_003
    assert waves(torch.tensor([far]), 4)[0, 0] == pytest.approx(math.sin(far), abs=1e-6)


def test_sinusoidal_adds_and_continues_where_a_cache_ends():
    layer, x = Sinusoidal(E), torch.randn(B, L, E)
    whole = layer(x)
    torch.testing.assert_close(whole, x + sinusoidal(L, E))
    torch.testing.assert_close(layer(x[:, 4:], 4), whole[:, 4:])
    assert layer(x.half()).dtype == torch.float16
    assert not list(layer.parameters())


def test_learned_adds_its_rows_and_ends():
    layer, x = Learned(9, E), torch.randn(B, L, E)
    torch.testing.assert_close(layer(x, 2), x + layer.table[2:9])
    layer(x).sum().backward()
    assert (layer.table.grad[:L] == B).all()
    assert (layer.table.grad[L:] == 0).all()
    with pytest.raises(ValueError, match=r"positions 3 to 9 .* only 0 to 8 .* Learned\(10, 12\)"):
        layer(x, 3)


def test_rope_is_a_product_of_complex_numbers():
    x = torch.randn(B, H, L, D)
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)))  # (B, H, L, D/2)
    places = torch.arange(5, 5 + L, dtype=torch.float32)
    speeds = torch.tensor([10_000 ** (-2 * i / D) for i in range(D // 2)])
    turned = numbers * torch.polar(torch.tensor(1.0), places[:, None] * speeds)
    torch.testing.assert_close(Rope(D)(x, 5), torch.view_as_real(turned).flatten(-2))


def test_rope_dot_products_depend_on_the_offset_only():
    rope, q, k = Rope(D), torch.randn(D), torch.randn(D)

    def score(place_q, place_k):
        return rope(q[None], place_q)[0] @ rope(k[None], place_k)[0]

    for offset in (0, 1, 6, 500):
        near = score(3, 3 + offset)
        torch.testing.assert_close(near, score(90_000, 90_000 + offset), rtol=1e-4, atol=1e-4)
    assert not torch.isclose(score(0, 1), score(1, 0))  # which comes first does matter
    torch.testing.assert_close(score(17, 17), q @ k)
    torch.testing.assert_close(rope(q[None], 17).norm(), q.norm())


def test_rope_equals_the_layout_of_llama_after_a_permutation():
    x = torch.randn(B, H, L, D)
    halves = torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1)  # i is paired with i + D/2
    turns = torch.arange(L, dtype=torch.float64)[:, None] * frequencies(D)
    cos, sin = torch.cat([turns, turns], -1).cos().float(), torch.cat([turns, turns], -1).sin()
    swapped = torch.cat([-halves[..., D // 2 :], halves[..., : D // 2]], dim=-1)
    theirs = halves * cos + swapped * sin.float()
    ours = Rope(D)(x)
    torch.testing.assert_close(torch.cat([ours[..., 0::2], ours[..., 1::2]], dim=-1), theirs)


def test_squeeze_divides_places_and_a_stretched_base_slows_the_slowest_pair():
    x = torch.randn(H, L, D)
    torch.testing.assert_close(Rope(D, squeeze=4)(x, 8)[:, 0], Rope(D)(x, 2)[:, 0])
    slow, fast = frequencies(D), frequencies(D, stretched_base(4, D))
    assert fast[0] == slow[0] == 1
    assert (slow[-1] / fast[-1]).item() == pytest.approx(4)


def test_multihead_takes_rope_and_forgets_where_the_text_begins():
    torch.manual_seed(0)
    layer = MultiHead(E, H, rope=Rope(E // H))
    plain = MultiHead(E, H)
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(B, L, E)
    out = layer(x)
    assert not torch.allclose(out, plain(x), atol=1e-3)
    later = MultiHead(E, H, rope=lambda x, offset: Rope(E // H)(x, offset + 100))
    later.load_state_dict(layer.state_dict())
    torch.testing.assert_close(later(x), out, rtol=1e-3, atol=1e-5)


def test_rope_works_in_half_precision_and_under_gradients():
    x = torch.randn(L, D, requires_grad=True)
    assert Rope(D)(x.bfloat16()).dtype == torch.bfloat16
    (Rope(D)(x, 3) ** 2).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())  # a rotation keeps lengths


R, C = 3, 5


def test_2d_sinusoids_are_two_1d_ones_side_by_side():
    grid = sinusoidal_2d(R, C, E)
    assert grid.shape == (R, C, E)
    for row in range(R):
        for column in range(C):
            expected = torch.cat([sinusoidal(C, E // 2)[column], sinusoidal(R, E // 2)[row]])
            torch.testing.assert_close(grid[row, column], expected)


def test_2d_rope_depends_on_both_distances_only():
    q, k = torch.randn(D), torch.randn(D)
    rope = Rope2D(D, C)
    turned_q = rope(q.expand(R * C, D)).unflatten(0, (R, C))
    turned_k = rope(k.expand(R * C, D)).unflatten(0, (R, C))
    down_2_right_1 = [turned_q[0, c] @ turned_k[2, c + 1] for c in range(C - 1)]
    torch.testing.assert_close(torch.stack(down_2_right_1), down_2_right_1[0].expand(C - 1))
    half = D // 2  # against one-dimensional rotations of the halves
    torch.testing.assert_close(turned_q[2, 3, :half], Rope(half)(q[None, :half], 3)[0])
    torch.testing.assert_close(turned_q[2, 3, half:], Rope(half)(q[None, half:], 2)[0])


def test_2d_rope_leaves_the_class_token_alone():
    x = torch.randn(H, 1 + R * C, D)
    out = Rope2D(D, C, skip=1)(x)
    torch.testing.assert_close(out[:, 0], x[:, 0])
    torch.testing.assert_close(out[:, 1:], Rope2D(D, C)(x[:, 1:]))


def test_rotate_by_a_quarter_turn():
    x = torch.tensor([[1.0, 0.0, 0.0, 1.0]])
    quarter = torch.full((1, 2), math.pi / 2)
    torch.testing.assert_close(rotate(x, quarter), torch.tensor([[0.0, 1.0, -1.0, 0.0]]))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: sinusoidal(4, 7), "width is 7, but must be a multiple of 2"),
        (lambda: sinusoidal_2d(2, 2, 6), "width is 6, but must be a multiple of 4"),
        (lambda: Rope(8, base=0), "base is 0, but must be positive"),
        (lambda: Rope(8, squeeze=0), "squeeze is 0"),
        (lambda: Rope(8)(torch.zeros(3, 4)), r"shape \(3, 4\).*made for width 8"),
        (lambda: Rope2D(8, 0), "columns is 0"),
        (lambda: stretched_base(4, 2), "at least two pairs"),
        (lambda: Sinusoidal(6)(torch.zeros(6)), r"\(\.\.\., length, 6\) is expected"),
    ],
)
def test_wrong_sizes_get_a_sentence(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()
