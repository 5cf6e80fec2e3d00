"""``cflengine predict`` and ``cflengine tag``: saved models at work on other texts."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from cflengine.cli.options import Clock, add_documents, add_encoding
from cflengine.cli.reading import noted, read
from cflengine.engine import InputError, many, reads

_PREDICT = """\
Apply a saved model to other texts.

MODEL is the model.cflm of cflengine train-logistic, erm or embed, a model of cflengine sentences (sentence.cflm, ...),
or what cflengine.save_model wrote: a file of numbers and text, in which nothing is ever executed. INPUT as for
cflengine compress; for a model that was learnt from a matrix, one table (CSV, TSV, Parquet) with the columns that it
was learnt from. A row a document goes to FILE:

  document, row       its number, and its row in INPUT
  predicted           the class or the number
  probability, score  of that class: the probability, if the model has one, otherwise the score
"""

_PREDICT_EXAMPLES = """\
examples:
  cflengine predict run/model.cflm new.csv --out predictions.csv
  cflengine predict matrix.cflm features.csv --out predictions.csv
"""

_TAG = """\
Label the tokens of sentences by a saved model.

MODEL is the model.cflm of cflengine train-crf. INPUT has a token a line, columns between white space, and a blank line
after every sentence; the columns are those that the model was learnt from, with or without the label. FILE gets every
token of INPUT, its columns with a blank between them and the predicted label as one more, and a blank line after every
sentence; -DOCSTART- lines and comments, which are no tokens, are left out.
"""

_TAG_EXAMPLES = """\
examples:
  cflengine tag run/model.cflm new.conll --out tagged.conll
"""


def add_command(commands: Any) -> None:
    """Both commands' options."""
    _add_predict(commands)
    _add_tag(commands)


def _add_predict(commands: Any) -> None:
    command = commands.add_parser(
        "predict",
        help="apply a saved model to other texts",
        description=_PREDICT,
        epilog=_PREDICT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=predict)
    command.add_argument("model", metavar="MODEL", help="a saved model")
    add_documents(command)
    command.add_argument("--out", required=True, metavar="FILE", help="CSV file to write")
    command.add_argument("--quiet", action="store_true", help="no summary")


def _add_tag(commands: Any) -> None:
    command = commands.add_parser(
        "tag",
        help="label the tokens of sentences by a saved model",
        description=_TAG,
        epilog=_TAG_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=tag)
    command.add_argument("model", metavar="MODEL", help="a saved tagger")
    command.add_argument("input", metavar="INPUT", help="column file")
    add_encoding(command)
    command.add_argument("--out", required=True, metavar="FILE", help="column file to write")
    command.add_argument("--quiet", action="store_true", help="no summary")


def predict(arguments: argparse.Namespace) -> int:
    """Read, predict, write."""
    out = _file(arguments.out, [arguments.model, *arguments.input])
    from cflengine.engine import frame_csv, replaced
    from cflengine.linear import (
        check_reads_texts,
        coverage,
        judged,
        load_with_header,
        prediction_frame,
        reads_matrix,
        table_predictions,
    )
    from cflengine.text import READING

    began = time.perf_counter()
    model, header = load_with_header(arguments.model)
    about = header.get("about") or {}
    target = about.get("target")
    if reads_matrix(model):
        if len(arguments.input) > 1:
            raise InputError("a model that was learnt from a matrix reads one table at a time.")
        for option in ("text_column", "documents", "min_words", "sheet", "strip_html"):
            if getattr(arguments, option) != READING[option][1]:
                raise InputError(f"--{option.replace('_', '-')} plays no part with a model that reads a matrix.")
        frame, beside = table_predictions(
            model, arguments.input[0], limit=arguments.limit, target=target, encoding=arguments.encoding
        )
    else:
        check_reads_texts(model)
        corpus = read(arguments, Clock(None))
        frame, beside = prediction_frame(model, corpus.texts, corpus.rows), corpus.metadata
    with replaced(out) as file:
        file.write(frame_csv(frame))
    if not arguments.quiet:
        learnt = f", learnt from {about['learnt_from']}" if "learnt_from" in about else ""
        print(f"model        {header['kind']}{learnt}")
        print(f"{many(len(frame), 'document')} in {time.perf_counter() - began:.1f} s")
        line = judged(frame, beside, about)
        for one in (line, coverage(frame)):
            if one:
                print(one)
        print(f"written to   {out}")
    return 0


def tag(arguments: argparse.Namespace) -> int:
    """Read, label, write."""
    out = _file(arguments.out, [arguments.model, arguments.input])
    from cflengine.engine import replaced
    from cflengine.loglinear import ChainCRF, tag_columns
    from cflengine.text import read_columns, write_columns

    began = time.perf_counter()
    try:
        model = ChainCRF.load(arguments.model)
    except InputError as error:
        if "of kind" not in str(error):
            raise
        raise InputError(f"{error} It tags no tokens; texts are for cflengine predict.") from error
    say = noted("tag", Path(arguments.input).name)
    sentences = read_columns(arguments.input, encoding=arguments.encoding, say=say)
    tagged, right = tag_columns(model, sentences)
    with replaced(out) as file:
        file.writelines(line.encode("utf-8", "surrogatepass") for line in write_columns(tagged))
    if not arguments.quiet:
        n_tokens = sum(map(len, sentences))
        print(f"{many(len(sentences), 'sentence')}, {many(n_tokens, 'token')} in {time.perf_counter() - began:.1f} s")
        if right is not None:
            print(f"the last column has labels of the model: {100 * right:.1f} % of them are predicted")
        print(f"written to {out}")
    return 0


def _file(out: str, sources: list[str]) -> Path:
    """``out`` as a file to write, which is none of those that are read, nor one that the next run would read. Raises
    InputError."""
    path = Path(out)
    if not out.strip() or path.is_dir():
        raise InputError(f"--out {out!r} is no name of a file.")
    if not path.parent.is_dir():
        raise InputError(f"the folder of --out {out} is not there.")
    if any(reads(source, path.resolve()) for source in sources):
        raise InputError(f"--out {out} is read by this command, or would be by the next; give another file.")
    return path
