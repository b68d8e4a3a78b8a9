"""What Reverb's checkpoints hold, and how one is made to fit the tables of today.

Reverb takes a table's limits from the checkpoint, whatever the server was given, and
ends the process over items that find no room. So before it loads one, the checkpoint's
own description of the tables is replaced: same items, today's limits.
"""

import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import reverb
import tensorflow as tf
from reverb.cc import schema_pb2
from reverb.cc.checkpointing import checkpoint_pb2

_TABLES, _ITEMS, _COMPRESSION = "tables.tfrecord", "items.tfrecord", "ZLIB"


def count_items(path: pathlib.Path) -> int:
    """Returns how many items a checkpoint holds, in all its tables."""
    return sum(_num_items(table) for table in _read_tables(path))


def prepare(
    path: pathlib.Path, tables: Sequence[reverb.Table], target: pathlib.Path
) -> int:
    """Makes a folder that Reverb can load: a checkpoint's items, today's limits.

    Where the capacity is smaller than it was, the oldest items are left out. Where
    there is a ratio of samples to inserts, it starts in the middle of its slack.

    Args:
        path: Folder of a whole checkpoint.
        tables: That will be served.
        target: A folder to make.

    Returns:
        How many items are left out.

    Raises:
        ValueError: They are other tables, or hold something else.
        OSError: The disk took no more.
    """
    saved_tables = _read_tables(path)
    infos = {
        table.name: schema_pb2.TableInfo.FromString(table.internal_table.info())
        for table in tables
    }
    if sorted(saved.table_name for saved in saved_tables) != sorted(infos):
        raise ValueError(
            f"it holds {_listed(saved.table_name for saved in saved_tables)}, and "
            f"{_listed(infos)} is served."
        )
    num_dropped = 0
    for saved in saved_tables:
        info = infos[saved.table_name]
        if saved.signature != info.signature:
            raise ValueError(
                f"its items of {saved.table_name!r} have other fields or shapes."
            )
        num_dropped += max(0, _num_items(saved) - info.max_size)
        _take_limits(saved, info)
    if num_dropped and len(saved_tables) > 1:
        raise ValueError("it holds more items than there is room for.")
    target.mkdir(parents=True)
    for file in path.iterdir():
        if file.name != _TABLES and not (file.name == _ITEMS and num_dropped):
            (target / file.name).symlink_to(file.absolute())
    _write_records(
        target / _TABLES, (saved.SerializeToString() for saved in saved_tables)
    )
    if num_dropped:  # The oldest come first.
        items = _records(path / _ITEMS).skip(num_dropped)
        _write_records(target / _ITEMS, items.as_numpy_iterator())
    return num_dropped


def _take_limits(saved: Any, info: Any) -> None:
    """Gives a saved table the limits and selectors of a new one."""
    limiter = info.rate_limiter_info
    num_items = min(_num_items(saved), info.max_size)
    saved.max_size = info.max_size
    saved.max_times_sampled = info.max_times_sampled
    saved.sampler.CopyFrom(info.sampler_options)
    saved.remover.CopyFrom(info.remover_options)
    num_due_items = max(0, num_items - limiter.min_size_to_sample)
    saved.rate_limiter.CopyFrom(
        checkpoint_pb2.RateLimiterCheckpoint(
            samples_per_insert=limiter.samples_per_insert,
            min_diff=limiter.min_diff,
            max_diff=limiter.max_diff,
            min_size_to_sample=limiter.min_size_to_sample,
            insert_count=num_items,
            sample_count=round(limiter.samples_per_insert * num_due_items),
        )
    )


def _num_items(saved: Any) -> int:
    return saved.rate_limiter.insert_count - saved.rate_limiter.delete_count


def _read_tables(path: pathlib.Path) -> list[Any]:
    return [
        checkpoint_pb2.PriorityTableCheckpoint.FromString(record)
        for record in _records(path / _TABLES).as_numpy_iterator()
    ]


def _records(path: pathlib.Path) -> tf.data.TFRecordDataset:
    return tf.data.TFRecordDataset(str(path), compression_type=_COMPRESSION)


def _write_records(path: pathlib.Path, records: Iterator[bytes]) -> None:
    with tf.io.TFRecordWriter(str(path), _COMPRESSION) as writer:
        for record in records:
            writer.write(record)


def _listed(names: Any) -> str:
    return ", ".join(sorted(repr(name) for name in names))
