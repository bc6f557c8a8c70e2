"""Eight photographs that may be shared, for looking into models of pictures.

    photographs.load("cat")                    # a PIL picture
    pixels = photographs.square("cat", 224)    # (3, 224, 224), 0…1: the middle of it

B batch, S side in pixels.
"""

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
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
    """The largest square in the middle of any picture, made `size` wide: (3, size, size), 0…1."""
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    box = (left, top, left + side, top + side)
    small = picture.convert("RGB").resize((size, size), Image.Resampling.BICUBIC, box=box)
    return torch.from_numpy(np.array(small)).permute(2, 0, 1).float() / 255
