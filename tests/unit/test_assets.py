"""Assets are found, verified, loaded; what is wrong is said in a sentence."""

import json
import shutil

import pytest
import torch

from attnlab import assets, checkpoints

ENTRY = {"licence": "MIT", "origin": "made by a test", "command": "python training/toy.py"}


@pytest.fixture
def root(tmp_path):
    (tmp_path / assets.MANIFEST).write_text('{"files": {}}', encoding="utf-8")
    checkpoints.save(tmp_path / "weights" / "toy.safetensors", {"w": torch.arange(6.0).view(2, 3)})
    assets.register("weights/toy.safetensors", root=tmp_path, **ENTRY)
    return tmp_path


def test_what_is_registered_is_found_and_loaded(root):
    assert assets.find("weights/toy.safetensors", root).is_file()
    tensors, about = assets.load("weights/toy.safetensors", root)
    torch.testing.assert_close(tensors["w"], torch.arange(6.0).view(2, 3))
    assert about == {}
    entry = assets.manifest(root)["weights/toy.safetensors"]
    assert set(entry) == set(assets.FIELDS)
    assert entry["bytes"] == (root / "weights" / "toy.safetensors").stat().st_size


def test_an_unknown_name_lists_what_there_is(root):
    with pytest.raises(
        KeyError, match=r"no asset 'weights/you.safetensors'.*weights/toy.safetensors"
    ):
        assets.find("weights/you.safetensors", root)


def test_a_missing_file_says_how_to_make_it(root):
    (root / "weights" / "toy.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"python training/toy\.py"):
        assets.find("weights/toy.safetensors", root)
    with pytest.raises(FileNotFoundError, match="before you register"):
        assets.register("weights/toy.safetensors", root=root, **ENTRY)


def test_a_damaged_file_is_refused(root):
    path = root / "weights" / "toy.safetensors"
    assets.find("weights/toy.safetensors", root)  # once found, still checked again
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="is damaged"):
        assets.find("weights/toy.safetensors", root)


def test_a_damaged_manifest_is_named(root):
    (root / assets.MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"MANIFEST.json is damaged"):
        assets.manifest(root)


def test_an_installed_package_carries_its_assets(root, tmp_path_factory, monkeypatch):
    package = tmp_path_factory.mktemp("site") / "attnlab"
    shutil.copytree(root, package / "_assets")
    monkeypatch.setattr(assets, "__file__", str(package / "assets.py"))
    assert assets.folder() == package / "_assets"
    assert assets.find("weights/toy.safetensors").is_relative_to(package)
    shutil.rmtree(package / "_assets")
    with pytest.raises(FileNotFoundError, match="assets are missing"):
        assets.folder()


def test_everything_the_course_carries_is_whole_described_and_safe():
    entries = assets.manifest()
    carried = {
        path.relative_to(assets.folder()).as_posix()
        for path in assets.folder().rglob("*")
        if path.is_file() and path.name != assets.MANIFEST
    }
    assert carried == set(entries)
    for name, entry in entries.items():
        path = assets.find(name)
        assert path.stat().st_size == entry["bytes"]
        assert all(entry[field] for field in assets.FIELDS), name
        assert path.suffix not in {".pt", ".pth", ".pkl", ".bin", ".ckpt"}
    assert sum(entry["bytes"] for entry in entries.values()) <= 60e6


@pytest.mark.parametrize(("store", "error"), [("float32", 0), ("float16", 1e-3), ("int8", 0.01)])
def test_checkpoints_come_back(tmp_path, store, error):
    torch.manual_seed(0)
    tensors = {"matrix": torch.randn(5, 7), "vector": torch.randn(3), "count": torch.tensor([4])}
    path = checkpoints.save(tmp_path / "x.safetensors", tensors, {"é": [1, "two"]}, store=store)
    loaded, about = checkpoints.load(path)
    assert about == {"é": [1, "two"]}
    assert set(loaded) == set(tensors)
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        largest = float(tensor.abs().max())
        assert float((loaded[name] - tensor).abs().max()) <= error * largest
    again, _ = checkpoints.load(checkpoints.save(tmp_path / "y.safetensors", loaded, store=store))
    for name in loaded:  # what was stored once is stored without further loss
        torch.testing.assert_close(again[name], loaded[name], rtol=1e-6, atol=1e-7)


def test_int8_is_a_quarter_of_the_size(tmp_path):
    big = {"w": torch.randn(200, 300)}
    sizes = [
        checkpoints.save(tmp_path / store, big, store=store).stat().st_size
        for store in ("float32", "int8")
    ]
    assert sizes[1] < 0.27 * sizes[0]


def test_unreadable_checkpoints_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        checkpoints.load(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(json.dumps({}).encode())
    with pytest.raises(ValueError, match="not a checkpoint that can be read"):
        checkpoints.load(tmp_path / "bad.safetensors")
    with pytest.raises(ValueError, match="float32, float16, int8"):
        checkpoints.pack({}, "int4")
