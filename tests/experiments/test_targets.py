"""Columns as targets, and which documents are learnt from, chosen by and judged by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cflengine.engine.checks import InputError
from cflengine.experiments.authors import AuthorRules, AuthorTask
from cflengine.experiments.run import make_tasks
from cflengine.experiments.splits import make_plan, restricted
from cflengine.experiments.targets import read_target, read_targets
from cflengine.linear.labels import as_numbers


def frame(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "kind": rng.choice(["a", "b", "c"], n),
            "score": rng.normal(size=n).round(2),
            "flag": rng.choice([0, 1], n),
            "who": [f"w{k % 60:02d}" for k in range(n)],
            "beer": [f"beer {k % 20}" for k in range(n)],
            "date": pd.date_range("2020-01-01", periods=n).astype(str),
            "same": "x",
            "seven": 7.0,
            "empty": None,
            "id": [f"id{k}" for k in range(n)],
        }
    )


def prolific(n_authors: int = 60, each: int = 12) -> pd.DataFrame:
    return pd.DataFrame({"author": [f"w{k % n_authors}" for k in range(n_authors * each)]})


@pytest.mark.parametrize(("column", "task"), [("kind", "class"), ("score", "number"), ("flag", "class")])
def test_columns_say_themselves_what_they_are(column, task):
    assert read_target(frame(), column).task == task


def test_many_names_of_many_documents_each_are_authors():
    assert read_target(prolific(), "author").task == "author"
    assert read_target(prolific(each=4), "author").task == "class"  # none has ten
    assert read_target(prolific(), "author", "class").task == "class"
    assert read_target(prolific().rename(columns={"author": "style"}), "style").task == "class"


@pytest.mark.parametrize(
    ("column", "task", "says"),
    [
        ("same", "auto", "needs two classes"),
        ("seven", "number", "same number everywhere"),
        ("empty", "auto", "no value at all"),
        ("id", "class", "none of them in 3 or more"),
        ("kind", "number", "no numbers"),
        ("nowhere", "auto", "no column 'nowhere'"),
        ("kind", "colour", "must be one of"),
    ],
)
def test_what_is_no_target_gets_one_sentence(column, task, says):
    with pytest.raises(ValueError, match=says):
        read_target(frame(), column, task)


def test_no_target_at_all_is_refused():
    with pytest.raises(ValueError, match="no target"):
        read_targets(frame(), [])


def test_missing_and_rare_values_are_counted_and_left_aside():
    own = pd.DataFrame({"kind": ["a"] * 5 + ["b"] * 5 + ["c"] * 2 + [None] * 3, "n": ["1", "x", np.nan] * 5})
    target = read_target(own, "kind")
    assert (target.n_missing, target.n_rare, int(target.known.sum())) == (3, 2, 10)
    number = read_target(own.assign(n=[1.0, 2.0, 3.0, 4.0, 5.0] * 2 + [np.inf, np.nan] + ["x"] * 3), "n", "number")
    assert int(number.known.sum()) == 10 and number.n_missing + number.n_unread == 5


def parts(plan):
    return [(set(s.train.tolist()), set(s.dev.tolist()), set(s.test.tolist())) for s in plan.splits]


@pytest.mark.parametrize("own", [{}, {"folds": 4}, {"group": "beer"}, {"group": "beer", "folds": 4}, {"time": "date"}])
def test_parts_never_share_a_document_and_folds_judge_each_once(own):
    target = read_target(frame(), "kind")
    plan = make_plan(frame(), [target], **own)
    for train, dev, test in parts(plan):
        assert train and dev and test and not (train & dev or train & test or dev & test)
    if "folds" in own or not own:  # few documents: folds by themselves
        assert sorted(plan.test.tolist()) == list(range(120))


def test_groups_stay_on_one_side():
    target, own = read_target(frame(), "score"), frame()
    for train, dev, test in parts(make_plan(own, [target], group="beer", folds=3)):
        beers = [set(own["beer"][sorted(part)]) for part in (train, dev, test)]
        assert not (beers[0] & beers[1] or beers[0] & beers[2] or beers[1] & beers[2])


def test_time_judges_by_what_is_later_and_never_cuts_a_moment():
    own = frame().assign(date=[f"2020-01-{1 + k // 12:02d}" for k in range(120)])
    ((train, dev, test),) = parts(make_plan(own, [read_target(own, "kind")], time="date"))
    last = [max(own["date"][sorted(part)]) for part in (train, dev)]
    first = [min(own["date"][sorted(part)]) for part in (dev, test)]
    assert last[0] < first[0] and last[1] < first[1]


def test_a_split_column_is_used_unasked():
    own = frame(1200).assign(split=["train"] * 1000 + ["test"] * 200)
    plan = make_plan(own, [read_target(own, "kind")])
    assert set(plan.test.tolist()) == set(range(1000, 1200)) and "split=test" in plan.how


@pytest.mark.parametrize("column", ["split", "Set", "part"])
def test_a_split_of_any_name_is_used_with_its_development_set(column):
    own = frame(1200).assign(**{column: ["Train"] * 800 + ["Validation"] * 200 + ["TEST"] * 200})
    plan = make_plan(own, [read_target(own, "kind")])
    assert set(plan.test.tolist()) == set(range(1000, 1200)) and f"{column}=TEST" in plan.how
    assert set(plan.splits[0].dev.tolist()) == set(range(800, 1000))
    with pytest.raises(InputError, match="several parts of one purpose"):
        make_plan(own.replace({column: {"Validation": "test"}}), [read_target(own, "kind")])


def test_one_split_for_targets_with_different_gaps():
    own = frame(1500)
    own.loc[::3, "score"] = np.nan
    targets = read_targets(own, ["kind", "score"])
    plan = make_plan(own, targets)
    kept = restricted(plan.splits[0], targets[1].known)
    assert set(kept.test.tolist()) < set(plan.splits[0].test.tolist()) and len(kept.train)


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"group": "same"}, "makes 1 group"),
        ({"group": "nowhere"}, "no column"),
        ({"time": "same"}, "fewer than three different times"),
        ({"folds": 21}, "2 to 20 folds"),
        ({"folds": 3, "time": "date"}, "folds take the place"),
        ({"group": "beer", "time": "date"}, "not by both"),
        ({"test": "kind=z"}, "test set is empty"),
    ],
)
def test_splits_that_cannot_be_get_one_sentence(own, says):
    with pytest.raises(ValueError, match=says):
        make_plan(frame(), [read_target(frame(), "score")], **own)


def test_fewer_documents_than_folds():
    own = pd.DataFrame({"kind": list("aaabbb")})
    with pytest.raises(ValueError, match="too few for 5 folds"):
        make_plan(own, [read_target(own, "kind")])


def test_authors_held_out_documents_are_not_learnt_from():
    own = prolific()
    texts = [" ".join(["word"] * 12)] * len(own)
    texts[0] = "too short"
    task = AuthorTask(read_target(own, "author", "author"), texts)
    assert task.held.shape == (60, 3) and not np.isin(task.held.ravel(), task.train).any()
    assert 0 not in task.train and 0 not in task.held
    assert (task.y[task.held] == np.arange(60)[:, None]).all() and task.dev.sum() == 15


def test_authors_with_one_document_are_no_authors():
    own = pd.DataFrame({"author": [f"w{k}" for k in range(30)] + ["often"] * 20 + ["more"] * 20})
    texts = [" ".join(["word"] * 12)] * len(own)
    with pytest.raises(ValueError, match="2 of 2 authors have 10"):
        AuthorTask(read_target(own, "author", "author"), texts)
    with pytest.raises(ValueError, match="more documents than are held out"):
        AuthorTask(read_target(own, "author", "author"), texts, AuthorRules(min_documents=3))


def test_documents_without_a_date_are_left_out():
    own = frame().assign(date=pd.to_datetime(frame()["date"]).where(np.arange(120) >= 50))
    ((train, dev, test),) = parts(make_plan(own, [read_target(own, "kind")], time="date"))
    assert not (train | dev | test) & set(range(50))


def test_a_number_among_dates_is_a_date_too():
    own = frame().assign(date=["2015", *pd.date_range("2011-01-02", periods=119).strftime("%d %B %Y")])
    ((train, _dev, test),) = parts(make_plan(own, [read_target(own, "kind")], time="date"))
    assert len(train) > 50 and 0 in test


def test_three_moments_are_enough():
    own = frame().assign(year=[2010] * 10 + [2011] * 100 + [2012] * 10)
    ((train, dev, test),) = parts(make_plan(own, [read_target(own, "score")], time="year"))
    assert (len(train), len(dev), len(test)) == (10, 100, 10)


def test_dates_are_no_numbers():
    own = frame().assign(date=pd.to_datetime(frame()["date"]))
    with pytest.raises(ValueError, match="holds dates"):
        read_target(own, "date", "number")


def test_what_a_split_does_not_use_is_refused():
    with pytest.raises(ValueError, match="leave the test and dev splits out"):
        make_plan(frame(), [read_target(frame(), "kind")], group="beer", test="0.5")


def test_a_split_column_whose_test_has_no_labels_is_not_used():
    own = frame(1300).assign(split=["train"] * 1100 + ["test"] * 200)
    own.loc[1100:, "kind"] = None
    plan = make_plan(own, [read_target(own, "kind")])
    assert "random 25 %" in plan.how and plan.test.max() < 1100
    assert "split=" not in make_plan(own, [read_target(own, "split")]).how


def test_authors_alone_are_split_by_nothing():
    own = prolific()
    with pytest.raises(ValueError, match="documents of their own"):
        make_tasks([" ".join(["word"] * 12)] * len(own), own, ["author"], task="author", group="author")


# ---- what a review found


def numbers(n: int = 300, **columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"score": rng.normal(size=n).round(1)} | {name: make(n) for name, make in columns.items()})


def test_numbers_with_a_few_words_among_them_are_numbers():
    frame = numbers()
    written = frame["score"].astype(str)
    frame["gaps"] = written.where(np.arange(300) % 10 > 1, "n/a")
    frame["comma"] = written.str.replace(".", ",", regex=False)
    gaps, comma = read_target(frame, "gaps"), read_target(frame, "comma")
    assert gaps.task == comma.task == "number" and gaps.n_unread == 60 and comma.n_unread == 0
    np.testing.assert_array_equal(comma.values, frame["score"].to_numpy())
    frame["thousands"] = [f"{k},{100 + k}" for k in range(300)]
    assert np.isnan(as_numbers(frame["thousands"])).all(), "a comma that may be one of thousands is not guessed at"
    with pytest.raises(InputError, match="'cm' behind them"):
        read_target(frame.assign(length=written + " cm"), "length")
    assert read_target(frame.assign(length=written + " cm"), "length", "class").task == "class"
    with pytest.raises(InputError, match="scale them"):
        read_target(frame.assign(huge=1e200 * frame["score"]), "huge")


def test_authors_may_have_numbers():
    frame = prolific()
    frame["author"] = frame["author"].str[1:].astype(int)
    assert read_target(frame, "author").task == "author"
    assert read_target(frame.rename(columns={"author": "price"}), "price").task == "number"


def test_whole_classes_with_gaps_have_whole_names():
    frame = pd.DataFrame({"stars": [1, 2, 3, None] * 20})
    assert read_target(frame, "stars").labels.classes == ("1", "2", "3")
    assert read_target(pd.DataFrame({"half": [1.5, 2.0] * 20}), "half").labels.classes == ("1.5", "2.0")


@pytest.mark.parametrize("repeats", [1, 3])
def test_nearly_as_many_values_as_documents_are_no_classes(repeats):
    titles = [f"title {k // repeats}" for k in range(300 * repeats)] + ["Good"] * 5 + ["Bad"] * 5
    with pytest.raises(InputError, match="too few of each"):
        read_target(pd.DataFrame({"title": titles}), "title")


def test_what_a_split_leaves_out_is_said():
    some = numbers(
        half=lambda n: [k if k % 3 else None for k in range(n)], third=lambda n: ["a", "b", "c", "d", None] * 60
    )
    by_time = make_plan(some, [read_target(some, "score")], time="half")
    by_group = make_plan(some, [read_target(some, "score")], group="third")
    assert "100 documents without a value of half" in by_time.how
    assert "60 documents without a value of third" in by_group.how
    assert "left out" not in make_plan(some.dropna(), [read_target(some.dropna(), "score")], group="third").how


def test_groups_of_very_different_sizes_are_drawn_near_the_shares():
    frame = numbers(group=lambda n: ["a"] * 60 + ["b"] * 100 + ["c"] * 139 + ["d"])
    for seed in range(5):
        (split,) = make_plan(frame, [read_target(frame, "score")], group="group", random_state=seed).splits
        assert 30 <= len(split.test) <= 160 and len(split.train) >= 60


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"group": "own"}, "another value for every document"),
        ({"group": "kind"}, "the split and the target are one"),
        ({"time": "once"}, "only 1 of 300 documents with 'kind' are left to choose by"),
        ({"dev": 0.999}, "no training document is left: make"),
    ],
)
def test_splits_that_say_nothing_are_refused(own, says):
    frame = numbers(
        own=lambda n: range(n), kind=lambda n: ["abcde"[k % 5] for k in range(n)], once=lambda n: [0] * (n - 2) + [1, 2]
    )
    with pytest.raises(InputError, match=says):
        make_tasks([""] * 300, frame, ["kind"], **own)


def test_every_group_may_be_a_fold():
    frame = numbers(group=lambda n: ["abc"[k % 3] for k in range(n)])
    plan = make_plan(frame, [read_target(frame, "score")], group="group", folds=3)
    assert [len(split.test) for split in plan.splits] == [100] * 3


@pytest.mark.parametrize(("test", "dev"), [("Test", "val"), ("test ", "Validation"), ("testing", "development")])
def test_a_corpus_may_call_its_parts_otherwise(test, dev):
    frame = numbers(split=lambda n: ([test] + [dev] + ["train"] * 3) * (n // 5))
    (split,) = make_plan(frame, [read_target(frame, "score")]).splits
    assert split.test.tolist() == list(range(0, 300, 5)) and split.dev.tolist() == list(range(1, 300, 5))


def test_authors_say_that_the_split_of_others_is_not_theirs():
    frame = prolific().assign(score=np.random.default_rng(0).normal(size=720), when=range(720))
    texts = ["ten words " * 6] * 720
    score, author = make_tasks(texts, frame, ["score", "author"], time="when")
    assert "not theirs" in author.how and "not theirs" not in score.how


def test_a_split_by_time_reads_dates_as_files_are_read():
    """Day and month by the whole column; where nothing tells, not at all."""
    days = pd.date_range("2020-01-01", periods=300)
    own = numbers(when=lambda n: days[:n].strftime("%d/%m/%Y"), kind=lambda n: ["ab"[k % 2] for k in range(n)])

    def judged(when) -> set[int]:
        ((_train, _dev, test),) = parts(make_plan(own.assign(when=when), [read_target(own, "kind")], time="when"))
        return set(test)

    assert judged(own["when"]) == set(range(225, 300))
    others = ("%a, %d %b %Y 10:00:00 GMT", "%a %b %d 20:19:24 +0000 %Y", "%Y.%m.%d", "%Y%m%dT%H%M%S", "%d-%b-%y")
    for spelt in others:
        assert judged(days.strftime(spelt)) == set(range(225, 300)), spelt
    years = [*map(str, range(1700, 1999)), "unknown"]
    assert judged(years) == set(range(224, 299)), "what is unknown is left out"
    for when, why in (
        (days.strftime("%d/%m/%y"), "the year of '01/01/20' has two digits"),
        (["01/02/2020", "03/04/2020", "05/06/2020"] * 100, "nothing tells which number of '01/02/2020' is the day"),
        ([None] * 300, "fewer than three different times[.]"),
        ("Q1 2020", "'Q1 2020' is not understood as a date, write 2024-01-31"),
    ):
        with pytest.raises(InputError, match=f"does not order .*{why}"):
            judged(when)


def test_durations_are_no_numbers():
    own = numbers(
        took=lambda n: pd.to_timedelta(np.arange(n), unit="h"), month=lambda n: pd.period_range("2020-01", periods=n)
    )
    for column in ("took", "month"):
        with pytest.raises(InputError, match="durations, periods or complex numbers"):
            read_target(own, column, "number")


@pytest.mark.parametrize(("classes", "each", "folds", "dev"), [(20, 3, 3, None), (12, 5, 5, 0.1), (40, 3, 2, None)])
def test_folds_of_small_classes_are_drawn_as_a_whole(classes, each, folds, dev):
    own = pd.DataFrame({"kind": [f"c{k % classes:02}" for k in range(classes * each)]})
    plan = make_plan(own, [read_target(own, "kind")], folds=folds, dev=dev)
    assert all(len(split.dev) and len(split.train) for split in plan.splits)


def test_documents_to_choose_by_are_of_every_class_in_folds():
    own = numbers(kind=lambda n: ["rare" if k < 12 else "usual" for k in range(n)])
    target = read_target(own, "kind")
    for split in make_plan(own, [target]).splits:
        assert len(np.unique(target.labels.y[split.dev])) == 2


def test_guessing_knows_all_documents_that_are_not_judged():
    own = pd.DataFrame({"kind": ["control"] * 4 + ["treatment"] * 8})
    (task,) = make_tasks([""] * 12, own, ["kind"])
    assert task.baseline()["accuracy"] == pytest.approx(8 / 12)


def test_numbers_so_small_that_their_squares_are_none():
    with pytest.raises(ValueError, match="'score' holds numbers so small"):
        read_target(pd.DataFrame({"score": 1e-170 * np.arange(40)}), "score", "number")


def test_a_column_may_be_called_by_a_number():
    assert read_target(pd.DataFrame({0: ["a", "b"] * 20}), 0, "auto").task == "class"


@pytest.mark.parametrize(
    ("form", "unordered"),
    [("%m.%Y", False), ("%m/%Y", False), ("%Y%m%d", False), ("%d %b %Y", False), ("%B %d, %Y", False),
     ("%y-%m-%d", True), ("%d-%m-%y", True), ("%d%m%Y", True), ("%m%d%Y", True)],
)  # fmt: skip
def test_dates_that_would_be_put_in_a_wrong_order_are_refused(form, unordered):
    when = pd.date_range("2018-03-05", periods=150, freq="17D")
    own = frame(150).assign(when=when.strftime(form))
    if unordered:
        with pytest.raises(InputError, match=r"Write 2024-01-31"):
            make_plan(own, [read_target(own, "kind")], time="when")
        return
    ((train, dev, test),) = parts(make_plan(own, [read_target(own, "kind")], time="when"))
    train, dev, test = (when[sorted(part)] for part in (train, dev, test))
    assert train.max() <= dev.min() and dev.max() <= test.min()


@pytest.mark.parametrize("name", ["author", "user_id", "userId", "review/profileName", "作者", "Speakers", "poster_nr"])
def test_whole_numbers_that_name_writers_are_no_quantities(name):
    many = pd.DataFrame({name: [100 + k % 60 for k in range(720)]})
    few = pd.DataFrame({name: [100 + k % 10 for k in range(720)]})
    assert read_target(many, name).task == "author" and read_target(few, name).task == "class"


@pytest.mark.parametrize("name", ["user_score", "customer_age", "reviewer_rating", "member_since", "personality"])
def test_what_is_said_of_writers_is_a_number(name):
    assert read_target(pd.DataFrame({name: [100 + k % 60 for k in range(720)]}), name).task == "number"


@pytest.mark.parametrize("others", [("test", "Test"), ("test", "testing"), ("test", " test")])
def test_a_split_column_with_two_parts_of_one_purpose_is_refused(others):
    own = frame(200).assign(split=["train", others[0], others[1], "train"] * 50)
    with pytest.raises(InputError, match="several parts of one purpose"):
        make_plan(own, [read_target(own, "kind")])


def test_short_texts_of_authors_are_counted_apart_and_letters_where_there_are_no_blanks():
    own = prolific(6, 13)
    texts = ["one two three four five six seven eight nine ten"] * len(own)
    texts[:3] = ["too short"] * 3
    target = AuthorTask(read_target(own, "author", "author"), texts).target
    assert target.summary()["n_short"] == 3 and target.n_rare == 0
    chinese = ["今天的啤酒非常好喝我喜欢"] * len(own)
    assert AuthorTask(read_target(own, "author", "author"), chinese).target.n_classes == 6
    with pytest.raises(InputError, match="0 of 6 authors"):
        AuthorTask(read_target(own, "author", "author"), ["好喝"] * len(own))
