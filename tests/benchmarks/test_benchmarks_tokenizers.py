"""The comparison of tokenizers: every figure is printed, all programs are measured alike, the language model is one."""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec

import numpy as np
import pytest

import benchmarks.__main__ as benchmarks_main
from benchmarks.evidence import tokenizers as evidence
from benchmarks.evidence.page import Evidence
from benchmarks.tokenizers import command
from benchmarks.tokenizers.fits import PEERS, Encoder, words_of
from benchmarks.tokenizers.quality import bits_a_character, log2_probabilities
from cflengine.tokenizer import SubwordTokenizer

TEXTS = [f"Der Zug {i % 7} fährt nach Linz,\nnach Graz und nach Wien {i % 5}." for i in range(60)]


@pytest.fixture
def data(tmp_path):
    for name in ("german_news", "imdb"):
        (tmp_path / name).mkdir()
        with gzip.open(tmp_path / name / "docs.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
    return tmp_path


def test_every_figure_is_printed(data, capsys, monkeypatch):
    monkeypatch.setattr(command, "PEERS", list(PEERS)[:1])  # all of them below
    out = data / "tokenizers.json"
    words = f"tokenizers --corpora german_news,imdb_whole,mixture --sizes 280 --quick --data {data} --json {out}"
    assert benchmarks_main.main(words.split()) == 0
    cases = json.loads(out.read_text())["corpora"]
    assert list(cases) == ["german_news 280", "imdb_whole 280"]  # two of the mixture's corpora are missing
    row, whole = cases.values()
    assert row["ours"]["lower_bound"] <= row["ours"]["train_tokens"] < whole["ours"]["train_tokens"]
    for theirs in row["peers"].values():
        assert theirs["train_tokens"] >= row["ours"]["lower_bound"] or theirs["entries"] > 280
    assert whole["peers"] == {} and "held_out_per_word" not in whole["ours"]
    if find_spec("tokenizers"):
        for case in cases.values():
            assert case["ours"]["texts_alike"] == case["ours"]["texts_compared"] > 0
    said = capsys.readouterr().out
    assert "bits a character" in said and "imdb_whole 280" in said
    part = evidence.parts(Evidence({"corpora": cases}))[0]
    assert len(part.rows) == 2 + len(row["peers"]) and all(len(each) == len(part.head) for each in part.rows)
    claims = {claim.said: claim for claim in part.claims}
    assert len(claims) == (7 if find_spec("tokenizers") else 5)


# the encoders


@pytest.mark.parametrize("kind", ["cflengine", *PEERS])
def test_an_encoder_counts_what_it_encodes(kind):
    if kind == "cflengine":
        model = SubwordTokenizer(300).fit(TEXTS)
        encoder = Encoder(words_of, lambda words: [model.encode(word) for word in words], len(model.pieces_))
    else:
        try:
            encoder = PEERS[kind](kind, 300, TEXTS)
        except ImportError as error:
            pytest.skip(str(error))
    some = [*TEXTS[:9], "Ganz Neues: 東京\n\n", ""]
    assert "".join(one for text in some for one in encoder.cut(text)) == "".join(some)
    ids = [encoder.ids(text) for text in some]
    assert all(0 <= number < encoder.size for each in ids for number in each)
    measured = encoder.measured(some, TEXTS)
    assert measured["train_tokens"] == sum(map(len, ids))
    assert 0 < measured["bits_a_character"] < 20


# the language model

TRAIN = [[int(x) for x in np.random.default_rng(i).integers(0, 5, 12)] for i in range(6)]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("seen", [[], [0], [6], [1, 2], [3, 3, 3, 3, 3, 3], TRAIN[0][:5]], ids=str)
def test_what_may_follow_has_probability_one(order, seen):
    n_tokens = 7  # of which two are never seen
    followed = [log2_probabilities(TRAIN, [[*seen, token]], n_tokens, order)[len(seen)] for token in range(n_tokens)]
    ended = log2_probabilities(TRAIN, [seen], n_tokens, order)[len(seen)]
    assert np.sum(2.0 ** np.array([*followed, ended])) == pytest.approx(1.0)


def test_kneser_ney_by_hand():
    # bigrams of (0 1) (0 2): ^0 twice; 01, 02, 1$, 2$ once, so D is 4 / (4 + 2) there; of the four tokens each follows
    # how many others: 0: 1, 1: 1, 2: 1, end: 2, five in all, of which three once and one twice, D = 3 / (3 + 2)
    uniform = 1 / 4
    lower = (1 - 0.6) / 5 + 0.6 * 4 / 5 * uniform
    expected = (1 - 2 / 3) / 2 + 2 / 3 * 2 / 2 * lower
    assert 2 ** log2_probabilities([[0, 1], [0, 2]], [[0, 1]], 3, 2)[1] == pytest.approx(expected)


def test_what_was_read_is_predicted_well():
    def ids(text):
        return [ord(letter) - 97 for letter in text]

    known, new = (bits_a_character(ids, 26, ["abcabcabc"] * 9, [text]) for text in ("abcabcabc", "zyxwvutsr"))
    assert known < 1 < 4 < new
