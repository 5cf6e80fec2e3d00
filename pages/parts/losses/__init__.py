"""The Losses page: any convex piecewise linear-quadratic loss, under constraints, on the corpus at hand."""
