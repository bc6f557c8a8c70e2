"""The translators: shapes, steps, padding, alignments, checkpoints, the browser's copy."""

import base64

import numpy as np
import pytest
import torch

from attnlab import checkpoints, decoding
from attnlab.data import BOS, EOS, UNK, Pair, Vocabulary, batches, collate
from attnlab.data.sequences import SPECIAL, forget, split_of
from attnlab.models.seq2seq import KINDS, Config, Seq2Seq, alignments
from attnlab.record import record
from attnlab.translator import Translator

SOURCE, TARGET = Vocabulary("abcdefg"), Vocabulary("uvwxyz")
PAIRS = [
    Pair(source=tuple("abcde"), target=tuple("uvw")),
    Pair(source=tuple("ga"), target=tuple("zyxwvu")),
    Pair(source=tuple("c"), target=tuple("x")),
]
WAYS = [(kind, order) for kind in KINDS for order in ("after", "before")]


def translator(kind="additive", order="after", **options):
    torch.manual_seed(0)
    config = Config(
        source_words=len(SOURCE), target_words=len(TARGET), kind=kind, order=order,
        embedding=6, hidden=5, **options,
    )  # fmt: skip
    return Translator(Seq2Seq(config).eval(), SOURCE, TARGET)


@pytest.mark.parametrize(("kind", "order"), WAYS)
def test_steps_one_by_one_say_what_teacher_forcing_says(kind, order):
    model = translator(kind, order).model
    batch = collate(PAIRS, SOURCE, TARGET)
    logits = model(batch)
    assert logits.shape == (3, 7, len(TARGET))
    state = model.start(batch.source, batch.source_lengths)
    for t in range(batch.target_in.shape[1]):
        step, state = model.step(state, batch.target_in[:, t])
        torch.testing.assert_close(step, logits[:, t], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("kind", "order"), WAYS)
def test_padding_changes_nothing(kind, order):
    model = translator(kind, order).model
    together = model(collate(PAIRS, SOURCE, TARGET))
    for i, pair in enumerate(PAIRS):
        alone = model(collate([pair], SOURCE, TARGET))[0]
        torch.testing.assert_close(together[i, : len(alone)], alone, rtol=1e-5, atol=1e-5)


def test_the_loss_is_the_mean_over_real_words():
    model = translator().model
    batch = collate(PAIRS, SOURCE, TARGET)
    log_p = model(batch).log_softmax(-1)
    picked = [
        -log_p[i, t, number]
        for i, pair in enumerate(PAIRS)
        for t, number in enumerate([*TARGET.encode(pair.target), EOS])
    ]
    torch.testing.assert_close(model.loss(batch), torch.stack(picked).mean())


@pytest.mark.parametrize("order", ["after", "before"])
@pytest.mark.parametrize("kind", ["additive", "dot", "bilinear"])
def test_alignments_are_weights_over_real_source_words(kind, order):
    weights = translator(kind, order).align(PAIRS)
    for alpha, pair in zip(weights, PAIRS, strict=True):
        assert alpha.shape == (len(pair.target) + 1, len(pair.source) + 1)
        torch.testing.assert_close(alpha.sum(-1), torch.ones(len(pair.target) + 1))
    everything = alignments(translator(kind, order).model, collate(PAIRS, SOURCE, TARGET))
    assert float(everything[2, :, 2:].abs().max()) == 0.0  # padding gets nothing


def test_the_context_is_the_weighted_mean_of_the_annotations():
    model = translator().model
    batch = collate(PAIRS, SOURCE, TARGET)
    state = model.start(batch.source, batch.source_lengths)
    words = model.embedding(batch.target_in)
    states, _ = model.gru(words, state.hidden[None])
    with record(model) as maps:
        context = model.context(states, state.memory)
    assert list(maps) == ["context"]
    alpha = maps["context"][:, 0]  # (B, T, S)
    torch.testing.assert_close(context, alpha @ state.memory.annotations)
    # Bahdanau's score, written out for one pair: v · tanh(W s + b + U h)
    score = model.context.score
    s, h = states[1, 2], state.memory.annotations[1]
    energy = torch.stack([score.out(torch.tanh(score.query(s) + score.key(h_i))) for h_i in h])
    real = int(batch.source_lengths[1])
    torch.testing.assert_close(alpha[1, 2, :real], energy[:real, 0].softmax(0))


def test_the_fixed_context_is_one_vector_for_all_words_and_aligns_nothing():
    fixed = translator("none")
    batch = collate(PAIRS, SOURCE, TARGET)
    state = fixed.model.start(batch.source, batch.source_lengths)
    context = fixed.model.context(torch.zeros(3, 4, 5), state.memory)
    assert torch.equal(context[:, 0], context[:, 3])
    assert torch.equal(context[:, 0], state.memory.summary)
    with pytest.raises(ValueError, match="aligns nothing"):
        fixed.align(PAIRS)


def test_the_two_translators_differ_in_nothing_but_the_score():
    fixed, additive = translator("none").model, translator("additive").model
    names = {name for name, _ in additive.named_parameters()} - {
        n for n, _ in fixed.named_parameters()
    }
    assert all(name.startswith("context.score") for name in names)


def test_a_small_translator_learns_to_reverse():
    from attnlab import reproducible, training

    letters = "abcdefg"
    reproducible.seed(0)
    generator = torch.Generator().manual_seed(1)
    pairs = []
    for _ in range(600):
        n = int(torch.randint(1, 5, (1,), generator=generator))
        word = tuple(letters[int(i)] for i in torch.randint(0, 7, (n,), generator=generator))
        pairs.append(
            Pair(
                source=word,
                target=word[::-1],
                sure=frozenset((t, n - 1 - t) for t in range(n)),
                possible=frozenset((t, n - 1 - t) for t in range(n)),
            )
        )
    vocabulary = Vocabulary(letters)
    config = Config(source_words=11, target_words=11, embedding=16, hidden=24)
    reverse = Translator(Seq2Seq(config), vocabulary, vocabulary)
    stream = batches(pairs, vocabulary, vocabulary, size=32)
    training.fit(reverse.model, stream, steps=250, descent=training.Descent(lr=1e-2), listeners=())
    held_out = [tuple("gfed"), tuple("ab"), tuple("cacb")]
    assert reverse.translate(held_out) == [list(word[::-1]) for word in held_out]
    assert reverse.translate(held_out, beam=3) == reverse.translate(held_out)
    assert reverse.aer(pairs[:50]) < 0.3


def test_translations_do_not_depend_on_the_batch():
    model = translator()
    sentences = [pair.source for pair in PAIRS]
    assert model.translate(sentences, size=1) == model.translate(sentences)
    assert model.translate(sentences[::-1]) == model.translate(sentences)[::-1]
    for beam in (1, 3):
        state, _ = model.start(sentences[:1])
        assert model.translate(sentences[:1], beam=beam)
        assert len(decoding.beam(model.model.step, state, width=beam, max_length=4)[0]) <= beam


@pytest.mark.parametrize("store", ["float32", "float16", "int8"])
def test_a_saved_translator_comes_back(tmp_path, store):
    first = translator("bilinear", dropout=0.1)
    path = first.save(tmp_path / "t.safetensors", store=store, steps=3)
    second = Translator.load(path)
    assert second.model.config == first.model.config
    assert second.source.words == first.source.words
    assert checkpoints.read(path)[1]["steps"] == 3
    tolerance = {"float32": 0.0, "float16": 2e-3, "int8": 2e-2}[store]
    for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = checkpoints.save(tmp_path / "x.safetensors", {"w": torch.zeros(2)})
    with pytest.raises(ValueError, match="not of a translator"):
        Translator.load(path)


def test_the_browser_gets_the_same_numbers(tmp_path):
    stored = Translator.load(translator().save(tmp_path / "t.safetensors", store="int8"))
    sent = stored.to_browser("int8")
    assert sent["source"][: len(SPECIAL)] == list(SPECIAL)
    assert sent["config"]["kind"] == "additive"
    for name, parameter in stored.model.state_dict().items():
        array = sent["arrays"][name]
        kind = {"int8": "<i1", "float16": "<f2", "float32": "<f4"}[array["dtype"]]
        values = np.frombuffer(base64.b64decode(array["data"]), kind).reshape(array["shape"])
        values = values.astype(np.float32)
        if "scale" in array:
            values = values * np.frombuffer(base64.b64decode(array["scale"]), "<f4")[:, None]
        np.testing.assert_allclose(values, parameter.numpy(), rtol=1e-6, atol=1e-7)


def test_vocabularies_and_batches():
    assert SOURCE.encode("abz") == [4, 5, 3]
    assert SOURCE.decode([BOS, 4, 5, EOS, 6]) == ["a", "b"]
    assert SOURCE.unknown("azbzq") == ["z", "q"]
    with pytest.raises(ValueError, match="twice"):
        Vocabulary("aba")
    with pytest.raises(ValueError, match="'source' and 'target'"):
        Vocabulary.of(PAIRS, "left")
    batch = collate(PAIRS, SOURCE, TARGET)
    assert batch.source.tolist()[2] == [6, EOS, 0, 0, 0, 0]
    assert batch.source_lengths.tolist() == [6, 3, 2]
    assert batch.target_in[0].tolist() == [BOS, 4, 5, 6, 0, 0, 0]
    assert batch.target_out[0].tolist() == [4, 5, 6, EOS, 0, 0, 0]
    many = PAIRS * 5
    stream = batches(many, SOURCE, TARGET, size=4, seed=1)
    epoch = [next(stream) for _ in range(4)]
    assert sum(len(batch) for batch in epoch) == 15
    again = batches(many, SOURCE, TARGET, size=4, seed=1)
    assert all(torch.equal(batch.source, next(again).source) for batch in epoch)
    with pytest.raises(ValueError, match="no pairs"):
        next(batches([], SOURCE, TARGET, size=4))


def test_forgotten_words_become_unknown_and_marks_stay():
    torch.manual_seed(0)
    words = torch.arange(6).repeat(500, 1)
    kept = forget(words, 0.25)
    assert torch.equal(kept[:, : UNK + 1], words[:, : UNK + 1])
    hidden = kept[:, UNK + 1 :] == UNK
    assert hidden.float().mean() == pytest.approx(0.25, abs=0.05)
    assert torch.equal(kept[:, UNK + 1 :][~hidden], words[:, UNK + 1 :][~hidden])
    assert forget(words, 0.0) is words


def test_words_are_forgotten_in_training_only():
    model = translator(word_dropout=0.5).model
    batch = collate(PAIRS, SOURCE, TARGET)
    torch.testing.assert_close(model(batch), model(batch))
    model.train()
    assert not torch.allclose(model(batch), model(batch))


def test_the_split_of_a_key_is_fixed_for_ever():
    splits = [split_of(str(i)) for i in range(2000)]
    assert 60 < splits.count("test") < 140
    assert [split_of(key) for key in ("a", "b", "c")] == [split_of(key) for key in "abc"]
    assert splits[:3] == ["train", "train", "train"]


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="none, additive, dot, bilinear"):
        Config(source_words=5, target_words=5, kind="cosine")
    with pytest.raises(ValueError, match="'after' or 'before'"):
        Config(source_words=5, target_words=5, order="never")
