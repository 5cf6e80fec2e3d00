"""From one binary solution to a better one: moves of the dictionary, recombination by minimum cuts, refinement."""
