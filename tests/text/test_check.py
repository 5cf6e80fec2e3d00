"""A look at a corpus: scripts, repeated documents, documents that are no text, roles of columns."""

from __future__ import annotations

import base64

import numpy as np
import pandas as pd
import pytest

from cflengine import Corpus, read_input
from cflengine.text.check import (
    check_corpus,
    language_of,
    nearly_repeated,
    no_text,
    repeated_documents,
    role_of,
    scripts_of,
)
from cflengine.text.token_table import plain_tokens

RNG = np.random.default_rng(3)
WORDS = np.array([f"word{k}" for k in range(400)])


def prose(n: int = 60) -> str:
    return " ".join(RNG.choice(WORDS, n))


def test_documents_that_repeat_earlier_ones():
    texts = ["A b  c", "other", "a B c\n", "a b", "OTHER"]
    assert repeated_documents(texts).tolist() == [2, 4]


def test_documents_that_nearly_repeat_earlier_ones():
    one, two = prose(200), prose(200)
    changed = one.split()
    changed[17] = "changed"
    texts = [one, two, prose(200), " ".join(changed), two + " and more", "short text", "short text"]
    assert nearly_repeated(plain_tokens(texts)).tolist() == [3, 4]
    assert not len(nearly_repeated(plain_tokens(["a b", ""])))
    half = " ".join(one.split()[:100] + prose(100).split())
    assert not len(nearly_repeated(plain_tokens([one, half]))), "half of it is not nearly all"


def test_documents_that_are_no_text():
    encoded = base64.b64encode(RNG.bytes(900)).decode()
    table = "\n".join(" ".join(f"{value:.3f}" for value in row) for row in RNG.normal(size=(30, 6)))
    lines = "\n".join(encoded[a : a + 76] for a in range(0, len(encoded), 76))
    unspaced = ["这家餐厅的菜很好吃，服务也很周到。", "สวัสดีครับวันนี้อากาศดีมาก", "សួស្តីអ្នកទាំងអស់គ្នា", "မင်္ဂလာပါ ခင်ဗျာ"]
    marked = ["यह रेस्तरां बहुत अच्छा है और सेवा भी। ", "Donaudampfschifffahrtsgesellschaft "]
    texts = [prose(), encoded, table, lines, *(text * 20 for text in unspaced + marked), "!!!", ""]
    assert no_text(texts).tolist() == [1, 2, 3]


def test_scripts():
    assert scripts_of(["abc", "где"]) == (("LATIN", 0.5), ("CYRILLIC", 0.5))
    assert scripts_of(["123", ""]) == () and scripts_of([]) == ()


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (["train", "test", "train", "dev"], "split"),
        (pd.to_datetime(["2020-01-01", "2021-01-01", "2020-05-05", None]), "date"),
        (["a", "b", "a", "b"], "label"),
        (["a", "b", "c", "d"], "id"),
        ([1.5, 2.5, 3.5, 4.5], "number"),
        (["a", "a", None, "a"], "constant"),
        ([1, 2, 3, 3], "number"),
        ([None, None], "empty"),
    ],
)
def test_roles_of_columns(values, role):
    found = role_of("x", pd.Series(values))
    assert found.role == role and found.filled == pd.Series(values).notna().mean()


def test_many_values_are_groups():
    assert role_of("author", pd.Series([f"a{k % 80}" for k in range(400)])).role == "group"


def test_the_language_is_named_only_where_it_is_sure():
    english = list(read_input("sample", text_column="text", limit=200).texts)
    assert language_of(english) == "English"
    assert language_of(["too little to tell"]) == language_of([]) == language_of(["12 34 " * 900]) == ""


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("English", "Dear team, my order {n} has not been delivered yet, and the tracking page says that it was sent."),
        ("Dutch", "Beste mensen, mijn bestelling {n} is nog niet geleverd en ik wil graag weten waar het pakket is."),
        ("German", "Guten Tag, meine Bestellung {n} ist noch nicht da, und ich möchte wissen, wo das Paket ist."),
        ("French", "Bonjour, la commande {n} n'est pas encore arrivée et je voudrais savoir où est le paquet."),
        ("Spanish", "Buenos días, el pedido {n} no ha llegado y me gustaría saber en qué lugar está el paquete."),
        ("", "order {n} delivery refund invoice {n} total net gross rebate parcel {n} courier label barcode"),
    ],
)
def test_short_mails_are_not_taken_for_another_language(language, line):
    assert language_of([line.format(n=1000 + n) for n in range(60)]) == language


def test_other_scripts_are_told_by_their_letters():
    russian = "Здравствуйте, заказ номер сорок два до сих пор не доставлен, и я хотел бы узнать, где сейчас посылка. "
    assert language_of([russian] * 40) == "Russian"


def test_one_long_document_is_sampled_all_the_same():
    english = " ".join(read_input("sample", text_column="text", limit=200).texts)
    assert language_of(["1234 " * 2000 + english]) == "English"


def test_no_language_is_named_of_two_scripts():
    arabic, hebrew = (
        "لم يصل الطلب بعد وأود أن أعرف أين الطرد الآن. ",
        "ההזמנה עדיין לא הגיעה ואני רוצה לדעת איפה החבילה. ",
    )
    assert language_of([arabic] * 40 + [hebrew] * 40) == "" != language_of([hebrew] * 40)


def test_the_whole_look():
    texts = [prose(), prose(), "这家餐厅的菜很好吃" * 400]
    corpus = Corpus.from_texts(texts)
    check = check_corpus(corpus, plain_tokens(texts))
    assert check.unspaced and check.lengths[0] == 1 and check.lengths[2] == 60 and check.roles == ()
    assert not len(check.repeated) and not len(check.nearly)


def test_marks_in_place_of_answers_and_a_second_language_are_found():
    english = "the answer of this is that it was not for you but they have it and we are at the end of the day as it is"
    german = "die Antwort ist nicht so wie es sich auf den ersten Blick mit dem Auge von der Seite zu sehen ist und ich"
    texts = [f"{english} {i}. {english}, {english}" for i in range(20)]
    mixed = [*texts, *(f"{german} {i}. {german}, {german}" for i in range(12)), " NA ", "k.A.", "none"]
    check = check_corpus(corpus := Corpus.from_texts(mixed), plain_tokens(corpus.texts))
    assert check.language == "English" and check.second_language == "German"
    assert check.no_answer.tolist() == [32, 33]
    alone = check_corpus(corpus := Corpus.from_texts(texts), plain_tokens(corpus.texts))
    assert alone.second_language == "" and not len(alone.no_answer)


def test_a_column_with_decimal_commas_is_one_of_numbers():
    assert role_of("minutes", pd.Series([f"{k},{k % 7}" for k in range(60)])).role == "number"
    assert role_of("minutes", pd.Series([*(f"{k},{k % 7}" for k in range(60)), "7 or 8"])).role != "number"
    assert role_of("size", pd.Series([f"{k},000" for k in range(60)])).role == "id", "thousands, it may be"
