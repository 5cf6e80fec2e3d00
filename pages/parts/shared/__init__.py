"""What every page shares: the session, its corpus, settings and jobs; controls, words, gates."""
