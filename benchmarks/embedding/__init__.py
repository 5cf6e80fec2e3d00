"""The embedding benchmark: speed of wMMD² and its gradient, accuracies beside the published ones."""
