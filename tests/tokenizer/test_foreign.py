"""Tokenizers of others: as many tokens as their own libraries make, held against a proved bound."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cflengine import SubwordTokenizer
from cflengine.cli import main
from cflengine.engine import InputError
from cflengine.tokenizer import ForeignTokenizer, VocabularySettings, tokenizer_report
from cflengine.tokenizer.problem import fewest_tokens

tokenizers = pytest.importorskip("tokenizers")
SYLLABLES = ("ab", "cab", "ba", "Ca", "bra", "ö", "co", "x", "3", "'s")
QUICK = VocabularySettings(tol=0.05)


def texts_at_random(n: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 5))) for _ in range(120)]
    return [" ".join(draw.choices(words, k=draw.randint(3, 20))) + draw.choice(["", ".", "  !\n"]) for _ in range(n)]


def hugging_face(kind: str, texts: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    common: dict[str, Any] = {"vocab_size": 400 if kind.startswith("bytes") else 120, "show_progress": False}
    if kind.startswith("bytes"):
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer: Any = trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **common)
    elif kind == "WordPiece":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(strip_accents=False)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(special_tokens=["[UNK]", "[CLS]"], **common)
    elif kind == "ends of words":
        made = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
        made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.BpeTrainer(special_tokens=["<unk>"], end_of_word_suffix="</w>", **common)
    else:
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(unk_token="<unk>", special_tokens=["<unk>"], **common)
    made.train_from_iterator(texts, trainer)
    return made


def sentencepiece(kind: str, texts: list[str], **options: Any) -> bytes:
    library = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=330, model_type=kind, byte_fallback=True,
        hard_vocab_limit=False, minloglevel=2, **options,
    )  # fmt: skip
    return model.getvalue()


@pytest.mark.parametrize("kind", ["bytes", "WordPiece", "ends of words", "Unigram"])
def test_as_many_tokens_as_hugging_face_makes(kind):
    texts = texts_at_random(60)
    library = hugging_face(kind, texts)
    tokenizer = ForeignTokenizer.read(library.to_str().encode(), "t.json")
    assert tokenizer.kind.startswith("Hugging Face ")
    words = tokenizer.count(texts)
    encoded = [library.encode(text, add_special_tokens=False).ids for text in texts]
    assert words.left_out == 0 and words.tokens == sum(map(len, encoded)) == words.used.sum()
    assert [i for word in tokenizer.words_of(texts[0]) for i in word] == encoded[0]
    shown = {tokenizer.text_of(units) for units in tokenizer.own if len(units) > 1}
    assert len(shown) == tokenizer.size
    if kind != "bytes":
        assert shown <= set(library.get_vocab())
    report = tokenizer_report(tokenizer, texts, QUICK)
    assert report.lower_bound <= report.result.objective and report.lower_bound <= report.shortest <= report.tokens
    assert report.tokens == words.tokens and 0 <= report.above_at_least <= report.above_at_most
    assert report.pieces["used"].sum() <= words.tokens


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("across", [False, True])
def test_as_many_tokens_as_sentencepiece_makes(kind, across):
    library = pytest.importorskip("sentencepiece")
    texts = texts_at_random(60)
    content = sentencepiece(kind, texts, split_by_whitespace=not across)
    model = library.SentencePieceProcessor(model_proto=content)
    tokenizer = ForeignTokenizer.read(content, "t.model")
    unseen = ["Ω≈ç 漢字", *texts]
    words = tokenizer.count(unseen)
    assert words.left_out == 0 and words.tokens == sum(len(model.encode(text)) for text in unseen)
    report = tokenizer_report(tokenizer, texts, QUICK)
    assert report.lower_bound <= report.shortest <= report.tokens


def test_words_may_end_with_the_sign_for_a_space():
    library = pytest.importorskip("sentencepiece")
    texts = texts_at_random(60)
    content = sentencepiece("unigram", texts, treat_whitespace_as_suffix=True)
    model = library.SentencePieceProcessor(model_proto=content)
    tokenizer = ForeignTokenizer.read(content, "t.model")
    words = tokenizer.words_of("abcab Caba x")
    assert ["".join(tokenizer.names[i] for i in word) for word in words] == ["abcab▁", "Caba▁", "x▁"]
    assert tokenizer.count(texts).tokens == sum(len(model.encode(text)) for text in texts)


def test_numbers_of_entries_may_have_gaps():
    texts = texts_at_random(60)
    said = json.loads(hugging_face("bytes", texts).to_str())
    whole = ForeignTokenizer.read(json.dumps(said).encode(), "t.json")
    moved = {name: i if i < 300 else i + 50 for name, i in said["model"]["vocab"].items()}
    said["model"]["vocab"] = moved
    gaps = ForeignTokenizer.read(json.dumps(said).encode(), "t.json")
    assert gaps.size == whole.size and gaps.count(texts).tokens == whole.count(texts).tokens
    said["model"]["vocab"] = moved | {"abcabc": 2**31}
    with pytest.raises(InputError, match=r"at most 10,000,000 are possible"):
        ForeignTokenizer.read(json.dumps(said).encode(), "t.json")


@pytest.mark.parametrize("kind", ["bytes", "WordPiece"])
def test_added_tokens_are_pieces_unless_they_are_special(kind):
    library = hugging_face(kind, texts_at_random(60))
    library.add_tokens([tokenizers.AddedToken("ö  ö", normalized=False)])
    library.add_special_tokens([tokenizers.AddedToken("<end>", normalized=False)])
    tokenizer = ForeignTokenizer.read(library.to_str().encode(), "t.json")
    text = "ab ö  ö cab"
    words = tokenizer.count([text])
    assert words.left_out == 0 and words.tokens == len(library.encode(text, add_special_tokens=False).ids)
    assert tokenizer.text_of(tokenizer.own[tokenizer.names.index("ö  ö")]) == "ö  ö"
    assert tokenizer.count(["ab <end> cab"]).left_out == 1


def test_what_is_unknown_is_left_out():
    texts = texts_at_random(40)
    tokenizer = ForeignTokenizer.read(hugging_face("WordPiece", texts).to_str().encode(), "t.json")
    plain, more = tokenizer.count(texts), tokenizer.count([*texts, "漢 abab"])
    assert more.left_out == 1 and more.table.n_running == plain.table.n_running + 1
    with pytest.raises(InputError, match=r"no word .* 1 of them"):
        tokenizer_report(tokenizer, ["漢"])
    with pytest.raises(InputError, match="no word"):
        tokenizer_report(tokenizer, ["", ""])


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("cut", [False, True])
def test_a_tokenizer_that_drops_characters_is_said_to(normalised, cut):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    if normalised:
        made.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Lowercase()])
    if cut:
        made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.train_from_iterator(["the cat sat on the mat", "the hat"], trainers.BpeTrainer(show_progress=False))
    tokenizer = ForeignTokenizer.read(made.to_str().encode(), "t.json")
    assert tokenizer.count(["the cat", " the mat"]).tokens > 0
    for text in ("the zebra", "the \u00fc"):
        with pytest.raises(InputError, match=r"'t\.json' leaves out characters that it does not know"):
            tokenizer.count(["the cat", text])


@pytest.mark.parametrize("repeats", [1, 9])
def test_what_pieces_save_is_what_they_save(repeats):
    texts = [text.replace(" ", "" if repeats > 1 else " ") * repeats for text in texts_at_random(40)]
    tokenizer = ForeignTokenizer.read(hugging_face("bytes", texts).to_str().encode(), "t.json")
    report = tokenizer_report(tokenizer, texts, QUICK)
    table = tokenizer.count(texts).table
    words = [bytes(table.units[a:e].tolist()) for a, e in table.spans()]
    theirs = {bytes(units.tolist()) for units in tokenizer.own if len(units) > 1}

    def tokens(pieces: set[bytes]) -> int:
        return sum(n * fewest_tokens(pieces, w, 32) for w, n in zip(words, table.counts.tolist(), strict=True))

    assert report.shortest == tokens(theirs)
    exact = 0
    for frame, more in ((report.pieces, False), (report.lacking, True)):
        for row in frame.itertuples():
            piece = row.piece.encode()
            if b"\\" in piece:
                continue  # no whole characters
            assert row.occurrences == sum(
                n * sum(w.startswith(piece, a) for a in range(len(w)))
                for w, n in zip(words, table.counts.tolist(), strict=True)
            )
            other = theirs | {piece} if more else theirs - {piece}
            assert row.saves == abs(tokens(other) - report.shortest), piece
            exact += 1
    assert exact > 50 and report.n_wasted == (report.pieces["saves"] == 0).sum()


def test_our_own_file_is_as_good_as_its_result_says(tmp_path):
    texts = texts_at_random(80)
    for unit in ("byte", "character"):
        model = SubwordTokenizer(340, unit=unit, special_tokens=("<pad>",), tol=0.01).fit(texts)
        model.save_tokenizer_json(tmp_path / "tokenizer.json")
        tokenizer = ForeignTokenizer.open(tmp_path / "tokenizer.json")
        report = tokenizer_report(tokenizer, texts, VocabularySettings(tol=0.01))
        assert report.tokens == report.shortest == model.result_.objective
        assert report.size == model.result_.size and report.left_out == 0
        assert report.above_at_most <= 0.03


def test_more_pieces_than_the_corpus_has():
    tokenizer = ForeignTokenizer.read(hugging_face("bytes", texts_at_random(60)).to_str().encode(), "t.json")
    report = tokenizer_report(tokenizer, ["abc"])
    assert report.result.size == 3 < report.size and report.lower_bound == 1 <= report.tokens
    assert report.n_absent > 100 and report.longest >= 2


def test_bad_files_are_said_in_a_sentence(tmp_path):
    from tokenizers import Tokenizer, models

    level = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")).to_str()
    for content, said in (
        (b"", "no tokenizer"), (b"{}", "no tokenizer"), (b"{" * 9999, "no tokenizer"),
        (b"\x00\xff" * 50, "no tokenizer"),
        (level.encode(), "another kind .WordLevel.*BPE, Unigram or WordPiece"),
        (b'{"model": {"type": "WordLevel", "vocab": {}}}', "another kind .WordLevel"),  # whole or not
        (b'{"model": {"type": "BPE", "vocab": {"a": 0}}}', "says that it is a BPE tokenizer, but cannot be read"),
        (b'{"model": [1]}', "no tokenizer"), (b'{"model": {"type": ["BPE"]}}', "another kind"),
    ):  # fmt: skip
        (tmp_path / "t").write_bytes(content)
        with pytest.raises(InputError, match=said):
            ForeignTokenizer.open(tmp_path / "t")
    with pytest.raises(InputError, match="is no file"):
        ForeignTokenizer.open(tmp_path / "nowhere.json")
    tokenizer = ForeignTokenizer.read(hugging_face("bytes", ["abc abc"]).to_str().encode(), "t.json")
    with pytest.raises(InputError, match="longest must be"):
        tokenizer_report(tokenizer, ["abc"], longest=33)


def _run(folder: Path) -> Path:
    texts = texts_at_random(50)
    (folder / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    hugging_face("WordPiece", texts).save(str(folder / "their.json"))
    out = folder / "run"
    command = ["tokenizer-report", str(folder / "their.json"), str(folder / "texts.txt"), "--gap", "0.02"]
    assert main([*command, "--out", str(out)]) == 0
    return out


def test_the_command_says_and_writes_it_all(tmp_path, capsys):
    out = _run(tmp_path)
    said = capsys.readouterr().out
    report = json.loads((out / "report.json").read_text())
    assert f"{report['tokens']:,}" in said and "above the best of its size" in said and "save nothing here" in said
    assert {path.name for path in out.iterdir()} >= {"pieces.csv", "lacking.csv", "proof.npz", "trace.csv"}
    assert main(["verify", str(out)]) == 0
    assert main(["tokenizer-report", str(tmp_path / "texts.txt"), str(tmp_path / "texts.txt")]) == 2
    assert "no tokenizer" in capsys.readouterr().err


def test_false_reports_are_found(tmp_path):
    out = _run(tmp_path)
    kept = (out / "report.json").read_text("utf-8")
    for name, value in {
        "tokens": 1, "shortest": 1, "objective": 1.0, "lower_bound": 1e6, "n_running": 3, "left_out": 2, "pieces": 1,
        "above_at_most": 0.0, "above_at_least": 0.5, "mu": -1.0,
    }.items():  # fmt: skip
        (out / "report.json").write_text(json.dumps(json.loads(kept) | {name: value}), encoding="utf-8")
        assert main(["verify", str(out)]) == 1, name
    (out / "report.json").write_text(kept, encoding="utf-8")
    with np.load(out / "proof.npz") as arrays:
        own = dict(arrays)
    np.savez(out / "proof.npz", **own | {"units": own["units"][::-1]})
    assert main(["verify", str(out)]) == 1


def test_pieces_longer_than_the_bound_allows_for_are_said(tmp_path, capsys):
    """Words of 40 letters that are one piece each: no vocabulary of pieces of up to 32 takes as few."""
    words = ["".join(random.Random(k).choices("abcd", k=40)) for k in range(2)]
    texts = [" ".join(words)] * 5
    made = hugging_face("ends of words", texts * 20)
    made.save(str(tmp_path / "their.json"))
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    tokenizer = ForeignTokenizer.read((tmp_path / "their.json").read_bytes(), "their.json")
    report = tokenizer_report(tokenizer, texts, QUICK)
    assert report.longer > 0 and report.longest == 32 and report.tokens < report.lower_bound
    assert report.above_at_most < 0 and report.above_at_least == 0
    options = ["--out", str(tmp_path / "out"), "--gap", "0.05"]
    assert main(["tokenizer-report", str(tmp_path / "their.json"), str(tmp_path / "texts.txt"), *options]) == 0
    said = capsys.readouterr().out
    assert "of at most 32 units a piece" in said and "fewer than with any vocabulary of pieces of at most 32" in said
    assert "does not allow for" in said and "above the best" not in said
    assert main(["verify", str(tmp_path / "out")]) == 0


def test_two_entries_of_the_same_units_are_one_piece(tmp_path, capsys):
    """A token that was added to a tokenizer of bytes, and that merges make, too."""
    texts = ["the cat and the cat"] * 30
    library = hugging_face("bytes", texts)
    names = [name for name in library.get_vocab() if name.startswith("\u0120") and len(name) > 2]
    library.add_tokens([tokenizers.AddedToken(" " + names[0][1:], normalized=False)])
    tokenizer = ForeignTokenizer.read(library.to_str().encode(), "twice.json")
    report = tokenizer_report(tokenizer, texts, QUICK)
    twice = report.pieces[report.pieces["piece"] == " " + names[0][1:]]
    assert len(twice) == 2 and (twice["occurrences"] > 0).all() and twice["saves"].nunique() == 1
    assert report.size == len({units.tobytes() for units in tokenizer.own if len(units) > 1}) == len(report.pieces) - 1
    (tmp_path / "twice.json").write_text(library.to_str())
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    run = [
        "tokenizer-report",
        str(tmp_path / "twice.json"),
        str(tmp_path / "texts.txt"),
        "--out",
        str(tmp_path / "run"),
    ]
    assert main(run) == 0 and "gap   " in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "run")]) == 0


def changed(kind: str, change: Any) -> bytes:
    content = json.loads(hugging_face(kind, texts_at_random(20)).to_str())
    change(content)
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    "content",
    [
        lambda: changed("Unigram", lambda one: one["model"].update(unk_id=None)),
        lambda: changed("WordPiece", lambda one: one["model"]["vocab"].pop("[UNK]") and one.update(added_tokens=[])),
        lambda: changed(
            "bytes", lambda one: one.update(normalizer={"type": "Precompiled", "precompiled_charsmap": ""})
        ),
    ],
    ids=["no unknown piece", "an unknown piece that is not there", "a map of characters that is none"],
)
def test_what_the_library_cannot_do_is_said_in_a_sentence(content):
    with pytest.raises(InputError, match=r"^'t\.json' (cannot encode these texts|says that it is)"):
        tokenizer_report(ForeignTokenizer.read(content(), "t.json"), ["漢字 here", "\u2603"], QUICK)


@pytest.mark.parametrize("texts", ["abc def", [3], [b"abc"], None])
def test_texts_that_are_none(texts):
    tokenizer = ForeignTokenizer.read(hugging_face("bytes", texts_at_random(20)).to_str().encode(), "t.json")
    with pytest.raises(InputError, match="texts must be"):
        tokenizer_report(tokenizer, texts, QUICK)
    with pytest.raises(InputError, match="longest must be"):
        tokenizer_report(tokenizer, ["abc"], QUICK, longest=0)


def test_half_a_character_is_replaced():
    tokenizer = ForeignTokenizer.read(hugging_face("bytes", texts_at_random(20)).to_str().encode(), "t.json")
    assert tokenizer.count(["a\ud800b"]).tokens == tokenizer.count(["a\ufffdb"]).tokens
    assert tokenizer.words_of("a\ud800b") == tokenizer.words_of("a\ufffdb")
