"""Tests of metrics files: written a row at a time, read while they grow."""

import collections
import errno
import math
import tracemalloc

import numpy as np
import pytest

from rlcomponents.runs import append_file, metrics
from rlcomponents.runs import disk as disks


def test_rows_are_on_disk_as_soon_as_they_are_written(tmp_path):
    path = tmp_path / "metrics" / "actor_0.csv"
    writer = metrics.MetricsWriter(path, ("agent_steps", "loss", "waiting"))
    assert path.read_text() == "agent_steps,loss,waiting\n"
    writer.write({"agent_steps": 3, "loss": 0.1})
    assert path.read_text() == "agent_steps,loss,waiting\n3,0.1,\n"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (5, "5"),
        (np.int64(5), "5"),
        (True, "1"),
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (np.float64(2.5), "2.5"),
        (1e-7, "1e-07"),
        (float("nan"), "nan"),
        (None, ""),
        ("waiting for replay: 1 of 2", "waiting for replay: 1 of 2"),
        ("a, b", '"a, b"'),
        ("two\nlines", "two lines"),
    ],
)
def test_values_are_written_compactly(tmp_path, value, field):
    path = tmp_path / "node.csv"
    metrics.MetricsWriter(path, ("agent_steps", "value")).write({"value": value})
    assert path.read_text().splitlines()[1] == f",{field}"


def test_a_row_that_the_disk_does_not_take_is_lost_and_said_to_be(tmp_path):
    said = []
    path = tmp_path / "node.csv"
    writer = metrics.MetricsWriter(path, ("loss",), disk=disks.Disk(said.append))

    def append(file, record):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(append_file.AppendFile, "append", append)
        assert not writer.write({"loss": 1.0})
    assert writer.write({"loss": 2.0})
    assert path.read_text() == "loss\n2.0\n"
    assert len(said) == 2  # That it is full, and that it no longer is.


def test_an_unknown_column_is_refused_by_name(tmp_path):
    writer = metrics.MetricsWriter(tmp_path / "node.csv", ("loss",))
    with pytest.raises(ValueError, match=r"'lost'.*'loss'"):
        writer.write({"lost": 1.0})


def test_a_value_that_is_neither_number_nor_text_is_refused(tmp_path):
    writer = metrics.MetricsWriter(tmp_path / "node.csv", ("loss",))
    with pytest.raises(ValueError, match=r"'loss'.*ndarray"):
        writer.write({"loss": np.zeros(2)})


def test_a_resumed_run_goes_on_in_the_same_file(tmp_path):
    path = tmp_path / "program.csv"
    first = metrics.MetricsWriter(path, ("agent_steps", "updates"))
    first.write({"agent_steps": 5000, "updates": 10})
    first.close()
    second = metrics.MetricsWriter(path, ("agent_steps", "updates"))
    second.write({"agent_steps": 5001, "updates": 11})
    assert path.read_text() == "agent_steps,updates\n5000,10\n5001,11\n"


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        pytest.param("steps,loss\n1,0.5\n2,0.", "steps,loss\n1,0.5\n", id="row"),
        pytest.param("steps,lo", "steps,loss\n", id="header"),
        pytest.param("", "steps,loss\n", id="nothing"),
    ],
)
def test_a_line_torn_by_a_crash_is_removed_on_restart(tmp_path, found, kept):
    path = tmp_path / "node.csv"
    path.write_text(found)
    writer = metrics.MetricsWriter(path, ("steps", "loss"))
    assert path.read_text() == kept
    writer.write({"steps": 9})
    assert path.read_text() == kept + "9,\n"


def test_a_file_with_other_columns_is_refused_and_kept(tmp_path):
    path = tmp_path / "node.csv"
    path.write_text("steps\n1\n")
    with pytest.raises(ValueError, match="has the columns steps, not steps,loss"):
        metrics.MetricsWriter(path, ("steps", "loss"))
    assert path.read_text() == "steps\n1\n"


def test_reader_returns_each_row_once_by_node(tmp_path):
    reader = metrics.MetricsReader(tmp_path / "metrics")
    assert reader.read_new() == []  # Not even the folder is there.
    learner = metrics.MetricsWriter(tmp_path / "metrics" / "learner.csv", ("loss",))
    learner.write({"loss": 0.5})
    assert reader.read_new() == [("learner", {"loss": 0.5})]
    assert reader.read_new() == []
    actor = metrics.MetricsWriter(
        tmp_path / "metrics" / "actor_0.csv", ("steps", "waiting")
    )
    actor.write({"steps": 1, "waiting": "waiting for replay: 120 of 1000"})
    actor.write({"steps": 2})
    learner.write({"loss": 0.25})
    assert reader.read_new() == [
        ("actor_0", {"steps": 1.0, "waiting": "waiting for replay: 120 of 1000"}),
        ("actor_0", {"steps": 2.0, "waiting": None}),
        ("learner", {"loss": 0.25}),
    ]


def test_reader_leaves_a_half_written_line_for_later(tmp_path):
    path = tmp_path / "node.csv"
    reader = metrics.MetricsReader(tmp_path)
    for text, rows in [
        ("ste", []),
        ("ps\n1", []),
        ("2\n3", [{"steps": 12.0}]),
        ("4\n", [{"steps": 34.0}]),
    ]:
        with path.open("a") as file:
            file.write(text)
        assert reader.read_new() == [("node", row) for row in rows]


def test_reader_goes_on_when_the_writer_removes_a_torn_line(tmp_path):
    path = tmp_path / "node.csv"
    path.write_text("steps\n1\n2222")
    reader = metrics.MetricsReader(tmp_path)
    assert reader.read_new() == [("node", {"steps": 1.0})]
    metrics.MetricsWriter(path, ("steps",)).write({"steps": 3})
    assert reader.read_new() == [("node", {"steps": 3.0})]


def test_reader_keeps_nan_apart_from_blank(tmp_path):
    (tmp_path / "node.csv").write_text("loss,epsilon\nnan,\n")
    ((_, row),) = metrics.MetricsReader(tmp_path).read_new()
    assert math.isnan(row["loss"])
    assert row["epsilon"] is None


def test_reader_names_a_file_whose_line_does_not_fit_its_header(tmp_path):
    (tmp_path / "node.csv").write_text("loss\n1,2\n")
    with pytest.raises(ValueError, match=r"node\.csv has a line of 2 fields"):
        metrics.MetricsReader(tmp_path).read_new()


@pytest.mark.parametrize(
    "columns",
    [metrics.WORKER_COLUMNS, metrics.PROGRAM_COLUMNS, metrics.EVALUATION_COLUMNS],
)
def test_column_names_of_one_file_are_distinct(columns):
    assert len(set(columns)) == len(columns)


def test_only_rows_before_the_first_that_is_void_are_kept(tmp_path):
    path = tmp_path / "program.csv"
    path.write_text("steps,note\n1,\n2,two\n3,\n2,again\n4")
    metrics.cut(path, lambda row: row["steps"] <= 2)
    assert path.read_text() == "steps,note\n1,\n2,two\n"
    metrics.cut(path, lambda row: row["steps"] <= 2)
    assert path.read_text() == "steps,note\n1,\n2,two\n"
    metrics.cut(tmp_path / "none.csv", lambda row: False)
    assert not (tmp_path / "none.csv").exists()


def test_the_last_row_is_read_alone(tmp_path):
    path = tmp_path / "program.csv"
    assert metrics.read_last(path) == {}
    path.write_text("steps\n1\n2\n3")
    assert metrics.read_last(path) == {"steps": 2.0}


@pytest.mark.parametrize("columns", [("steps",), ("steps", "waiting")])
@pytest.mark.parametrize("torn", ["", "9", "9" * 10_000])
def test_the_last_row_is_found_however_long_lines_are(tmp_path, columns, torn):
    path = tmp_path / "program.csv"
    writer = metrics.MetricsWriter(path, columns)
    for steps in range(3):
        long = {"waiting": f"{steps} " + "long" * 5_000} if len(columns) > 1 else {}
        writer.write({"steps": steps} | long)
        with path.open("rb") as file:
            whole = file.read()
        path.write_bytes(whole + torn.encode())
        assert metrics.read_last(path) == {"steps": float(steps)} | long
        path.write_bytes(whole)


def test_a_torn_line_alone_is_removed_however_long_it_is(tmp_path):
    path = tmp_path / "program.csv"
    for num_bytes in range(4090, 4100):  # Ends of files are read in blocks of 4096.
        path.write_text("steps\n1\n2\n" + "3" * num_bytes)
        metrics.MetricsWriter(path, ("steps",)).close()
        assert path.read_text() == "steps\n1\n2\n"


@pytest.mark.parametrize("text", ["", "ste", "steps\n", "steps\n12"])
def test_a_file_without_a_whole_row_has_no_last_one(tmp_path, text):
    path = tmp_path / "program.csv"
    path.write_text(text)
    file = metrics.MetricsFile(path)
    assert file.read_newest() is None
    path.write_text("steps\n12\n")
    assert file.read_newest() == {"steps": 12.0}


def test_rows_before_the_newest_are_read_no_more(tmp_path):
    path = tmp_path / "program.csv"
    path.write_text("steps\n1\n2\n3\n")
    file = metrics.MetricsFile(path)
    assert file.read_newest() == {"steps": 3.0}
    assert file.read_newest() is None
    path.write_text("steps\n1\n2\n3\n4\n5\n")
    assert file.read_new() == [{"steps": 4.0}, {"steps": 5.0}]


def test_rows_of_a_stream_that_are_not_taken_stay_new(tmp_path):
    path = tmp_path / "node.csv"
    path.write_text("steps\n1\n2\n3\n")
    file = metrics.MetricsFile(path)
    assert next(file.stream_new()) == {"steps": 1.0}
    assert file.read_new() == [{"steps": 2.0}, {"steps": 3.0}]


def _long_file(path):
    """Writes 20,000 rows; returns a quarter of their size in bytes."""
    path.write_text(
        "steps,note\n" + "".join(f"{row},{'waiting ' * 10}\n" for row in range(20_000))
    )
    return path.stat().st_size // 4


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(metrics.read_last, id="last"),
        pytest.param(
            lambda path: metrics.MetricsWriter(path, ("steps", "note")).close(),
            id="writer",
        ),
        pytest.param(
            lambda path: collections.deque(
                metrics.MetricsReader(path.parent).stream_new(), maxlen=1
            ),
            id="stream",
        ),
        pytest.param(lambda path: metrics.cut(path, lambda row: True), id="cut"),
    ],
)
def test_a_long_file_is_not_held_in_memory(tmp_path, read):
    path = tmp_path / "node.csv"
    limit_bytes = _long_file(path)
    tracemalloc.start()
    try:
        read(path)
        assert tracemalloc.get_traced_memory()[1] < limit_bytes
    finally:
        tracemalloc.stop()
