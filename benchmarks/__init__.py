"""Claims of speed and memory, a script each: `python -m benchmarks.forward`; `make bench` runs them all."""
