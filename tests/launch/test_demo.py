import re

import pytest

from launch import demo


def test_it_takes_its_own_flags_only(refusal, empty_folder):
    assert refusal(demo.main, "--seed=3").startswith("There is no flag --seed")
    assert refusal(demo.main, "--max_steps=0").startswith("max_steps is 0: it must be")
    assert list(empty_folder.iterdir()) == []


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_it_ends_with_both_scores_and_the_picture(start, tmp_path):
    exit_code, output, errors = start("demo", tmp_path, "--max_steps=600").wait()
    assert (exit_code, errors) == (0, "")
    scores, picture, again = output.splitlines()[-3:]
    number = r"-?\d+\.\d\d"
    assert re.fullmatch(
        rf"minatar:breakout: a random policy scores {number}; after 60\d steps the "
        rf"learned one scores {number} \(means of 30 episodes\)\.",
        scores,
    )
    path = tmp_path / picture.removeprefix("The picture: ")
    assert path.stat().st_size > 1_000
    assert again.endswith(
        f"launch/evaluate.py --run_dir={path.parent.relative_to(tmp_path)}"
    )
