"""The benchmark's figures as tables, beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.stats import ttest_rel

#: Gao, Dai: accuracy in per cent, r = 20 but for "bbc-100", stemmed and without stop words
PUBLISHED = {
    ("ce-t1", "cnn"): {"none": 77.52, "l1": 78.22, "dropout": 78.24, "wmmd": 80.43},
    ("ce-t1", "gru"): {"none": 76.00, "l1": 76.75, "dropout": 79.78, "wmmd": 80.63},
    ("bbc-100", "cnn"): {"none": 97.25, "l1": 97.25, "dropout": 97.27, "wmmd": 97.42},
    ("bbc", "gru"): {"none": 86.21, "l1": 88.27, "dropout": 89.81, "wmmd": 94.98},
}

ARTICLE_RATE = 0.1


def show(name: str, found: Mapping[str, Any]) -> str:
    """One section as text."""
    body = {key: value for key, value in found.items() if key != "seconds"}
    head = f"{name} ({found['seconds']:,.0f} s)"
    if name == "speed":
        return "\n".join([head, *_speed(body)])
    if name == "flat":
        return "\n".join([head, *_flat(body)])
    if name == "english":
        lines = [head]
        for title, part in body.items():
            lines += [title, *_grid(part, {})]
        return "\n".join(lines)
    published = {network: row for (section, network), row in PUBLISHED.items() if section == name}
    return "\n".join([head, *_grid(body, published)])


def _speed(body: Mapping[str, Any]) -> list[str]:
    lines = ["  words      ours     numpy       JAX   product   ours/product  numpy/ours  JAX/ours   peak"]
    for V, row in body.items():
        cells = [f"{int(V):>7,}", f"{row['ours']:8.3f} s"]
        cells += [f"{row[name]:8.3f} s" if name in row else "       –  " for name in ("numpy", "jax", "product")]
        ratios = [
            f"{row[name]:9.2f}" if name in row else "        –" for name in ("products", "times_numpy", "times_jax")
        ]
        lines.append(" ".join([*cells, *ratios, f"{row['peak_bytes'] / 2**30:8.2f} GiB"]))
    return lines


def _flat(body: Mapping[str, Any]) -> list[str]:
    lines = ["  network       λ   test           wMMD²"]
    for row in body.values():
        test = f"{100 * row['test']:6.2f} ± {100 * row['spread']:.2f}"
        lines.append(f"  {row['network']:<8} {row['lam']:>8g}   {test}   {_wmmd(row)}{_diverged(row)}")
    return lines


def _wmmd(row: Mapping[str, Any]) -> str:
    return "–" if row["wmmd"] is None else f"{row['wmmd']:.4f}"


def _diverged(row: Mapping[str, Any]) -> str:
    """How many of the seeds' trainings diverged, which give every document the largest class."""
    return f"   {row['diverged']} of {len(row['tests'])} diverged" if row.get("diverged") else ""


def _grid(body: Mapping[str, Any], published: Mapping[str, Mapping[str, float]]) -> list[str]:
    lines = ["  network        penalty             λ   test            article   gain on none (p)      wMMD²   seconds"]
    for row in body.values():
        plain, gain = plain_of(body, row), ""
        if plain is not None and row["penalty"] != "none":
            difference, p = gain_of(row, plain)
            gain = f"{100 * difference:+6.2f} (p {p:.2g})"
        said = published.get(row["network"], {}).get(row["penalty"])
        test = f"{100 * row['test']:6.2f} ± {100 * row['spread']:.2f}"
        article = f"{said:7.2f}" if said else "      –"
        lines.append(
            f"  {network_of(row):<14} {row['penalty']:<14} {row['lam']:>6g}   {test}   {article}   {gain:<20}"
            f" {_wmmd(row):>8} {row['seconds']:8.1f}{_diverged(row)}"
        )
    return lines


def gain_of(row: Mapping[str, Any], plain: Mapping[str, Any] | None) -> tuple[float, float]:
    """What a row is better by than training without a penalty, and p of a paired t-test over the seeds."""
    if plain is None or row["tests"] == plain["tests"]:
        return 0.0, 1.0
    return row["test"] - plain["test"], float(ttest_rel(row["tests"], plain["tests"]).pvalue)


def network_of(row: Mapping[str, Any]) -> str:
    """A network, and its learning rate where that is not the article's."""
    rate = row.get("rate", ARTICLE_RATE)
    return row["network"] if rate == ARTICLE_RATE else f"{row['network']}, rate {rate:g}"


def plain_of(body: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The row without a penalty that a row compares with."""
    return next((one for one in body.values() if network_of(one) == network_of(row) and one["penalty"] == "none"), None)
