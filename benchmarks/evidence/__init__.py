"""From the committed results to ``docs/results.md``: claims, the papers' numbers beside ours, a verdict each."""
