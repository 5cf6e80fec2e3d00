"""A project to take away, and to open again: corpus, tokens, settings and the certified λ-path in one file."""

from __future__ import annotations

import io
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import streamlit as st

from cflengine.compression import SUFFIX, Project, read_project, write_project
from cflengine.engine import finite
from pages.parts.corpus.reading import Reading
from pages.parts.shared import corpora
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.settings import Settings, settings_of
from pages.parts.shared.state import settings, shown_path


def draw_project(loaded: LoadedCorpus) -> None:
    """The button; the file is made when it is asked for."""
    from pages.parts.export.choices import choices_of

    job, chosen = shown_path(), settings()
    run: PathRun | None = job.so_far if job is not None else None

    kept = choices_of(st.session_state, loaded.id)

    def made() -> bytes:
        file = io.BytesIO()
        points = run.points if run is not None and run.points else None
        project = Project(
            loaded.corpus, loaded.tokens, loaded.source, loaded.options, finite(_plain(chosen) | {"choices": kept}),
            run.max_gram if run is not None else chosen.max_gram, points, run.corpus if run is not None else None,
        )  # fmt: skip
        write_project(file, project)
        return file.getvalue()

    name = Path(loaded.corpus.name).stem or "corpus"
    st.container().download_button(
        "Project file", made, f"{name}{SUFFIX}", "application/zip", on_click="ignore", key="download_project",
        help="Corpus, tokens, settings, every certified λ, and what most pages were asked for. Drop it on the Corpus "
        "page to go on, here or elsewhere; what pages have learnt is learnt again when you press their buttons.",
    )  # fmt: skip


def _plain(chosen: Settings) -> dict[str, Any]:
    return {field.name: getattr(chosen, field.name) for field in fields(chosen)}


def open_project(path: Path, name: str) -> Reading:
    """A project's corpus in memory, with its path, its settings and choices. Raises CorpusError."""
    project = read_project(path, name)
    loaded = corpora.remember(
        project.corpus, source=project.source, options=dict(project.reading), tokens=project.tokens
    )
    run = None
    if project.points is not None and project.prepared is not None:
        run = PathRun.known(project.points, project.prepared, project.max_gram, loaded.corpus.texts, loaded.tokens)
    from pages.parts.export.choices import session_values  # and with it most pages: only where there is a project

    kept = session_values(project.settings.get("choices"), loaded.id)
    return Reading(loaded, run, replace(settings_of(project.settings), max_gram=project.max_gram), kept)
