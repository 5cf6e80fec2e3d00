"""The problem in clear numpy, its regularisers, the certificate, what a solve leaves behind."""
