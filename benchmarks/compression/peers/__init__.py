"""What the engine is compared with: one module per peer, each run in a process of its own (``runner.py``)."""
