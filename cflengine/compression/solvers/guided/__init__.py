"""The guided solver: relaxation, annealing, rounding, local search and recombination."""
