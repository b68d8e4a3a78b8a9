"""What is published in docs/results holds."""

import pytest

from rlcomponents.environments import registry
from rlcomponents.evaluation import start_points


@pytest.mark.atari
def test_published_start_points_are_reached(project_root):
    paths = sorted((project_root / "docs/results/start_points").glob("*.npz"))
    assert paths != []
    for path in paths:
        starts = start_points.read(path)
        assert starts.environment == f"atari:{path.stem}"
        assert "not a human" in starts.player
        assert len(starts.points) == 100
        make_environment = registry.make_factory(starts.environment, **starts.settings)
        earliest = sorted(starts.points, key=lambda point: point.num_steps)[:2]
        for index, point in enumerate(earliest):
            game = starts.games[point.game]
            environment = make_environment(game.seed)
            start_points.reach(environment, game, point, index)
            environment.close()
