"""Where the corpora of the benchmarks are.

``sample`` ships with the repository. A real corpus NAME is ``NAME/docs.jsonl.gz`` (a document a line, its
text in the field ``text``) in the folder named by the option ``--data``, else by the environment variable
CFLENGINE_DATA, else in ``shared/data`` beside the repository.
"""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLE = "sample"


def corpus_path(name: str, data: str | None = None, file: str = "docs.jsonl.gz") -> Path:
    """The file of a corpus, absolute. Raises FileNotFoundError, saying what to set, where it is absent."""
    if name == SAMPLE:
        return REPOSITORY / "sample_data" / "reviews.csv"
    folder = Path(data or os.environ.get("CFLENGINE_DATA") or REPOSITORY.parent / "shared" / "data")
    path = folder.resolve() / name / file
    if not path.is_file():
        raise FileNotFoundError(
            f"no corpus '{name}': name the folder that holds {name}/{file} by --data or CFLENGINE_DATA"
        )
    return path


def present(
    names: list[str], data: str | None = None, file: str = "docs.jsonl.gz"
) -> tuple[dict[str, Path], list[str]]:
    """The files of those corpora that are there, and for each that is not a sentence that says so."""
    found, missing = {}, []
    for name in names:
        try:
            found[name] = corpus_path(name, data, file)
        except FileNotFoundError as error:
            missing.append(str(error))
    return found, missing
