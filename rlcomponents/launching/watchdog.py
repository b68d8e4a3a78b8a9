"""Who waits for whom, who is silent, and who hangs: judged by the nodes' own signs.

A node that waits says for whom (`rlcomponents.pulse`); one that is stopped, or in a
call that never lets Python run, says nothing at all. Waiting is no fault: it is shown.
Only a node that works on one step for longer than the user allows, or is silent for so
long, is said to hang.
"""

from collections.abc import Iterator, Sequence

from rlcomponents.launching import watched

_PATIENCE_SECS = 10.0
_SAME_AGAIN_SECS = 30.0
_START_SECS = 60.0
"""A node that has completed no step may be silent for so long: while a large library is
loaded no Python runs, and on a machine with few cores all load theirs at once."""
_MAX_GAP_SECS = 5.0


class Watchdog:
    """Looks at the signs of all nodes, once a second."""

    def __init__(self, hang_timeout_secs: float | None) -> None:
        """Has seen nothing yet.

        Args:
            hang_timeout_secs: Seconds of silence, or on one step, that make a hang.
                None: however long it takes, nothing is one.
        """
        self._hang_timeout_secs = hang_timeout_secs
        self._last_look_secs: float | None = None
        self._next_line_secs = 0.0

    def look(
        self, nodes: Sequence[watched.Node], now_secs: float
    ) -> tuple[str | None, list[tuple[watched.Node, str]]]:
        """Judges the nodes that run.

        Args:
            nodes: Those that are at work.
            now_secs: By `time.monotonic`.

        Returns:
            A line for the screen, where one is due: at most one in 30 s, which tells of
            all nodes. And the nodes that hang, each with what completes the sentence
            that starts with its name.
        """
        last_look_secs, self._last_look_secs = self._last_look_secs, now_secs
        if last_look_secs is None or now_secs - last_look_secs > _MAX_GAP_SECS:
            # This process was itself stopped, as by Ctrl-Z, and heard nobody meanwhile.
            for node in nodes:
                node.signs.seen_secs = node.signs.moved_secs = now_secs
        return self._line(nodes, now_secs), list(self._hung(nodes, now_secs))

    def _line(self, nodes: Sequence[watched.Node], now_secs: float) -> str | None:
        if now_secs < self._next_line_secs:
            return None
        silent, waiting = [], []
        for node in nodes:
            signs = node.signs
            waited_secs = signs.seen_secs - signs.waiting_since_secs
            silent_secs = now_secs - signs.seen_secs
            patience_secs = _PATIENCE_SECS if signs.steps else _START_SECS
            if silent_secs > patience_secs:
                silent.append((silent_secs, _describe_silence(node, silent_secs)))
            elif signs.waiting_for is not None and waited_secs > _PATIENCE_SECS:
                sentence = f"has waited {waited_secs:.0f} s for {signs.waiting_for}"
                waiting.append((waited_secs, f"{node.name} {sentence}"))
        # Whoever waits may wait for one that is silent; the longest are the first.
        sentences = [
            sentence
            for group in (silent, waiting)
            for _, sentence in sorted(group, key=lambda pair: -pair[0])
        ]
        if not sentences:
            return None
        self._next_line_secs = now_secs + _SAME_AGAIN_SECS
        others = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
        return sentences[0] + others

    def _hung(
        self, nodes: Sequence[watched.Node], now_secs: float
    ) -> Iterator[tuple[watched.Node, str]]:
        if self._hang_timeout_secs is None:
            return
        for node in nodes:
            signs = node.signs
            limit_secs = self._hang_timeout_secs
            silent_secs = now_secs - signs.seen_secs
            idle_secs = now_secs - signs.moved_secs
            if silent_secs > (limit_secs if signs.steps else _START_SECS + limit_secs):
                yield node, f"was silent for {silent_secs:.0f} s and {node.KILLED}"
            elif signs.steps and idle_secs > limit_secs:
                yield (
                    node,
                    f"has completed no step for {idle_secs:.0f} s, waiting for nobody, "
                    f"and {node.KILLED}",
                )


def _describe_silence(node: watched.Node, silent_secs: float) -> str:
    sentence = (
        f"{node.name} has shown no sign of life for {silent_secs:.0f} s (stopped, or a "
        "call that never lets Python run)"
    )
    if node.signs.waiting_for is not None:
        sentence += f"; it last waited for {node.signs.waiting_for}"
    return sentence
