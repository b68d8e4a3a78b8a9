"""Variables as one vector, and its cut into shards."""

import numpy as np
import pytest

from rlcomponents.parameters import layout as layouts


def make_layout():
    return layouts.ParameterLayout(["w", "b", "scale"], [[2, 3], (2,), []])


def test_variables_follow_each_other_in_c_order():
    layout = make_layout()
    assert layout.num_parameters == 9
    arrays = [
        np.array([[1, 2, 3], [4, 5, 6]], np.float32),
        np.array([7, 8], np.float32),
        np.array(9, np.float32),
    ]
    vector = layout.join(arrays)
    assert vector.dtype == np.float32
    np.testing.assert_array_equal(vector, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    for array, part in zip(arrays, layout.split(vector), strict=True):
        np.testing.assert_array_equal(part, array)


def test_split_returns_views_and_join_a_copy():
    layout = make_layout()
    vector = np.zeros(9, np.float32)
    parts = layout.split(vector)
    joined = layout.join(parts)
    parts[0][1, 2] = 5.0
    assert vector[5] == 5.0
    assert joined[5] == 0.0


def test_a_fortran_ordered_array_is_joined_by_its_indices():
    layout = layouts.ParameterLayout(["w"], [[2, 2]])
    array = np.asfortranarray(np.array([[1, 2], [3, 4]], np.float32))
    np.testing.assert_array_equal(layout.join([array]), [1, 2, 3, 4])


def test_split_and_join_refuse_what_does_not_fit():
    layout = make_layout()
    with pytest.raises(ValueError, match=r"shape \(8,\): this layout has \(9,\)"):
        layout.split(np.zeros(8, np.float32))
    parts = layout.split(np.zeros(9, np.float32))
    with pytest.raises(ValueError, match="2 arrays for 3 variables"):
        layout.join(parts[:2])
    with pytest.raises(ValueError, match=r"'w' is float32 of shape \(2, 3\): got"):
        layout.join([parts[0].T, *parts[1:]])
    with pytest.raises(ValueError, match=r"'b' is float32 .* got float64"):
        layout.join([parts[0], parts[1].astype(np.float64), parts[2]])


@pytest.mark.parametrize(
    ("num_shards", "sizes"),
    [(1, [9]), (2, [5, 4]), (4, [3, 2, 2, 2]), (9, [1] * 9)],
)
def test_shards_are_contiguous_and_differ_by_at_most_one(num_shards, sizes):
    # 5 + 4 and 3 + 2 + 2 + 2 both cut through `w`, which ends at 6.
    slices = make_layout().shard_slices(num_shards)
    assert [part.stop - part.start for part in slices] == sizes
    indices = np.arange(9)
    np.testing.assert_array_equal(
        np.concatenate([indices[part] for part in slices]), indices
    )


@pytest.mark.parametrize("num_shards", [0, -1, 10])
def test_more_shards_than_parameters_and_none_are_refused(num_shards):
    with pytest.raises(ValueError, match=f"{num_shards} parameter shards: give 1 to 9"):
        make_layout().shard_slices(num_shards)


def test_a_parameter_has_the_name_of_its_variable():
    names = [make_layout().name_at(index) for index in range(9)]
    assert names == ["w"] * 6 + ["b"] * 2 + ["scale"]


def test_layouts_compare_by_names_shapes_and_order():
    layout = make_layout()
    assert layout == make_layout()
    assert hash(layout) == hash(make_layout())
    assert layout != layouts.ParameterLayout(layout.names, [[3, 2], [2], []])
    assert layout != layouts.ParameterLayout(["v", "b", "scale"], layout.shapes)
    assert layout != layouts.ParameterLayout(layout.names[::-1], layout.shapes[::-1])
    assert layout != "layout"
    assert repr(layout) == "ParameterLayout(3 variables, 9 parameters)"


def test_equal_layouts_only_have_equal_texts():
    assert make_layout().to_json() == make_layout().to_json()
    flat, square = (
        layouts.ParameterLayout(["w"], [shape]).to_json() for shape in ([4], [2, 2])
    )
    assert flat != square


@pytest.mark.parametrize(
    ("names", "shapes", "message"),
    [
        ([], [], "No parameters: create"),
        (["w"], [[0, 3]], "No parameters: create"),
        (["w"], [[2], [3]], "1 names for 2 shapes"),
        (["w"], [[-1, 3]], r"'w' has shape \(-1, 3\): it must be known"),
    ],
)
def test_impossible_layouts_are_refused(names, shapes, message):
    with pytest.raises(ValueError, match=message):
        layouts.ParameterLayout(names, shapes)
