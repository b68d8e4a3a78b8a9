"""Tests of curves of several runs: what is joined and drawn, not how it looks."""

import numpy as np
import pytest

from rlcomponents.runs import curves, metrics, run_folder, summary


def make_run(path, rows, *, frames_per_step=4, **config):
    folder = run_folder.RunFolder.create(path)
    folder.write_config({"agent": "dqn", "environment": "catch", "seed": 0, **config})
    writer = metrics.MetricsWriter(folder.evaluation_csv, metrics.EVALUATION_COLUMNS)
    for step, value in rows:
        writer.write(
            {
                "agent_steps": step,
                "updates": step // 2,
                "wall_secs": step / 100,
                "mean_return": value,
            }
        )
    program = metrics.MetricsWriter(folder.program_csv, metrics.PROGRAM_COLUMNS)
    program.write({"agent_steps": 50, "environment_frames": 50 * frames_per_step})
    return folder.path


def run_curve(positions, returns, **config):
    config = {"agent": "dqn", "environment": "catch", "seed": 0, **config}
    return curves.RunCurve(config, np.array(positions, float), np.array(returns, float))


# ------------------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    ("over", "positions"),
    [
        ("agent_steps", [100, 200]),
        ("environment_frames", [400, 800]),
        ("updates", [50, 100]),
        ("wall_secs", [1, 2]),
    ],
)
def test_a_run_is_read_over_each_axis(tmp_path, over, positions):
    one = curves.read(make_run(tmp_path, [(100, -1.0), (200, 0.5)]), over)
    assert one.positions.tolist() == positions
    assert one.returns.tolist() == [-1.0, 0.5]
    assert one.config["agent"] == "dqn"


def test_frames_of_a_run_of_which_only_the_small_files_are_kept(tmp_path):
    path = make_run(tmp_path, [(100, -1.0), (200, 0.5)])
    run_folder.RunFolder(path).program_csv.unlink()
    with pytest.raises(ValueError, match="counts no step yet"):
        curves.read(path, "environment_frames")
    ending = summary.Summary(
        reason="max_steps",
        environment="catch",
        agent="dqn",
        agent_steps=210,
        environment_frames=840,
    )
    summary.write(run_folder.RunFolder(path).summary_json, ending)
    one = curves.read(path, "environment_frames")
    assert one.positions.tolist() == [400, 800]


def test_a_run_without_an_evaluation_is_refused(tmp_path):
    path = make_run(tmp_path, [], evaluation_period_steps=500)
    with pytest.raises(ValueError, match=r"no evaluation yet: .* after 500 steps"):
        curves.read(path, "agent_steps")


def test_an_unknown_axis_is_refused(tmp_path):
    with pytest.raises(ValueError, match="over is 'hours': it must be one of agent_st"):
        curves.read(make_run(tmp_path, [(100, 1.0)]), "hours")


# ------------------------------------------------------------------------------ joining


def test_seeds_become_their_mean_over_the_stretch_that_all_have():
    bands = curves.bands(
        [
            run_curve([0, 100, 200], [0.0, 1.0, 1.0], seed=1),
            run_curve([50, 150, 300], [0.0, 1.0, 1.0], seed=2),
        ]
    )
    ((band,),) = bands.values()
    assert (band.label, band.num_runs) == ("dqn", 2)
    assert (band.positions[0], band.positions[-1]) == (50, 200)
    # At 125: 1 of the first, and 0.75 of the second, three quarters of the way.
    middle = np.interp(125, band.positions, band.means)
    assert middle == pytest.approx((1.0 + 0.75) / 2)


def test_the_interval_is_that_of_a_slow_bootstrap_of_the_mean():
    returns = [3.0, 5.0, 4.0, 8.0]
    ((band,),) = curves.bands(
        [run_curve([0, 1], [value] * 2, seed=i) for i, value in enumerate(returns)]
    ).values()
    rng = np.random.default_rng(7)
    means = [rng.choice(returns, 4).mean() for _ in range(20_000)]
    assert band.interval.shape == (2, len(band.positions))
    for found, expected in zip(
        band.interval[:, 0], np.percentile(means, [2.5, 97.5]), strict=True
    ):
        assert found == pytest.approx(expected, abs=0.2)  # Steps of 0.25 between.


def test_one_run_keeps_its_points_and_has_no_interval():
    ((band,),) = curves.bands([run_curve([10, 30], [1.0, 2.0])]).values()
    assert band.positions.tolist() == [10, 30]
    assert band.means.tolist() == [1.0, 2.0]
    assert band.interval is None


def test_runs_of_other_settings_are_lines_of_their_own_named_by_these():
    ((few, many, other),) = curves.bands(
        [
            run_curve([0, 1], [0.0, 0.0], num_bundles=1, discount=0.9),
            run_curve([0, 1], [0.0, 0.0], num_bundles=8, discount=0.9),
            run_curve([0, 1], [0.0, 0.0], agent="a3c", num_workers=2),
        ]
    ).values()
    assert few.label == "dqn, num_bundles 1"
    assert many.label == "dqn, num_bundles 8"
    assert other.label == "a3c"


def test_many_other_settings_are_counted():
    ((first, _),) = curves.bands(
        [
            run_curve([0], [0.0], a=1, b=1, c=1, d=1, e=1),
            run_curve([0], [0.0], a=2, b=2, c=2, d=2, e=2),
        ]
    ).values()
    assert first.label == "dqn, a 1, b 1, c 1, 2 more"


def test_each_environment_has_lines_of_its_own():
    bands = curves.bands(
        [
            run_curve([0, 1], [0.0, 0.0]),
            run_curve([0, 1], [5.0, 5.0], environment="atari:pong"),
        ]
    )
    assert list(bands) == ["catch", "atari:pong"]
    assert bands["atari:pong"][0].means.tolist() == [5.0, 5.0]


def test_seeds_with_one_evaluation_each_are_a_point_in_the_middle_of_them():
    ((band,),) = curves.bands(
        [
            run_curve([30_005], [1.0], seed=1),
            run_curve([30_012], [2.0], seed=2),
        ]
    ).values()
    assert band.positions.tolist() == [30_008.5]
    assert band.means.tolist() == [1.5]
    assert band.interval[:, 0].tolist() == [1.0, 2.0]  # The bootstrap draws both.


def test_seeds_that_share_no_stretch_are_a_point_where_the_first_of_them_ends():
    ((band,),) = curves.bands(
        [
            run_curve([0, 50, 100], [0.0, 0.5, 1.0], seed=1),
            run_curve([200, 300], [3.0, 9.0], seed=2),
        ]
    ).values()
    assert band.positions.tolist() == [100]
    assert band.means.tolist() == [2.0]  # Of 1, and of the other's first.


# ------------------------------------------------------------------------------ drawing


@pytest.mark.parametrize(
    ("name", "start"), [("curves.png", b"\x89PNG"), ("curves.svg", b"<?xml")]
)
def test_a_picture_is_written(tmp_path, name, start):
    bands = curves.bands(
        [
            run_curve([0, 1], [0.0, 1.0], seed=1),
            run_curve([0, 1], [0.5, 1.5], seed=2),
            run_curve([0, 1], [0.5, 1.5], environment="atari:pong"),
            run_curve([1], [0.5], seed=1, environment="control:cartpole:balance"),
            run_curve([2], [1.5], seed=2, environment="control:cartpole:balance"),
        ]
    )
    curves.draw(tmp_path / name, bands, "wall_secs")
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("suffix", curves.SUFFIXES)
def test_equal_curves_are_equal_files(tmp_path, suffix):
    bands = curves.bands([run_curve([0, 1], [0.0, 1.0], seed=seed) for seed in (1, 2)])
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    curves.draw(first, bands, "wall_secs")
    curves.draw(second, bands, "wall_secs")
    assert first.read_bytes() == second.read_bytes()
