"""The files of ``dump`` and ``load``: lines, compressed where the name ends with ``.gz``.

Rule 1. A file with data is for its owner alone. It gets its name only when it is whole, and replaces no other file.
Rule 2. A checkpoint is saved after each window, together with the length of the file of refused lines. So a load that
        was killed goes on there, and no refusal is lost or written twice.
"""

import gzip
import json
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, Self, TypeAlias

from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.flow.transfer.load import LineLoad, RefusedLine
from dynaorm.item.item_line import ITEM

Target: TypeAlias = "str | os.PathLike[str] | IO[bytes]"
"""A file to write lines to: its path, which is compressed if it ends with ``.gz``, or an open binary file."""

Source: TypeAlias = "Target | list[Target] | tuple[Target, ...]"
"""A file with lines, or several of them."""

_GZIP: Final = ".gz"
_FORMAT: Final = "dynaorm.load/1"


@contextmanager
def written(target: Target) -> Iterator[IO[bytes]]:
    """A file to be written, which is there only after the block has ended without an error.

    Raises:
        UsageError: it exists already, or cannot be written.
    """
    if not isinstance(target, str | os.PathLike):
        _check_file("target={}", target, "writelines")
        yield target
        return
    path = path_of("target={}", target)
    partial = path.with_name(f"{path.name}.partial") if path.name else path
    if os.path.lexists(path):
        raise _in_the_way(path)
    with ExitStack() as opened:
        try:
            plain = opened.enter_context(open(partial, "wb", opener=_private))
        except OSError as problem:
            raise _unusable(partial, problem) from problem
        opened.callback(_removed, partial)
        with _compressed(plain) if path.suffix == _GZIP else nullcontext(plain) as file:
            yield file
        plain.flush()
        os.fsync(plain.fileno())
        partial.replace(path)


def path_of(written: str, given: object) -> Path:
    """The path of a file. Raise UsageError for what cannot name one."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text or not _is_encodable(text):
        raise UsageError(
            problem=f"{written.format(shown(given))} cannot name a file",
            remedy="give a path, as a str or a Path",
        )
    return Path(text)


def _is_encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _check_file(written: str, file: object, method: str) -> None:
    if isinstance(file, type) or not callable(getattr(file, method, None)):
        raise UsageError(
            problem=f"{written.format(shown(file))} is neither a path nor an open binary file",
            remedy='give a path, or open(path, "rb") or "wb"',
        )


def _compressed(file: IO[bytes]) -> IO[bytes]:
    # Without name and time, equal lines make equal files.
    found: Any = gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0)
    return found  # type: ignore[no-any-return]  # GzipFile is an IO[bytes] in all that is used of it


def _removed(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _in_the_way(path: Path) -> UsageError:
    return UsageError(problem=f"there is a file {str(path)!r} already", remedy="name another, or remove it")


def _unusable(path: object, problem: OSError) -> UsageError:
    said = problem.strerror or str(problem)
    return UsageError(problem=f"the file {str(path)!r} cannot be used: {said}", remedy="name another one")


class LoadFiles(ExitStack):
    """The files of a load.

    Args:
        work: the load. With a checkpoint, it takes up the counts that were saved.
        source: the lines: a path, a binary file that can be read again from where it stands, or a list of them.
        refused: the path of a new file for refused lines; None drops them.
        checkpoint: the path of a file for the position; None keeps none. It is removed at the end.
        identity: what tells the table from others; only a load of the same lines into it can go on.

    Raises:
        UsageError: a file cannot be used, or the checkpoint is that of another load.
    """

    def __init__(
        self,
        work: LineLoad,
        source: Source,
        *,
        refused: "str | os.PathLike[str] | None",
        checkpoint: "str | os.PathLike[str] | None",
        identity: object,
    ) -> None:
        super().__init__()
        self._work = work
        self._checkpoint = None if checkpoint is None else path_of("checkpoint={}", checkpoint)
        self._refused: IO[bytes] | None = None
        self._lines = [_Lines(one) for one in (source if isinstance(source, list | tuple) else [source])]
        if work.levels > 1 and any(one.comes_once for one in self._lines):
            raise UsageError(
                problem="these lines have to be read twice, because totals count what is in them",
                remedy="give a path, or a file that can be read again",
            )
        known = [one.identity for one in self._lines]
        refusals = None if refused is None else path_of("refused={}", refused)
        named = None if refusals is None else str(refusals.resolve())
        self._identity = [_FORMAT, identity, known, named, work.raw]
        saved = self._saved()
        self._file: int = saved.get("file", 0)
        self._skip: int = saved.get("line", 0)
        if saved:
            work.level = saved["level"]
            for name in ("lines", "stored", "present"):
                setattr(work, name, saved[name])
            work.left_out.update(saved["left_out"])
            work.refused.update(saved["refused"])
        if refusals is not None:
            self._append(refusals, saved)
        elif not saved:
            # Before anything is stored: a position that cannot be saved would end the load in its middle.
            self._save()

    def __enter__(self) -> Self:
        return self

    def windows(self) -> Iterator[list[tuple[int, bytes]]]:
        """The numbered lines of a file, some at a time, as often as they are to be read. Call ``done`` after each."""
        return self.enter_context(closing(self._windows()))

    def _windows(self) -> Generator[list[tuple[int, bytes]], None, None]:
        while self._work.level < self._work.levels:
            for number in range(self._file, len(self._lines)):
                self._file = number
                with self._lines[number].opened() as lines:
                    numbered = enumerate(lines, 1)
                    for _ in islice(numbered, self._skip):
                        pass
                    while window := list(islice(numbered, self._work.window)):
                        yield window
                self._skip = 0
            self._work.level += 1
            self._file = 0
            self._save()
        if self._checkpoint is not None:
            _removed(self._checkpoint)

    def done(self, window: list[tuple[int, bytes]], refused: Iterable[RefusedLine]) -> None:
        """Write the refused lines of a window, and save the position behind it."""
        if self._refused is not None:
            for one in refused:
                self._refused.write(_refusal(one, self._lines[self._file].name))
            self._refused.flush()
        self._skip = window[-1][0]
        self._save()

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        if self._refused is not None:
            os.fsync(self._refused.fileno())
        work = self._work
        saved = {
            "load": self._identity,
            "level": work.level,
            "file": self._file,
            "line": self._skip,
            "refusals": 0 if self._refused is None else self._refused.tell(),
            "lines": work.lines,
            "stored": work.stored,
            "present": work.present,
            "left_out": work.left_out,
            "refused": work.refused,
        }
        partial = self._checkpoint.with_name(f"{self._checkpoint.name}.partial")
        try:
            with open(partial, "w", encoding="utf-8", opener=_private) as file:
                json.dump(saved, file)
            partial.replace(self._checkpoint)
        except OSError as problem:
            raise _unusable(self._checkpoint, problem) from problem

    def _saved(self) -> dict[str, Any]:
        if self._checkpoint is None or not os.path.lexists(self._checkpoint):
            return {}
        try:
            found = json.loads(self._checkpoint.read_text(encoding="utf-8"))
            is_same = found["load"] == self._identity
        except (ValueError, LookupError, TypeError):
            raise self._another("it is no checkpoint of a load") from None
        if not is_same:
            raise self._another("it is that of another file or table, or the file has changed")
        saved: dict[str, Any] = found
        return saved

    def _another(self, reason: str) -> UsageError:
        return UsageError(
            problem=f"the checkpoint {str(self._checkpoint)!r} cannot be used: {reason}",
            remedy="name another file, or remove it to begin anew: what is stored already is not stored twice",
        )

    def _append(self, path: Path, saved: dict[str, Any]) -> None:
        """Open the file for refused lines: a new one, or what there is of it up to the saved position."""
        if not saved and os.path.lexists(path):
            raise _in_the_way(path)
        # Before there is a file: a load that is killed now begins again with the same files.
        self._save()
        try:
            plain = open(path, "ab", opener=_private)  # noqa: SIM115 - this stack closes it
        except OSError as problem:
            raise _unusable(path, problem) from problem
        self._refused = self.enter_context(plain)
        # What was refused after the saved position is judged again.
        plain.truncate(saved.get("refusals", 0))


class _Lines:
    """Lines that are loaded: a path, or an open file.

    Attributes:
        name: the path; None for an open file.
        identity: what tells the file from others.
        comes_once: the lines can be read only once.

    Raises:
        UsageError: there is no such file.
    """

    def __init__(self, source: Target) -> None:
        self._source = source
        self._start: int | None = None
        self.name: str | None = None
        self.identity: object = None
        self.comes_once = False
        if isinstance(source, str | os.PathLike):
            path = path_of("source={}", source).resolve()
            try:
                found = path.stat()
            except OSError as problem:
                raise _unusable(source, problem) from problem
            self.name = str(path)
            self.identity = [self.name, found.st_size, found.st_mtime_ns]
            return
        _check_file("source={}", source, "seekable")
        if source.seekable():
            self._start = source.tell()
        else:
            self.comes_once = True

    @contextmanager
    def opened(self) -> Iterator[Iterator[bytes]]:
        """The lines, from their beginning. An open file stays open: whoever opened it closes it."""
        source = self._source
        if not isinstance(source, str | os.PathLike):
            if self._start is not None:
                source.seek(self._start)
            yield _checked(source)
            return
        path = Path(source)
        try:
            plain = path.open("rb")
        except OSError as problem:
            raise _unusable(source, problem) from problem
        with plain, gzip.GzipFile(fileobj=plain) if path.suffix == _GZIP else nullcontext(plain) as file:
            yield _checked(file)


def _checked(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines. Raises UsageError for a compressed file that is damaged or cut off."""
    try:
        yield from lines
    except (EOFError, OSError) as problem:
        raise UsageError(
            problem=f"the lines cannot be read: {problem}",
            remedy="get the file again; what was loaded before stays, and is not stored twice",
        ) from problem


def _refusal(one: RefusedLine, name: str | None) -> bytes:
    """A refused line with the reason. It can be loaded again as it is, after the cause is gone."""
    said: dict[str, Any] = {"file": name, "line": one.number, "error": one.error, "reason": one.reason}
    try:
        found = json.loads(one.line)
    except ValueError:
        found = None
    if isinstance(found, dict) and ITEM in found:
        said[ITEM] = found[ITEM]
    else:
        said["text"] = one.line.decode(errors="backslashreplace").rstrip("\n")
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"
