"""Every piece of Python and every command in the documents runs.

Blocks marked `python`, `sh` and `console` are run in the order of the page, in one copy of the repository;
those of Python share their names, but for `python,file`, which is run as a file of its own. Other marks,
such as `sh,no-run` and `text`, are not run. Of a `console` block the lines after `$ ` are run; the
others are what is printed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<mark>[^`\n]*)$")
PAGES = [
    path for path in (ROOT / "README.md", *sorted((ROOT / "docs" / "src").rglob("*.md"))) if path.is_file()
]
# what commands read or write, small enough to copy
COPIED = ("examples", "experiments", "benches", "docs", "tests/data")

DRIVER = """\
import json, pathlib, subprocess, sys, traceback

names = {"__name__": "__main__"}
for line, language, text in json.load(open(sys.argv[1], encoding="utf-8")):
    try:
        if language == "python":
            exec(compile("\\n" * line + text, sys.argv[2], "exec"), names)
        elif language == "python,file":
            path = pathlib.Path(sys.argv[1]).with_name(f"line_{line}.py")
            path.write_text(text, encoding="utf-8")
            subprocess.run([sys.executable, path], check=True, timeout=120)
        else:
            subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True, timeout=120)
    except BaseException:
        traceback.print_exc()
        sys.exit(f"{sys.argv[2]}:{line}: this block of {language} failed:\\n{text}")
"""


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """Line, language and text of the blocks that are run."""
    found = []
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        if (fence := FENCE.match(line)) is None:
            continue
        indent, mark = len(fence["indent"]), fence["mark"].strip()
        text = []
        for _, inner in lines:
            if inner.strip() == fence["ticks"]:
                break
            text.append(inner[indent:] if inner[:indent].isspace() or not indent else inner)
        if mark == "console":
            text = [inner[2:] for inner in text if inner.startswith("$ ")]
            mark = "sh"
        if mark in ("python", "python,file", "sh"):
            found.append((number, mark, "\n".join(text)))
    return found


def test_blocks_are_found_with_their_lines_and_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n```python\nx = 1\n```\n- item\n  ```sh\n  echo 1\n    echo 2\n  ```\n"
        "```sh,no-run\nexit 1\n```\n````text\n```python\nno\n```\n````\n```console\n$ echo 3\n3\n```\n"
        "```python,file\ny = 2\n```\n",
        encoding="utf-8",
    )
    assert blocks(page) == [
        (3, "python", "x = 1"),
        (7, "sh", "echo 1\n  echo 2"),
        (19, "sh", "echo 3"),
        (23, "python,file", "y = 2"),
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page: Path, command: str, tmp_path: Path) -> None:
    found = blocks(page)
    if not found:
        return
    scratch = tmp_path / "repository"
    scratch.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, scratch / name, ignore=shutil.ignore_patterns("__pycache__", "book"))
    (tmp_path / "blocks.json").write_text(json.dumps(found), encoding="utf-8")
    (tmp_path / "driver.py").write_text(DRIVER, encoding="utf-8")
    # the installed command and the installed package come first
    path = os.pathsep.join([os.path.dirname(command), os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, tmp_path / "driver.py", tmp_path / "blocks.json", str(page.relative_to(ROOT))],
        cwd=scratch,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
