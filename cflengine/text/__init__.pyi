from .check import (
    DEV_NAMES,
    TEST_NAMES,
    CorpusCheck,
    check_corpus,
    has_unlike_script,
    no_text,
    own_part,
    role_of,
    suggested_tokens,
)
from .concordance import ORDERS, Places, context_frame, find_pattern, find_words, in_context, sort_places
from .corpus import MAX_EXAMPLES, Corpus, CorpusError, EmptyCorpusError, whole_characters
from .index_file import IndexFile
from .kgrams import KGramIndex, index_by_sorting, index_kgrams
from .markup import html_in, without_html
from .phrasebook import Phrasebook, on_one_line
from .reading.budget import reading_until, reading_watched
from .reading.columns import holds_comma_decimals
from .reading.dates import count_dates
from .reading.delimited import DelimitedTable, long_fields
from .reading.encodings import detect, initial_decoding
from .reading.inputs import NEWSGROUPS, SAMPLE, expanded, read_input, repeated
from .reading.newsgroups import load_newsgroups
from .reading.readers import READING, preview_corpus, read_corpus
from .sentences import UNITS, sentence_spans, unit_spans
from .tagging.conll import read_columns, write_columns
from .tagging.tags import Score, entities, evaluate
from .tagging.templates import PAPER_TEMPLATE, attribute_maker, parse_template, usual_template
from .token_presets import PRESETS, USUAL_TOKENS, TokenChoice, asked_pattern, has_dictionary, preset_pattern
from .token_table import DEFAULT_TOKEN_PATTERN, WORD_PATTERN, TokenTable, check_pattern, plain_tokens
from .tokens import Tokenizer, printable

__all__ = [
    "DEFAULT_TOKEN_PATTERN",
    "DEV_NAMES",
    "MAX_EXAMPLES",
    "NEWSGROUPS",
    "ORDERS",
    "PAPER_TEMPLATE",
    "PRESETS",
    "READING",
    "SAMPLE",
    "TEST_NAMES",
    "UNITS",
    "USUAL_TOKENS",
    "WORD_PATTERN",
    "Corpus",
    "CorpusCheck",
    "CorpusError",
    "DelimitedTable",
    "EmptyCorpusError",
    "IndexFile",
    "KGramIndex",
    "Phrasebook",
    "Places",
    "Score",
    "TokenChoice",
    "TokenTable",
    "Tokenizer",
    "asked_pattern",
    "attribute_maker",
    "check_corpus",
    "check_pattern",
    "context_frame",
    "count_dates",
    "detect",
    "entities",
    "evaluate",
    "expanded",
    "find_pattern",
    "find_words",
    "has_dictionary",
    "has_unlike_script",
    "holds_comma_decimals",
    "html_in",
    "in_context",
    "index_by_sorting",
    "index_kgrams",
    "initial_decoding",
    "load_newsgroups",
    "long_fields",
    "no_text",
    "on_one_line",
    "own_part",
    "parse_template",
    "plain_tokens",
    "preset_pattern",
    "preview_corpus",
    "printable",
    "read_columns",
    "read_corpus",
    "read_input",
    "reading_until",
    "reading_watched",
    "repeated",
    "role_of",
    "sentence_spans",
    "sort_places",
    "suggested_tokens",
    "unit_spans",
    "usual_template",
    "whole_characters",
    "without_html",
    "write_columns",
]
