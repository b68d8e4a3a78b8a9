"""Tests of rlcomponents.runs.rates."""

from rlcomponents.runs import rates


def test_counts_grow_so_much_a_second():
    earlier, later = rates.Moment(10.0, (100, 6.0)), rates.Moment(14.0, (120, 7.0))

    assert later.rates_since(earlier) == (5.0, 0.25)


def test_where_no_time_has_passed_nothing_has_grown():
    moment = rates.Moment(10.0, (100, 6.0))

    assert moment.rates_since(moment) == (0.0, 0.0)


def test_a_window_forgets_what_is_older_but_for_one_moment():
    window = rates.Window(5.0)
    for secs, count in ((0.0, 0), (1.0, 1_000), (4.0, 1_000), (8.0, 1_014)):
        window.add(rates.Moment(secs, (count,)))

    # From the moment at 1 s on: that at 4 s alone would leave a part of the window out.
    assert window.rates() == (2.0,)


def test_a_single_moment_has_no_rate_yet():
    window = rates.Window(5.0)
    window.add(rates.Moment(3.0, (7,)))

    assert window.rates() == (0.0,)
