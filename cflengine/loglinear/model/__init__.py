"""The problem in clear numpy, losses of scores that are linear in the weights, the chain, the certificate."""
