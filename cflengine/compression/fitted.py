"""What a dictionary that has been learnt can do: count its K-grams in documents, encode and decode them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from cflengine.compression.codebook import Codebook, Encoding, collect_pointers, count_matrix, decode
from cflengine.compression.counting import check_counting, count_occurrences, count_places, counted_as, places_of
from cflengine.compression.cutting import Cutter
from cflengine.compression.model.corpus import PreparedCorpus
from cflengine.compression.model.problem import mean_pointer_cost
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.saved import dictionary_frame
from cflengine.engine.checks import InputError
from cflengine.engine.jit import threads
from cflengine.linear.parameters import parameters_of
from cflengine.linear.saving import SavedModel
from cflengine.linear.weighting import document_frequency, idf_of, inverse_document_frequency, weigh
from cflengine.text.kgrams import KGramIndex
from cflengine.text.stored import as_documents
from cflengine.text.token_table import TokenTable
from cflengine.text.tokens import Tokenizer

_READ_LATER = ("weighting", "counting", "temperature", "literal_cost")


class FittedFeatures(SavedModel, TransformerMixin, BaseEstimator):
    """The part of :class:`~cflengine.CompressiveFeatures`, which describes the attributes, that comes after ``fit``.

    A model that was loaded has no ``corpus_``, ``gram_ids_`` and ``encoding_``.
    """

    lam: float
    counting: str
    temperature: float
    weighting: str
    plain_cost: float | None
    literal_cost: float | None
    n_threads: int | None
    corpus_: PreparedCorpus
    grams_: list[Any]
    gram_ids_: np.ndarray
    encoding_: Encoding
    idf_: np.ndarray
    _idf_of: str  # what idf_ is of, by counted_as
    dictionary_: pd.DataFrame
    _codebook: Codebook
    _tokenizer: Cutter

    @property
    def tokenizer_(self) -> Any:
        """The fitted SubwordTokenizer that cuts documents; None where a pattern does."""
        check_is_fitted(self, "grams_")
        return getattr(self._tokenizer, "model", None)

    @property
    def table_(self) -> TokenTable:
        return self.corpus_.table

    @property
    def index_(self) -> KGramIndex:
        return self.corpus_.index

    def transform(self, X: Any) -> Any:
        """Documents to features.

        Parameters
        ----------
        X : object
            N documents: strings, tokens, a Dask bag or a Dask series of strings.

        Returns
        -------
        scipy.sparse.csr_matrix or pandas.DataFrame or dask.array.Array
            (N, features), weighted; a sparse DataFrame under ``set_output``; of Dask an array of CSR matrices, one for
            each partition.
        """
        if hasattr(X, "to_delayed"):
            from cflengine.compression.parts import transform_partitions

            return transform_partitions(self, X)
        return self._output(self.features(X), X)

    def features(
        self, X: Iterable[str] | TokenTable | None = None, *, weighting: str | None = None
    ) -> sparse.csr_matrix:
        """The features of documents, counted by ``counting``.

        Parameters
        ----------
        X : Iterable[str] or TokenTable or None, default: None
            N documents, or their tokens; None for those of ``fit``.
        weighting : str or None, default: None
            As the parameter of that name, whose value None stands for.

        Returns
        -------
        scipy.sparse.csr_matrix
            (N, features).

        Raises
        ------
        ValueError for None where the model was loaded.
        """
        check_is_fitted(self, "grams_")
        if X is None and not hasattr(self, "corpus_"):
            raise InputError("a loaded model does not hold the documents that it was learnt from: give some.")
        with threads(self.n_threads):
            counts = self._counted(None if X is None else self._tokens(X))
        weighting = weighting or self.weighting
        return weigh(counts, weighting, self.idf_ if weighting in ("count", "tf") else self._idf())

    def _idf(self) -> np.ndarray:
        """The idf as features are counted now. Raises InputError where the model was loaded, and another counting was
        set since."""
        if self._idf_of != counted_as(self.counting):
            if not hasattr(self, "corpus_"):
                raise InputError(
                    f"the model holds no idf of features counted by {self.counting!r}: it was saved with another way."
                )
            self.take_idf(self._counted(None))
        return self.idf_

    def take_idf(self, counts: sparse.csr_matrix) -> None:
        """Weigh by the idf of these documents from now on.

        Parameters
        ----------
        counts : scipy.sparse.csr_matrix
            (N, features), as features are counted now.
        """
        self.idf_, self._idf_of = idf_of(counts), counted_as(self.counting)

    def _tokens(self, X: Iterable[str] | TokenTable) -> TokenTable:
        """Documents as tokens, cut as those of ``fit`` were, whatever parameters have been set since."""
        return X if isinstance(X, TokenTable) else self._tokenizer(as_documents(X))

    def _counted(self, table: TokenTable | None) -> sparse.csr_matrix:
        """Counts of tokens, or of those of ``fit``."""
        check_counting(self.counting, self.temperature, self.literal_cost)  # all may have been set since
        n = len(self.grams_)
        if self.counting == "pointers":
            return count_matrix(self.encoding_ if table is None else self._codebook.encode(table)[0], n)
        places = places_of(self.index_, self.gram_ids_) if table is None else self._codebook.find(table)
        doc_ptr = (self.table_ if table is None else table).doc_ptr
        return count_places(places, doc_ptr, n, self.counting, self.temperature, self.literal_cost)

    def encode(self, X: Iterable[str] | TokenTable) -> Encoding:
        """The cheapest pointers for each document, given the dictionary; words it lacks become literals.

        Parameters
        ----------
        X : Iterable[str] or TokenTable
            Documents, or their tokens.

        Returns
        -------
        Encoding
            The pointers, in the order of the text.
        """
        check_is_fitted(self, "grams_")
        with threads(self.n_threads):
            encoding, _ = self._codebook.encode(self._tokens(X))
        return encoding

    def places(self, X: Iterable[str] | TokenTable) -> np.ndarray:
        """Where the dictionary's K-grams stand, whether or not a pointer goes there.

        Parameters
        ----------
        X : Iterable[str] or TokenTable
            Documents, or their tokens, n in all.

        Returns
        -------
        numpy.ndarray
            int32 (K, n): the feature that begins at each token, by length; -1 for none.
        """
        check_is_fitted(self, "grams_")
        return self._codebook.find(self._tokens(X))

    def decode(self, encoding: Encoding) -> list[list[str]]:
        """Pointers back to tokens: ``decode(encode(X))`` gives the token forms of X exactly.

        Parameters
        ----------
        encoding : Encoding
            Pointers of this dictionary.

        Returns
        -------
        list[list[str]]
            The token forms of every document.
        """
        check_is_fitted(self, "grams_")
        return decode(encoding, self.grams_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The K-grams, words joined by blanks.

        Parameters
        ----------
        input_features : object, default: None
            Not read.

        Returns
        -------
        numpy.ndarray
            object (features,).
        """
        check_is_fitted(self, "grams_")
        return self.dictionary_["gram"].to_numpy(dtype=object)

    def _state(self, corpus: PreparedCorpus, result: CompressionResult) -> dict[str, Any]:
        """What a fit leaves: features in alphabetical order, the corpus's pointers in their terms, the codebook."""
        index, costs = corpus.index, corpus.costs(float(self.lam))
        chosen = result.dictionary
        found = corpus.words_of(chosen)
        order = sorted(range(len(found)), key=found.__getitem__)
        grams, gram_ids = [found[i] for i in order], chosen[order]
        feature_of = np.full(index.n_grams, -1, dtype=np.int32)
        feature_of[gram_ids] = np.arange(len(order), dtype=np.int32)
        encoding = collect_pointers(result.cover, index.gram_of, corpus.table)
        encoding.gram[:] = feature_of[encoding.gram]
        frequency = document_frequency(count_matrix(encoding, len(order)))
        counted = frequency
        if self.counting != "pointers":  # softly counted is all that occurs
            occurrences = count_occurrences(places_of(index, gram_ids), corpus.table.doc_ptr, len(order))
            counted = document_frequency(occurrences)
        count = np.bincount(encoding.gram, minlength=len(order))
        dictionary = dictionary_frame(grams, count, frequency, costs.dictionary[gram_ids])
        by_length = mean_pointer_cost(costs, index.gram_of)
        plain_word = 1.0 if self.plain_cost is None else 0.0  # what an unseen word costs beside its pointer
        literal = by_length[0] + plain_word if self.literal_cost is None else self.literal_cost
        return {
            "corpus_": corpus,
            "result_": result,
            "duality_gap_": result.gap,
            "grams_": grams,
            "gram_ids_": gram_ids,
            "encoding_": encoding,
            "idf_": inverse_document_frequency(counted, encoding.n_documents),
            "_idf_of": counted_as(self.counting),
            "dictionary_": dictionary,
            "_codebook": Codebook(grams, by_length, literal),
            **self._settled(corpus.cutter),
        }

    def _settled(self, cutter: Any = None) -> dict[str, Any]:
        """What a fit keeps of its parameters: how texts are cut, and all that is written with the model but for how
        features are counted and weighted, which may be set anew. cutter: one that was learnt."""
        kept = parameters_of(self, without=_READ_LATER)
        pattern = Tokenizer(kept["token_pattern"], kept["lowercase"], kept["sentence_borders"])
        return {"_tokenizer": cutter or pattern, "_learnt_with": kept}

    def _output(self, features: sparse.csr_matrix, X: Any) -> sparse.csr_matrix | pd.DataFrame:
        # scikit-learn refuses to wrap a sparse matrix for pandas, so it is made a sparse frame here
        if _get_output_config("transform", self)["dense"] == "pandas":
            index = X.index if isinstance(X, pd.Series) else None
            return pd.DataFrame.sparse.from_spmatrix(features, index=index, columns=self.get_feature_names_out())
        return features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags
