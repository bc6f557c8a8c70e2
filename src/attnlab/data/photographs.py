"""Eight photographs that may be shared, for looking into models of pictures.

    photographs.load("cat")                    # a PIL picture
    pixels = photographs.square("cat", 224)    # (3, 224, 224), 0…1: the middle of it
    gold = photographs.outline("flower", 224)  # (224, 224), True inside it

B batch, S side in pixels.
"""

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import Tensor

from attnlab import assets

SIDE = 448  # pixels of the shorter side, at most


@dataclass(frozen=True, kw_only=True)
class Photograph:
    """Where a photograph comes from, and who may use it how."""

    path: str  # among the assets
    package: str  # whose wheel carried it
    member: str  # of the wheel
    licence: str
    origin: str
    shows: str  # for those who cannot see it


def _photo(
    name: str, package: str, member: str, licence: str, origin: str, shows: str
) -> Photograph:
    return Photograph(
        path=f"pictures/photographs/{name}.jpg", package=package, member=member,
        licence=licence, origin=origin, shows=shows,
    )  # fmt: skip


_SKIMAGE = "from the wheel of scikit-image 0.26.0"
_SKLEARN = "from the wheel of scikit-learn 1.9.1"
ALL = {
    "cat": _photo(
        "cat", "skimage", "skimage/data/chelsea.png", "CC0-1.0",
        f"Chelsea the cat, by Stéfan van der Walt; {_SKIMAGE}", "the face of a ginger cat",
    ),
    "coffee": _photo(
        "coffee", "skimage", "skimage/data/coffee.png", "CC0-1.0",
        f"a cup of coffee, by Rachel Michetti; {_SKIMAGE}", "a white cup of coffee on a table",
    ),
    "astronaut": _photo(
        "astronaut", "skimage", "skimage/data/astronaut.png", "public domain",
        f"Eileen Collins, by NASA; {_SKIMAGE}", "an astronaut in an orange suit",
    ),
    "rocket": _photo(
        "rocket", "skimage", "skimage/data/rocket.jpg", "public domain",
        f"launch of DSCOVR on a Falcon 9, by SpaceX; {_SKIMAGE}", "a rocket leaving its tower",
    ),
    "camera": _photo(
        "camera", "skimage", "skimage/data/camera.png", "CC0-1.0",
        f"a photographer, by Lav Varshney; {_SKIMAGE}", "a man behind a camera on a tripod",
    ),
    "raccoon": _photo(
        "raccoon", "scipy", "scipy/misc/face.dat", "public domain",
        "a raccoon, by Judy Weggelaar; from the wheel of scipy 1.9.3", "a raccoon among leaves",
    ),
    "flower": _photo(
        "flower", "sklearn", "sklearn/datasets/images/flower.jpg", "CC-BY-2.0",
        f"a dahlia, by vultilion (flickr.com/photos/vultilion/6056698931), made small; {_SKLEARN}",
        "an orange and yellow flower",
    ),
    "palace": _photo(
        "palace", "sklearn", "sklearn/datasets/images/china.jpg", "CC-BY-2.0",
        "the Summer Palace, by Daniel Büchele (flickr.com/photos/danielbuechele/6061409035), "
        f"made small; {_SKLEARN}",
        "a palace above trees and water",
    ),
}  # fmt: skip


def load(name: str) -> Image.Image:
    """The photograph in colour, its shorter side at most 448 pixels."""
    if name not in ALL:
        raise KeyError(f"there is no photograph {name!r}: choose one of {', '.join(ALL)}.")
    with Image.open(assets.find(ALL[name].path)) as file:
        return file.convert("RGB")


def square(name: str, size: int = 224) -> Tensor:
    """The middle of a photograph: (3, size, size), 0…1."""
    return pixels(load(name), size)


def pixels(picture: Image.Image, size: int) -> Tensor:
    """The largest square in the middle of any picture, resized to `size`: (3, size, size), 0…1."""
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    box = (left, top, left + side, top + side)
    small = picture.convert("RGB").resize((size, size), Image.Resampling.BICUBIC, box=box)
    return torch.from_numpy(np.array(small)).permute(2, 0, 1).float() / 255


# Outlines of the six photographs with an object on a ground, drawn by hand around what a person
# would cut out: corners (x, y) in percent of the square. The cat and the raccoon fill theirs.
_OUTLINES: dict[str, list[list[tuple[float, float]]]] = {
    "coffee": [[
        (18, 25), (20, 13), (30, 6), (45, 4), (60, 6), (72, 13), (77, 22), (88, 33), (94, 45),
        (94, 58), (90, 72), (80, 84), (65, 93), (50, 97), (33, 93), (17, 84), (5, 70), (0, 60),
        (0, 40), (8, 29),
    ]],
    "astronaut": [[
        (45, 3), (56, 10), (59, 20), (51, 29), (60, 44), (58, 54), (68, 59), (72, 68), (88, 69),
        (96, 78), (100, 92), (100, 100), (5, 100), (5, 78), (6, 63), (12, 52), (22, 43), (25, 33),
        (36, 29), (30, 21), (32, 12), (37, 5),
    ]],
    "rocket": [[(50, 30), (54, 37), (54, 78), (55, 95), (47, 95), (48, 37)]],
    "camera": [[
        (41, 13), (48, 15), (52, 23), (63, 27), (64, 36), (59, 44), (56, 52), (48, 57), (42, 55),
        (34, 65), (28, 75), (29, 100), (0, 100), (0, 46), (6, 37), (16, 27), (29, 22), (31, 16),
    ]],
    "flower": [
        [
            (47, 20), (60, 22), (71, 29), (78, 39), (79, 52), (77, 65), (70, 76), (60, 82),
            (47, 84), (35, 82), (24, 75), (17, 65), (15, 52), (17, 39), (24, 29), (35, 22),
        ],
        [(43, 100), (44, 93), (52, 89), (60, 88), (68, 90), (75, 92), (84, 100)],
    ],
    "palace": [[
        (23, 7), (26, 13), (32, 20), (50, 28), (44, 32), (46, 37), (53, 42), (50, 54), (57, 61),
        (56, 70), (61, 78), (52, 86), (51, 92), (32, 92), (17, 91), (15, 85), (0, 79), (0, 24),
        (14, 18), (19, 13),
    ]],
}  # fmt: skip
OUTLINED = tuple(_OUTLINES)


def outline(name: str, size: int = 224) -> Tensor:
    """What is inside the object in `square(name, size)`: bool (size, size)."""
    if name not in _OUTLINES:
        raise KeyError(f"{name!r} has no outline: choose one of {', '.join(OUTLINED)}.")
    drawn = Image.new("1", (size, size))
    for corners in _OUTLINES[name]:
        ImageDraw.Draw(drawn).polygon([(x * size / 100, y * size / 100) for x, y in corners], 1)
    return torch.from_numpy(np.array(drawn))
