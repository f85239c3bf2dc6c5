"""Edits of a race report, applied to the program."""

import re


def edited(text, edits):
    """A program with the edits in it."""
    lines = text.splitlines()
    places = []
    for edit in edits:
        line = int(edit.site.rpartition(":")[2])
        indent = re.match(r"\s*", lines[line - 1])[0]
        places.append((line - 1 if edit.where == "before" else line, indent + edit.statement))
    for at, statement in sorted(places, reverse=True):
        lines.insert(at, statement)
    return "\n".join(lines) + "\n"
