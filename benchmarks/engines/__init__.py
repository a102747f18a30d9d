"""What ``benchmarks/engine.py`` measures."""
