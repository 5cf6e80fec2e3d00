"""The language of a sample of text: by its commonest words in Latin script, else by how often each letter stands.

Letters alone take short English mails for Dutch. The commonest words of a language are a fifth to a half of any running
text in it, and few of another's; where two languages share too many of them, none is named.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

from charset_normalizer import from_bytes

_WORDS: Mapping[str, str] = {
    "English": "the of and to in is that it was for with on as this are be at by have not you from but they we i",
    "Dutch": "de het een en van is dat niet op zijn voor met die aan er te ik je maar ook om wat bij dan",
    "German": "der die und das ist nicht ein zu den mit von auf für sich es im dem eine auch wir ich sie war",
    "French": "le la les et des est une un pas que dans pour qui sur il au du en ce elle je ne nous avec",
    "Spanish": "el la los de y que en es una un por con no las para se del al lo como su más pero muy ha me qué está",
    "Italian": "il di che la è un per non una con sono gli della le si del in più ma anche come alla ho",
    "Portuguese": "o que de não uma um é do da os para com no por mais em na se as ao muito foi eu",
    "Catalan": "el la de i que els les per en un amb és una del al no més ha va aquest seva però",
    "Romanian": "și de în a la cu nu că o pe este din un mai se care sunt pentru dar fi ce s-a",
    "Swedish": "och att det som en på är inte för med av den jag ett har till om var de så",
    "Danish": "og det at en den ikke er til som på af med der de jeg har for han et blev",
    "Norwegian": "og det er en ikke som på til med av jeg har for den et var seg men fra å",
    "Finnish": "ja on ei se että oli hän mutta ovat joka niin kun myös tai kuin minä olen",
    "Polish": "nie się na i w to jest że z do jak o ale co po tak za ma dla od",
    "Czech": "a se je na to v že s z do jako si ale tak pro by jsem byl také",
    "Hungarian": "a az és hogy nem is egy ez volt meg de csak van mint már ha el",
    "Turkish": "ve bir bu da de için ne o çok ile mi daha var ben gibi ama olarak",
    "Indonesian": "yang dan di itu dengan untuk tidak ini dari dalam akan pada juga ada saya ke",
    "Vietnamese": "là của và không có được cho một người trong các những này với đã để",
}
_LANGUAGES: dict[str, list[str]] = {}  # word -> those whose list has it
for _name, _line in _WORDS.items():
    for _word in _line.split():
        _LANGUAGES.setdefault(_word, []).append(_name)
_FEWEST_LETTERS = 1500
_SHARE, _MARGIN = 0.12, 1.25  # of the words that the list of a language must hold, and over the next language's


def language_of_sample(sample: str, script: str, *, fewest: int = _FEWEST_LETTERS) -> str:
    """In English ("German"); empty where that is not sure, or there is too little to tell. script: most letters', as
    Unicode names it; fewest: letters."""
    if sum(map(str.isalpha, sample)) < fewest:
        return ""
    return _by_words(sample) if script == "LATIN" else _by_letters(sample)


def _by_words(sample: str) -> str:
    words = re.findall(r"[^\W\d_]+(?:[-'][^\W\d_]+)*", unicodedata.normalize("NFC", sample).lower())
    hits, weight = Counter[str](), dict.fromkeys(_WORDS, 0.0)
    for word in words:
        languages = _LANGUAGES.get(word, ())
        for name in languages:
            hits[name] += 1
            weight[name] += 1.0 / len(languages)
    (second, _), (most, best) = sorted((value, name) for name, value in weight.items())[-2:]
    return best if most > 0 and hits[best] >= _SHARE * len(words) and most >= _MARGIN * second else ""


def _by_letters(sample: str) -> str:
    best = from_bytes(sample.encode("utf-8", "replace"), steps=10, chunk_size=4096, cp_isolation=["utf_8"]).best()
    return "" if best is None or best.language == "Unknown" else best.language
