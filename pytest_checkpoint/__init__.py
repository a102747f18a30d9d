"""Find out whether a job really resumes: a pytest plugin and fault-injection kit.

Users import from :mod:`pytest_checkpoint.api`; pytest loads :mod:`pytest_checkpoint.hooks`.
"""
