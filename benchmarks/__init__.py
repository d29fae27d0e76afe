"""Speed and memory against their bars: `make bench`."""
