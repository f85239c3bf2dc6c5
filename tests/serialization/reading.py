"""Helpers of the file tests: save and load an object, and get the error of a damaged file."""

import io

import pytest

import flambeau as torch


def saved(obj, **options):
    """The bytes of a file that `save` writes."""
    file = io.BytesIO()
    torch.save(obj, file, **options)
    return file.getvalue()


def again(obj, **options):
    """An object that was saved and loaded."""
    return torch.load(io.BytesIO(saved(obj)), **options)


def refused(call, error, *facts, begins="load: "):
    """`call` raises `error`; its text begins so, has a hint and every fact.  Returns the text."""
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(begins) and caught.value.hint
    assert [fact for fact in facts if fact not in text] == []
    return text
