"""The Python side of the live figures: what they refuse, what they send, what the page gets."""

import inspect
import json
import re
import warnings
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import torch

from attnlab import masks, widgets
from attnlab.widgets import AttentionHeatmap, AttentionWorkbench, SoftmaxTemperature, static_page
from attnlab.widgets.base import STATIC, LiveFigure, bundle, stylesheet

NASTY = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--",
    "]]>",
    "&lt;b&gt;",
    "🙂‍↔️",
    "\u202egnihtemos",
    "x" * 10_000,
    "",
    "\n",
    '"\\',
]
CLASSES = [
    made for _, made in inspect.getmembers(widgets, inspect.isclass) if issubclass(made, LiveFigure)
]


def heatmap(heads: int = 3, queries: int = 4, keys: int = 6, width: int = 5, **traits: Any) -> Any:
    made = torch.Generator().manual_seed(0)
    return AttentionHeatmap(
        q=torch.randn(heads, queries, width, generator=made),
        k=torch.randn(heads, keys, width, generator=made),
        **{"tokens": list("abcd")[:queries], "key_tokens": list("uvwxyz")[:keys], **traits},
    )


def workbench(n: int = 4, e: int = 3, d: int = 2, v: int = 1, **traits: Any) -> Any:
    matrices = {"x": (n, e), "w_q": (e, d), "w_k": (e, d), "w_v": (e, v)}
    given = {name: torch.ones(*shape) for name, shape in matrices.items()}
    return AttentionWorkbench(**{"tokens": [f"t{i}" for i in range(n)], **given, **traits})


# ---- what a figure refuses, and how it says so


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"tokens": []}, r"tokens is empty"),
        ({"tokens": list("abc")}, r"3 tokens but 4 queries .*q \(3, 4, 5\)"),
        ({"key_tokens": []}, r"4 tokens but 6 keys .*give key_tokens"),
        ({"key_tokens": list("uvwxy")}, r"5 key_tokens but 6 keys"),
        ({"tokens": "abcd"}, r"one string, 'abcd': give a list.*split\(\)"),
        ({"tokens": 4}, r"tokens is a int: give a list"),
        ({"head": 3}, r"head is 3, .*heads 0 to 2"),
        ({"head": -1}, r"head is -1"),
        ({"head_names": ["a", "b"]}, r"2 head_names but 3 heads"),
        ({"mask": "causa"}, r"mask is 'causa': choose one of 'none', 'causal'"),
        ({"temperature": 0.0}, r"temperature is 0.0: it must be above 0"),
        ({"temperature": float("nan")}, r"temperature is nan"),
        ({"radius": -1}, r"radius is -1: it must be 0 or more"),
        ({"padding": -2}, r"padding is -2"),
        ({"masks": {"m": np.ones((6, 4), bool)}}, r"masks\['m'\] has shape \(6, 4\), .*\(4, 6\)"),
        ({"masks": {"m": np.ones((4, 6))}}, r"masks\['m'\] holds float64 numbers, .*bool"),
        ({"masks": {"causal": np.ones((4, 6), bool)}}, r"'causal' is the name of a built-in mask"),
        ({"masks": [np.ones((4, 6), bool)]}, r"masks is a list: give a dict"),
        ({"masks": np.ones((4, 6), bool)}, r"masks is a ndarray: give a dict"),
        ({"head_names": np.array(["a", "b"])}, r"2 head_names but 3 heads"),
        ({"temperature": np.float32(-1)}, r"temperature is -1.0: it must be above 0"),
        ({"temperature": torch.tensor(torch.inf)}, r"temperature holds inf"),
        ({"temperature": np.array(1j)}, r"temperature must be .*complex"),
        ({"edited": np.ones((6, 4), bool)}, r"edited has shape \(6, 4\), but the map is \(4, 6\)"),
        ({"edited": np.ones((4, 6))}, r"edited holds float64 numbers"),
    ],
)
def test_the_heatmap_refuses_with_a_sentence(traits: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        heatmap(**traits)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, r"either weights, or q and k: none was given"),
        ({"q": torch.ones(4, 5)}, r"only q was given"),
        ({"k": torch.ones(4, 5)}, r"only k was given"),
        (
            {"weights": torch.full((4, 4), 0.25), "q": torch.ones(4, 5), "k": torch.ones(4, 5)},
            r"both given",
        ),
        ({"q": torch.ones(4, 5), "k": torch.ones(4, 6)}, r"differ in their last axis"),
        ({"q": torch.ones(4, 4, 5), "k": torch.ones(2, 4, 5)}, r"repeat_interleave\(2, 0\)"),
        ({"q": torch.ones(4, 4, 5), "k": torch.ones(4, 5)}, r"do not have the same heads"),
        ({"q": torch.ones(1, 2, 4, 5), "k": torch.ones(4, 5)}, r"4 axes.*batch.*q\[0\]"),
        ({"weights": torch.ones(4)}, r"weights has shape \(4,\), 1 axes"),
        ({"weights": torch.zeros(0, 4)}, r"nothing to draw"),
        ({"weights": torch.full((4, 4), -0.1)}, r"holds -0.1 at \(0, 0\).*not negative"),
        ({"weights": [[0.5, float("nan")]]}, r"weights holds nan at \(0, 1\).*finite"),
        ({"weights": [["a", "b"]]}, r"weights must be an array of numbers"),
        ({"weights": torch.full((4, 4), 0.25 + 1j)}, r"weights must be .*it holds complex numbers"),
        ({"edited": np.ones((4, 4), bool)}, r"none was given"),
        ({"q": torch.ones(4, 5) / 0, "k": torch.ones(4, 5)}, r"q holds inf at \(0, 0\)"),
    ],
)
def test_the_heatmap_refuses_wrong_data(data: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AttentionHeatmap(tokens=list("abcd"), **data)


def test_the_heatmap_says_how_to_slice_too_many_tokens() -> None:
    long = torch.full((300, 300), 1 / 300)
    with pytest.raises(ValueError, match=r"300 × 300.*slice to at most 256 tokens"):
        AttentionHeatmap(long, tokens=range(300))


def test_rows_that_do_not_sum_to_one_are_drawn_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"rows of weights sum to 0.800 … 0.800, not 1"):
        AttentionHeatmap(np.full((3, 4), 0.2), tokens=list("abc"), key_tokens=list("uvwx"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an empty row is zeros, and that is right
        AttentionHeatmap([[0.0, 0.0], [0.5, 0.5]], tokens=list("ab"))


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"tokens": []}, r"0 tokens: the workbench shows 1 to 6"),
        ({"n": 7}, r"7 tokens: the workbench shows 1 to 6.*AttentionHeatmap"),
        ({"tokens": list("abc")}, r"3 tokens but x has 4 rows"),
        ({"e": 5}, r"x has shape \(4, 5\).*at most 4 numbers"),
        ({"w_q": torch.ones(2, 3)}, r"w_q has shape \(2, 3\), but x has rows of 3 numbers"),
        ({"w_k": torch.ones(3, 4)}, r"w_q \(3, 2\) and w_k \(3, 4\) differ"),
        ({"w_v": None}, r"w_v is None: give an array of numbers"),
        ({"w_v": torch.ones(3, 0)}, r"w_v is empty"),
        ({"x": torch.full((4, 3), torch.nan)}, r"x holds nan at \(0, 0\)"),
        ({"edited": np.ones((4, 3), bool)}, r"edited has shape \(4, 3\), but 4 tokens need"),
        ({"temperature": -1.0}, r"temperature is -1.0"),
    ],
)
def test_the_workbench_refuses_with_a_sentence(traits: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        workbench(**traits)


@pytest.mark.parametrize("make", [heatmap, workbench])
def test_an_unknown_argument_is_named(make: Any) -> None:
    with pytest.raises(TypeError, match=r"does not know temprature. It knows .*temperature"):
        make(temprature=2.0)


# ---- masks have one sense, and the figure agrees with the library


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"mask": "none"}, torch.ones(4, 6, dtype=torch.bool)),
        ({"mask": "causal"}, masks.causal(4, 6).dense()),
        ({"mask": "window", "radius": 2}, masks.window(4, 2, 6).dense()),
        ({"mask": "padding", "padding": 2}, masks.padding([4], 6).dense()[0, 0].expand(4, 6)),
    ],
)
def test_presets_are_the_masks_of_the_library(choice: dict[str, Any], expected: Any) -> None:
    assert np.array_equal(heatmap(**choice).allowed, expected.numpy())


def test_masks_may_be_objects_of_the_library_and_broadcast() -> None:
    figure = heatmap(
        masks={"back": masks.causal(4, 6) & masks.window(4, 1, 6), "pad": masks.padding([5], 6)},
        mask="pad",
    )
    assert figure.masks["pad"].shape == (1, 6)
    assert figure.allowed.shape == (4, 6)
    assert not figure.allowed[:, 5].any()
    assert figure.allowed[:, :5].all()


def test_a_mask_drawn_by_hand_is_the_one_in_force_until_the_map_changes_size() -> None:
    figure = heatmap(mask="causal")
    drawn = np.ones((4, 6), bool)
    drawn[1, 2] = False
    figure.edited = drawn
    assert np.array_equal(figure.allowed, drawn)
    figure.change(q=torch.ones(2, 5), k=torch.ones(2, 5), tokens=["a", "b"], key_tokens=[])
    assert figure.edited is None
    assert np.array_equal(figure.allowed, np.tri(2, dtype=bool))


def test_a_mask_drawn_for_the_new_size_comes_with_the_new_map() -> None:
    figure = heatmap(mask="causal", edited=np.zeros((4, 6), bool))
    smaller = {"q": torch.ones(2, 5), "k": torch.ones(3, 5), "tokens": "ab", "key_tokens": "uvw"}
    smaller |= {name: list(smaller[name]) for name in ("tokens", "key_tokens")}
    with pytest.raises(ValueError, match=r"edited has shape \(4, 6\), but the map is \(2, 3\)"):
        figure.change(**smaller, edited=np.ones((4, 6), bool))
    assert figure.allowed.shape == (4, 6)
    drawn = np.array([[True, False, True], [False, True, True]])
    figure.change(**smaller, edited=drawn)
    assert np.array_equal(figure.allowed, drawn)


@pytest.mark.parametrize(
    ("make", "choice"),
    [
        (heatmap, {"mask": "causal"}),
        (heatmap, {"radius": 3}),
        (workbench, {"causal": True}),
    ],
)
def test_another_preset_takes_the_place_of_a_mask_drawn_by_hand(make: Any, choice: Any) -> None:
    drawn = np.zeros((4, 6 if make is heatmap else 4), bool)
    figure = make(edited=drawn)
    assert np.array_equal(figure.allowed, drawn)
    figure.change(**choice)
    assert figure.edited is None
    assert figure.allowed.any()
    figure.change(
        edited=~drawn,
        **{name: type(value)() for name, value in choice.items()}
        | ({"mask": "none"} if "mask" in choice else {}),
    )
    assert figure.edited.all()  # both at once: the drawing is on the new preset
    assert make(edited=drawn, **choice).edited is not None


# ---- Python may change everything while the figure lives


def test_traits_that_belong_together_change_together() -> None:
    figure = heatmap()
    with pytest.raises(ValueError, match=r"Change both at once with figure.change"):
        figure.tokens = ["a", "b"]
    assert figure.tokens == list("abcd")
    figure.change(tokens=["a", "b"], q=torch.zeros(3, 2, 5), head=2)
    assert figure.shape == (3, 2, 6)
    with pytest.raises(ValueError, match="3 tokens but 2 queries"):
        figure.change(tokens=["a", "b", "c"], temperature=2.0)
    assert figure.tokens == ["a", "b"]
    with pytest.raises(TypeError, match="does not know token"):
        figure.change(token=[])


def test_none_is_refused_where_the_map_would_lose_its_numbers() -> None:
    vectors, bench = heatmap(), workbench()
    weights = AttentionHeatmap(np.full((4, 6), 1 / 6), tokens=range(4), key_tokens=range(6))
    with pytest.raises(ValueError, match="none was given"):
        weights.weights = None
    with pytest.raises(ValueError, match="only k was given"):
        vectors.q = None
    with pytest.raises(ValueError, match="none was given"):
        vectors.change(q=None, k=None)
    with pytest.raises(ValueError, match="x is None: give an array"):
        bench.x = None
    assert weights.shape == (1, 4, 6)
    assert (vectors.shape, vectors.q.shape) == ((3, 4, 6), (3, 4, 5))
    assert bench.x.shape == (4, 3)
    for figure in (vectors, bench):
        figure.edited = np.zeros((4, 6 if figure is vectors else 4), bool)
        figure.edited = None  # nothing is drawn any more
        assert figure.allowed.all()


def test_a_figure_turns_from_vectors_to_weights() -> None:
    figure = heatmap()
    figure.change(q=None, k=None, weights=torch.full((4, 6), 1 / 6))
    assert figure.shape == (1, 4, 6)


def test_a_change_is_one_message_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    figure, sent = heatmap(), []
    monkeypatch.setattr(type(figure), "send_state", lambda self, key=None: sent.append(set(key)))
    figure.change(tokens=["a", "b"], q=torch.zeros(3, 2, 5))
    assert sent == [{"tokens", "q"}]


def test_the_same_array_again_is_not_a_change() -> None:
    figure, seen = heatmap(), []
    figure.observe(seen.append, names=["q"])
    figure.q = figure.q.copy()
    assert seen == []
    figure.q = figure.q + 1
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("figure", "names"),
    [(heatmap(), ["q", "k", "edited", "masks"]), (workbench(), ["x", "w_q", "edited"])],
)
def test_arrays_survive_the_way_to_the_page_and_back(figure: Any, names: list[str]) -> None:
    n, s = (4, 6) if isinstance(figure, AttentionHeatmap) else (4, 4)
    figure.edited = np.arange(n * s).reshape(n, s) % 3 > 0
    if isinstance(figure, AttentionHeatmap):
        figure.masks = {"odd": np.arange(n * s).reshape(n, s) % 2 > 0}
    state = figure.get_state()
    before = {name: getattr(figure, name) for name in names}
    figure.edited = None
    figure.set_state({name: state[name] for name in names})
    for name in names:
        after = getattr(figure, name)
        if isinstance(after, dict):
            assert {k: v.tolist() for k, v in after.items()} == {
                k: v.tolist() for k, v in before[name].items()
            }
        else:
            assert after.dtype == before[name].dtype
            assert np.array_equal(after, before[name])


def test_arrays_travel_as_bytes() -> None:
    sent = heatmap().get_state()["q"]
    assert sent["shape"] == [3, 4, 5]
    assert sent["dtype"] == "float32"
    assert len(sent["data"]) == 3 * 4 * 5 * 4


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype="float64"),
        torch.tensor([[1.0, 2], [3, 4]], dtype=torch.float16, requires_grad=True),
        torch.tensor([[1, 2], [3, 4]], dtype=torch.bfloat16),
        torch.tensor([[1, 2], [3, 4]]),
    ],
)
def test_an_array_may_come_from_anywhere(value: Any) -> None:
    figure = workbench(2, 2, 2, 2, x=value)
    assert figure.x.dtype == np.float32
    assert figure.x.tolist() == [[1, 2], [3, 4]]


def test_labels_may_be_an_array() -> None:
    given = {"key_tokens": np.array(list("uvwxyz")), "head_names": np.array(list("xyz"))}
    figure = heatmap(tokens=np.array(list("abcd")), **given)
    assert (figure.tokens, figure.key_tokens) == (list("abcd"), list("uvwxyz"))
    assert figure.head_names == list("xyz")


@pytest.mark.parametrize(
    "half", [0.5, np.float32(0.5), np.array(0.5), torch.tensor(0.5), Fraction(1, 2)]
)
def test_a_temperature_may_be_any_real_number(half: Any) -> None:
    figure = workbench(temperature=half)
    assert (figure.temperature, type(figure.temperature)) == (0.5, float)


# ---- static pages


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.json = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags[-1] == "script":
            self.json += data


def nasty_figures() -> list[LiveFigure]:
    n = len(NASTY)
    return [
        heatmap(1, n, n, tokens=NASTY, key_tokens=NASTY[::-1], head_names=[NASTY[1]]),
        workbench(3, tokens=NASTY[:3], title=NASTY[1], caption=NASTY[0], alt=NASTY[1]),
        SoftmaxTemperature(NASTY, [0.0] * n, title=NASTY[0]),
    ]


@pytest.mark.parametrize("figure", nasty_figures(), ids=lambda figure: figure.figure)
def test_no_token_can_leave_its_place_on_the_page(figure: LiveFigure) -> None:
    page = _Page()
    page.feed(figure.to_html())
    assert page.tags == ["div", "p", "em", "script"]
    state = json.loads(page.json)
    assert (state.get("tokens") or state.get("labels")) == (
        getattr(figure, "tokens", None) or figure.labels
    )


def test_a_half_character_does_not_break_the_page() -> None:
    figure = heatmap(tokens=["\ud800", "b", "c", "d"])
    assert figure.to_html().encode("utf-8")


def test_the_mime_bundle_serves_jupyter_and_static_pages() -> None:
    data, _ = heatmap(title="Six words")._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == "AttentionHeatmap('Six words')"
    assert data["text/html"].startswith('<div data-widget="attention_heatmap">')


@pytest.mark.parametrize("make", [heatmap, workbench])
def test_repr_is_short_and_the_same_on_every_run(make: Any) -> None:
    assert repr(make()) == repr(make()) == f"{type(make()).__name__}()"
    assert repr(make(title="A")) == f"{type(make()).__name__}('A')"


@pytest.mark.parametrize("make", [heatmap, workbench])
def test_the_page_has_words_while_scripts_are_off(make: Any) -> None:
    assert make().alt in make().to_html()
    assert make(alt="My words").alt == "My words"


def test_the_state_of_a_page_holds_no_code() -> None:
    state = heatmap().static_state()
    assert not [key for key in state if key.startswith("_") or key == "layout"]
    assert len(heatmap().to_html()) < 6_000


# ---- files


@pytest.mark.parametrize("name", static_page.figures())
def test_every_figure_has_a_python_class_and_a_self_contained_module(name: str) -> None:
    (made,) = [cls for cls in CLASSES if cls.figure == name]
    text = bundle(name)
    assert not re.search(r"^\s*import\b", text, re.MULTILINE)
    assert len(re.findall(r"^export default", text, re.MULTILINE)) == 1
    assert made._esm == text
    assert ".al-figure" in stylesheet(name)


def test_the_exports_list_every_figure() -> None:
    assert sorted(widgets.__all__) == widgets.__all__
    assert {cls.__name__ for cls in CLASSES} == set(widgets.__all__)
    assert {cls.figure for cls in CLASSES} == set(static_page.figures())


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_static_files_ask_for_nothing_from_a_network(path: Any) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//cdn|\bfetch\(|XMLHttpRequest|WebSocket|@import|url\(", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text)


def test_the_assets_are_a_style_and_a_script_for_every_part(tmp_path: Any) -> None:
    style, *scripts = static_page.write_assets(tmp_path)
    assert ".al-heat" in (tmp_path / style).read_text(encoding="utf-8")
    assert scripts[-1] == static_page.MOUNT
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in scripts]
    assert sum("\nfunction frame(" in text for text in texts) == 1, "what is shared is once"
    assert {f"live/{name}.js" for name in static_page.figures()} < set(scripts)


def test_a_page_loads_what_its_figures_are_made_of() -> None:
    assert static_page.needed("<p>no figure</p>") == []
    assert static_page.needed('<div data-widget="nobody">') == ["live/mount.js"]
    two = SoftmaxTemperature(scores=[1.0, 2.0], labels=["a", "b"]).to_html() + heatmap().to_html()
    loaded = static_page.needed(two + two)
    assert sorted(loaded) == [
        "live/attention_heatmap.js", "live/heatmap_painting.js", "live/kit.js", "live/map.js",
        "live/math.js", "live/mount.js", "live/palette.js", "live/palette.json.js",
        "live/softmax_temperature.js", "live/wire.js",
    ]  # fmt: skip
    assert loaded[-1] == "live/mount.js"
    tags = static_page.head(two)
    assert tags.startswith('<link rel="stylesheet" href="./live/figures.css">')
    assert tags.count("<script defer src=") == len(loaded)
