"""What a long benchmark keeps: taken again for the same code, data and case, and for nothing else."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.keeping import Kept, digest_of


def test_a_part_is_done_once_for_the_same_basis(tmp_path):
    path, made = tmp_path / "folder" / "parts.jsonl", []

    def make():
        made.append(1)
        return {"value": float("nan"), "n": len(made)}

    first = Kept(path, "a").once({"case": 1}, make)
    assert first == {"value": None, "n": 1}  # as a file has it, so that now and later give the same
    assert Kept(path, "a").once({"case": 1}, make) == first and len(made) == 1
    assert Kept(path, "a").once({"case": 2}, make)["n"] == 2
    assert Kept(path, "b").once({"case": 1}, make)["n"] == 3  # other code or data
    assert Kept(path, "a", fresh=True).once({"case": 1}, make)["n"] == 4
    assert Kept(path, "a").once({"case": 1}, make)["n"] == 4  # the newest counts


def test_what_a_stop_cut_off_and_what_is_no_part_is_done_again(tmp_path):
    path = tmp_path / "parts.jsonl"
    Kept(path, "a").once({"case": 1}, lambda: 1)
    whole = path.read_text()
    path.write_text("[]\n" + json.dumps({"case": 3}) + "\n" + whole + whole[:20])
    kept = Kept(path, "a")
    assert kept.once({"case": 1}, lambda: 2) == 1 and len(kept.known) == 1


def test_a_digest_is_of_code_and_data(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"one")
    before = digest_of(["benchmarks/tasks"], [data])
    assert digest_of(["benchmarks/tasks"], [data]) == before != digest_of(["benchmarks/tasks"])
    assert digest_of(["benchmarks/embedding"], [data]) != before
    data.write_bytes(b"two")
    assert digest_of(["benchmarks/tasks"], [data]) != before


def test_trainings_are_chosen_on_documents_that_no_test_uses():
    from benchmarks.embedding.training import Corpus, Setting

    corpus = Corpus("name", [str(d) for d in range(40)], np.arange(40) % 2)
    choose, test = Setting("gru", "none", 0.0, 0, "choose"), Setting("gru", "none", 0.0, 0, "test")
    (learnt, tried), (train, tested) = corpus.parts(choose), corpus.parts(test)
    assert sorted([*learnt, *tried]) == sorted(train) and len(tried) == 4
    assert sorted([*train, *tested]) == list(range(40))
    assert corpus.case(test) != corpus.case(choose) != corpus.case(choose._replace(rate=0.01))
