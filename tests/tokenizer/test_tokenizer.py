"""The tokenizer: encoding loses nothing and agrees with Hugging Face's, bounds hold, bad input is a sentence."""

from __future__ import annotations

import json
import math
import pickle
import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine import CompressiveFeatures, SubwordTokenizer
from cflengine.engine import InputError, MemoryLimitError
from cflengine.tokenizer import Candidates, Cutting, TokenizerResult, WordTable, candidates
from cflengine.tokenizer.certificate import count_tokens, dual_bound
from cflengine.tokenizer.exchange import Exchange
from cflengine.tokenizer.problem import fewest_tokens, tokens_at_least

SYLLABLES = ("ab", "cab", "ba", "ca", "bra", "ö", "co", "x")


def words_at_random(n: int, seed: int, most: int = 5) -> dict[str, int]:
    draw = random.Random(seed)
    return {"".join(draw.choices(SYLLABLES, k=draw.randint(1, most))): draw.randint(1, 30) for _ in range(n)}


def texts_at_random(n: int, seed: int = 0) -> list[str]:
    draw, words = random.Random(seed), list(words_at_random(120, seed))
    return [" ".join(draw.choices(words, k=draw.randint(3, 20))) + draw.choice(["", ".", "  !\n"]) for _ in range(n)]


def fewest(words: dict[str, int], pieces: set[str], longest: int) -> int:
    return sum(count * fewest_tokens(pieces, word, longest) for word, count in words.items())


def substrings(words: dict[str, int], longest: int) -> set[str]:
    return {w[a:e] for w in words for a in range(len(w)) for e in range(a + 2, min(a + longest, len(w)) + 1)}


@pytest.fixture(scope="module", params=["byte", "character"])
def fitted(request) -> SubwordTokenizer:
    size = 340 if request.param == "byte" else 360
    return SubwordTokenizer(size, unit=request.param, special_tokens=("<pad>", "[end]")).fit(texts_at_random(80))


def test_the_worked_example():
    words = {"aab": 10, "ab": 5}
    assert fewest(words, {"ab"}, 3) == 25
    assert fewest(words, {"aab"}, 3) == 20
    model = SubwordTokenizer(257).fit(words)
    assert [model.pieces_[-1], model.result_.objective, model.result_.gap] == ["aab", 20, 0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_small_vocabulary_is_nearly_the_best_and_the_bound_holds(seed, size):
    words = words_at_random(7, seed, 3)
    offered = sorted(substrings(words, 5))
    best = min(fewest(words, set(some), 5) for some in combinations(offered, size))
    model = SubwordTokenizer(257 + len(set("".join(words))) + size, unit="character", longest=5).fit(words)
    result = model.result_
    chosen = set(model.pieces_[len(model.pieces_) - size :])
    assert len(chosen) == size == result.size
    assert result.objective == fewest(words, chosen, 5)
    assert result.lower_bound <= best <= result.objective <= 1.1 * best
    assert result.gap == result.objective / result.lower_bound - 1


@given(st.dictionaries(st.text("abcd", min_size=1, max_size=6), st.integers(1, 50), min_size=1, max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_any_prices_prove_a_bound(words, data):
    table = WordTable.of(Counter(words), Cutting(unit="character"))
    every = Candidates.of(table, 4)
    alpha = np.array(data.draw(st.lists(st.floats(0, 60), min_size=len(table.units), max_size=len(table.units))))
    mu = data.draw(st.floats(0, 100))
    some = data.draw(st.sets(st.sampled_from(sorted(substrings(words, 4)) or ["none"]), max_size=6))
    proved = dual_bound(every.index.gram_of, every.unit_counts, every.group_cost(mu), alpha)
    assert proved <= fewest(words, some, 4) + mu * len(some) + 1e-9
    assert tokens_at_least(proved, mu, len(some)) <= fewest(words, some, 4)


@given(st.dictionaries(st.text("abcd", min_size=1, max_size=7), st.integers(1, 50), min_size=1, max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_exchanges_know_what_pieces_are_worth(words, data):
    """Exactly, where a piece stands but once in each word."""
    table = WordTable.of(Counter(words), Cutting(unit="character"))
    every = Candidates.of(table, 4)
    names = ["".join(map(chr, piece)) for piece in every.pieces(np.arange(every.index.n_grams))]
    some = data.draw(st.sets(st.sampled_from(names)))
    present = np.array([name in some for name in names])
    exchange = Exchange(every, present)
    own = {name for name in some if len(name) > 1}
    tokens = fewest(words, own, 4)
    assert exchange.tokens == tokens
    cover, alpha = exchange.cover(2.0)
    assert count_tokens(every.index.gram_of, table.ptr, table.counts, cover) == tokens
    used = {names[every.index.gram_of[int(math.log2(cover[j])), j]] for j in np.flatnonzero(cover)}
    assert alpha.sum() == pytest.approx(tokens + 2.0 * sum(len(name) > 1 for name in used))
    for name, worth in zip(names, exchange.worth.tolist(), strict=True):
        if len(name) > 1 and all(len(re.findall(f"(?={name})", word)) <= 1 for word in words):
            other = own ^ {name}
            assert worth == abs(fewest(words, other, 4) - tokens)


@pytest.mark.parametrize("damage", ["gap", "overlap", "other"])
def test_a_cover_that_does_not_make_up_the_words_is_no_certificate(damage):
    table = WordTable.of(Counter({"abab": 3, "ab": 1}), Cutting(unit="character"))
    every = Candidates.of(table, 4)
    cover, _ = Exchange(every, every.many).cover(0.0)
    assert count_tokens(every.index.gram_of, table.ptr, table.counts, cover) == 4
    cover[0] = {"gap": 2, "overlap": 16, "other": 0}[damage]
    with pytest.raises(ValueError, match="make up"):
        count_tokens(every.index.gram_of, table.ptr, table.counts, cover)


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_decoding_brings_any_text_back(text):
    for unit in ("byte", "character"):
        model = _round_trip(unit)
        ids = model.encode(text)
        assert model.decode(ids) == text
        assert model.tokens(text) == [model.pieces_[i] for i in ids]


@given(st.lists(st.text(), max_size=4))
@settings(max_examples=100, deadline=None)
def test_a_table_says_where_pieces_stand(texts):
    for unit in ("byte", "character"):
        model = _round_trip(unit)
        table = model.table(texts)
        assert [table.words(d) for d in range(len(texts))] == [model.tokens(text) for text in texts]
        assert list(dict.fromkeys(form for text in texts for form in model.tokens(text))) == table.vocabulary
        for d, text in enumerate(texts):
            own = slice(table.doc_ptr[d], table.doc_ptr[d + 1])
            start, end = table.start[own], table.end[own]
            whole = model.decode(model.encode(text))
            assert (start < end).all() and (start[:1] == 0).all() and (end[-1:] == len(whole)).all()
            cut = end[:-1] - start[1:]  # 0, or 1 where a piece ends within a character
            assert set(cut.tolist()) <= {0, 1}
            if unit == "character":
                known = [i for i, form in enumerate(table.words(d)) if len(form) == end[i] - start[i]]
                assert all(whole[start[i] : end[i]] == table.words(d)[i] for i in known)


def test_phrases_may_be_of_pieces(fitted):
    texts = texts_at_random(60)
    table = fitted.table(texts)
    phrases = CompressiveFeatures(max_gram=3).fit(table)
    assert phrases.result_.lower_bound <= phrases.result_.objective
    assert phrases.decode(phrases.encode(table)) == [fitted.tokens(text) for text in texts]
    assert phrases.transform(fitted.table(texts[:5])).shape == (5, len(phrases.grams_))
    with pytest.raises(TypeError, match="one string"):
        fitted.table("abc")


_MODELS: dict[str, SubwordTokenizer] = {}


def _round_trip(unit: str) -> SubwordTokenizer:
    if unit not in _MODELS:
        _MODELS[unit] = SubwordTokenizer(320, unit=unit, tol=0.05, pattern="gpt4").fit(texts_at_random(20))
    return _MODELS[unit]


def test_encoding_takes_the_fewest_pieces(fitted):
    pieces = set(fitted.pieces_)
    for text in texts_at_random(10, 7):
        for word in fitted._cutting.words(text):
            units = fitted._written(fitted._cutting.units(word))
            assert len(fitted.encode(word)) == fewest_tokens(pieces - {"<pad>", "[end]"}, units, 16)


def test_the_corpus_takes_as_many_tokens_as_the_result_says(fitted):
    texts = texts_at_random(80)
    assert sum(len(fitted.encode(text)) for text in texts) == fitted.result_.objective


def test_the_file_encodes_alike_in_hugging_face(fitted, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    fitted.save_tokenizer_json(tmp_path / "tokenizer.json")
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert other.get_vocab_size() == len(fitted.pieces_)
    for text in [*texts_at_random(300, 3), "Ω≈ç√ naïve 🙂\t\tx", "<pad>", "abcabracabrax" * 30]:
        if "<pad>" in text:
            continue  # there special tokens are cut out of texts, here they are text
        ids = other.encode(text).ids
        assert ids == fitted.encode(text)
        assert other.decode(ids) == fitted.decode(ids) == text


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "whitespace", None, r"\w"])
def test_patterns_and_normalisations_are_those_of_the_file(pattern, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    options = {"pattern": pattern, "normalisation": ("nfc", "lowercase"), "tol": 0.05, "longest": 6}
    model = SubwordTokenizer(260 if pattern == r"\w" else 300, **options).fit(texts_at_random(15))
    model.save_tokenizer_json(tmp_path / "t.json")
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    for text in ["ABRA cabra, İt's ΑΣ 12345 don't!\r\n\r\n  e\u0301", "  ", *texts_at_random(10, 5)]:
        assert other.encode(text).ids == model.encode(text)


def test_required_and_forbidden_pieces(tmp_path):
    texts = texts_at_random(40)
    free = SubwordTokenizer(280).fit(texts)
    forbidden = [piece for piece in free.pieces_[256:] if piece.isascii()][:3]
    assert forbidden
    with pytest.warns(UserWarning, match="required pieces that are nowhere .* left out: 'nowhere'"):
        model = SubwordTokenizer(280, required=("bcab", "nowhere"), forbidden=forbidden).fit(texts)
    assert "bcab" in model.pieces_ and not set(forbidden) & set(model.pieces_)
    assert model.result_.required == 1 and model.result_.size == 24
    assert model.result_.lower_bound <= model.result_.objective >= free.result_.lower_bound
    seldom = SubwordTokenizer(280, min_count=40).fit(texts)
    assert seldom.pieces_frame().query("chosen").occurrences.min() >= 40
    with pytest.raises(InputError, match="both required and forbidden"):
        SubwordTokenizer(280, required=("bcab",), forbidden=("bcab",)).fit(texts)


def test_a_special_token_may_be_written_as_a_piece_would_be(tmp_path):
    """GPT-2's alphabet writes a blank as Ġ: the token Ġthe is not the piece " the"."""
    texts = ["so the cat and the dog and the end"] * 9
    plain = SubwordTokenizer(262).fit(texts)
    assert "Ġthe" in plain.pieces_
    model = SubwordTokenizer(262, special_tokens=("Ġthe",)).fit(texts)
    assert model.pieces_.count("Ġthe") == 1 and model.pieces_[0] == "Ġthe"
    assert model.decode(model.encode(texts[0])) == texts[0]
    with pytest.raises(InputError, match="'a' is given twice, or is a unit"):
        SubwordTokenizer(10**6, special_tokens=("<pad>", "a")).fit(texts)


APART = {
    "lower case": ("<pad>", "a <PAD> b hello <PAD> world", {"normalisation": ("lowercase",)}),
    "two spaces": ("ĠĠ", "a  b  c", {}),
    "a word": ("ab", "Ab Ab ab", {"normalisation": ("lowercase",), "pattern": "gpt4"}),
    "no pattern": ("<pad>", "x<Pad>y", {"normalisation": ("lowercase",), "pattern": None}),
    "a byte's name": ("<s>", "mov <0x41> to <0x0A>y <0x41>", {"unit": "character", "pattern": "whitespace"}),
    "the name of the unknown": ("<s>", "<unk> a<unk> <unk>", {"unit": "character"}),
}


@pytest.mark.parametrize("name", APART)
def test_texts_that_hold_names_of_entries_are_cut_into_pieces(name, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    special, text, options = APART[name]
    size = {"a byte's name": 280, "the name of the unknown": 272}.get(name, 262)
    model = SubwordTokenizer(size, special_tokens=(special,), **options).fit([text] * 3 + ["<0x41>", "<unk>"])
    model.save_tokenizer_json(tmp_path / "t.json")
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    for one in [text, text.split()[0], text[1:], text.upper().replace(special, "")]:
        if special in one:
            continue  # there it is cut out of the text
        assert other.encode(one).ids == model.encode(one)
        assert other.decode(model.encode(one)) == model.decode(model.encode(one)) == model._cutting.normalised(one)


def test_special_tokens_are_never_pieces():
    model = SubwordTokenizer(300, special_tokens=("<pad>",), pattern=None).fit(["<pad><pad> <pad>x"] * 9 + ["abc def"])
    assert model.pieces_.count("<pad>") == 1 and model.pieces_[0] == "<pad>"
    assert model.decode([0, *model.encode("<pad>")]) == "<pad>" and 0 not in model.encode("<pad>")


def test_every_size_that_there_is_can_be_had():
    words = words_at_random(5, 2, 3)
    offered = len(substrings(words, 16))
    units = 257 + len(set("".join(words)))
    for size in (0, 1, offered // 2, offered - 1, offered):
        result = SubwordTokenizer(units + size, unit="character").fit(words).result_
        assert result.size == size and result.lower_bound <= result.objective
    assert result.objective == sum(words.values()) and result.gap == 0
    with pytest.raises(InputError, match=f"between {units} .* and {units + offered}"):
        SubwordTokenizer(units + offered + 1, unit="character").fit(words)


def test_results_are_the_same_again_saved_and_by_one_thread(tmp_path):
    texts = texts_at_random(40)
    one, two = (SubwordTokenizer(320, n_threads=n).fit(texts) for n in (1, None))
    assert one.pieces_ == two.pieces_ and one.result_.lower_bound == two.result_.lower_bound
    one.result_.save(tmp_path)
    loaded = TokenizerResult.load(tmp_path)
    assert loaded.to_dict() == one.result_.to_dict()
    assert [a.tolist() for a in loaded.pieces()] == [a.tolist() for a in one.result_.pieces()]
    copy = pickle.loads(pickle.dumps(two))
    assert copy.encode(texts[0]) == two.encode(texts[0])


@pytest.mark.parametrize("after", [1, 2, 5, 30])
def test_a_fit_that_is_stopped_has_a_vocabulary_of_the_size_and_a_bound(after):
    seen = []

    def listener(stats):
        seen.append(stats)
        return len(seen) < after

    model = SubwordTokenizer(330, listeners=[listener], tol=1e-6).fit(texts_at_random(80))
    result = model.result_
    assert result.size == 74 and 0 < result.lower_bound <= result.objective
    assert result.reason == "interrupted" or result.gap <= 1e-6
    bounds = [stats.lower_bound for stats in seen]
    assert bounds == sorted(bounds) and bounds[-1] <= result.lower_bound


def test_a_time_limit_ends_it():
    result = SubwordTokenizer(300, time_limit=1e-3, tol=1e-9).fit(texts_at_random(40)).result_
    assert result.reason == "time limit" and result.size == 44 and result.lower_bound <= result.objective


def test_a_lone_surrogate_is_no_character():
    model = _round_trip("byte")
    assert model.decode(model.encode("a\ud800b")) == "a\ufffdb"


BAD = {
    "a size below the alphabet's": ({"vocab_size": 200}, ["abc"], "at least 256"),
    "more than is offered": ({"vocab_size": 2000}, ["abc"], "between 256 .*and 259"),
    "no texts": ({}, [], "no word"),
    "empty texts": ({}, ["", ""], "no word"),
    "one string": ({}, "abc", "not one string"),
    "bytes": ({}, [b"\xff"], "must be strings"),
    "a pattern that matches nothing": ({"pattern": r"\w*"}, ["abc"], "empty string"),
    "no pattern": ({"pattern": "("}, ["abc"], "no regular expression"),
    "another unit": ({"unit": "word"}, ["abc"], "unit must be"),
    "another normalisation": ({"normalisation": ("nfd",)}, ["abc"], "normalisation"),
    "too long": ({"longest": 33}, ["abc"], "at most 32"),
    "no whole size": ({"vocab_size": 2.5}, ["abc"], "vocab_size"),
    "no tolerance": ({"tol": 0}, ["abc abc"], "tol"),
    "a special token twice": ({"special_tokens": ("a!", "a!"), "vocab_size": 259}, ["abc abc"], "twice"),
    "counts that are none": ({}, {"abc": "x"}, "whole numbers"),
    "counts below 0": ({}, {"abc": -1}, "whole numbers"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_what_cannot_be_is_said_in_a_sentence(name):
    options, texts, said = BAD[name]
    with pytest.raises(InputError, match=said):
        SubwordTokenizer(**({"vocab_size": 257} | options)).fit(texts)


def test_one_word_is_a_corpus():
    model = SubwordTokenizer(257).fit(["aaaa"])
    assert model.decode(model.encode("aaaa")) == "aaaa" and model.result_.size == 1


@pytest.mark.parametrize(("pattern", "longest"), [("gpt2", 16), (None, 16), (None, 32)])
def test_what_it_asks_for_is_what_it_takes(pattern, longest, monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr(candidates, "require_bytes", lambda needed, *_: asked.append(needed))
    texts = texts_at_random(150)

    def fit() -> None:
        SubwordTokenizer(400, pattern=pattern, longest=longest, tol=0.2, time_limit=5).fit(texts)

    fit()  # kernels are compiled before memory is counted
    asked.clear()
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < asked[-1] + 3e6 and (pattern is not None or peak > 0.2 * asked[-1])


def test_what_does_not_fit_is_said_before_work_starts(monkeypatch):
    monkeypatch.setattr("cflengine.engine.memory.available_bytes", lambda: 10_000)
    monkeypatch.setattr("cflengine.engine.memory._ALWAYS", 0)
    with pytest.raises(MemoryLimitError, match="shorter pieces"):
        SubwordTokenizer(300).fit(texts_at_random(40))


def test_ids_that_are_none_are_refused(fitted):
    for i in (len(fitted.pieces_), -1, True):
        for answer in (fitted.text_of, lambda i: fitted.decode([i])):
            with pytest.raises(InputError, match="ids are whole numbers from 0"):
                answer(i)


def test_the_list_for_sentencepiece(fitted, tmp_path):
    if fitted.unit == "byte":
        with pytest.raises(InputError, match="characters"):
            fitted.save_sentencepiece_vocab(tmp_path / "vocab.txt")
        return
    fitted.save_sentencepiece_vocab(tmp_path / "vocab.txt")
    lines = (tmp_path / "vocab.txt").read_text("utf-8").split("\n")
    assert len(lines) == len(fitted.pieces_) + 1 and "▁" in "".join(lines)
    model = SubwordTokenizer(268, unit="character", pattern=None).fit(["a\nb ▁c", "a ▁\n"])
    model.save_sentencepiece_vocab(tmp_path / "vocab.txt")
    lines = (tmp_path / "vocab.txt").read_text("utf-8").split("\n")
    assert len(set(lines)) == len(lines) == len(model.pieces_) + 1


def test_the_command_writes_it_all(tmp_path, capsys):
    from cflengine.cli import main

    source = Path(__file__).resolve().parents[2] / "sample_data" / "reviews.csv"
    out = tmp_path / "run"
    options = ["--limit", "150", "--vocab-size", "700", "--unit", "character", "--gap", "0.05", "--special", "<pad>"]
    assert main(["tokenizer", str(source), "--out", str(out), *options]) == 0
    said = capsys.readouterr().out
    report = json.loads((out / "report.json").read_text())
    assert f"{report['objective']:,.0f}" in said and "proved" in said
    assert report["vocab_size"] == 700 and report["lower_bound"] <= report["objective"]
    assert {path.name for path in out.iterdir()} >= {"tokenizer.json", "pieces.csv", "vocab.txt", "proof.npz"}
    assert main(["verify", str(out)]) == 0
    content = json.loads((out / "tokenizer.json").read_text("utf-8"))
    assert len(content["model"]["vocab"]) == 700
    assert main(["tokenizer", str(source), "--out", str(out), "--vocab-size", "100"]) == 2
    assert "at least 256" in capsys.readouterr().err
    assert main(["tokenizer", str(source), "--out", str(out), *options, "--require", "qqxq"]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "qqxq" in line]
    assert line.startswith("cflengine tokenizer: required pieces") and "Warning" not in line


def _run(tmp_path: Path, *options: str) -> Path:
    from cflengine.cli import main

    source = tmp_path / "texts.txt"
    source.write_text("\n".join(texts_at_random(60)), encoding="utf-8")
    out = tmp_path / "run"
    assert main(["tokenizer", str(source), "--out", str(out), "--vocab-size", "300", "--quiet", *options]) == 0
    return out


def _with_report(out: Path, **changed: object) -> None:
    report = json.loads((out / "report.json").read_text("utf-8"))
    (out / "report.json").write_text(json.dumps(report | changed), encoding="utf-8")


def _with_proof(out: Path, **changed: Callable[[np.ndarray], np.ndarray]) -> None:
    with np.load(out / "proof.npz") as arrays:
        own = dict(arrays)
    np.savez(out / "proof.npz", **own | {name: change(own[name]) for name, change in changed.items()})


FALSE = {
    "tokens": lambda out: _with_report(out, objective=1.0),
    "bound": lambda out: _with_report(out, lower_bound=5e6, gap=0.0),
    "price": lambda out: _with_report(out, mu=1e-3),
    "size": lambda out: _with_report(out, size=7),
    "words": lambda out: _with_report(out, n_running=7),
    "reason": lambda out: _with_report(out, reason="optimal"),
    "gap that was to be": lambda out: _with_report(out, settings={"tol": 1e-9, "time_limit": None}),
    "ids": lambda out: (out / "pieces.csv").write_text(
        (out / "pieces.csv").read_text("utf-8").replace("\n257,", "\n7,")
    ),
    "alpha": lambda out: _with_proof(out, alpha=lambda a: 2.0 * a),
    "pieces": lambda out: _with_proof(out, units=lambda a: a[::-1]),
    "number of pieces": lambda out: _with_proof(out, ptr=lambda a: a[:-1]),
    "file": lambda out: (out / "tokenizer.json").write_text(
        (out / "tokenizer.json").read_text("utf-8").replace('"ab', '"xb'), encoding="utf-8"
    ),
}


@pytest.mark.parametrize("options", [(), ("--unit", "character", "--normalise", "nfc", "--min-count", "3")])
def test_runs_are_verified(tmp_path, options, capsys):
    from cflengine.cli import main

    size = ("--vocab-size", "330") if options else ()
    out = _run(tmp_path, *options, *size, "--special", "ca", "--require", "brac", "--forbid", "ab", "--pattern", "gpt4")
    assert main(["verify", str(out)]) == 0
    assert "verified" in capsys.readouterr().out


def test_what_is_false_is_found(tmp_path, capsys):
    from cflengine.cli import main

    out = _run(tmp_path)
    kept = {path: path.read_bytes() for path in out.iterdir()}
    for name, falsify in FALSE.items():
        falsify(out)
        assert main(["verify", str(out)]) == 1, name
        for path, content in kept.items():
            path.write_bytes(content)
    assert main(["verify", str(out)]) == 0


@pytest.mark.parametrize("name", ["none", "None", "cl100k", "o200k_base"])
def test_a_pattern_that_would_match_itself_alone_is_a_name_that_is_none(name):
    with pytest.raises(InputError, match=f"no pattern has the name '{name}'"):
        SubwordTokenizer(300, pattern=name).fit(["some words"])


@pytest.mark.parametrize("name", ["GPT4", "gpt-2", "Whitespace"])
def test_a_name_that_is_nearly_one_of_a_pattern_is_no_regular_expression(name):
    with pytest.raises(InputError, match="patterns with a name are whitespace, gpt2, gpt4, not"):
        SubwordTokenizer(300, pattern=name).fit(["some words"])


def test_single_units_can_be_neither_forbidden_nor_brought_in():
    texts = ["some words of a text"] * 3
    with pytest.warns(UserWarning, match="forbidden units are left out, since single .*: 'e'"):
        assert "e" in SubwordTokenizer(290, unit="character", forbidden=["e"]).fit(texts).pieces_
    with pytest.warns(UserWarning, match="required units are left out, since these texts do not have them: 'é'"):
        assert "é" not in SubwordTokenizer(290, unit="character", required=["é"]).fit(texts).pieces_
    with pytest.raises(InputError, match="with all pieces of these texts that occur 9 times"):
        SubwordTokenizer(290, unit="character", min_count=9).fit(texts)


@pytest.mark.parametrize("wrong", [["a"], None, b"a", 3])
def test_what_is_no_text_is_said_to_be_none(wrong):
    fitted = SubwordTokenizer(262).fit(["some words"])
    with pytest.raises(InputError, match="encode takes one text, a string, not"):
        fitted.encode(wrong)
    with pytest.raises(InputError, match=r"so 1\.5 is none"):
        fitted.decode([1.5])


@given(st.integers(0, 200), st.integers(1, 3))
@settings(max_examples=40)
def test_nothing_to_choose_is_proved_to_the_last_token(seed, n_required):
    """Where all pieces are required, there is one vocabulary, and its bound is what it takes."""
    words = {word: n for word, n in words_at_random(12, seed, most=3).items() if word.isascii()}
    required = sorted(substrings(words, 4))[::7][:n_required]
    model = SubwordTokenizer(256 + len(required), longest=4, pattern=None, required=required)
    result = model.fit(words).result_
    assert result.size == len(required) and result.objective == fewest(words, set(required), 4)
    assert result.lower_bound == result.objective and result.gap == 0.0


def test_a_required_piece_may_be_named_twice(recwarn):
    model = SubwordTokenizer(270, required=["the", "the"]).fit(["the cat and the hat"] * 9)
    assert "the" in model.pieces_ and not recwarn.list


def test_long_words_are_not_remembered_and_nothing_is_pickled_of_what_was_encoded():
    model = SubwordTokenizer(300, pattern=None).fit(["the cat sat on the mat " * 20])
    size, draw = len(pickle.dumps(model)), random.Random(0)
    for _ in range(30):
        text = "".join(draw.choices("the cat sm", k=2000))
        assert model.decode(model.encode(text)) == text
    assert model.encode("the cat") == model.encode("the cat")
    assert len(pickle.dumps(model)) == size and len(model._encoded) == 1
    again = pickle.loads(pickle.dumps(model))
    assert again.encode("the cat sat") == model.encode("the cat sat")


@pytest.mark.parametrize(
    ("parameters", "texts"),
    [({"normalisation": "nfc"}, ["a"]), ({"normalisation": None}, ["a"]), ({"required": None}, ["a"]),
     ({"special_tokens": 3}, ["a"]), ({}, None), ({}, 3)],
)  # fmt: skip
def test_what_is_no_sequence_is_said_in_a_sentence(parameters, texts):
    with pytest.raises(InputError, match="must be a sequence of"):
        SubwordTokenizer(300, **parameters).fit(texts)


def test_a_frame_is_no_sequence_of_texts():
    with pytest.raises(TypeError, match="one column of texts"):
        SubwordTokenizer(258).fit(pd.DataFrame({"text": ["the cat"], "label": [1]}))
