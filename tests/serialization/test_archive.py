"""Archives: what is written any ZIP program reads, and one that has more than one reading is refused."""

import io
import struct
import zipfile

import pytest

from flambeau.errors import ArgumentTypeError, FileFormatError
from flambeau.serialization import archive

RECORDS = {"data.pkl": b"pickle", "data/0": bytes(range(200)), "data/1": b"", "version": b"3\n"}


def written(records=RECORDS):
    file = io.BytesIO()
    writer = archive.Writer(file)
    for name, data in records.items():
        writer.add(name, data)
    writer.close()
    return file.getvalue()


def read(data):
    return archive.Reader(archive.Source(io.BytesIO(data)))


def zipped(records, **options):
    """An archive of Python's zipfile; unseekable=True writes data descriptors."""
    file = io.BytesIO()
    target = Unseekable(file) if options.pop("unseekable", False) else file
    with zipfile.ZipFile(target, "w", **options) as made:
        for name, data in records:
            with made.open(zipfile.ZipInfo(name), "w", force_zip64=options.get("allowZip64", False)) as record:
                record.write(data)
    return file.getvalue()


class Unseekable:
    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


def test_any_zip_program_reads_what_is_written():
    with zipfile.ZipFile(io.BytesIO(written())) as found:
        assert found.testzip() is None
        assert {name.removeprefix("archive/"): found.read(name) for name in found.namelist()} == RECORDS
        assert all(info.compress_type == zipfile.ZIP_STORED for info in found.infolist())


def test_payloads_are_aligned_and_equal_records_make_equal_files():
    found = read(written())
    assert [found.extent_of(name).start % archive.ALIGNMENT for name in RECORDS] == [0, 0, 0, 0]
    assert written() == written()


def test_records_come_back():
    found = read(written())
    assert {name: found.read(name) for name in RECORDS} == RECORDS
    target = bytearray(200)
    found.read_into("data/0", target)
    assert target == RECORDS["data/0"] and "data/0" in found and "data/2" not in found
    with pytest.raises(FileFormatError, match="data/2"):
        found.read("data/2")


@pytest.mark.parametrize("unseekable", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_archives_of_other_programs_are_read(unseekable, wide):
    data = zipped([("a/data.pkl", b"one"), ("a/x", b"")], unseekable=unseekable, allowZip64=wide)
    found = read(data)
    assert found.read("data.pkl") == b"one" and found.read("x") == b"" and found.root == "a"


def test_the_file_may_begin_before_the_archive():
    file = io.BytesIO(b"before" + written())
    file.seek(6)
    assert archive.Reader(archive.Source(file)).read("data.pkl") == b"pickle"


def test_sizes_and_offsets_of_4_gib_have_zip64_fields(monkeypatch):
    """With a lower limit, as the writer and the reader see it."""
    monkeypatch.setattr(archive, "ZIP32_MAX", 150)
    monkeypatch.setattr(archive, "COUNT_MAX", 3)
    found = read(written())
    assert {name: found.read(name) for name in RECORDS} == RECORDS


def test_a_raw_file_that_takes_less_than_it_is_given_gets_everything():
    class Slow(io.BytesIO):
        def write(self, data):
            return super().write(bytes(data)[:7])

    file = Slow()
    writer = archive.Writer(file)
    for name, data in RECORDS.items():
        writer.add(name, data)
    writer.close()
    assert file.getvalue() == written()


# damage


def test_every_byte_of_a_payload_is_verified():
    data = written()
    start = read(data).extent_of("data/0").start
    for at in range(start, start + 200):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        with pytest.raises(FileFormatError, match=r"data/0.*checksum"):
            read(bytes(damaged)).read("data/0")


def test_a_file_that_is_cut_or_continued_anywhere_is_refused():
    data = written()
    for size in range(len(data)):
        with pytest.raises(FileFormatError, match="damaged"):
            read(data[:size])
    for rest in (b"\0", data):
        with pytest.raises(FileFormatError):
            read(data + rest)


def patched(data, sign, at, value, size, which=0):
    """A number of a header changed.  sign: which kind of header; which: the how many-th one."""
    start = -1
    for _ in range(which + 1):
        start = data.index(sign, start + 1)
    return data[: start + at] + (value % (1 << 8 * size)).to_bytes(size, "little") + data[start + at + size :]


LOCAL, CENTRAL, END, END64, LOCATOR = b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7"


@pytest.mark.parametrize(
    ("sign", "at", "value", "size"),
    [
        (LOCAL, 6, 1, 2),
        (LOCAL, 6, 8, 2),
        (LOCAL, 8, 8, 2),
        (LOCAL, 14, 7, 4),
        (LOCAL, 18, 5, 4),
        (LOCAL, 22, 7, 4),
        (LOCAL, 22, 0xFFFFFFFF, 4),
        (LOCAL, 26, 2, 2),
        (LOCAL, 28, 0xFFFF, 2),
        (LOCAL, 30, 0x41, 1),
        (CENTRAL, 0, 0, 4),
        (CENTRAL, 8, 1, 2),
        (CENTRAL, 8, 8, 2),
        (CENTRAL, 10, 8, 2),
        (CENTRAL, 16, 7, 4),
        (CENTRAL, 20, 5, 4),
        (CENTRAL, 24, 7, 4),
        (CENTRAL, 24, 0xFFFFFFFF, 4),
        (CENTRAL, 28, 2, 2),
        (CENTRAL, 28, 0xFFFF, 2),
        (CENTRAL, 30, 1, 2),
        (CENTRAL, 32, 1, 2),
        (CENTRAL, 34, 1, 2),
        (CENTRAL, 42, 1, 4),
        (CENTRAL, 42, 0xFFFFFFFE, 4),
        (CENTRAL, 42, 0xFFFFFFFF, 4),
        (CENTRAL, 46, 0xFF, 1),
        (END, 4, 1, 2),
        (END, 6, 1, 2),
        (END, 8, 3, 2),
        (END, 10, 5, 2),
        (END, 12, 1, 4),
        (END, 16, 1, 4),
        (END, 20, 1, 2),
        (END64, 0, 0, 4),
        (END64, 4, 45, 8),
        (END64, 16, 1, 4),
        (END64, 24, 5, 8),
        (END64, 32, 2**63, 8),
        (END64, 40, 2**64 - 1, 8),
        (END64, 48, 2**63, 8),
        (LOCATOR, 4, 1, 4),
        (LOCATOR, 8, 2**63, 8),
        (LOCATOR, 16, 2, 4),
    ],
)
def test_headers_that_disagree_are_refused(sign, at, value, size):
    with pytest.raises(FileFormatError) as caught:
        read(patched(written(), sign, at, value, size))
    assert str(caught.value).startswith("load: ") and caught.value.hint


def test_a_descriptor_that_disagrees_is_refused():
    data = zipped([("a/data.pkl", b"one")], unseekable=True)
    assert read(data).read("data.pkl") == b"one"
    for at in (4, 8, 12):
        with pytest.raises(FileFormatError, match="differs from the directory"):
            read(patched(data, b"PK\7\x08", at, 77, 4))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_names_are_refused():
    with pytest.raises(FileFormatError, match=r"two records have the name 'a/x'"):
        read(zipped([("a/x", b"1"), ("a/x", b"2")]))


def test_records_that_overlap_are_refused():
    """2,000 records over the bytes of one: each costs its header, and would give all of the bytes."""
    payload = bytes(1000)
    data = zipped([("a/0", payload)])
    start = data.index(CENTRAL)
    entry = data[start : data.index(END)]
    entries = b"".join(entry.replace(b"a/0", f"a/{chr(0x30 + index)}".encode()) for index in range(9))
    end = struct.pack("<4s4H2LH", END, 0, 0, 9, 9, len(entries), start, 0)
    with pytest.raises(FileFormatError, match="overlaps"):
        read(data[:start] + entries + end)


def test_compressed_and_encrypted_records_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a/data.pkl", bytes(10**6))
    with pytest.raises(FileFormatError, match=r"a/data.pkl.*method 8"):
        read(file.getvalue())
    with pytest.raises(FileFormatError, match="0x0001"):
        read(patched(patched(written(), LOCAL, 6, 1, 2), CENTRAL, 8, 1, 2))


def test_a_count_of_entries_allocates_nothing():
    data = patched(patched(written({}), END, 8, 0xFFFFFFFF, 4), END64, 24, 2**64 - 1, 8)
    with pytest.raises(FileFormatError, match=str(2**64 - 1)):
        read(patched(data, END64, 32, 2**64 - 1, 8))


def test_a_file_that_shrinks_while_it_is_read_is_an_error():
    file = io.BytesIO(written())
    found = archive.Reader(archive.Source(file))
    file.truncate(100)
    with pytest.raises(FileFormatError, match="ended at byte"):
        found.read("data/0")
    with pytest.raises(FileFormatError, match="ended at byte"):
        found.read_into("data/0", bytearray(200))


def test_a_file_that_can_only_be_read_is_enough():
    class Plain:
        def __init__(self, data):
            file = io.BytesIO(data)
            self.seek, self.tell = file.seek, file.tell
            self.read = lambda count: file.read(min(count, 7))

    found = archive.Reader(archive.Source(Plain(written())))
    target = bytearray(200)
    found.read_into("data/0", target)
    assert target == RECORDS["data/0"] and found.read("data.pkl") == b"pickle"


def test_a_file_that_gives_text_is_an_error():
    class Text(io.BytesIO):
        def read(self, size=-1):
            return super().read(size).decode("latin1")

    with pytest.raises(ArgumentTypeError, match="gives str"):
        archive.Reader(archive.Source(Text(written())))
