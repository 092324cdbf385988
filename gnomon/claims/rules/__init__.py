"""The rules: numbers in, a verdict out. One file a claim, its thresholds first, so that its commit can be named."""
