"""Few files are open at a time, and files that are read stay open."""

from pathlib import Path

from agent.tailing.chunk import OpenFiles
from agent.tailing.follower import FileFollower


def test_the_least_recently_used_file_closes_first() -> None:
    closed: list[str] = []
    files = OpenFiles(2)
    for name in ("a", "b", "a", "c", "d"):
        files.use(name, lambda name=name: closed.append(name))
    assert closed == ["b", "a"]
    files.release("c")
    files.release("c")
    assert len(files) == 1


def test_followers_beyond_the_limit_lose_no_line(tmp_path: Path) -> None:
    files = OpenFiles(3)
    paths = [tmp_path / str(i) for i in range(10)]
    followers = [FileFollower(path, open_files=files) for path in paths]
    read: list[str] = []
    for turn in range(5):
        for path in paths:
            with path.open("a") as file:
                file.write(f"{path.name}-{turn}\n")
        for follower in followers:
            read += follower.poll(float(turn)).lines
        assert sum(follower.is_open for follower in followers) == len(files) == 3
    assert read == [f"{i}-{turn}" for turn in range(5) for i in range(10)]
    for follower in followers:
        follower.close()
    assert len(files) == 0
