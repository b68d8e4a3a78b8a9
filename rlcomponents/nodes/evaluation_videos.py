"""Films the first game of some evaluations, as small GIFs in the run folder.

The coordinator puts them into TensorBoard: an event file of the evaluator's own would
not do, since TensorBoard reads one growing file a folder. A film is never a reason to
end a run.
"""

import math
from collections.abc import Callable

import dm_env

from rlcomponents import pulse
from rlcomponents.evaluation import gifs
from rlcomponents.runs import atomic_files, run_folder
from rlcomponents.runs import disk as disks

MAX_VIDEO_BYTES = 500_000
"""Of one film; a longer one is cut."""


class EvaluationVideos:
    """Says which evaluations are filmed, and writes the films. For one thread.

    Where an environment has no `screen`, nothing is filmed. Where filming fails, one
    line says why, and this node films no more.
    """

    def __init__(
        self,
        folder: run_folder.RunFolder,
        environment: dm_env.Environment,
        *,
        num_videos: int,
        max_video_steps: int,
        frames_per_sec: int,
        max_steps: int,
        last_steps: int = 0,
        disk: disks.Disk | None = None,
    ) -> None:
        """Stores its parts.

        Args:
            folder: The run's.
            environment: That of the evaluations. It is filmed if it has `screen()`,
                which returns `[H, W, 3]` uint8.
            num_videos: Films from `last_steps` to `max_steps`, at most; the first
                evaluation and the last one are among them. 0: none.
            max_video_steps: Agent steps after which a film ends.
            frames_per_sec: Agent steps a second, in the film.
            max_steps: Agent steps of the run, of which the last evaluation comes.
            last_steps: Those at the last evaluation before this node started.
            disk: Says where the disk takes no more. None: on the screen.
        """
        self._folder = folder
        self._environment = environment
        self._max_video_steps = max_video_steps
        self._frames_per_sec = frames_per_sec
        self._disk = disk or disks.Disk()
        self._can_film = num_videos > 0 and hasattr(environment, "screen")
        self._film: gifs.Film | None = None
        # The last evaluation is filmed besides: it is left out here.
        self._period_steps = (
            max_steps / (num_videos - 1) if num_videos > 1 else math.inf
        )
        self._next_steps = last_steps + self._period_steps
        if last_steps == 0 and num_videos > 1:
            self._next_steps = 0.0

    def begin(self, agent_steps: int, *, final: bool) -> Callable[[int], None] | None:
        """Begins a film, where one is due.

        Args:
            agent_steps: Of training, as of the parameters that are evaluated.
            final: Whether the evaluation is the last, which is always filmed.

        Returns:
            What `episodes.play_episodes` has to call, as its `watch`. None: nothing.
        """
        self._film = None
        if not self._can_film or (agent_steps < self._next_steps and not final):
            return None
        self._film = gifs.Film(
            self._environment.screen, max_steps=self._max_video_steps
        )
        return self._watch

    def save(self, agent_steps: int) -> None:
        """Writes the film that was begun last, if there is one.

        Args:
            agent_steps: As they were at its beginning.
        """
        if self._film is None:
            return
        self._next_steps = agent_steps + self._period_steps
        path = self._folder.video_gif(agent_steps)
        try:
            gif = gifs.encode(
                self._film.screens,
                frames_per_sec=self._frames_per_sec,
                max_bytes=MAX_VIDEO_BYTES,
            )
            with self._disk.survived(str(path.parent)):
                path.parent.mkdir(exist_ok=True)
                atomic_files.write_bytes(path, gif, lasting=False)
        except Exception as error:
            self._give_up(error)
        self._film = None

    def _watch(self, length_steps: int) -> None:
        if self._film is None:
            return
        try:
            self._film.watch(length_steps)
        except Exception as error:  # Of the environment, which may be anybody's.
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._film, self._can_film = None, False
        pulse.current().say(
            "No videos of evaluations from here on; all else goes on "
            f"({type(error).__name__}: {error})."
        )
