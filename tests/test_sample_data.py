"""The sample corpus is what its generator writes, and holds the structure that its README promises."""

from __future__ import annotations

import csv
import importlib
import io
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
# The folder is data with a script beside it, not part of the installed package.
sys.path.insert(0, str(ROOT))
generate = importlib.import_module("sample_data.generate")
writing = importlib.import_module("sample_data.writing")

CORPUS = ROOT / "sample_data" / "reviews.csv"
RATINGS = (*generate.ASPECTS, "overall")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with CORPUS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.fixture(scope="module")
def counts(rows: list[dict[str, str]]) -> dict[tuple[str, ...], int]:
    return generate.planted_counts(row["text"] for row in rows)


def column(rows: list[dict[str, str]], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in rows])


def test_committed_file_is_the_generators_output() -> None:
    assert CORPUS.read_bytes() == generate.csv_bytes(seed=7, documents=2000)


def test_script_writes_what_the_function_returns(tmp_path: Path) -> None:
    out = tmp_path / "few.csv"
    script = str(ROOT / "sample_data" / "generate.py")
    command = [sys.executable, script, "--seed", "3", "--documents", "40", "--out", str(out)]
    subprocess.run(command, check=True)
    assert out.read_bytes() == generate.csv_bytes(seed=3, documents=40)


def test_shorter_run_is_a_prefix_and_another_seed_is_another_text() -> None:
    first = list(generate.reviews(7, 30))
    assert first[:10] == list(generate.reviews(7, 10))
    assert not {row["text"] for row in first} & {row["text"] for row in generate.reviews(8, 30)}


def test_size_columns_and_encoding(rows: list[dict[str, str]]) -> None:
    raw = CORPUS.read_bytes()
    assert 300_000 <= len(raw) <= 1_000_000
    assert b"\r" not in raw
    assert raw.endswith(b"\n")
    assert len(rows) == 2000
    assert all(tuple(row) == generate.COLUMNS for row in rows)
    assert len({row["text"] for row in rows}) == len(rows)


def test_quoting_survives_a_round_trip(rows: list[dict[str, str]]) -> None:
    assert any("\n" in row["text"] for row in rows)
    assert any('"' in row["text"] for row in rows)
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, generate.COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    assert out.getvalue().encode("utf-8") == CORPUS.read_bytes()


def test_no_cell_is_a_spreadsheet_formula(rows: list[dict[str, str]]) -> None:
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t"))]


def test_texts_are_short_and_complete(rows: list[dict[str, str]]) -> None:
    ends = [len(generate.SENTENCE_END.findall(row["text"])) for row in rows]
    assert min(ends) >= 2
    assert max(ends) <= generate.MOST_SENTENCES
    assert 4 <= np.mean(ends) <= 6
    assert not [row["text"] for row in rows if re.search(r"[{}\[\]|]|  ", row["text"])]


def test_vocabulary_has_a_long_tail(rows: list[dict[str, str]]) -> None:
    words = Counter(token for row in rows for token in generate.TOKEN.findall(row["text"].lower()))
    assert 100_000 <= words.total() <= 130_000
    assert len(words) >= 3000
    assert sum(count <= 3 for count in words.values()) >= len(words) // 4


def test_every_phrase_is_planted_often_enough(counts: dict[tuple[str, ...], int]) -> None:
    assert len(counts) == len(generate.PLANTED) >= 40
    assert all(2 <= len(phrase) <= 5 for phrase in counts)
    assert {" ".join(phrase): count for phrase, count in counts.items() if not 20 <= count <= 200} == {}


def test_words_of_planted_phrases_occur_without_them(
    rows: list[dict[str, str]], counts: dict[tuple[str, ...], int]
) -> None:
    words = Counter(token for row in rows for token in generate.TOKEN.findall(row["text"].lower()))
    planted = Counter()
    for phrase, count in counts.items():
        planted.update({word: count * phrase.count(word) for word in phrase})
    assert {word for word in planted if words[word] - planted[word] < 5} == set()


def test_planted_counts_sees_neighbours_case_and_punctuation() -> None:
    counts = generate.planted_counts(["Copper Heron copper heron! An OFF-WHITE head.", "copper", "heron"])
    assert counts["copper", "heron"] == 2
    assert counts["off", "-", "white", "head"] == 1
    assert sum(counts.values()) == 3
    assert list(counts) == generate.planted_phrases()


def test_ratings_are_half_steps_and_follow_each_other(rows: list[dict[str, str]]) -> None:
    table = np.stack([column(rows, name) for name in RATINGS])
    assert table.min() >= 0
    assert table.max() <= 5
    assert np.array_equal(2 * table, np.round(2 * table))
    assert np.corrcoef(table)[-1].min() > 0.6


def test_sentiment_follows_overall(rows: list[dict[str, str]]) -> None:
    positive = np.array([row["sentiment"] == "positive" for row in rows])
    overall = column(rows, "overall")
    assert {row["sentiment"] for row in rows} == {"positive", "negative"}
    assert 0.4 < positive.mean() < 0.75
    assert np.corrcoef(overall, positive)[0, 1] > 0.7
    assert positive[overall > 3].all()
    assert not positive[overall < 3].any()


def test_words_follow_ratings_and_strength(rows: list[dict[str, str]]) -> None:
    def having(pattern: str) -> np.ndarray:
        return np.array([re.search(pattern, row["text"].lower()) is not None for row in rows])

    overall, abv = column(rows, "overall"), column(rows, "abv")
    assert overall[having(r"worth every penny|would drink again")].mean() > 3.5
    assert overall[having(r"down the drain|not my cup of tea")].mean() < 2.5
    assert abv[having(r"warms the chest|\bboozy\b")].min() >= 7.5


def test_authors_dates_and_styles(rows: list[dict[str, str]]) -> None:
    activity = sorted(Counter(row["author"] for row in rows).values())
    assert len(activity) == 60
    assert activity[0] >= 5
    assert activity[-1] > 8 * activity[0]
    dates = [row["date"] for row in rows]
    assert min(dates) >= "2014-01-01"
    assert max(dates) <= "2024-12-31"
    strengths = {style.name: (style.weakest, style.strongest) for style in generate.STYLES}
    for row in rows:
        weakest, strongest = strengths[row["style"]]
        assert weakest <= float(row["abv"]) <= strongest


def test_pet_phrases_give_their_authors_away(rows: list[dict[str, str]]) -> None:
    _, pets = writing.load_rules()
    for author, phrases in pets.items():
        for phrase in phrases:
            users = Counter(row["author"] for row in rows if phrase.lower() in row["text"].lower())
            assert set(users) <= {author}
        texts = [row["text"].lower() for row in rows if row["author"] == author]
        hits = sum(any(phrase.lower() in text for phrase in phrases) for text in texts)
        assert hits >= len(texts) / 5


def test_rules_refer_only_to_rules_lists_and_values() -> None:
    rules, _ = writing.load_rules()
    names = {*rules, *(name.partition(".")[0] for name in rules)}
    values = {"beer", "brewery", "pct", "month", "year", "yearnext", "points", "tenth"}
    texts = " ".join(text for rule in rules.values() for text in rule.alternatives)
    used = set(re.findall(r"\{([^}]*)\}", texts))
    assert used - names - values == set()
    assert {rule for planted in generate.PLANTED for rule in planted.rules} <= set(rules)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_any_seed_runs(seed: int) -> None:
    assert len(list(islice(generate.reviews(seed), 300))) == 300


@pytest.mark.parametrize(
    ("raw", "finished"),
    [
        ("a apricot and an plum.", "An apricot and a plum."),
        ("a unicorn, an hour, a 8.5% ale. it is a 11 %.", "A unicorn, an hour, an 8.5% ale. It is an 11 %."),
        ("caramel caramel fudge", "Caramel fudge"),
    ],
)
def test_polish_mends_articles_doubles_and_capitals(raw: str, finished: str) -> None:
    author = writing.Author("tester", ("Done.",), 7)
    author.careless = author.exclaims = 0.0
    author.american = author.spelled_out = False

    class Middle(writing.Random):
        def random(self) -> float:
            return 0.5

    assert writing.polish(raw, author, "good", Middle(0)) == finished


tagged = importlib.import_module("sample_data.tagged")


def test_committed_tags_are_the_generators_output() -> None:
    path = ROOT / "sample_data" / "tagged.conll"
    assert path.read_bytes() == tagged.conll_bytes(seed=7, documents=800)


def test_tags_are_names_of_the_grammar(rows: list[dict[str, str]]) -> None:
    sentences = list(tagged.sentences(7, 50))
    tokens = [token for sentence in sentences for token, _, _ in sentence]
    assert tokens == [token for row in rows[:50] for token in generate.TOKEN.findall(row["text"])]
    labels = Counter(label for sentence in sentences for _, _, label in sentence)
    assert {"B-PER", "B-LOC", "B-BEER", "O"} <= set(labels) and labels["O"] > 0.9 * sum(labels.values())
    for sentence in sentences:
        for before, after in zip(["O", *(row[2] for row in sentence)], (row[2] for row in sentence), strict=False):
            assert not after.startswith("I-") or before[2:] == after[2:]


def test_shapes_and_the_longest_name_first() -> None:
    assert [tagged.shape(t) for t in ("Ale", "ale", "IPA", "I", "12", "!", "🍺")] == [
        "Xx",
        "x",
        "X",
        "Xx",
        "9",
        "!",
        "🍺",
    ]
    names = [("Old Weir", "LOC"), ("Crooked Heron Old Weir", "BEER")]
    assert tagged.kinds_of(["crooked", "heron", "old", "weir", "in", "Old", "Weir"], names) == ["BEER"] * 4 + [
        "",
        "LOC",
        "LOC",
    ]


def test_the_shipped_path_is_of_the_sample_and_proves_its_gap():
    from cflengine import CompressiveFeatures, read_corpus
    from cflengine.compression import Coder, read_lambda_path, read_stages
    from cflengine.text.token_table import plain_tokens
    from sample_data.solve import FILM_LAM, HERE, LAMS, MAX_GRAM

    corpus = read_corpus(HERE / "reviews.csv", text_column="text")
    prepared = CompressiveFeatures(max_gram=MAX_GRAM).prepare(plain_tokens(corpus.texts))
    points = read_lambda_path(HERE / "reviews.path", prepared)
    assert tuple(point.lam for point in points) == LAMS
    assert all(point.result.gap < 4e-3 for point in points)
    assert points.nearest(1.0).result.gap < 6e-4
    lam, film = read_stages(HERE / "reviews.stages", prepared)
    assert lam == FILM_LAM and [stage.zeta for stage in film] == pytest.approx(np.linspace(0, 1, 11))
    bound = points.nearest(lam).result.lower_bound
    assert all(stage.objective >= bound for stage in film) and film[-1].objective < 1.02 * bound
    coder = Coder(prepared.index, prepared.costs(lam))
    for stage in film:
        assert coder.re_encode(stage.cover)[1] == pytest.approx(stage.repaired)
