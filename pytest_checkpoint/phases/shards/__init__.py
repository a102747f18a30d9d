"""The job as several shards: the trials of ``shards-cover-once``."""
