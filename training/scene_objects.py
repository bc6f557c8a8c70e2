"""Make the sheet of small pictures that the scenes of chapter 2 are built from.

npm pack @lobehub/fluent-emoji-3d@1.1.0          # 16 MB; needed here only, never by a learner
python training/scene_objects.py                 # writes assets/pictures/objects.png
"""

import argparse
import io
import tarfile
from pathlib import Path

from PIL import Image

from attnlab import assets
from attnlab.data import scenes

PACKAGE = Path("lobehub-fluent-emoji-3d-1.1.0.tgz")
COMMAND = (
    "npm pack @lobehub/fluent-emoji-3d@1.1.0 && python training/scene_objects.py "
    "--package lobehub-fluent-emoji-3d-1.1.0.tgz"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, default=PACKAGE, help="what npm pack wrote")
    arguments = parser.parse_args()

    tile = scenes.TILE
    sheet = Image.new("RGBA", (tile * len(scenes.OBJECTS), tile))
    with tarfile.open(arguments.package) as package:
        for place, thing in enumerate(scenes.OBJECTS):
            file = package.extractfile(f"package/assets/{thing.code}.webp")
            if file is None:
                raise SystemExit(f"{arguments.package} has no picture {thing.code} ({thing.noun}).")
            picture = Image.open(io.BytesIO(file.read())).convert("RGBA")
            picture = picture.crop(picture.getbbox())  # no empty rim: the box is the object
            picture.thumbnail((tile, tile), Image.Resampling.LANCZOS)
            sheet.paste(picture, (place * tile, 0))
    path = assets.folder() / scenes.SHEET
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, optimize=True)
    entry = assets.register(
        scenes.SHEET,
        licence="MIT",
        origin="Fluent Emoji (3D), © Microsoft, made small; from the npm package "
        "@lobehub/fluent-emoji-3d 1.1.0",
        command=COMMAND,
    )
    print(f"{len(scenes.OBJECTS)} objects, {entry['bytes'] / 1000:.0f} kB")


if __name__ == "__main__":
    main()
