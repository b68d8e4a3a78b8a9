"""Tests of rlcomponents.dashboard.data."""

import json

import pytest

from rlcomponents.dashboard import data
from rlcomponents.runs import metrics, run_folder


def make_run(path, **config):
    folder = run_folder.RunFolder.create(path)
    folder.write_config({"agent": "dqn", "environment": "catch", **config})
    return folder


def evaluate(folder, mean_return, agent_steps=100):
    writer = metrics.MetricsWriter(folder.evaluation_csv, metrics.EVALUATION_COLUMNS)
    writer.write({"agent_steps": agent_steps, "mean_return": mean_return})
    writer.close()


def ask(dashboard, **question):
    return json.loads(dashboard.answer(data.Question(**question)))


@pytest.fixture
def folders(tmp_path):
    return [make_run(tmp_path / name, seed=name) for name in ("first", "second")]


@pytest.fixture
def dashboard(folders):
    return data.Dashboard([folder.path for folder in folders])


def test_all_runs_are_named_and_one_is_looked_at(folders, dashboard):
    (folders[1].logs / "actor-0.log").touch()
    answer = ask(dashboard, run=1)
    assert [run["name"] for run in answer["runs"]] == ["first", "second"]
    assert [run["seed"] for run in answer["runs"]] == ["first", "second"]
    assert answer["details"]["logs"] == ["actor-0"]
    assert answer["log"] is None


def test_curves_of_several_runs_come_together_and_only_once(folders, dashboard):
    for folder, mean_return in zip(folders, (1.0, 2.0), strict=True):
        evaluate(folder, mean_return)
    curves = ask(dashboard, versions={0: "", 1: ""})["curves"]
    points = {index: curve["points"] for index, curve in curves.items()}
    assert points == {"0": [[100.0, 1.0, None]], "1": [[100.0, 2.0, None]]}
    versions = {int(index): curve["version"] for index, curve in curves.items()}
    evaluate(folders[1], 3.0, agent_steps=200)
    curves = ask(dashboard, versions=versions)["curves"]
    assert "points" not in curves["0"]
    assert curves["1"]["points"] == [[100.0, 2.0, None], [200.0, 3.0, None]]


def test_a_log_is_read_on(folders, dashboard):
    (folders[0].logs / "actor-0.log").write_text("one\n")
    log = ask(dashboard, log="actor-0")["log"]
    assert log == {"text": "one\n", "offset_bytes": 4, "is_fresh_start": True}
    assert ask(dashboard, log="actor-0", offset_bytes=4)["log"]["text"] == ""


@pytest.mark.parametrize("value", ["NaN", "Infinity"])
def test_what_is_no_number_is_none_in_json(folders, dashboard, value):
    row = '{"name": "actor/0", "state": "running", "log_path": "", "discarded": '
    folders[0].nodes_json.write_text(f"[{row}{value}}}]")
    [node] = ask(dashboard)["details"]["nodes"]
    assert node["discarded"] is None


def test_an_answer_in_which_nothing_is_new_is_small(folders, dashboard):
    writer = metrics.MetricsWriter(
        folders[0].evaluation_csv, metrics.EVALUATION_COLUMNS
    )
    for step in range(2_000):
        writer.write({"agent_steps": step, "mean_return": step / 3})
    (folders[0].logs / "actor-0.log").write_text("x" * 50_000)
    first = dashboard.answer(data.Question(versions={0: ""}, log="actor-0"))
    version = json.loads(first)["curves"]["0"]["version"]
    later = data.Question(versions={0: version}, log="actor-0", offset_bytes=50_000)
    assert len(first) > 50_000
    assert len(dashboard.answer(later)) < 1_000


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({"run": 2}, "There is no run 2."),
        ({"versions": {7: ""}}, "There is no run 7."),
        ({"over": "hours"}, "There is no axis 'hours'."),
        ({"of": "loss"}, "There is no curve of 'loss'."),
    ],
)
def test_what_there_is_not_is_refused(dashboard, question, sentence):
    with pytest.raises(ValueError, match=sentence):
        ask(dashboard, **question)


def test_a_folder_without_a_run_is_refused(tmp_path, folders):
    with pytest.raises(ValueError, match="holds no run"):
        data.Dashboard([folders[0].path, tmp_path / "nothing"])


def test_a_run_that_is_given_twice_is_shown_once(folders):
    twice = data.Dashboard([folders[0].path, folders[0].path / ".." / "first"])
    assert len(ask(twice)["runs"]) == 1


def test_runs_of_one_name_are_told_apart_by_their_parents(tmp_path):
    paths = [tmp_path / where / "run" for where in ("a/x", "b/x", "b/y")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        make_run(path)
    names = [run["name"] for run in ask(data.Dashboard(paths))["runs"]]
    assert names == ["a/x/run", "b/x/run", "y/run"]


def test_two_dashboards_are_told_apart(folders):
    sessions = {ask(data.Dashboard([folders[0].path]))["session"] for _ in range(2)}
    assert len(sessions) == 2
