"""The object store as the job sees it: a proxy in the supervisor, and what the bucket holds."""
