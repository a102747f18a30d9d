"""Eight samples, two to a file, by as many shards as there are. Sound."""

from __future__ import annotations

from tiny_shards import Job

if __name__ == "__main__":
    Job.main()
