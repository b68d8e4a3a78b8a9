"""Draws how a run is as lines for a terminal: its progress, its nodes, its evaluation.

Everything gives way to the size of the terminal: columns are left out, the least
important first; nodes of one role share a row; what is then left is counted.
"""

import collections
import io
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich import cells, console, style, table, text

from rlcomponents.runs import node_table, readable

GAP = "   "
"""Between two numbers on a line."""

GOOD, BUSY, BAD = "green", "yellow", "red"

_COLUMN_GAP = 2
_STATE_CHARACTERS, _TROUBLE_CHARACTERS = 12, 24  # Kept free for the states.
_MIN_NUMBER_CHARACTERS = 5  # So that columns do not come and go with digits.
_SMALL_TABLE_LINES = 4  # Titles, two rows, and how many more there are.
_COLOURS = {node_table.GOOD: None, node_table.BUSY: BUSY, node_table.BAD: BAD}
_ESCAPE_CODE = re.compile(r"\x1b\[[0-9;]*m")


class Field(NamedTuple):
    """A few words on a line.

    Attributes:
        text: The words.
        colour: `GOOD`, `BUSY` or `BAD`; None: that of all text.
    """

    text: str
    colour: str | None = None


class Picture(NamedTuple):
    """What is drawn.

    Attributes:
        progress: On top.
        totals: Below that, on lines of their own.
        nodes: A row each, or one for several.
        evaluation: At the foot. None: there was none yet.
    """

    progress: Sequence[Field]
    totals: Sequence[Field]
    nodes: Sequence[node_table.NodeRow]
    evaluation: str | None


def draw(picture: Picture, *, width: int, height: int, coloured: bool) -> list[str]:
    """Returns the lines, with escape codes where they are coloured.

    Args:
        picture: What to draw.
        width: Characters of a line, at most.
        height: Number of lines, at most.
        coloured: Whether colours and the like are allowed; which, the environment says.
    """
    progress = fill(picture.progress, width)
    foot = [text.Text(picture.evaluation)] if picture.evaluation else []
    room = height - len(foot)
    # Totals make room for a small table, but not for one with hardly a row.
    most = room - _SMALL_TABLE_LINES if room > _SMALL_TABLE_LINES else room
    top = [*progress, *fill(picture.totals, width)][: max(len(progress), most)][:room]
    room -= len(top)
    parts: list[text.Text | table.Table] = [*top]
    entries, num_left_out = _entries(picture.nodes, room - 1)
    num_lines = 1 + len(entries) + bool(num_left_out)
    if entries:
        is_roomy = room - num_lines >= 2
        blank = [text.Text()] if is_roomy else []
        parts += [*blank, _table(entries, width)]
        if num_left_out:
            parts.append(text.Text(f"and {num_left_out} more"))
        parts += blank if foot else []
    return _lines([*parts, *foot], width, coloured)[:height]


def fill(fields: Sequence[Field], width: int) -> list[text.Text]:
    """Puts fields on as few lines as there may be."""
    lines: list[text.Text] = []
    for field in fields:
        words = text.Text(field.text, style=field.colour or "")
        if lines and lines[-1].cell_len + len(GAP) + words.cell_len <= width:
            lines[-1] = text.Text.assemble(lines[-1], GAP, words)
        else:
            lines.append(words)
    return lines


def plain_length(line: str) -> int:
    """Returns how many characters of a terminal's line a line takes."""
    return cells.cell_len(_ESCAPE_CODE.sub("", line))


class _Entry(NamedTuple):
    """One row: a node, or all of a role.

    Attributes:
        name: First column.
        rows: The nodes in it.
        has_usage: Whether CPU and memory of their processes are theirs alone.
    """

    name: str
    rows: Sequence[node_table.NodeRow]
    has_usage: bool = True

    @property
    def is_trouble(self) -> bool:
        return any(_state(row)[1] is not None for row in self.rows)

    def sum(self, column: str) -> float | None:
        return node_table.total(self.rows, column)

    def sum_of_work(self, column: str) -> float | None:
        return node_table.total_of_work(self.rows, column)


def _entries(rows: Sequence[node_table.NodeRow], room: int) -> tuple[list[_Entry], int]:
    """Returns at most `room` rows, and how many nodes are left out.

    Nodes of the largest roles share a row until all have one. Where even that is too
    much, those in trouble come first.
    """
    are_threads = node_table.are_threads(rows)
    room -= are_threads
    roles = collections.defaultdict(list)
    for row in rows:
        roles[row.group].append(row)
    largest = sorted(roles, key=lambda role: -len(roles[role]))
    grouped: set[str] = set()
    num_entries = len(rows)
    while num_entries > room and largest and len(roles[largest[0]]) > 1:
        grouped.add(largest[0])
        num_entries -= len(roles[largest.pop(0)]) - 1
    entries = []
    for role, members in roles.items():
        if role in grouped:
            entries.append(_Entry(f"{role} x {len(members)}", members, not are_threads))
        else:
            entries += [_Entry(row.name, [row], not are_threads) for row in members]
    num_left_out = 0
    if len(entries) > room:
        first = sorted(entries, key=lambda entry: not entry.is_trouble)
        kept = first[: max(0, room - 1)]  # A line says how many there are more.
        num_left_out = len(rows) - sum(len(entry.rows) for entry in kept)
        entries = [entry for entry in entries if entry in kept]
    if are_threads and entries:
        entries.append(_Entry("all of them", [_process(rows)]))
    return entries, num_left_out


def _process(rows: Sequence[node_table.NodeRow]) -> node_table.NodeRow:
    """Returns what nodes in threads use of the machine together."""
    running = next(row for row in rows if row.pid is not None)
    return node_table.NodeRow(
        name="",
        state="running",
        log_path="",
        cpu_fraction=running.cpu_fraction,
        memory_bytes=running.memory_bytes,
    )


class _Column(NamedTuple):
    title: str
    cell: Callable[[_Entry], str]


def _rate(column: str) -> Callable[[_Entry], str]:
    return lambda entry: _number_or_blank(entry.sum_of_work(column))


def _staleness(entry: _Entry) -> str:
    return _number_or_blank(node_table.mean(entry.rows, "staleness_updates"))


def _discarded(entry: _Entry) -> str:
    discarded = entry.sum_of_work("discarded")
    return "" if discarded is None else f"{discarded:,.0f}"


def _replay(entry: _Entry) -> str:
    items, capacity = entry.sum("replay_items"), entry.sum("replay_capacity_items")
    return "" if items is None or not capacity else f"{items / capacity:.0%}"


def _cpu(entry: _Entry) -> str:
    cores = entry.sum("cpu_fraction")
    return f"{cores:.0%}" if entry.has_usage and entry.sum("memory_bytes") else ""


def _memory(entry: _Entry) -> str:
    num_bytes = entry.sum("memory_bytes")
    return readable.in_bytes(num_bytes) if entry.has_usage and num_bytes else ""


_COLUMNS = (
    _Column("steps/s", _rate("agent_steps_per_sec")),
    _Column("updates/s", _rate("updates_per_sec")),
    _Column("stale", _staleness),
    _Column("discarded", _discarded),
    _Column("replay", _replay),
    _Column("in/s", _rate("inserts_per_sec")),
    _Column("out/s", _rate("samples_per_sec")),
    _Column("CPU", _cpu),
    _Column("memory", _memory),
)
_BY_IMPORTANCE = (
    *("steps/s", "updates/s", "CPU", "memory", "replay", "stale", "discarded"),
    *("in/s", "out/s"),
)


def _table(entries: Sequence[_Entry], width: int) -> table.Table:
    states = [_entry_state(entry) for entry in entries]
    names_characters = max(len(entry.name) for entry in entries)
    is_long = any(len(state.text) > _STATE_CHARACTERS for state in states)
    kept_free = _TROUBLE_CHARACTERS if is_long else _STATE_CHARACTERS
    left = width - names_characters - _COLUMN_GAP - kept_free
    columns = {column.title: list(map(column.cell, entries)) for column in _COLUMNS}
    chosen: dict[str, int] = {}
    for title in _BY_IMPORTANCE:
        longest = max(map(len, [title, *columns[title]]))
        characters = max(longest, _MIN_NUMBER_CHARACTERS)
        # Nobody has such a number, or there is no room for it.
        if any(columns[title]) and characters + _COLUMN_GAP <= left:
            chosen[title] = characters
            left -= characters + _COLUMN_GAP
    drawn = table.Table(
        box=None, padding=(0, _COLUMN_GAP, 0, 0), pad_edge=False, header_style="bold"
    )
    drawn.add_column("node", no_wrap=True, width=names_characters)
    titles = [column.title for column in _COLUMNS if column.title in chosen]
    for title in titles:
        drawn.add_column(title, justify="right", no_wrap=True, width=chosen[title])
    longest = max(len("state"), *(len(state.text) for state in states))
    drawn.add_column(
        "state", no_wrap=True, overflow="ellipsis", width=min(longest, left + kept_free)
    )
    for index, (entry, state) in enumerate(zip(entries, states, strict=True)):
        drawn.add_row(
            text.Text(entry.name),
            *(columns[title][index] for title in titles),
            text.Text(state.text, style=state.colour or ""),
        )
    return drawn


def _entry_state(entry: _Entry) -> Field:
    if len(entry.rows) == 1:
        return Field(*_state(entry.rows[0])) if entry.rows[0].name else Field("")
    order = (BAD, BUSY, None)  # Trouble first: what is too long is cut at its end.
    states = sorted(map(_state, entry.rows), key=lambda state: order.index(state[1]))
    words = collections.Counter(re.split(r"\W", state)[0] for state, _ in states)
    texts = [f"{count} {word}" for word, count in words.items()]
    restarts = sum(row.starts for row in entry.rows)
    if restarts:
        texts.append(f"restarted {restarts}x")
    return Field(", ".join(texts), states[0][1])


def _state(row: node_table.NodeRow) -> tuple[str, str | None]:
    """Returns how a node is, in words of which the first is enough, and a colour."""
    words, level = node_table.condition(row)
    return words, _COLOURS[level]


def _number_or_blank(value: float | None) -> str:
    return "" if value is None else readable.short(value)


def _lines(
    parts: Sequence[text.Text | table.Table], width: int, coloured: bool
) -> list[str]:
    drawing = console.Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        legacy_windows=False,
        color_system="auto" if coloured else None,
        style=style.Style.null(),
        markup=False,
        emoji=False,
        highlight=False,
    )
    with drawing.capture() as capture:
        for part in parts:
            drawing.print(part, no_wrap=True, overflow="ellipsis", crop=True)
    return [line.rstrip() for line in capture.get().splitlines()]
