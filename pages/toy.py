"""How it works: Figure 1 of the paper, solved by the real solver, and any short text of your own."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.components.text_view import text_view
from pages.parts.lab.toy import FIGURE_1, LONGEST, MAX_CHARACTERS, figure_table, solve_toy, toy_view
from pages.parts.shared.asking import asked
from pages.parts.shared.controls import LESS_IS_OPEN
from pages.parts.shared.guard import end_page
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.words import gap_text, many, number, plain

st.title("How it works")
st.markdown(
    "A text is stored as a **dictionary** of pieces and **pointers** that say where copies of them go. Storing a piece "
    "costs its length, once; every pointer costs λ. Cheap pointers favour few short pieces used often; expensive "
    "pointers favour long ones. Here the pieces are made of letters, elsewhere in this app of words."
)
st.header("Three ways to store “thatthat”")
figure = asked("figure_1", (), lambda: figure_table(FIGURE_1, (0.0, 1.0, 8.0)), short=True)
if figure is None:
    end_page()
st.dataframe(figure, hide_index=True, alt="Cost of thatthat at λ = 0, 1 and 8")
st.caption("Figure 1 of Paskov, Mitchell and Hastie (2014): costs 3, 6 and 16, found and proved by this app's solver.")

st.header("Try your own")
kept = st.session_state.setdefault("toy", {"text": FIGURE_1, "lam": 1.0})  # widgets forget on other pages
text = kept["text"] = st.text_input("A short text", kept["text"], max_chars=MAX_CHARACTERS, key="toy_text")
lam = kept["lam"] = st.slider("λ", 0.0, 10.0, kept["lam"], 0.25, key="toy_lam")
if not text.strip():
    st.info("Type a few letters.")
    end_page()
solution = asked("toy", (text, lam), lambda: solve_toy(text, lam), short=True)
if solution is None:
    end_page()
documents, grams = toy_view(text, solution)
text_view(documents, grams=grams, key="toy_view", height=180, unit="letter")
pieces = " · ".join(f"**{plain(piece.replace(' ', '␣'))}**" for piece in solution.dictionary)
st.markdown(f"Dictionary: {pieces}")
metric_row(
    [
        ("Dictionary", number(solution.objective - lam * solution.n_pointers)),
        (f"{many(solution.n_pointers, 'pointer')} × λ", number(lam * solution.n_pointers, 2)),
        ("Cost", number(solution.objective, 2)),
        ("Gap, proved", "optimal", LESS_IS_OPEN) if solution.optimal else ("Gap, proved", gap_text(solution.gap)),
    ]
)
if len(text) > LONGEST:
    st.caption(f"Pieces have up to {LONGEST} letters here: what is proved holds for dictionaries of these.")
