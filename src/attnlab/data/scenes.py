"""Pictures with captions, made by the course: animals and things with known boxes.

    scene = scenes.take(1, split="test")[0]
    scene.picture                  # (96, 96, 3), uint8
    scene.caption                  # ("two", "cats", "above", "a", "red", "apple", "on", "sand")
    scene.boxes[1]                 # where the cats are: one box for each

A grammar writes the caption and draws the picture: some animals, a relation, some things, a
ground. The animals are always named first, so that a picture has one right caption. Scenes are
split by *structure* (animal, relation, thing): the captions of the test split combine words that
were never combined in training. Objects: Fluent Emoji (Microsoft, MIT licence), see
`training/scene_objects.py`.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
from PIL import Image

from attnlab import assets
from attnlab.data.sequences import Vocabulary, split_of

SIZE = 96  # of a picture, in pixels
TILE = 36  # of an object on the sheet
SHEET = "pictures/objects.png"
SIZES = (26, 28, 30, 32)  # of an object in a picture
MARGIN = 12  # pixels by which "left of" must be further left than it is above or below

Box = tuple[int, int, int, int]  # left, top, right, bottom, in pixels; right and bottom are outside


@dataclass(frozen=True, kw_only=True)
class Thing:
    """An object of the sheet: its Unicode code, its words, and whether it is an animal."""

    code: str
    noun: str
    plural: str
    colour: str = ""
    animal: bool = False

    @property
    def name(self) -> str:
        return f"{self.colour} {self.noun}".strip()


def _animal(code: str, noun: str, plural: str = "") -> Thing:
    return Thing(code=code, noun=noun, plural=plural or noun + "s", animal=True)


def _thing(code: str, noun: str, colour: str = "") -> Thing:
    return Thing(code=code, noun=noun, plural=noun + "s", colour=colour)


OBJECTS = (
    _animal("1f431", "cat"),
    _animal("1f436", "dog"),
    _animal("1f98a", "fox", "foxes"),
    _animal("1f43c", "panda"),
    _animal("1f438", "frog"),
    _animal("1f437", "pig"),
    _animal("1f430", "rabbit"),
    _animal("1f428", "koala"),
    _animal("1f981", "lion"),
    _animal("1f427", "penguin"),
    _animal("1f435", "monkey"),
    _animal("1f42d", "mouse", "mice"),
    _thing("1f34e", "apple", "red"),
    _thing("1f34f", "apple", "green"),
    _thing("1f4d5", "book", "red"),
    _thing("1f4d7", "book", "green"),
    _thing("1f4d8", "book", "blue"),
    _thing("2764-fe0f", "heart", "red"),
    _thing("1f49a", "heart", "green"),
    _thing("1f499", "heart", "blue"),
    _thing("1f49b", "heart", "yellow"),
    _thing("1f697", "car", "red"),
    _thing("1f699", "car", "blue"),
    _thing("26bd", "ball"),
    _thing("1f333", "tree"),
    _thing("1f34c", "banana"),
    _thing("1f344", "mushroom"),
    _thing("1f511", "key"),
)
ANIMALS = tuple(thing for thing in OBJECTS if thing.animal)
THINGS = tuple(thing for thing in OBJECTS if not thing.animal)
RELATIONS = {  # words, the axis along which the two groups differ, and whether animals come first
    "left of": (0, True),
    "right of": (0, False),
    "above": (1, True),
    "below": (1, False),
}
NUMBERS = {1: "a", 2: "two"}
GROUNDS = {  # words, and the colours from far (top) to near (bottom)
    "on grass": ((126, 176, 98), (88, 142, 68)),
    "on sand": ((236, 214, 160), (212, 180, 118)),
    "on snow": ((226, 236, 246), (198, 212, 230)),
    "at night": ((26, 32, 70), (58, 56, 104)),
}
STRUCTURES = tuple((a, relation, b) for a in ANIMALS for relation in RELATIONS for b in THINGS)
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """A picture, its one right caption, and for each object word the boxes it may point at."""

    picture: np.ndarray  # (SIZE, SIZE, 3), uint8
    caption: tuple[str, ...]
    boxes: dict[int, tuple[Box, ...]]  # position of a noun or colour in the caption -> its objects
    nouns: tuple[int, ...]  # the positions of the two nouns
    structure: str


def vocabulary() -> Vocabulary:
    """Every word a caption can have, in alphabetical order: fixed, so that a checkpoint fits."""
    words = {word for text in (*NUMBERS.values(), *RELATIONS, *GROUNDS) for word in text.split()}
    for thing in OBJECTS:
        words.update({thing.noun, thing.plural})
        words.update([thing.colour] if thing.colour else [])
    return Vocabulary(sorted(words))


def take(count: int, *, split: str = "train", seed: int = 0) -> list[Scene]:
    """The first `count` scenes of a split; the same ones for the same seed, on every machine."""
    return list(islice(stream(split=split, seed=seed), count))


def stream(*, split: str = "train", seed: int = 0) -> Iterator[Scene]:
    """Scenes without end: structures of the split in random order, numbers and places at
    random.
    """
    if split not in SPLITS:
        raise ValueError(f"split is {split!r}, but there are {', '.join(SPLITS)}.")
    rng = random.Random(f"{split} {seed}")
    own = structures(split)
    while True:
        yield make(*rng.choice(own), rng)


@cache
def structures(split: str) -> tuple[tuple[Thing, str, Thing], ...]:
    """Which (animal, relation, thing) a split has: a tenth is for tests, a twentieth for
    validation.
    """
    return tuple(s for s in STRUCTURES if split_of(_key(*s), valid=0.05, test=0.1) == split)


def make(animal: Thing, relation: str, thing: Thing, rng: random.Random) -> Scene:
    """Draw one scene of this structure."""
    counts = (rng.choice((1, 1, 2)), rng.choice((1, 1, 2)))
    ground = rng.choice(tuple(GROUNDS))
    caption, nouns, spans = _say(animal, relation, thing, counts, ground)
    places = _place(relation, counts, rng)
    picture = _ground(ground, rng)
    groups = []
    for kind, boxes in zip((animal, thing), places, strict=True):
        groups.append(tuple(_draw(picture, kind, box, flip=rng.random() < 0.5) for box in boxes))
    return Scene(
        picture=picture.round().astype(np.uint8),
        caption=caption,
        boxes={place: groups[group] for place, group in spans.items()},
        nouns=nouns,
        structure=_key(animal, relation, thing),
    )


def _key(animal: Thing, relation: str, thing: Thing) -> str:
    return f"{animal.name} {relation} {thing.name}"


def _say(
    animal: Thing, relation: str, thing: Thing, counts: tuple[int, int], ground: str
) -> tuple[tuple[str, ...], tuple[int, ...], dict[int, int]]:
    """The caption, the positions of its nouns, and which group (0, 1) each object word is about."""
    words: list[str] = []
    nouns: list[int] = []
    spans: dict[int, int] = {}
    for group, (kind, count) in enumerate(zip((animal, thing), counts, strict=True)):
        noun = kind.noun if count == 1 else kind.plural
        phrase = [kind.colour, noun] if kind.colour else [noun]
        words.append(NUMBERS[count])
        for word in phrase:
            spans[len(words)] = group
            words.append(word)
        nouns.append(len(words) - 1)
        if group == 0:
            words.extend(relation.split())
    return (*words, *ground.split()), tuple(nouns), spans


def _place(
    relation: str, counts: tuple[int, int], rng: random.Random
) -> tuple[list[Box], list[Box]]:
    """Boxes for both groups: each group fills a row (or a column) of its half of the picture.

    Drawn again until the relation is plain: the middles of the groups must differ more along its
    axis than across it.
    """
    axis, animals_first = RELATIONS[relation]
    while True:
        middle = rng.randint(SIZE // 2 - 4, SIZE // 2 + 4)
        halves = [(0, middle), (middle, SIZE)]
        groups = [
            _line(count, half, axis, rng)
            for count, half in zip(counts, halves if animals_first else halves[::-1], strict=True)
        ]
        apart = [abs(_centre(groups[0], way) - _centre(groups[1], way)) for way in (0, 1)]
        if apart[axis] - apart[1 - axis] >= MARGIN:
            return groups[0], groups[1]


def _line(count: int, half: tuple[int, int], axis: int, rng: random.Random) -> list[Box]:
    """`count` squares that do not overlap, in a line across `axis`, inside a half."""
    sides = [rng.choice(SIZES) for _ in range(count)]
    spare = SIZE - sum(sides)
    gaps = sorted(rng.randint(0, spare) for _ in sides)
    boxes, used = [], 0
    for side, gap in zip(sides, gaps, strict=True):
        along = rng.randint(half[0], half[1] - side)
        across = gap + used
        x, y = (along, across) if axis == 0 else (across, along)
        boxes.append((x, y, x + side, y + side))
        used += side
    return boxes


def _centre(boxes: list[Box], way: int) -> float:
    return sum(box[way] + box[way + 2] for box in boxes) / (2 * len(boxes))


def _draw(picture: np.ndarray, kind: Thing, square: Box, *, flip: bool) -> Box:
    """Lay an object over the picture, in the middle of its square. Returns its own box."""
    x, y, right, _ = square
    sprite = sprites(right - x)[OBJECTS.index(kind)]  # (h, w, 4)
    height, width = sprite.shape[:2]
    x, y = x + (right - x - width) // 2, y + (right - x - height) // 2
    colour, alpha = (sprite[:, ::-1] if flip else sprite)[..., :3], sprite[..., 3:]
    if flip:
        alpha = alpha[:, ::-1]
    under = picture[y : y + height, x : x + width]
    picture[y : y + height, x : x + width] = under * (1 - alpha) + colour * alpha
    return (x, y, x + width, y + height)


def _ground(name: str, rng: random.Random) -> np.ndarray:
    """A gradient from the far colour to the near one, a little lighter or darker, with soft
    spots.
    """
    picture = _slope(name) * rng.uniform(0.92, 1.06)
    shift = (rng.randrange(SIZE), rng.randrange(SIZE))
    return np.clip(picture + np.roll(_spots(), shift, (0, 1))[..., None], 0, 255)


@cache
def _slope(name: str) -> np.ndarray:
    far, near = (np.array(colour, dtype=np.float32) for colour in GROUNDS[name])
    down = np.linspace(0, 1, SIZE, dtype=np.float32)[:, None, None]
    return np.broadcast_to(far + (near - far) * down, (SIZE, SIZE, 3))


@cache
def _spots() -> np.ndarray:
    """Waves of a few lengths: light and dark spots that wrap around the edges. (SIZE, SIZE)"""
    turn = 2 * np.pi * np.arange(SIZE, dtype=np.float32) / SIZE
    x, y = turn[None, :], turn[:, None]
    return 3 * (np.sin(3 * x + 2 * y) + np.sin(2 * x - 5 * y + 1) + np.sin(7 * x + 4 * y + 2))


@cache
def sprites(side: int) -> tuple[np.ndarray, ...]:
    """All objects, `side` pixels long: (h, w, 4), colours 0…255 and alpha 0…1."""
    with Image.open(assets.find(SHEET)) as file:
        sheet = file.convert("RGBA")
    found = []
    for place in range(len(OBJECTS)):
        tile = sheet.crop((place * TILE, 0, (place + 1) * TILE, TILE))
        tile = tile.crop(tile.getbbox())
        scale = side / TILE
        size = (max(1, round(tile.width * scale)), max(1, round(tile.height * scale)))
        values = np.asarray(tile.resize(size, Image.Resampling.BILINEAR), dtype=np.float32)
        found.append(values * np.array([1, 1, 1, 1 / 255], dtype=np.float32))
    return tuple(found)
