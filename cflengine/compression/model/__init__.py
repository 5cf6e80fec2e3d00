"""The problem in clear numpy: costs, its linear programme, the certificate, what a solve leaves behind."""
