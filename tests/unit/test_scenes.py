"""Scenes: captions that are true of their pictures, boxes that hold their objects, clean splits."""

import numpy as np
import pytest

from attnlab.data import UNK, scenes

SOME = scenes.take(150, split="train", seed=4)


def middle(boxes, way):
    return sum(box[way] + box[way + 2] for box in boxes) / (2 * len(boxes))


def test_the_same_seed_gives_the_same_scenes():
    again = scenes.take(3, split="train", seed=4)
    for one, two in zip(SOME, again, strict=False):
        assert one.caption == two.caption
        assert one.boxes == two.boxes
        assert np.array_equal(one.picture, two.picture)
    other = scenes.take(3, split="train", seed=5)
    assert [s.caption for s in other] != [s.caption for s in again]


def test_no_structure_is_on_two_sides():
    sides = [{scenes._key(*s) for s in scenes.structures(split)} for split in scenes.SPLITS]
    assert sum(map(len, sides)) == len(set.union(*sides)) == len(scenes.STRUCTURES)
    assert min(map(len, sides)) >= 20
    test = {s.structure for s in scenes.take(100, split="test")}
    assert test <= sides[2]
    with pytest.raises(ValueError, match="train, valid, test"):
        scenes.take(1, split="dev")


def test_every_word_of_the_test_split_is_known_from_training():
    words = scenes.vocabulary()
    seen = {word for scene in scenes.take(1500) for word in scene.caption}
    for scene in scenes.take(200, split="test"):
        assert UNK not in words.encode(scene.caption)
        assert set(scene.caption) <= seen


@pytest.mark.parametrize("scene", SOME[:60], ids=lambda scene: " ".join(scene.caption))
def test_the_caption_is_true(scene):
    animals, things = (scene.boxes[place] for place in scene.nouns)
    numbers = {"a": 1, "two": 2}
    assert len(animals) == numbers[scene.caption[0]]
    colour = scene.nouns[1] - 1 in scene.boxes
    assert len(things) == numbers[scene.caption[scene.nouns[1] - 1 - colour]]
    across = middle(animals, 0) - middle(things, 0)
    down = middle(animals, 1) - middle(things, 1)
    relation = scene.caption[scene.nouns[0] + 1]
    assert {"left": -across, "right": across, "above": -down, "below": down}[relation] > 0
    if relation in ("left", "right"):
        assert abs(across) > abs(down)
    else:
        assert abs(down) > abs(across)


def test_boxes_hold_their_objects_and_do_not_overlap():
    for scene in SOME:
        boxes = [box for place in scene.nouns for box in scene.boxes[place]]
        covered = np.zeros((scenes.SIZE, scenes.SIZE), dtype=int)
        for left, top, right, bottom in boxes:
            assert 0 <= left < right <= scenes.SIZE
            assert 0 <= top < bottom <= scenes.SIZE
            covered[top:bottom, left:right] += 1
        assert covered.max() == 1, "two objects overlap"
        # Outside of all boxes there is nothing but ground: rows differ little from side to side.
        ground = np.where(covered[..., None], np.nan, scene.picture.astype(float))
        assert np.nanmax(np.nanstd(ground, axis=1)) < 12


def test_objects_are_different_pictures():
    shown = scenes.sprites(30)
    assert len(shown) == len(scenes.OBJECTS) == len({thing.name for thing in scenes.OBJECTS})
    for sprite in shown:
        assert max(sprite.shape[:2]) in (29, 30)
        assert 0 <= sprite.min() <= sprite[..., 3].max() <= 1.001
        assert sprite[..., :3].max() > 100
    assert len({sprite.tobytes() for sprite in shown}) == len(shown)
