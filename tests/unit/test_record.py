"""Recording shows what was used, changes nothing, and leaves nothing behind."""

import contextlib
import threading
import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import CheckpointError, checkpoint

from attnlab import record as module
from attnlab.attention import attention, weights
from attnlab.layers.heads import MultiHead
from attnlab.record import one_text, record, seen
from attnlab.record import stack as stack_maps
from attnlab.scores import Additive

E, H = 12, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(E)
        self.look = MultiHead(E, H, kv_heads=2, dropout=0.3)

    def forward(self, x):
        return x + self.look(self.norm(x), causal=True)


class Decoder(nn.Module):
    """An RNN with attention: no MultiHead anywhere, and a call at every step."""

    def __init__(self):
        super().__init__()
        self.score = Additive(E, 5, 6)
        self.cell = nn.GRUCell(5, E)

    def forward(self, state, memory):
        for _ in range(3):
            seen = attention(state[:, None], memory, memory, score=self.score)
            state = self.cell(seen[:, 0], state)
        return state


def stack():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(E, 3)).eval()


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


@pytest.fixture(autouse=True)
def nothing_left_behind():
    yield
    assert module._recorders == []


def test_maps_are_under_module_paths():
    model, x = stack(), torch.randn(3, 5, E)
    with record(model) as maps:
        model(x)
    assert list(maps) == ["0.look", "1.look"]
    for path, map_ in maps.items():
        assert isinstance(model.get_submodule(path), MultiHead)
        assert map_.shape == (3, H, 5, 5)
        torch.testing.assert_close(map_.sum(-1), torch.ones(3, H, 5))
        assert (map_.triu(1) == 0).all()


def test_outputs_are_equal_and_nothing_stays():
    model, x = stack(), torch.randn(3, 5, E)
    before = model(x)
    attributes = {name: set(vars(m)) for name, m in model.named_modules()}
    with record(model) as maps:
        during = model(x)
        assert hooks(model) > 0
    torch.testing.assert_close(during, before)
    assert torch.equal(model(x), before)  # bit for bit: the fused way again
    assert hooks(model) == 0
    assert {name: set(vars(m)) for name, m in model.named_modules()} == attributes
    count = len(maps)
    model(x)
    assert len(maps) == count  # nothing is stored outside the block


def test_outputs_are_equal_in_training_with_the_same_seed():
    """Dropout draws the same numbers either way; the maps are those before dropout."""
    model, x = stack().train(), torch.randn(3, 5, E)
    torch.manual_seed(7)
    before = model(x)
    torch.manual_seed(7)
    with record(model) as maps:
        during = model(x)
    torch.testing.assert_close(during, before)
    torch.testing.assert_close(maps["0.look"].sum(-1), torch.ones(3, H, 5))


def test_gradients_are_equal():
    model, x = stack(), torch.randn(3, 5, E)
    model(x).square().sum().backward()
    before = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    with record(model) as maps:
        model(x).square().sum().backward()
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.grad, before[name])
    assert not any(map_.requires_grad for map_ in maps.values())


def test_what_is_recorded_was_used():
    layer = MultiHead(E, H)
    x = torch.randn(3, 5, E)
    with record(layer) as maps:
        out = layer(x)
    v = layer.value(x).unflatten(-1, (H, -1)).transpose(1, 2)
    mixed = (maps[""] @ v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(layer.out(mixed), out)


def test_any_module_that_calls_attention_and_several_calls():
    torch.manual_seed(0)
    model = nn.ModuleDict({"decoder": Decoder()})
    model.forward = lambda *args: model["decoder"](*args)
    state, memory = torch.randn(2, E), torch.randn(2, 7, 5)
    with record(model) as maps:
        out = model(state, memory)
    assert list(maps) == ["decoder"]
    assert [tuple(map_.shape) for map_ in maps["decoder"]] == [(2, 1, 7)] * 3
    torch.testing.assert_close(out, model(state, memory))
    first = weights(state[:, None], memory, score=model["decoder"].score)
    torch.testing.assert_close(maps["decoder"][0], first.detach())


def test_names_choose_what_is_recorded():
    model, x = stack(), torch.randn(3, 5, E)
    for names, expected in [
        ("1.look", ["1.look"]),
        ("*.look", ["0.look", "1.look"]),
        (["0.*"], ["0.look"]),
        ([], []),
        ("0.norm", []),  # it exists, but never looks
    ]:
        with warnings.catch_warnings(), record(model, names) as maps:
            warnings.simplefilter("error")
            model(x)
        assert list(maps) == expected


def test_a_name_that_fits_no_module_gets_a_warning():
    model, x = stack(), torch.randn(3, 5, E)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with record(model, ["1.look", "1.lock"]) as maps:
            model(x)
            assert not caught  # at the end only
    assert list(maps) == ["1.look"]
    (warning,) = caught
    assert str(warning.message).startswith("record found no module called '1.lock'")
    assert str(warning.message).endswith(".")
    assert warning.filename == __file__  # it points at the block, not into the library


def test_an_exception_is_not_drowned_in_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError), record(stack(), "nobody"):
            raise KeyError


def test_an_exception_restores_everything():
    model = stack()

    def stop(*_):
        raise KeyboardInterrupt

    handle = model[1].norm.register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt), record(model) as maps:
        model(torch.randn(3, 5, E))
    handle.remove()
    assert list(maps) == ["0.look"]
    assert hooks(model) == 0


def test_a_swallowed_exception_does_not_shift_the_paths():
    class Careful(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad, self.good = MultiHead(E, H), MultiHead(E, H)

        def forward(self, x):
            try:
                self.bad(x[..., :3])
            except ValueError:
                self.good(x)
            return attention(x, x, x)

    model = Careful()
    with record(model) as maps:
        model(torch.randn(3, 5, E))
    assert list(maps) == ["good", ""]


def test_a_hook_that_was_there_before_belongs_to_its_module():
    """`record` enters before the hooks of others: they may look, and they may raise."""
    model, x = stack(), torch.randn(3, 5, E)

    def look(*_):
        attention(x, x, x)

    model[0].norm.register_forward_pre_hook(look)
    with record(model, "0.norm") as maps:
        model(x)
    assert list(maps) == ["0.norm"]


def test_a_hook_that_raises_does_not_shift_the_paths():
    class Careful(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad, self.good = MultiHead(E, H), MultiHead(E, H)

        def forward(self, x):
            with contextlib.suppress(RuntimeError):
                self.bad(x)
            return attention(self.good(x), x, x)

    def stop(*_):
        raise RuntimeError

    model = Careful()
    model.bad.register_forward_pre_hook(stop)
    with record(model) as maps:
        model(torch.randn(3, 5, E))
    assert list(maps) == ["good", ""]


@pytest.mark.parametrize("inside", [True, False])
def test_checkpoints_need_the_backward_pass_inside_the_block(inside):
    layer, x = nn.ModuleDict({"look": MultiHead(E, H)}), torch.randn(3, 5, E, requires_grad=True)
    layer.forward = lambda x: checkpoint(layer["look"], x, use_reentrant=False)
    layer(x).sum().backward()
    expected, x.grad = x.grad, None
    with record(layer) as maps:
        out = layer(x)
        if inside:
            out.sum().backward()
    if inside:
        torch.testing.assert_close(x.grad, expected)
        assert len(maps["look"]) == 2
        assert torch.equal(*maps["look"])
    else:
        with pytest.raises(CheckpointError):
            out.sum().backward()


def test_blocks_nest():
    model, x = stack(), torch.randn(3, 5, E)
    with record(model) as outer:
        with record(model[1]) as inner:
            model(x)
        model(x[:, :4])
    assert list(inner) == ["look"]
    assert inner["look"].shape == (3, H, 5, 5)
    assert [tuple(map_.shape) for map_ in outer["1.look"]] == [(3, H, 5, 5), (3, H, 4, 4)]
    assert torch.equal(outer["1.look"][0], inner["look"])
    assert hooks(model) == 0


def test_another_thread_is_not_recorded():
    model, x = stack(), torch.randn(3, 5, E)
    found = []
    with record(model) as maps:
        thread = threading.Thread(target=lambda: found.append(model(x)))
        thread.start()
        thread.join()
        assert maps == {}
        model(x)
    assert list(maps) == ["0.look", "1.look"]
    assert isinstance(maps["0.look"], torch.Tensor)
    torch.testing.assert_close(found[0], model(x))


def test_calls_outside_the_model_are_not_recorded():
    layer, x = MultiHead(E, H), torch.randn(3, 5, E)
    with record(layer) as maps:
        attention(x, x, x)
        MultiHead(E, H)(x)
    assert maps == {}


def test_recording_something_else_gets_one_clear_sentence():
    with (
        pytest.raises(TypeError, match=r"given a function.*pass the nn\.Module.*\.$"),
        record(attention),
    ):
        pass


def test_maps_of_several_layers_stack_in_order():
    model = stack()
    with record(model) as maps:
        model(torch.randn(2, 5, E))
    stacked = stack_maps(maps)
    assert stacked.shape == (2, 2, H, 5, 5)  # texts, layers, heads, queries, keys
    assert torch.equal(stacked[:, 1], maps["1.look"])
    with record(model) as maps:
        model(torch.randn(1, 5, E))
    assert torch.equal(one_text(maps), stack_maps(maps)[0])
    assert one_text(stacked) is stacked


def test_maps_that_do_not_stack_get_one_clear_sentence():
    a, b = torch.rand(1, 2, 3, 4), torch.rand(1, 2, 3, 5)
    for maps, words in [
        ({}, "no maps were recorded"),
        ({"a": [a, a]}, "'a' called attention 2 times"),
        ({"a": a, "b": b}, "different shapes"),
    ]:
        with pytest.raises(ValueError, match=words):
            stack_maps(maps)
    with pytest.raises(ValueError, match="maps of 2 texts"):
        one_text({"a": torch.rand(2, 2, 3, 3)})
    with pytest.raises(TypeError, match="maps is a list"):
        one_text([a])


def test_seen_reads_as_in_use_and_puts_the_mode_back():
    model, x = stack(), torch.randn(2, 5, E)
    with record(model) as maps:
        model(x)
    model.train()  # with dropout, and gradients
    found = seen(model, x, "*.look")
    assert model.training
    assert found.keys() == maps.keys()
    assert all(torch.equal(found[path], maps[path]) for path in maps)
    with pytest.raises(RuntimeError):
        seen(model, torch.randn(2, 5, E + 1))
    assert model.training
