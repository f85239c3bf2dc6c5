"""The compiled hot path: what is compiled is what the package says, and is as new as its source."""

from pathlib import Path

from flambeau.cli.doctor import PACKAGE, compiled_modules

DECLARED = sorted({*PACKAGE.rglob("*.pxd"), *PACKAGE.rglob("*.pyx")})


def built_from(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{path.stem}.*.so"))


def test_every_declaration_stands_beside_its_module():
    assert [each for each in DECLARED if not (each.suffix == ".pyx" or each.with_suffix(".py").exists())] == []


def test_all_of_the_hot_path_is_compiled_or_none_of_it():
    names = sorted({".".join(each.relative_to(PACKAGE).with_suffix("").parts) for each in DECLARED})
    assert compiled_modules() in ([], names)


def test_no_compiled_module_is_older_than_its_source():
    """If this fails: build again (pip install -e .), or delete the .so files to work without."""
    stale = [
        each.name
        for each in DECLARED
        for made in built_from(each)
        for source in (each, each.with_suffix(".py"))
        if source.exists() and made.stat().st_mtime < source.stat().st_mtime
    ]
    assert stale == []
