import dataclasses
import re

import pytest

from agents.gorila_dqn import config as gorila_config
from launch import command_line, evaluate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a test.

    Attributes:
        size: How large it is,
            over two lines.
        share: Between 0 and 100 %.
        limit: Or none.
        fast: Whether it is.
        name: What it is called.
    """

    size: int = 3
    share: float = 0.5
    limit: float | None = None
    fast: bool = False
    name: str = "x"


@dataclasses.dataclass(frozen=True, kw_only=True)
class MoreSettings(Settings):
    """Settings with one more.

    Attributes:
        colour: Only here.
    """

    colour: str = "red"


def parse(*argv, config_class=Settings):
    return command_line.parse(argv, "A test.", config_class=config_class)


def test_flags_become_settings_of_their_type():
    flags = parse("--size=4", "--share=1e-3", "--limit=2", "--fast=true", "--name=a b")
    assert flags.settings == {
        "size": 4,
        "share": 0.001,
        "limit": 2.0,
        "fast": True,
        "name": "a b",
    }
    assert type(flags.settings["limit"]) is float


def test_only_what_is_given_is_a_setting():
    assert parse().settings == {}
    assert parse().run == command_line.RunFlags()


def test_a_value_may_follow_as_a_word_of_its_own():
    assert parse("--size", "-4", "--name", "y").settings == {"size": -4, "name": "y"}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("--fast", True),
        ("--fast=True", True),
        ("--fast=1", True),
        ("--fast=false", False),
        ("--fast=0", False),
    ],
)
def test_switches(argument, value):
    assert parse(argument).settings == {"fast": value}


def test_none_is_a_value_where_there_can_be_none(refusal):
    assert parse("--limit=None").settings == {"limit": None}
    assert refusal(parse_list, "--size=none") == (
        "--size is 'none': it must be a whole number."
    )


def parse_list(argv):
    return parse(*argv)


def test_flags_of_the_run_are_apart_from_settings():
    flags = parse("--lp_launch_type=local_mt", "--run_dir=r", "--quiet", "--size=1")
    assert flags.run == command_line.RunFlags(
        lp_launch_type="local_mt", run_dir="r", quiet=True
    )
    assert flags.settings == {"size": 1}


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--size=3.5"], "--size is '3.5': it must be a whole number."),
        (["--size=1e3"], "--size is '1e3': it must be a whole number."),
        (["--size="], "--size is '': it must be a whole number."),
        (["--share=half"], "--share is 'half': it must be a number."),
        (["--limit=x"], "--limit is 'x': it must be a number, or none."),
        (["--fast=maybe"], "--fast is 'maybe': it must be true or false."),
        (["--name="], "--name is '': it must be text."),
        (["--run_dir="], "--run_dir is '': it must be text, or none."),
        (
            ["--size"],
            "Argument --size: expected one argument; --help lists the flags.",
        ),
        (
            ["--sise=3"],
            "There is no flag --sise: did you mean --size? --help lists the flags.",
        ),
        (["--zzz"], "There is no flag --zzz: --help lists the flags."),
        (["--siz=3"], None),  # No abbreviations.
        (["-s"], None),
        (["--"], None),
        (
            ["seed=3"],
            "'seed=3' is not a flag: flags look like --seed=7; --help lists them.",
        ),
        (["--size=1", "--size=1"], "--size is given twice: give it once."),
        (["--fast", "--fast"], "--fast is given twice: give it once."),
    ],
)
def test_bad_flags_are_refused_in_one_sentence(refusal, argv, sentence):
    said = refusal(parse_list, *argv)
    if sentence is not None:
        assert said == sentence


def test_help_has_the_text_of_every_attribute_and_its_default(capsys):
    with pytest.raises(SystemExit) as ending:
        parse("--help", config_class=MoreSettings)
    assert ending.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("usage: ")
    assert "A test." in text
    assert "--size INT How large it is, over two lines. (default: 3)" in text
    assert "--share FLOAT Between 0 and 100 %. (default: 0.5)" in text
    assert "--limit FLOAT Or none. (default: none)" in text
    assert "--fast [BOOL] Whether it is. (default: false)" in text
    assert "--colour STR Only here. (default: red)" in text
    assert "--lp_launch_type STR `local_mp`: each node in a process" in text


def test_flags_without_settings_beside_them_are_not_called_those_of_a_run(capsys):
    for config_class, title in ((None, "flags:"), (Settings, "the run:")):
        with pytest.raises(SystemExit):
            command_line.parse(["--help"], "", evaluate.EvaluationFlags, config_class)
        titles = [x for x in capsys.readouterr().out.splitlines() if x[-1:] == ":"]
        assert title in titles
        assert len({"flags:", "the run:"} & {*titles}) == 1


@pytest.mark.parametrize(
    ("run_class", "config_class"),
    [
        (command_line.RunFlags, gorila_config.GorilaConfig),
        (evaluate.EvaluationFlags, None),
    ],
)
def test_help_has_a_text_for_every_flag_of_the_scripts(capsys, run_class, config_class):
    with pytest.raises(SystemExit):
        command_line.parse(["--help"], "", run_class, config_class)
    text = " ".join(capsys.readouterr().out.split())
    for flags_class in filter(None, (run_class, config_class)):
        for field in dataclasses.fields(flags_class):
            pattern = rf"--{field.name} \[?[A-Z]+\]? [`A-Z].*?\(default: "
            assert re.search(pattern, text), field.name


# ------------------------------------------------------------- what the settings mean


def refuse(error, environment=""):
    def main(argv):
        with command_line.bad_input_refused(environment):
            raise error

    return main


@pytest.mark.parametrize("error", [ValueError("No."), ImportError("No.")])
def test_what_the_settings_raise_is_said_in_one_sentence(refusal, error):
    assert refusal(refuse(error)) == "No."


def test_a_message_of_several_lines_is_said_in_one(refusal):
    assert refusal(refuse(ValueError("One.\n  Two."))) == "One. Two."


def test_errors_of_our_own_are_not_taken_for_bad_input():
    with pytest.raises(KeyError):
        refuse(KeyError("a bug"))([])


def test_whatever_a_users_environment_raises_is_refused_with_its_place(refusal):
    line = refuse.__code__.co_firstlineno + 3
    assert refusal(refuse(KeyError("a"), "module:mine:make")) == (
        f"module:mine:make raised KeyError: 'a' ({__file__}, line {line})."
    )


def test_nothing_happens_where_nothing_is_wrong():
    with command_line.bad_input_refused("module:mine:make"):
        pass
