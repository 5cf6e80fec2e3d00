from .design import Design
from .export import about_comparison, about_corpus, comparison_pipeline, largest_weights, row_names
from .feature_files import (
    MOST_CELLS,
    matrix_market,
    wide_cells,
    write_long_csv,
    write_long_parquet,
    write_wide_csv,
    write_wide_parquet,
)
from .labels import MOST_CLASSES, Labels, Split, against_others, read_labels, split_documents
from .model import LinearModel
from .model_comparison import ModelComparison
from .one_vs_rest import class_signs
from .persistence import load_model, load_with_header, save_model
from .predictions import check_reads_texts, coverage, judged, prediction_frame, reads_matrix, table_predictions
from .search import BestModel, GridPoint, GridSearch, paired_test, search_chains
from .selection import mutual_information
from .text_features import vectorizer
from .weighting import WEIGHTINGS

__all__ = [
    "MOST_CELLS",
    "MOST_CLASSES",
    "WEIGHTINGS",
    "BestModel",
    "Design",
    "GridPoint",
    "GridSearch",
    "Labels",
    "LinearModel",
    "ModelComparison",
    "Split",
    "about_comparison",
    "about_corpus",
    "against_others",
    "check_reads_texts",
    "class_signs",
    "comparison_pipeline",
    "coverage",
    "judged",
    "largest_weights",
    "load_model",
    "load_with_header",
    "matrix_market",
    "mutual_information",
    "paired_test",
    "prediction_frame",
    "read_labels",
    "reads_matrix",
    "row_names",
    "save_model",
    "search_chains",
    "split_documents",
    "table_predictions",
    "vectorizer",
    "wide_cells",
    "write_long_csv",
    "write_long_parquet",
    "write_wide_csv",
    "write_wide_parquet",
]
