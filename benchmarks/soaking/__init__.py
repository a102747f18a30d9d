"""What ``benchmarks/soak.py`` does over and over."""
