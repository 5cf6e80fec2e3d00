"""What weights each network has: their shapes, and from how many inputs each is drawn."""

from __future__ import annotations

CONVOLUTIONS = (3, 4, 5)
GATES = {"gru": 3, "bilstm": 4}
WAYS = {"gru": ("forward",), "bilstm": ("forward", "backward")}


def shapes(network: str, r: int, n_classes: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Shape of each weight, by name, in the order in which they are drawn."""
    found: dict[str, tuple[int, ...]] = {}
    if network == "cnn":
        for size in CONVOLUTIONS:
            found |= {f"filter{size}": (size, r, hidden), f"bias{size}": (hidden,)}
    for way in WAYS.get(network, ()):
        wide = GATES[network] * hidden
        found |= {f"{way}_input": (r, wide), f"{way}_state": (hidden, wide)}
        found |= {f"{way}_bias": (wide,), f"{way}_state_bias": (wide,)}
    top = {"mean": r, "cnn": len(CONVOLUTIONS) * hidden, "gru": hidden, "bilstm": 2 * hidden}[network]
    return found | {"output": (top, n_classes), "output_bias": (n_classes,)}


def inputs(name: str, r: int, hidden: int, top: int) -> int:
    """How many inputs feed a weight: it is drawn within ±1/√inputs."""
    if name.startswith(("filter", "bias")):
        return int(name[-1]) * r
    return top if name.startswith("output") else hidden
