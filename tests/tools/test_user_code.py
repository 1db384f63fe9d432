"""The programs of the documents become files for pyright, with the lines of their pages."""

from pathlib import Path

from tools.user_code import ALONE, EXCERPTS, ROOT, UNTYPED, files, write

PAGE = """# A title

```python
session = 1
```

A test is left out.

```python
def test_it(dynaorm_session):
    pass
```

```python
print(session)
```
"""


def test_a_line_of_a_page_is_the_same_line_of_its_file() -> None:
    (file,) = files(PAGE, "docs/any.md")
    lines = PAGE.splitlines()
    assert file.splitlines() == [
        line if line in {"session = 1", "print(session)"} else "" for line in lines[:-1]
    ]


def test_a_program_without_a_session_is_given_one() -> None:
    (file,) = files(PAGE.replace("session = 1", ""), "docs/any.md")
    assert file.splitlines()[0].endswith('session = _Session(region="eu-west-1")')


def test_programs_that_stand_alone_become_files_of_their_own() -> None:
    assert len(files(PAGE, next(iter(ALONE)))) == 2


def test_every_page_with_programs_is_written_but_excerpts(tmp_path: Path) -> None:
    write(tmp_path)
    written = {path.relative_to(tmp_path).as_posix().split(".")[0] for path in tmp_path.rglob("*.py")}
    assert {"README", "docs/writing", "docs/recipes/queue"} <= written
    assert not {page.removesuffix(".md") for page in EXCERPTS} & written
    assert all((ROOT / page).is_file() for page in ALONE | EXCERPTS | UNTYPED)
