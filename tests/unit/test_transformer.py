"""The Transformer equals torch's on the same weights; its cache equals computing anew."""

import copy
import warnings
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from attnlab import checkpoints, decoding, training
from attnlab.data import EOS, PAD, Batch, Pair, Vocabulary
from attnlab.layers import AddNorm, EncoderBlock, FeedForward, KVCache, LayerNorm
from attnlab.layers.heads import MultiHead
from attnlab.models.families import DecoderOnly, EncoderOnly, Hidden, hide
from attnlab.models.from_torch import copy_stack
from attnlab.models.transformer import (
    POSITIONS,
    Config,
    Decoder,
    Encoder,
    Transformer,
    alignments,
    cross_entropy,
    cross_maps,
)
from attnlab.translator import Translator

WIDTH, HEADS, LAYERS, HIDDEN = 24, 3, 2, 40  # nothing divides nicely by accident
B, S, T = 5, 7, 6
SMALL = Config(words=19, source_words=23, width=WIDTH, heads=HEADS, hidden=HIDDEN)


def twins(norm: str, activation: str) -> tuple[nn.Transformer, Encoder, Decoder]:
    """Torch's model, and our two stacks with its weights."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its fast path for inference is of no interest here
        theirs = nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, dropout=0.0, activation=activation,
            batch_first=True, norm_first=norm == "pre",
        )  # fmt: skip
    for parameter in theirs.parameters():  # biases and gains start at 0 and 1: move them
        nn.init.normal_(parameter, std=0.3)
    config = replace(SMALL, norm=norm, activation=activation, layers=LAYERS)
    encoder, decoder = Encoder(config), Decoder(config)
    copy_stack(encoder, theirs.encoder)
    copy_stack(decoder, theirs.decoder)
    return theirs, encoder, decoder


def allowed(rows: int, columns: int, seed: int) -> Tensor:
    """A random mask, True = may attend, in which everybody sees the first place at least."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(rows, columns, generator=generator) < 0.6
    mask[:, 0] = True
    assert not mask.all()
    return mask


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("masks", ["causal", "padding", "given", "all"])
def test_equals_torch_forward_and_backward(norm: str, masks: str, activation: str) -> None:
    """Every mask that torch takes, the output, and the gradient of every weight."""
    theirs, encoder, decoder = twins(norm, activation)
    source, target = torch.randn(B, S, WIDTH), torch.randn(B, T, WIDTH)
    own_source, own_target = source.clone(), target.clone()
    for x in (source, target, own_source, own_target):
        x.requires_grad_()
    see_source = see_memory = see_target = None  # ours: True = may attend; the decoder is causal
    torch_masks: dict[str, Tensor] = {"tgt_mask": ~torch.ones(T, T, dtype=torch.bool).tril()}
    if masks in ("given", "all"):
        see_source, see_target, see_memory = allowed(S, S, 1), allowed(T, T, 2), allowed(T, S, 3)
        torch_masks["tgt_mask"] = torch_masks["tgt_mask"] | ~see_target
        torch_masks |= {"src_mask": ~see_source, "memory_mask": ~see_memory}
    if masks in ("padding", "all"):
        real_source = torch.arange(S) < torch.tensor([7, 3, 5, 1, 6])[:, None]
        real_target = torch.arange(T) < torch.tensor([2, 6, 4, 5, 1])[:, None]
        torch_masks |= {
            "src_key_padding_mask": ~real_source,
            "memory_key_padding_mask": ~real_source,
            "tgt_key_padding_mask": ~real_target,
        }
        pad_source, pad_target = real_source[:, None, None], real_target[:, None, None]
        see_source = pad_source if see_source is None else see_source & pad_source
        see_memory = pad_source if see_memory is None else see_memory & pad_source
        see_target = pad_target if see_target is None else see_target & pad_target
    expected = theirs(source, target, **torch_masks)
    memory = decoder.read(encoder(own_source, mask=see_source))
    found = decoder(own_target, memory, mask=see_target, memory_mask=see_memory)

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    weight = torch.randn_like(expected)
    (expected * weight).sum().backward()
    (found * weight).sum().backward()
    torch.testing.assert_close(own_source.grad, source.grad, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(own_target.grad, target.grad, rtol=1e-3, atol=1e-4)
    for ours, other in ((encoder, theirs.encoder), (decoder, theirs.decoder)):
        for parameter in other.parameters():  # a gradient is copied by the path of its weight
            assert parameter.grad is not None
            parameter.data = parameter.grad
        as_ours = copy.deepcopy(ours)
        copy_stack(as_ours, other)
        for (name, own), their in zip(ours.named_parameters(), as_ours.parameters(), strict=True):
            assert own.grad is not None
            torch.testing.assert_close(
                own.grad, their.data, rtol=1e-3, atol=1e-4, msg=lambda m, name=name: f"{name}: {m}"
            )


def test_without_masks_it_equals_torch() -> None:
    """Its blocks, that is: our decoder is causal unless its blocks are told otherwise."""
    theirs, encoder, decoder = twins("post", "relu")
    source, x = torch.randn(B, S, WIDTH), torch.randn(B, T, WIDTH)
    expected = theirs(source, x)
    for layer, pair in zip(decoder.layers, decoder.read(encoder(source)), strict=True):
        x = layer(x, pair, causal=False)
    torch.testing.assert_close(decoder.norm(x), expected, rtol=1e-4, atol=1e-5)


def batch(seed: int = 0, config: Config = SMALL) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    lengths, ends = torch.tensor([7, 3, 5, 1, 6]), torch.tensor([2, 6, 4, 5, 1])
    source = torch.randint(4, config.source_words or config.words, (B, S), generator=generator)
    target = torch.randint(4, config.words, (B, T + 1), generator=generator)
    source[torch.arange(S) >= lengths[:, None]] = PAD
    target[torch.arange(T + 1) > ends[:, None]] = PAD
    return Batch(
        source=source, source_lengths=lengths, target_in=target[:, :-1], target_out=target[:, 1:]
    )


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cache_equals_recomputation(norm: str, positions: str) -> None:
    torch.manual_seed(1)
    model = Transformer(replace(SMALL, norm=norm, positions=positions)).eval()
    given = batch()
    at_once = model(given)
    state = model.start(given.source, given.source_lengths)
    for t in range(T):
        logits, state = model.step(state, given.target_in[:, t])
        torch.testing.assert_close(logits, at_once[:, t], rtol=1e-4, atol=1e-5)
    assert state.past[0][0].shape == (B, HEADS, T, WIDTH // HEADS)


@pytest.mark.parametrize("positions", POSITIONS)
def test_decoder_only_cache_and_prompt(positions: str) -> None:
    torch.manual_seed(2)
    model = DecoderOnly(replace(SMALL, positions=positions)).eval()
    tokens = torch.randint(4, 19, (3, 9))
    at_once = model(tokens)
    for prompt in (0, 1, 5):
        state = model.start(tokens[:, :prompt])
        for t in range(prompt, 9):
            logits, state = model.step(state, tokens[:, t])
            torch.testing.assert_close(logits, at_once[:, t], rtol=1e-4, atol=1e-5)
    later = tokens.clone()
    later[:, 6:] = 4
    torch.testing.assert_close(model(later)[:, :6], at_once[:, :6])  # nobody looks ahead
    assert not torch.allclose(model(later)[:, 7], at_once[:, 7])


def test_padding_changes_nothing() -> None:
    torch.manual_seed(3)
    model, given = Transformer(SMALL).eval(), batch()
    for row, (length, end) in enumerate(zip([7, 3, 5, 1, 6], [2, 6, 4, 5, 1], strict=True)):
        alone = Batch(
            source=given.source[row : row + 1, :length],
            source_lengths=torch.tensor([length]),
            target_in=given.target_in[row : row + 1, :end],
            target_out=given.target_out[row : row + 1, :end],
        )
        torch.testing.assert_close(model(given)[row, :end], model(alone)[0], rtol=1e-4, atol=1e-5)
    encoder = EncoderOnly(SMALL).eval()
    padded = torch.tensor([[5, 6, 7, PAD, PAD]])
    torch.testing.assert_close(encoder(padded)[:, :3], encoder(padded[:, :3]), rtol=1e-4, atol=1e-5)


def test_decoders_drive_it() -> None:
    torch.manual_seed(4)
    model, given = Transformer(SMALL).eval(), batch()
    state = model.start(given.source, given.source_lengths)
    said = decoding.greedy(model.step, state, max_length=8)
    best = decoding.beam(model.step, state, width=1, max_length=8, length_penalty=0.0)
    assert said == [found[0].tokens for found in best]
    assert len(decoding.sample(model.step, state, max_length=5, top_k=3, top_p=0.9)) == B
    wide = decoding.beam(model.step, state, width=3, max_length=8, length_penalty=0.0)
    for one, more in zip(best, wide, strict=True):
        assert more[0].log_probability >= one[0].log_probability - 1e-4


def test_each_decoder_block_reads_the_last_encoder_block() -> None:
    torch.manual_seed(5)
    model, given = Transformer(SMALL).eval(), batch()
    encoded = model.encoder(model.source(given.source), mask=(given.source != PAD)[:, None, None])
    state = model.start(given.source, given.source_lengths)
    for layer, (k, v) in zip(model.decoder.layers, state.memory, strict=True):
        for seen, expected in zip((k, v), layer.cross_attention.keys_values(encoded), strict=True):
            torch.testing.assert_close(seen, expected)


def test_maps_and_alignments() -> None:
    model, given = Transformer(replace(SMALL, alignment_head=(1, 2))), batch()
    maps = cross_maps(model, given)
    assert maps.shape == (B, 2, HEADS, T, S)
    assert model.training
    torch.testing.assert_close(maps.sum(-1), torch.ones(B, 2, HEADS, T))
    assert maps[1, :, :, :, 3:].abs().max() == 0  # padding gets no look
    torch.testing.assert_close(alignments(model, given), maps[:, 1, 2])


def test_tying_shares_one_table() -> None:
    tied = Transformer(replace(SMALL, source_words=None))
    free = Transformer(replace(SMALL, tied=False))
    assert tied.source is tied.target
    assert tied.out is None
    size = sum(p.numel() for p in tied.parameters())
    assert sum(p.numel() for p in free.parameters()) == size + (19 + 23) * WIDTH
    assert not any(name == "out.weight" for name in tied.state_dict())
    scores = tied.generate(torch.eye(WIDTH)[None])
    torch.testing.assert_close(scores[0], tied.target.words.weight.T)


def test_signals_start_at_size_one() -> None:
    torch.manual_seed(6)
    model = Transformer(Config(words=500, width=256, heads=4)).eval()
    with torch.no_grad():
        x = model.target.words(torch.arange(4, 404)[None]) * 16
        logits = model.generate(torch.randn(1, 50, 256))
    assert 0.9 < float(x.std()) < 1.1
    assert 0.8 < float(logits.std()) < 1.2
    assert model.target.words.weight[PAD].abs().max() == 0


def test_label_smoothing() -> None:
    torch.manual_seed(7)
    logits, target = torch.randn(2, 3, 11), torch.tensor([[4, 5, PAD], [6, PAD, PAD]])
    log_p = logits.log_softmax(-1)
    real = target != PAD
    right = -log_p.gather(-1, target[..., None])[..., 0][real]
    spread = -log_p.mean(-1)[real]
    torch.testing.assert_close(cross_entropy(logits, target), right.mean())
    torch.testing.assert_close(
        cross_entropy(logits, target, 0.1), (0.9 * right + 0.1 * spread).mean()
    )


def test_warm_up_schedule() -> None:
    factors = [training.inverse_sqrt(done / 100, 0.04) for done in range(101)]
    assert factors[0] == 0
    assert factors[2] == pytest.approx(0.5)
    assert max(factors) == factors[4] == 1
    assert factors[16] == pytest.approx(0.5)
    assert factors[100] == pytest.approx(0.2)
    with pytest.raises(ValueError, match="share of the training"):
        training.inverse_sqrt(0.5, 4000)


def test_hide_asks_for_real_tokens_only() -> None:
    tokens = torch.tensor([[5, 6, 7, 8, PAD, PAD], [9, PAD, PAD, PAD, PAD, PAD]]).repeat(50, 1)
    holes = hide(tokens, mark=4, share=0.3, generator=torch.Generator().manual_seed(0))
    asked = holes.answers != PAD
    assert asked.any(1).all()
    assert not asked[tokens == PAD].any()
    assert (holes.tokens[asked] == 4).all()
    assert (holes.tokens[~asked] == tokens[~asked]).all()
    assert (holes.answers[asked] == tokens[asked]).all()
    assert 0.3 < asked[::2].sum() / 200 < 0.5
    with pytest.raises(ValueError, match="share"):
        hide(tokens, mark=4, share=0)


def test_encoder_only_learns_to_fill_holes() -> None:
    torch.manual_seed(8)
    model = EncoderOnly(Config(words=12, width=24, heads=2, layers=1))
    generator = torch.Generator().manual_seed(0)

    def sample() -> Hidden:  # x, x + 1, x + 2: any two tell the third
        first = torch.randint(5, 10, (32, 1), generator=generator)
        return hide(first + torch.arange(3), mark=4, share=0.2, generator=generator)

    history = training.fit(
        model,
        (sample() for _ in iter(int, 1)),
        steps=150,
        descent=training.Descent(lr=1e-2),
        listeners=(),
    )
    assert history.smooth(20) < 0.2


def test_layer_norm_equals_torch_and_knows_one_token_at_a_time() -> None:
    x = torch.randn(3, 4, WIDTH) * 5 + 2
    ours, theirs = LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(ours(x)[1, 2], ours(x[1, 2]))


def test_a_silent_sublayer_is_the_identity_with_pre_norm() -> None:
    x = torch.randn(2, 3, WIDTH)
    silent = torch.zeros_like(x)
    torch.testing.assert_close(AddNorm(WIDTH, "pre").after(x, silent), x)
    assert not torch.allclose(AddNorm(WIDTH, "post").after(x, silent), x)


def test_dropout_acts_in_training_only() -> None:
    block = EncoderBlock(WIDTH, HEADS, HIDDEN, dropout=0.5)
    x = torch.randn(2, 4, WIDTH)
    block.train()
    assert not torch.allclose(block(x), block(x))
    block.eval()
    torch.testing.assert_close(block(x), block(x))


def test_words_are_forgotten_in_training_only() -> None:
    model, given = Transformer(replace(SMALL, word_dropout=0.5)), batch()
    assert not torch.allclose(model(given), model(given))
    model.eval()
    torch.testing.assert_close(model(given), model(given))


def test_sinusoids_go_beyond_what_was_prepared() -> None:
    model = DecoderOnly(replace(SMALL, longest=4)).eval()
    tokens = torch.randint(4, 19, (2, 9))
    other = DecoderOnly(replace(SMALL, longest=50)).eval()
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(tokens), other(tokens))
    assert not any("waves" in name for name in model.state_dict())


def bad_batch(source: Tensor) -> None:
    Transformer(SMALL).start(source, torch.tensor([source.shape[-1]]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: replace(SMALL, norm="middle"), "'pre' or 'post'"),
        (lambda: replace(SMALL, positions="gps"), "sinusoidal, learned"),
        (lambda: replace(SMALL, layers=0), "layers is 0"),
        (lambda: Transformer(replace(SMALL, heads=5)), "cannot be split into 5 heads"),
        (lambda: FeedForward(4, 8, "tanhh"), "relu, gelu"),
        (lambda: AddNorm(4, "neither"), "'pre' or 'post'"),
        (lambda: bad_batch(torch.tensor([[5, 99]])), "go from 5 to 99, but the table has 23"),
        (lambda: bad_batch(torch.tensor([[5.0, 6.0]])), "whole numbers"),
        (lambda: bad_batch(torch.tensor([5, 6])), r"\(batch, length\)"),
        (lambda: KVCache().content, "empty"),
        (
            lambda: DecoderOnly(replace(SMALL, positions="learned", longest=4))(
                torch.full((1, 5), EOS)
            ),
            "positions 0 to 4 are asked for, but only 0 to 3",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_memory_replaces_context() -> None:
    layer = MultiHead(WIDTH, HEADS, kv_width=10)
    x, context = torch.randn(2, 3, WIDTH), torch.randn(2, 5, 10)
    torch.testing.assert_close(layer(x, memory=layer.keys_values(context)), layer(x, context))
    with pytest.raises(ValueError, match="x has shape"):
        layer(x[..., :5], memory=layer.keys_values(context))


def test_translator_carries_it(tmp_path) -> None:
    """The same translator as for the recurrent models, told apart by a kind in the header."""
    torch.manual_seed(9)
    source, target = Vocabulary("abcdefg"), Vocabulary("uvwxyz")
    config = Config(
        words=len(target), source_words=len(source), width=12, heads=2, alignment_head=(0, 1)
    )
    first = Translator(Transformer(config).eval(), source, target)
    pairs = [
        Pair(source=tuple("abc"), target=tuple("uv"), sure=frozenset({(0, 1)})),
        Pair(source=tuple("g"), target=tuple("zyx"), sure=frozenset({(2, 0)})),
    ]
    again = Translator.load(first.save(tmp_path / "t.safetensors"))
    assert first.kind == again.kind == "transformer"
    assert list(again.model.config.alignment_head) == [0, 1]
    sentences = [pair.source for pair in pairs]
    assert again.translate(sentences) == first.translate(sentences)
    assert again.translate(sentences, beam=3) == first.translate(sentences, beam=3)
    for weights, pair in zip(again.align(pairs), pairs, strict=True):
        assert weights.shape == (len(pair.target) + 1, len(pair.source) + 1)
    assert 0 <= again.aer(pairs) <= 1
    sent = again.to_browser()
    assert sent["kind"] == "transformer"
    assert sent["config"]["heads"] == 2
    assert set(sent["arrays"]) == set(first.model.state_dict())

    tensors, about = checkpoints.load(tmp_path / "t.safetensors")
    checkpoints.save(tmp_path / "x.safetensors", tensors, {**about, "kind": "oracle"})
    with pytest.raises(ValueError, match="kind 'oracle', but known are seq2seq, transformer"):
        Translator.load(tmp_path / "x.safetensors")
