"""DINOv2 runs on a page: its maps are torch's, and the reader's photograph stays where it is."""

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import Page

from attnlab import assets
from attnlab.data import photographs
from attnlab.models.published import dinov2, imagenet
from attnlab.record import record
from attnlab.widgets import DinoExplorer
from attnlab.widgets.dino_explorer import principal_colours
from tests.browser.conftest import PHONE
from tests.browser.joined import OPEN, joined
from tests.browser.live import Live, settle, wait_until_alive
from tests.browser.made import write_page

BYTES = """x => { // a typed array as base64
  const bytes = new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192)
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}"""
# What the figure's model found, read off the figure: it is drawn from nothing else.
WATCH = """() => {
  const post = window.Worker.prototype.postMessage;
  window.jobs = [];
  window.Worker.prototype.postMessage = function (message, ...rest) {
    this.addEventListener("message", ({ data }) => {
      if (data.id === message.id && data.result?.maps) window.jobs.push(data.result);
    });
    if (message.name === "look") window.read = message.given.pixels.slice();
    return post.call(this, message, ...rest);
  };
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page on the disk with the figure of the chapter and the weights beside it."""
    place = tmp_path_factory.mktemp("dino")
    figure = DinoExplorer.shipped("cat", title="Your own photograph")
    assert len(figure.to_html()) < 1_000_000, "the page is light before the button is pressed"
    write_page(place, figure, models=True)
    return place


def picture(size: tuple[int, int], kind: str = "JPEG", **options: Any) -> bytes:
    """Red on the left, blue on the right."""
    made = Image.new("RGB", size, "red")
    made.paste("blue", (size[0] // 2, 0, *size))
    file = io.BytesIO()
    made.save(file, kind, **options)
    return file.getvalue()


def handed(name: str, mime: str, data: bytes) -> Any:
    return {"name": name, "mimeType": mime, "buffer": data}


def test_it_reads_a_photograph_of_the_readers_and_nothing_leaves(
    folder: Path, new_page: Callable[..., Page], shoot: Callable[..., object]
) -> None:
    """One run, from the disk: the button, the file, the worker, every map against torch."""
    page = new_page(viewport={"width": 1280, "height": 900})
    page.goto((folder / "page.html").as_uri())
    wait_until_alive(page)
    live = Live(page.locator("[data-widget]"))
    assert "nothing is uploaded" in live.place.inner_text()
    raccoon = photographs.ALL["raccoon"].path
    chosen = page.locator("input[type=file]").first
    chosen.set_input_files(assets.find(raccoon))
    page.wait_for_selector("text=Load DINOv2 to see what it sees.")
    assert live.numbers()["own"]
    assert not live.numbers()["known"]

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(WATCH)
    page.get_by_role("button", name="Load DINOv2 (22.3 MB)").click()
    page.wait_for_selector("text=Read here in", timeout=120_000)
    seconds = page.evaluate("window.jobs[0].milliseconds / 1000")
    print(f"224 x 224 in {seconds:.1f} s")
    assert seconds < 45, "the bar is 15 s; here is room for a busy machine"

    found = page.evaluate(
        f"() => {{ const f = {BYTES}, {{ maps, colours }} = window.jobs[0];"
        "return { maps: f(maps), colours: f(colours), pixels: f(window.read) }; }"
    )
    pixels = np.frombuffer(base64.b64decode(found["pixels"]), np.uint8).reshape(224, 224, 3)
    ours = photographs.square("raccoon", 224).permute(1, 2, 0).numpy() * 255
    assert np.abs(pixels - ours).mean() < 6, "the browser makes it small in its own way"
    given = torch.from_numpy(pixels.copy()).permute(2, 0, 1).float() / 255
    with torch.no_grad(), record(dinov2()) as maps:
        tokens = dinov2().tokens(imagenet(given)[None])
    expected = torch.stack([maps[f"blocks.{n}.attention"][0] for n in range(12)])  # type: ignore[misc]
    shown = np.frombuffer(base64.b64decode(found["maps"]), np.float32).reshape(expected.shape)
    np.testing.assert_allclose(shown, expected.numpy(), atol=1e-3)
    colours = np.frombuffer(base64.b64decode(found["colours"]), np.float32).reshape(-1, 3)
    np.testing.assert_allclose(colours, principal_colours(tokens[0, 1:]), atol=1e-2)

    # Any patch, any layer, any head: drawn from these maps.
    live.controls("input[type=range]")[0].press("Home")
    page.get_by_role("button", name="Head 4").click()
    canvas = page.get_by_role("application")
    canvas.press("ArrowDown")
    settle(page)
    numbers = live.numbers()
    row = expected[0, 3, 1 + 9 * 16 + 8]
    np.testing.assert_allclose(numbers["map"], row[1:], atol=1e-3)
    assert numbers["elsewhere"] == pytest.approx(float(row[0]), abs=1e-3)
    shoot(page, "dino-explorer-own", full_page=True)

    # A second picture while the model reads: the first is given up; then cancelled.
    chosen.set_input_files(handed("a.png", "image/png", picture((300, 300), "PNG")))
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=Cancelled.", timeout=60_000)
    assert not live.numbers()["known"]
    page.get_by_role("button", name="Back to ours").click()
    settle(page)
    assert not live.numbers()["own"]
    assert asked, "the weights were loaded"
    beyond = [url for url in asked if "/live/weights/" not in url and not url.startswith("blob:")]
    assert beyond == [], "only the weights, and nothing of the photograph"


def test_files_of_all_kinds_get_the_right_picture_or_a_sentence(
    made_page: Callable[..., Page],
) -> None:
    page = made_page()
    page.evaluate(OPEN, joined("own_picture"))
    exif = Image.Exif()
    exif[0x0112] = 6  # held upright: turn it a quarter to the right
    clear = io.BytesIO()
    Image.new("RGBA", (60, 60), (255, 0, 0, 0)).save(clear, "PNG")
    moving = io.BytesIO()
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue")]
    frames[0].save(moving, "GIF", save_all=True, append_images=frames[1:], duration=90)
    vector = b'<svg xmlns="http://www.w3.org/2000/svg"><script>window.pwned = 1</script></svg>'
    files = {
        "plain": (picture((400, 300)), "image/jpeg"),
        "turned": (picture((400, 300), exif=exif), "image/jpeg"),
        "clear": (clear.getvalue(), "image/png"),
        "moving": (moving.getvalue(), "image/gif"),
        "huge": (picture((12_000, 10_100), "PNG"), "image/png"),
        "big": (picture((5000, 4000)), "image/jpeg"),
        "tiny": (picture((2, 1), "PNG"), "image/png"),
        "broken": (b"\xff\xd8\xff\xe0" + bytes(200), "image/jpeg"),
        "text": (b"<script>window.pwned = 1</script>", "text/html"),
        "phone.heic": (b"\x00\x00\x00\x18ftypheic" + bytes(99), "image/heic"),
        "vector": (vector, "image/svg+xml"),
        "empty": (b"", "image/png"),
    }
    found = page.evaluate(
        """async (files) => {
      const { readPicture } = need("own_picture"), out = {};
      for (const [name, [text, type]] of Object.entries(files)) {
        const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
        const file = new File([bytes], name, { type });
        out[name] = await readPicture(file, 28).then(({ pixels, notes }) => {
          const at = (r, c) => [...pixels.subarray(3 * (28 * r + c), 3 * (28 * r + c) + 3)];
          return { left: at(14, 3), right: at(14, 24), top: at(3, 14), notes: notes.join(" ") };
        }, (error) => error.message);
      }
      const large = { name: "x".repeat(5000), size: 80e6 };
      out.large = await readPicture(large, 28).catch((error) => error.message);
      return out;
    }""",
        {name: [base64.b64encode(data).decode(), mime] for name, (data, mime) in files.items()},
    )
    red, blue, white = [255, 0, 0], [0, 0, 255], [255, 255, 255]

    def close(a: list[int], b: list[int]) -> bool:
        return max(abs(x - y) for x, y in zip(a, b, strict=True)) < 12

    for name in ("plain", "big"):
        assert close(found[name]["left"], red)
        assert close(found[name]["right"], blue)
        assert found[name]["notes"] == "The square in its middle is read."
    assert close(found["turned"]["top"], red), "upright, as the camera meant it"
    assert close(found["clear"]["left"], white)
    assert "read as white" in found["clear"]["notes"]
    assert close(found["moving"]["left"], red)
    assert "first frame" in found["moving"]["notes"]
    for name, words in {
        "huge": "121 megapixels",
        "tiny": "2 × 1 pixels, less than one patch",
        "broken": "damaged",
        "text": "not a picture",
        "phone.heic": "save it as JPEG",
        "empty": "is empty",
        "large": "80 MB",
    }.items():
        assert words in found[name], found[name]
        assert len(found[name]) < 200
    assert page.evaluate("window.pwned") is None


def test_a_phone_offers_its_camera_and_has_room(
    folder: Path, new_page: Callable[..., Page], shoot: Callable[..., object]
) -> None:
    page = new_page(**PHONE)
    page.goto((folder / "page.html").as_uri())
    wait_until_alive(page)
    assert page.get_by_text("Take a picture").is_visible()
    assert page.locator("input[capture=environment]").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    settle(page)
    shoot(page, "dino-explorer-phone-dark", full_page=True)
    page.locator("input[type=file]").first.set_input_files(handed("n.txt", "text/plain", b"words"))
    page.wait_for_selector("text=“n.txt” is not a picture")
    assert not Live(page.locator("[data-widget]")).numbers()["own"], "ours stays"
