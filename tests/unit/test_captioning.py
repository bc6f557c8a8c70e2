"""The captioner: shapes, small receptive fields, one attention core, and the bars of what is
shipped.
"""

import numpy as np
import pytest
import torch

from attnlab import checkpoints, decoding, figures
from attnlab.data import PAD, scenes
from attnlab.models import captioning
from attnlab.models.captioning import CELL, GRID, Captioner, Config, Teller, inside
from attnlab.record import record

WORDS = scenes.vocabulary()
SOME = scenes.take(5, split="valid")


def small(**changes) -> Captioner:
    torch.manual_seed(0)
    return Captioner(Config(target_words=len(WORDS), hidden=20, embedding=12, **changes)).eval()


@pytest.fixture(scope="module")
def shipped() -> Teller:
    return Teller.shipped()


def test_a_picture_becomes_a_grid_of_annotations():
    model = small()
    batch = captioning.collate(SOME, WORDS)
    annotations, summary = model.encoder(batch.source)
    assert annotations.shape == (5, GRID * GRID, 40)
    assert summary.shape == (5, 40)
    assert model(batch).shape == (*batch.target_in.shape, len(WORDS))
    assert model.loss(batch) > 0
    assert (batch.target_out == PAD).any(), "captions of unequal length, or padding is not tested"


@pytest.mark.parametrize(("x", "y"), [(0, 0), (50, 20), (95, 95)])
def test_a_cell_sees_no_further_than_its_receptive_field(x, y):
    """Change one pixel: only cells whose middle is near enough may notice, and one must."""
    encoder = small().encoder
    picture = captioning.to_tensor([SOME[0].picture])
    poked = picture.clone()
    poked[..., y, x] = 1 - poked[..., y, x]
    moved = (encoder(picture)[0] - encoder(poked)[0]).abs().amax(-1) > 1e-6
    rows, columns = torch.nonzero(moved.view(GRID, GRID), as_tuple=True)
    reach = captioning.receptive_field() / 2  # to both sides of the middle alike
    assert len(rows) >= 1
    assert ((rows + 0.5) * CELL - (y + 0.5)).abs().max() <= reach
    assert ((columns + 0.5) * CELL - (x + 0.5)).abs().max() <= reach
    assert captioning.receptive_field() <= 1.5 * CELL


def test_cells_know_where_they_are():
    encoder = small().encoder
    annotations = encoder(torch.zeros(1, 3, scenes.SIZE, scenes.SIZE))[0][0].view(GRID, GRID, -1)
    middle = annotations[2:6, 2:6].flatten(0, 1)  # away from the rims all these cells see the same
    assert len(torch.unique(middle.round(decimals=4), dim=0)) == 16
    assert encoder.where[1].tolist() == pytest.approx([-1, -1 + 2 / (GRID - 1)])  # row by row


def test_looks_are_weights_of_the_one_core():
    model = small()
    batch = captioning.collate(SOME, WORDS)
    with record(model) as maps:
        model(batch)
    assert set(maps) == {"context"}
    looks = Teller(model, WORDS).looks(SOME)
    for scene, look in zip(SOME, looks, strict=True):
        assert look.shape == (len(scene.caption) + 1, GRID, GRID)
        torch.testing.assert_close(look.sum((1, 2)), torch.ones(len(scene.caption) + 1))


@pytest.mark.parametrize("order", ["before", "after"])
def test_steps_say_what_the_whole_says(order):
    model = small(order=order)
    teller = Teller(model, WORDS)
    told = teller.tell([scene.picture for scene in SOME], size=2)
    state = model.start(captioning.to_tensor([scene.picture for scene in SOME]))
    said = decoding.greedy(model.step, state, max_length=captioning.LONGEST)
    assert [WORDS.encode(t.words) for t in told] == said
    for telling in told:
        assert 0 < telling.probability <= 1
        assert telling.looks.shape == (len(telling.words) + 1, GRID, GRID)


def test_the_middle_of_a_cell_decides():
    cells = inside([(0, 0, 7, 19)])
    assert torch.nonzero(cells).tolist() == [[0, 0], [1, 0]]
    assert not inside([(0, 0, 6, 6)]).any(), "the right and lower edges are outside"
    both = inside([(0, 0, 12, 12), (84, 84, 96, 96)])
    assert torch.nonzero(both).tolist() == [[0, 0], [7, 7]]


def test_a_captioner_comes_back(tmp_path):
    teller = Teller(small(), WORDS)
    path = teller.save(tmp_path / "c.safetensors", steps=7)
    again = Teller.load(path)
    assert again.model.config == teller.model.config
    pictures = [scene.picture for scene in SOME]
    assert [t.words for t in again.tell(pictures)] == [t.words for t in teller.tell(pictures)]
    other = checkpoints.save(tmp_path / "x.safetensors", {"w": torch.zeros(2)})
    with pytest.raises(ValueError, match="not of a captioner"):
        Teller.load(other)


def test_what_is_shipped_is_right_and_looks_where_it_speaks(shipped):
    """Bars: exact 90 %, pointing 80 %; on combinations that training never showed."""
    test = scenes.take(200, split="test")
    assert shipped.exact(test) >= 0.90
    pointing = shipped.pointing(test)
    assert pointing.words == 400
    assert pointing.nouns >= 0.80
    assert pointing.colours >= 0.80
    assert 0.05 < pointing.chance < 0.25


def test_mistakes_are_chosen_by_rule(shipped):
    test = scenes.take(100, split="test", seed=1)
    wrong = shipped.mistakes(test, 100)
    assert len(wrong) == round((1 - shipped.exact(test)) * len(test))
    assert all(telling.words != scene.caption for scene, telling in wrong)
    sure = [telling.probability for _, telling in wrong]
    assert sure == sorted(sure, reverse=True)
    assert [s.caption for s, _ in shipped.mistakes(test, 2)] == [s.caption for s, _ in wrong[:2]]


def test_the_static_figure_frames_the_peak_and_the_boxes():
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots()
    weights = torch.zeros(4, 6)
    weights[1, 5] = 1.0
    figures.look(ax, np.zeros((40, 60, 3), dtype=np.uint8), weights, [(0, 0, 20, 10)], title="cat")
    peak, box = ax.patches
    assert peak.get_bbox().bounds == (50, 10, 10, 10)
    assert box.get_bbox().bounds == (0, 0, 20, 10)
    assert peak.get_linestyle() != box.get_linestyle()
    plt.close(fig)
