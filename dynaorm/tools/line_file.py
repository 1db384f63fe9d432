"""The files of ``dump`` and ``load``: lines, compressed where the name ends with ``.gz``.

Rule 1. A file with data is for its owner alone. It gets its name only when it is whole, and replaces no other file.
"""

import gzip
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, Self, TypeAlias

from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.flow.dump_and_load import LineLoad, joined

Target: TypeAlias = "str | os.PathLike[str] | IO[bytes]"
"""A file to write lines to: its path, which is compressed if it ends with ``.gz``, or an open binary file."""

Source: TypeAlias = "Target | list[Target] | tuple[Target, ...]"
"""A file with lines, or several of them."""

_GZIP: Final = ".gz"


@contextmanager
def new_file(target: Target) -> Iterator[IO[bytes]]:
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
    return UsageError(problem=f"the file {str(path)!r} cannot be used: {said}", remedy="name another file")


class LoadFiles(ExitStack):
    """The files of a load.

    Args:
        work: the load.
        source: the lines: a path, a binary file that can be read again from where it stands, or a list of them.

    Raises:
        UsageError: a file cannot be used.
    """

    def __init__(self, work: LineLoad, source: Source) -> None:
        super().__init__()
        self._work = work
        self._lines = [_Lines(one) for one in (source if isinstance(source, list | tuple) else [source])]
        if work.levels > 1 and any(line.comes_once for line in self._lines):
            raise UsageError(
                problem="these lines have to be read twice, because totals count what is in them",
                remedy="give a path, or a file that can be read again",
            )

    def __enter__(self) -> Self:
        return self

    def windows(self) -> Iterator[tuple[list[tuple[int, bytes]], str | None]]:
        """The numbered lines of each file, some at a time, as often as they are to be read, and the path of the file.

        Raises:
            UsageError: a file cannot be read, or nothing in it can be loaded.
        """
        return self.enter_context(closing(self._windows()))

    def _windows(self) -> Generator[tuple[list[tuple[int, bytes]], str | None], None, None]:
        while self._work.level < self._work.levels:
            for line in self._lines:
                with line.opened() as lines:
                    numbered = enumerate(joined(lines), 1)
                    while window := list(islice(numbered, self._work.window)):
                        yield window, line.name
                self._work.end_file(line.name)
            self._work.level += 1


class _Lines:
    """Lines that are loaded: a path, or an open file.

    Attributes:
        name: the path; None for an open file.
        comes_once: the lines can be read only once.

    Raises:
        UsageError: there is no such file.
    """

    def __init__(self, source: Target) -> None:
        self._source = source
        self._start: int | None = None
        self.name: str | None = None
        self.comes_once = False
        if isinstance(source, str | os.PathLike):
            path = path_of("source={}", source)
            try:
                path.stat()
            except OSError as problem:
                raise _unusable(source, problem) from problem
            self.name = str(path)
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
