"""Log-linear models: clustered L-BFGS (Mathur & Chakrabarti, ICDM 2006), logistic regression, linear-chain CRF."""
