"""Export: the features as you like, a model, a report, the whole project, and what makes them again."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from cflengine.compression import CompressionPath
from cflengine.linear import WEIGHTINGS
from pages.parts.export.counting import counted, draw_counting
from pages.parts.export.files import draw_files, draw_shape, preview_caption, preview_table, stem_of
from pages.parts.export.project import draw_project
from pages.parts.export.report import report_html
from pages.parts.export.snippets import command_line, python_lines, r_lines, sklearn_lines
from pages.parts.phrases.table import phrase_frame, spelt_dictionary
from pages.parts.shared.asking import asked
from pages.parts.shared.guard import end_page
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.solution import result_or_stop
from pages.parts.shared.state import change_settings, current_corpus, settings, shown_path
from pages.parts.shared.words import number, percent

st.title("Export")
found = result_or_stop()
loaded, path, chosen = current_corpus(), shown_path(), settings()

st.header("A report, and the project")
st.markdown(
    "The **report** is one HTML file that opens anywhere: key figures, text in pieces, phrases, charts, the "
    "certificate, a paragraph on methods. The **project file** brings corpus, phrases and every λ back, the phrase, "
    "document and group that went along, and what most pages were asked for: drop it on the Corpus page. Its bounds "
    "are proved anew then, from rounded prices, and may come out a little lower. What other pages found is not in it: "
    "one press of their button finds it again."
)
points = path.so_far.points if path is not None else CompressionPath(())
phrases = phrase_frame(found, loaded)
model = counted(found.model, chosen.counting, chosen.temperature)
with st.container(horizontal=True, gap="small"):
    st.container(width="content").download_button(
        "Report (HTML)",
        lambda: report_html(loaded, model, phrases, points, chosen.weighting),
        "report.html",
        "text/html",
        type="primary",
        on_click="ignore",
        key="download_report",
    )
    draw_project(loaded)

st.header("Features")
st.markdown(
    "A document's features are how often it uses each phrase (K-gram) of the dictionary. New documents are counted "
    "with the same dictionary, so a model trained on these features can be used on them."
)
draw_counting()
st.segmented_control(
    "Weighting",
    WEIGHTINGS,
    default=chosen.weighting,
    required=True,
    key="widget_weighting",
    on_change=lambda: change_settings(weighting=st.session_state.widget_weighting),
    help="count: as they are. tf: divided by the document's sum. idf: counts times the inverse document frequency. "
    "tf-idf: both. damped: the square root of counts times idf, documents scaled to length 1; best for learning.",
)
if chosen.counting == "soft":  # its kernels use all cores: the solver's thread computes it
    key = (found.id, chosen.temperature, chosen.weighting)
    features = asked("features", key, lambda: model.features(weighting=chosen.weighting))
    if features is None:
        end_page()
else:
    features = model.features(weighting=chosen.weighting)
metric_row(
    [
        ("Documents", number(features.shape[0])),
        ("Features", number(features.shape[1])),
        ("Non-zero entries", number(features.nnz)),
        ("Density", percent(features.nnz / max(1, features.shape[0] * features.shape[1]), 3)),
    ]
)
shape = draw_shape(loaded.corpus, features)
st.dataframe(
    preview_table(model, features, loaded.corpus, shape, spelt_dictionary(found, loaded)["telling"].to_numpy()),
    height=330,
    alt="The beginning of the table of features",
)
st.caption(preview_caption(features, shape))
draw_files(model, features, chosen.weighting, loaded, shape)

st.header("Do it again, or go on elsewhere")
terminal, python, sklearn, r = st.tabs(["Terminal", "Python", "scikit-learn", "R"], key="export_tabs")
terminal.code(command_line(loaded, model, chosen.weighting), language="bash", wrap_lines=True)
python.code(python_lines(loaded, model, chosen.weighting), language="python")
sklearn.code(sklearn_lines(loaded), language="python")
r.code(r_lines(stem_of(model, chosen.weighting)), language="r")
st.caption(
    "Terminal and Python solve anew and may find a slightly different solution, within the same proved gap. The model "
    "file and the project file keep exactly this one."
)
