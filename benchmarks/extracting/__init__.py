"""What the benchmarks of the extractor share: the store beside them, the work, the turns."""
