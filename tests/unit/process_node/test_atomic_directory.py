from pathlib import Path

from devcluster.process_node.volume_files import File, write


def contents(directory: Path) -> dict[str, bytes]:
    visible = (path for path in directory.iterdir() if not path.name.startswith(".."))
    files = [file for path in visible for file in (path.rglob("*") if path.is_dir() else (path,))]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_the_directory_holds_exactly_the_files(tmp_path: Path) -> None:
    assert write(tmp_path, {"a": File(b"1", 0o644), "d/b": File(b"2", 0o400)})
    assert contents(tmp_path) == {"a": b"1", "d/b": b"2"}
    assert (tmp_path / "d/b").stat().st_mode & 0o777 == 0o400
    assert write(tmp_path, {"a": File(b"3", 0o644)})
    assert contents(tmp_path) == {"a": b"3"}


def test_equal_files_change_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a": File(b"1", 0o644)})
    before = (tmp_path / "..data").readlink()
    assert not write(tmp_path, {"a": File(b"1", 0o644)})
    assert (tmp_path / "..data").readlink() == before


def test_all_files_change_by_one_link(tmp_path: Path) -> None:
    write(tmp_path, {"a": File(b"1", 0o644), "b": File(b"1", 0o644)})
    assert (tmp_path / "a").readlink() == Path("..data/a")
    write(tmp_path, {"a": File(b"2", 0o644), "b": File(b"2", 0o644)})
    assert (tmp_path / "a").readlink() == Path("..data/a")
    assert len(list(tmp_path.glob("..version_*"))) == 1
