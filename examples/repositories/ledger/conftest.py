from contracts.says_where import resume_says_where

from pytest_checkpoint.api import CommandSubject


def pytest_checkpoint_contracts():
    return [resume_says_where]


def pytest_checkpoint_subjects():
    check = "python -m runtime.book check {workspace}"
    yield "book", CommandSubject(run="python -m runtime.book run {workspace}", check=check)
    wrong = {"resume-says-where": "it boasts, so that the contract is seen to catch it"}
    run = "python tests/boastful.py {workspace}"
    yield "boastful", CommandSubject(run=run, check=check, expected_failures=wrong)
