"""The container of saved files: a ZIP archive of stored (uncompressed) records, as PyTorch writes it.

- Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT; records lie under one folder, payloads begin at
  multiples of ALIGNMENT bytes, and the archive always ends with the ZIP64 end record.
- Reading accepts one interpretation only: the directory ends where the end records begin, no two records overlap or
  share a name, and every local header agrees with the directory.  Nothing is read before its extent is known to lie in
  the file.
- `read` and `read_into` verify the CRC-32 of a record.  `extent_of` does not: it serves memory maps.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple

from ..errors import ArgumentTypeError, FileFormatError

ALIGNMENT = 64  # bytes
ROOT = "archive"  # folder of the records of a new file
CHUNK = 1 << 20  # bytes moved between file and memory at once
ZIP32_MAX = 0xFFFFFFFF  # from here on, sizes and offsets are in ZIP64 fields
COUNT_MAX = 0xFFFF
STORED = 0  # compression method
HAS_DESCRIPTOR, UTF8_NAME = 0x0008, 0x0800  # flags
VERSION = 45  # of the format: 4.5 has ZIP64
DATE = 0x0021  # 1980-01-01, the earliest date: equal objects make equal files
ZIP64_ID, PADDING_ID = 0x0001, 0x4246  # of extra fields

LOCAL = Struct("<4s5H3L2H")
CENTRAL = Struct("<4s6H3L5H2L")
END64 = Struct("<4sQ2H2L4Q")
LOCATOR = Struct("<4sLQL")
END = Struct("<4s4H2LH")
EXTRA = Struct("<2H")
DESCRIPTORS = Struct("<4s3L"), Struct("<4sL2Q"), Struct("<3L"), Struct("<L2Q")  # with and without a signature
LOCAL_SIGN, CENTRAL_SIGN, END_SIGN = b"PK\3\4", b"PK\1\2", b"PK\5\6"
END64_SIGN, LOCATOR_SIGN, DESCRIPTOR_SIGN = b"PK\6\6", b"PK\6\7", b"PK\7\x08"

MAX_SHOWN = 80  # characters of a name that an error shows
DAMAGED_HINT = "the file was changed or cut short: copy it again, or save again"


class Entry(NamedTuple):
    """One record: its name, where its local header begins, its size and its CRC-32."""

    name: str
    header: int
    nbytes: int
    crc: int
    flags: int


class Extent(NamedTuple):
    """The bytes of one record in the file."""

    start: int
    nbytes: int


# writing


class Writer:
    """Writes records to a file in order; it only appends, so the file need not be seekable."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._at = 0
        self._entries: list[Entry] = []

    def add(self, name: str, data: Any) -> None:
        """Append a record.  data: an object with the buffer protocol."""
        data = memoryview(data).cast("B")
        entry = Entry(f"{ROOT}/{name}", self._at, data.nbytes, _checksum(data), 0)
        encoded = entry.name.encode()
        extra = _zip64(data.nbytes, data.nbytes) if data.nbytes >= ZIP32_MAX else b""
        extra += _padding(self._at + LOCAL.size + len(encoded) + len(extra))
        size = min(data.nbytes, ZIP32_MAX)
        fields = (VERSION, 0, STORED, 0, DATE, entry.crc, size, size, len(encoded), len(extra))
        self._write(LOCAL.pack(LOCAL_SIGN, *fields) + encoded + extra)
        self._write(data)
        self._entries.append(entry)

    def close(self) -> None:
        """Write the directory and the end records."""
        start = self._at
        for entry in self._entries:
            self._write(_central(entry))
        count, nbytes, end64 = len(self._entries), self._at - start, self._at
        rest = END64.size - 12  # the size field counts what follows it
        self._write(END64.pack(END64_SIGN, rest, VERSION, VERSION, 0, 0, count, count, nbytes, start))
        self._write(LOCATOR.pack(LOCATOR_SIGN, 0, end64, 1))
        counts = min(count, COUNT_MAX), min(count, COUNT_MAX)
        self._write(END.pack(END_SIGN, 0, 0, *counts, min(nbytes, ZIP32_MAX), min(start, ZIP32_MAX), 0))

    def _write(self, data: Any) -> None:
        view = memoryview(data)
        while view.nbytes:
            written = self._file.write(view[:CHUNK])
            count = min(view.nbytes, CHUNK) if written is None else written  # raw files may write less
            self._at += count
            view = view[count:]


def _zip64(*values: int) -> bytes:
    return EXTRA.pack(ZIP64_ID, 8 * len(values)) + b"".join(value.to_bytes(8, "little") for value in values)


def _padding(at: int) -> bytes:
    """Return an extra field at byte `at` that makes the payload after it aligned."""
    count = -(at + EXTRA.size) % ALIGNMENT
    return EXTRA.pack(PADDING_ID, count) + bytes(count)


def _central(entry: Entry) -> bytes:
    name = entry.name.encode()
    wide = [entry.nbytes] * 2 if entry.nbytes >= ZIP32_MAX else []
    wide += [entry.header] if entry.header >= ZIP32_MAX else []
    extra = _zip64(*wide) if wide else b""
    size, header = min(entry.nbytes, ZIP32_MAX), min(entry.header, ZIP32_MAX)
    fields = (VERSION, VERSION, 0, STORED, 0, DATE, entry.crc, size, size, len(name), len(extra), 0, 0, 0, 0, header)
    return CENTRAL.pack(CENTRAL_SIGN, *fields) + name + extra


def _checksum(data: memoryview) -> int:
    crc = 0
    for at in range(0, data.nbytes, CHUNK):
        crc = zlib.crc32(data[at : at + CHUNK], crc)
    return crc


# reading


class Source:
    """A seekable binary file from its current position to its end."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._start = file.tell()
        self.nbytes = max(file.seek(0, 2) - self._start, 0)

    def read(self, start: int, count: int) -> bytes:
        """Return `count` bytes from `start`; the caller has checked the range.  Raises FileFormatError."""
        self._file.seek(self._start + start)
        parts: list[bytes] = []
        end = start + count
        while count:
            part = self._file.read(count)
            if not isinstance(part, bytes):
                fact = f"reading the file gives {type(part).__name__}, not bytes"
                raise ArgumentTypeError(fact, operator="load", hint="open it with mode 'rb'")
            if not part:
                raise self._ended(end - count)
            parts.append(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_into(self, start: int, target: memoryview) -> None:
        """Fill `target` with the bytes from `start`.  Raises FileFormatError."""
        if not hasattr(self._file, "readinto"):
            target[:] = self.read(start, target.nbytes)
            return
        self._file.seek(self._start + start)
        at = 0
        while at < target.nbytes:
            count = self._file.readinto(target[at:])
            if not count:
                raise self._ended(start + at)
            at += count

    def _ended(self, at: int) -> FileFormatError:
        fact = f"the file ended at byte {at} of {self.nbytes} while it was read"
        return FileFormatError(fact, operator="load", hint=DAMAGED_HINT)


class Reader:
    """The records of an archive.

    Raises: FileFormatError if it is damaged, ambiguous or compressed.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        entries, end = _directory(source)
        self._extents = dict(_extents(source, entries, end))
        self._entries = {entry.name: entry for entry in entries}
        self.root = entries[0].name.partition("/")[0] if entries else ""

    def __contains__(self, record: str) -> bool:
        return f"{self.root}/{record}" in self._entries

    def names(self) -> list[str]:
        """Return the full name of every record."""
        return list(self._entries)

    def extent_of(self, record: str) -> Extent:
        """Return the position of a record's bytes in the file.  Raises FileFormatError if there is no such record."""
        extent = self._extents.get(f"{self.root}/{record}")
        if extent is None:
            raise FileFormatError(f"the file has no record {record[:MAX_SHOWN]!r}", hint=DAMAGED_HINT, operator="load")
        return extent

    def read(self, record: str) -> bytes:
        """Return the bytes of a record.  Raises FileFormatError if they do not have its checksum."""
        start, nbytes = self.extent_of(record)
        data = self._source.read(start, nbytes)
        self._check(record, _checksum(memoryview(data)))
        return data

    def read_into(self, record: str, target: Any) -> None:
        """Read a record into a uint8 array of its size.  Raises FileFormatError if it does not have its checksum."""
        start, nbytes = self.extent_of(record)
        view, crc = memoryview(target), 0
        for at in range(0, nbytes, CHUNK):
            chunk = view[at : at + CHUNK]
            self._source.read_into(start + at, chunk)
            crc = zlib.crc32(chunk, crc)
        self._check(record, crc)

    def _check(self, record: str, crc: int) -> None:
        stored = self._entries[f"{self.root}/{record}"].crc
        if crc != stored:
            hint = DAMAGED_HINT if stored else "PyTorch leaves checksums out after set_crc32_options(False): save again"
            fact = (
                f"load: record {record[:MAX_SHOWN]!r} is damaged: its checksum is {crc:08x}, and {stored:08x} was saved"
            )
            raise FileFormatError(fact, hint=hint)


def _damaged(fact: str) -> FileFormatError:
    return FileFormatError(f"the ZIP archive is damaged: {fact}", hint=DAMAGED_HINT, operator="load")


def _directory(source: Source) -> tuple[list[Entry], int]:
    """Return (entries in the order of the directory, start of the directory)."""
    at = source.nbytes - END.size
    data = source.read(at, END.size) if at >= 0 else b""
    if data[:4] != END_SIGN:
        raise _damaged(f"no end record in the last {END.size} of {source.nbytes} bytes")
    *disks, here, count, nbytes, start, comment = END.unpack(data)[1:]
    if disks != [0, 0] or here != count or comment:
        raise _damaged(f"disks {disks}, {here} of {count} entries, a comment of {comment} bytes in its end record")
    at, (count, nbytes, start) = _end64(source, at, (count, nbytes, start))
    if start + nbytes != at:
        raise _damaged(f"a directory of {nbytes} bytes at {start} should end at {at}")
    return _parsed(source.read(start, nbytes), count, start), start


def _end64(source: Source, at: int, narrow: tuple[int, int, int]) -> tuple[int, tuple[int, int, int]]:
    """Return (start of the end records; the directory's count, size and start), from a ZIP64 record if present."""
    locator = at - LOCATOR.size
    data = source.read(locator, LOCATOR.size) if locator >= 0 else b""
    if data[:4] != LOCATOR_SIGN:
        return at, narrow
    _, disk, start, disks = LOCATOR.unpack(data)
    if disk or disks != 1 or start + END64.size != locator:
        raise _damaged(f"its ZIP64 locator names byte {start} of disk {disk} of {disks}")
    sign, size, _, _, *other, here, count, nbytes, directory = END64.unpack(source.read(start, END64.size))
    wide = count, nbytes, directory
    agree = all(value in (full, limit) for value, full, limit in zip(narrow, wide, (COUNT_MAX, ZIP32_MAX, ZIP32_MAX)))
    if sign != END64_SIGN or size != END64.size - 12 or other != [0, 0] or here != count or not agree:
        raise _damaged(f"its end records disagree: {list(narrow)} and {list(wide)}")
    return start, wide


def _parsed(data: bytes, count: int, end: int) -> list[Entry]:
    """Return the entries of a directory.  end: the first byte behind the records."""
    entries: dict[str, Entry] = {}
    at = 0
    for index in range(count):
        if at + CENTRAL.size > len(data):
            raise _damaged(f"its directory has room for {index} of {count} entries")
        sign, _, _, flags, method, _, _, crc, packed, nbytes, *rest, header = CENTRAL.unpack_from(data, at)
        name_size, extra_size, comment_size, disk = rest[:4]
        name_at = at + CENTRAL.size
        extra_at = name_at + name_size
        at = extra_at + extra_size + comment_size
        if sign != CENTRAL_SIGN or at > len(data) or disk:
            raise _damaged(f"entry {index} of its directory is invalid")
        name = _decoded(data[name_at:extra_at], index)
        packed, nbytes, header = _widened(data[extra_at : extra_at + extra_size], (nbytes, packed, header), name)
        entry = Entry(name, header, nbytes, crc, flags)
        _check_entry(entry, method, packed, end)
        if name in entries:
            raise _damaged(f"two records have the name {name[:MAX_SHOWN]!r}")
        entries[name] = entry
    if at != len(data):
        raise _damaged(f"its {count} entries take {at} of {len(data)} bytes of the directory")
    return list(entries.values())


def _decoded(name: bytes, index: int) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise _damaged(f"the name of record {index} is not UTF-8: {name[:MAX_SHOWN]!r}") from error


def _widened(extra: bytes, values: tuple[int, int, int], name: str) -> tuple[int, int, int]:
    """Return size, packed size and header offset, from the ZIP64 field where they are ZIP32_MAX."""
    wide = b""
    at = 0
    while at + EXTRA.size <= len(extra):
        field, size = EXTRA.unpack_from(extra, at)
        at += EXTRA.size
        if field == ZIP64_ID:
            wide = extra[at : at + size]
        at += size
    widened = []
    for value in values:
        if value == ZIP32_MAX and len(wide) >= 8:
            value, wide = int.from_bytes(wide[:8], "little"), wide[8:]
        elif value == ZIP32_MAX:
            raise _damaged(f"record {name[:MAX_SHOWN]!r} has no ZIP64 sizes")
        widened.append(value)
    nbytes, packed, header = widened
    return packed, nbytes, header


def _check_entry(entry: Entry, method: int, packed: int, end: int) -> None:
    if method != STORED or entry.flags & ~(HAS_DESCRIPTOR | UTF8_NAME):
        raise FileFormatError(
            f"record {entry.name[:MAX_SHOWN]!r} has compression method {method} and flags {entry.flags:#06x}; "
            "only stored records are read",
            hint="torch.save() never compresses: this is another kind of archive, or was repacked",
            operator="load",
        )
    if packed != entry.nbytes or entry.header + LOCAL.size + len(entry.name) + entry.nbytes > end:
        raise _damaged(
            f"record {entry.name[:MAX_SHOWN]!r} of {packed} and {entry.nbytes} bytes at {entry.header} of {end}"
        )


def _extents(source: Source, entries: list[Entry], end: int) -> Iterator[tuple[str, Extent]]:
    """Check every local header; yield (name, extent) of every record.  end: the first byte behind the records."""
    ordered = sorted(entries, key=lambda entry: entry.header)
    limits = [entry.header for entry in ordered[1:]] + [end]
    for entry, limit in zip(ordered, limits):
        yield entry.name, _extent(source, entry, limit)


def _extent(source: Source, entry: Entry, limit: int) -> Extent:
    name = entry.name.encode()
    start = entry.header + LOCAL.size + len(name)
    if start > limit:
        raise _damaged(f"record {entry.name[:MAX_SHOWN]!r} at {entry.header} overlaps what begins at {limit}")
    header = source.read(entry.header, LOCAL.size + len(name))
    sign, _, flags, method, _, _, crc, packed, nbytes, name_size, extra_size = LOCAL.unpack_from(header)
    start += extra_size
    if start + entry.nbytes > limit:
        raise _damaged(f"record {entry.name[:MAX_SHOWN]!r} at {entry.header} overlaps what begins at {limit}")
    same = (sign, flags, method, name_size, header[LOCAL.size :]) == (LOCAL_SIGN, entry.flags, STORED, len(name), name)
    if flags & HAS_DESCRIPTOR:
        after = start + entry.nbytes
        same = same and _is_described(source.read(after, min(limit - after, DESCRIPTORS[1].size)), entry)
        allowed = (0, entry.crc), (0, entry.nbytes, ZIP32_MAX), (0, entry.nbytes, ZIP32_MAX)
        same = same and all(value in values for value, values in zip((crc, packed, nbytes), allowed))
    elif same and ZIP32_MAX in (packed, nbytes):
        extra = source.read(start - extra_size, extra_size)
        packed, nbytes, _ = _widened(extra, (nbytes, packed, 0), entry.name)
    if not same or not flags & HAS_DESCRIPTOR and (crc, packed, nbytes) != (entry.crc, entry.nbytes, entry.nbytes):
        raise _damaged(f"the header of record {entry.name[:MAX_SHOWN]!r} at {entry.header} differs from the directory")
    return Extent(start, entry.nbytes)


def _is_described(data: bytes, entry: Entry) -> bool:
    """Return whether a data descriptor of any of the four forms follows the payload and agrees with the directory."""
    bare = (entry.crc, entry.nbytes, entry.nbytes)
    allowed = bare, (DESCRIPTOR_SIGN, *bare)
    return any(len(data) >= form.size and form.unpack_from(data) in allowed for form in DESCRIPTORS)
