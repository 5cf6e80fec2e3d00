"""A smoke test on real text; skipped where the corpora are not at hand (see ``real_documents``)."""

from __future__ import annotations

import pytest

from cflengine import CompressiveFeatures, HomotopySettings
from cflengine.text.tokens import Tokenizer


@pytest.mark.parametrize("name", ["20news_bydate", "ratebeer"])
def test_two_hundred_real_documents(real_documents, name):
    texts = real_documents(name, 200)
    settings = HomotopySettings(relaxation_gap=2e-3, relaxation_iterations=400, zeta_step=0.2, stage_iterations=30)
    model = CompressiveFeatures(1.0, 3, solver="homotopy", settings=settings).fit(texts)
    result = model.result_
    assert result.certificate.covered
    assert 0 < result.lower_bound <= result.relaxation_upper <= result.objective * 1.01
    assert result.objective / result.relaxation_upper < 1.02 and result.gap < 0.025
    table = Tokenizer()(texts)
    assert model.decode(model.encode(texts)) == [table.words(d) for d in range(len(texts))]
    singles = (model.encoding_.length == 1).mean()
    assert 0.2 < singles < 0.95 and 2 * len(model.grams_) < model.index_.n_grams
