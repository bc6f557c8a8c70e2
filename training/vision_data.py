"""Make the pictures of chapters 8 and 9: objects with outlines, grounds, photographs, clothes.

    npm pack @lobehub/fluent-emoji-3d@1.1.0
    pip download --no-deps scikit-image==0.26.0 scipy==1.9.3 scikit-learn==1.9.1
    apt-get download dataset-fashion-mnist && dpkg -x dataset-fashion-mnist*.deb fashion
    python training/vision_data.py --downloads .

The downloads are needed here only, never by a learner. Licences stand in assets/MANIFEST.json.
"""

import argparse
import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from attnlab import assets
from attnlab.data import composed, fashion, photographs

COMMAND = (
    "python training/vision_data.py --downloads FOLDER (its head says which packages to download)"
)
WHEELS = {"skimage": "scikit_image-*.whl", "scipy": "scipy-1.9.3*.whl", "sklearn": "scikit_learn-*"}


def in_wheel(downloads: Path, package: str, name: str) -> bytes:
    found = sorted(downloads.rglob(WHEELS[package]))
    if not found:
        raise SystemExit(f"{downloads} holds no {WHEELS[package]}: see the head of this script.")
    with zipfile.ZipFile(found[0]) as wheel:
        return wheel.read(name)


def objects(downloads: Path) -> None:
    """All objects on one sheet, `composed.COLUMNS` in a row, each as large as its tile allows."""
    tile, columns = composed.TILE, composed.COLUMNS
    codes = composed.codes()
    rows = -(-len(codes) // columns)
    sheet = Image.new("RGBA", (tile * columns, tile * rows))
    with tarfile.open(next(downloads.glob("lobehub-fluent-emoji-3d-*.tgz"))) as package:
        for place, code in enumerate(codes):
            file = package.extractfile(f"package/assets/{code}.webp")
            assert file is not None
            picture = Image.open(io.BytesIO(file.read())).convert("RGBA")
            picture = picture.crop(picture.getbbox())
            picture.thumbnail((tile, tile), Image.Resampling.LANCZOS)
            left = place % columns * tile + (tile - picture.width) // 2
            top = place // columns * tile + (tile - picture.height) // 2
            sheet.paste(picture, (left, top))
    sheet.save(assets.folder() / composed.SHEET, quality=82, alpha_quality=90, method=6)
    entry = assets.register(
        composed.SHEET,
        licence="MIT",
        origin="Fluent Emoji (3D), © Microsoft, made small; from the npm package "
        "@lobehub/fluent-emoji-3d 1.1.0",
        command=COMMAND,
    )
    print(f"{len(codes)} objects, {entry['bytes'] / 1000:.0f} kB")


def grounds(downloads: Path) -> None:
    """Three grey textures side by side, 256 pixels each."""
    size = composed.GROUND
    sheet = Image.new("L", (size * len(composed.GROUNDS), size))
    for place, name in enumerate(composed.GROUNDS):
        content = in_wheel(downloads, "skimage", f"skimage/data/{name}.png")
        picture = Image.open(io.BytesIO(content)).convert("L").resize((size, size))
        sheet.paste(picture, (place * size, 0))
    sheet.save(assets.folder() / composed.GROUND_SHEET, quality=80, method=6)
    assets.register(
        composed.GROUND_SHEET,
        licence="CC0-1.0",
        origin="grass (linolafett), gravel and brick (CC0Textures), made small; from the wheel of "
        "scikit-image 0.26.0",
        command=COMMAND,
    )


def photos(downloads: Path) -> None:
    """Photographs with a clear licence, their shorter side at most `photographs.SIDE` pixels."""
    for photo in photographs.ALL.values():
        content = in_wheel(downloads, photo.package, photo.member)
        if photo.member.endswith(".dat"):
            values = np.frombuffer(bz2.decompress(content), np.uint8).reshape(768, 1024, 3)
            picture = Image.fromarray(values)
        else:
            picture = Image.open(io.BytesIO(content)).convert("RGB")
        factor = photographs.SIDE / min(picture.size)
        if factor < 1:
            size = tuple(round(side * factor) for side in picture.size)
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        path = assets.folder() / photo.path
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path, quality=88, optimize=True)
        assets.register(photo.path, licence=photo.licence, origin=photo.origin, command=COMMAND)
        print(photo.path, picture.size, path.stat().st_size)


def clothes(downloads: Path) -> None:
    """The first pictures of Fashion-MNIST as one sheet, and their kinds as bytes in its header."""
    folder = next(downloads.rglob("train-images-idx3-ubyte.gz")).parent
    for split, prefix in (("train", "train"), ("test", "t10k")):
        count = fashion.COUNTS[split]
        pixels = np.frombuffer(
            gzip.decompress((folder / f"{prefix}-images-idx3-ubyte.gz").read_bytes())[16:], np.uint8
        ).reshape(-1, 28, 28)[:count]
        kinds = gzip.decompress((folder / f"{prefix}-labels-idx1-ubyte.gz").read_bytes())[8:][
            :count
        ]
        levels = (pixels.astype(np.uint16) * (fashion.LEVELS - 1) + 127) // 255
        rows = count // fashion.COLUMNS
        sheet = levels.reshape(rows, fashion.COLUMNS, 28, 28).swapaxes(1, 2)
        picture = Image.fromarray(sheet.reshape(rows * 28, -1).astype(np.uint8), "P")
        picture.putpalette([grey for i in range(fashion.LEVELS) for grey in [i * 17] * 3])
        path = assets.folder() / fashion.SHEETS[split]
        picture.save(path, optimize=True, bits=4)
        (assets.folder() / fashion.KINDS_OF[split]).write_bytes(bytes(kinds))
        for name in (fashion.SHEETS[split], fashion.KINDS_OF[split]):
            entry = assets.register(
                name,
                licence="MIT",
                origin=f"Fashion-MNIST, © 2017 Zalando SE: the first {count} pictures of its "
                f"{split} set, in {fashion.LEVELS} grey levels",
                command=COMMAND,
            )
            print(name, entry["bytes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--downloads", type=Path, default=Path("."))
    parser.add_argument("--only", choices=("objects", "grounds", "photos", "clothes"))
    arguments = parser.parse_args()
    for part in (objects, grounds, photos, clothes):
        if arguments.only in (None, part.__name__):
            part(arguments.downloads)


if __name__ == "__main__":
    main()
