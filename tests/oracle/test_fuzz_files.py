"""A sample of the mutations of fuzz_files.py, and that they would find what they look for."""

import pytest

from flambeau.serialization import archive, vocabulary
from tests.oracle import fuzz_files


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.full)])
def test_damaged_files_give_errors_or_what_was_saved(count):
    reports = []
    assert fuzz_files.run(1, count, reports.append) == 0, reports


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "name", "mistake"),
    [
        (archive.Reader, "_check", lambda *args: None),
        (vocabulary.FileVocabulary, "may_fill", lambda *args: True),
    ],
)
def test_mistakes_would_be_found(monkeypatch, target, name, mistake):
    monkeypatch.setattr(target, name, mistake)
    assert fuzz_files.run(1, 400, [].append) > 0
