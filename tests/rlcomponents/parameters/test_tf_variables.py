"""TensorFlow variables filled from a vector, and gradients flattened to one."""

import numpy as np
import pytest
import tensorflow as tf

from rlcomponents.parameters import tf_variables


def make_variables():
    return [
        tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="w"),
        tf.Variable([7.0, 8.0], name="b"),
        tf.Variable(9.0, name="scale"),
    ]


def make_vector_at(offset_bytes, size):
    """Returns zeros whose memory begins this far from a 64-byte boundary."""
    raw = np.zeros(4 * size + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset_bytes
    return raw[start : start + 4 * size].view(np.float32)


def values_of(variables):
    return np.concatenate([np.ravel(variable.numpy()) for variable in variables])


def test_the_layout_is_that_of_the_variables():
    layout = tf_variables.FlatVariables(make_variables()).layout
    assert layout.names == ("w:0", "b:0", "scale:0")
    assert layout.shapes == ((2, 3), (2,), ())


def test_a_vector_goes_in_and_comes_out():
    variables = make_variables()
    flat = tf_variables.FlatVariables(variables)
    np.testing.assert_array_equal(flat.vector(), np.arange(1, 10))
    flat.assign(np.arange(9, dtype=np.float32))
    np.testing.assert_array_equal(variables[0], [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(variables[1], [6, 7])
    np.testing.assert_array_equal(variables[2], 8)
    np.testing.assert_array_equal(flat.vector(), np.arange(9))


@pytest.mark.parametrize("offset_bytes", [0, 4])
@pytest.mark.parametrize("num_variables", [1, 3])
def test_overwriting_the_source_leaves_the_variables_as_they_are(
    offset_bytes, num_variables
):
    # Large enough that nothing is copied for being small.
    variables = [tf.Variable(tf.zeros([1024])) for _ in range(num_variables)]
    flat = tf_variables.FlatVariables(variables)
    vector = make_vector_at(offset_bytes, 1024 * num_variables)
    vector[:] = 1.0
    flat.assign(vector)
    vector[:] = 2.0
    np.testing.assert_array_equal(values_of(variables), np.ones(vector.size))


@pytest.mark.parametrize("num_variables", [1, 3])
@pytest.mark.parametrize(
    "size", [15, 1024]
)  # Beside memory that is aligned, and in it.
def test_what_was_read_from_a_variable_survives_the_next_assignment(
    size, num_variables
):
    variables = [tf.Variable(tf.zeros([size])) for _ in range(num_variables)]
    flat = tf_variables.FlatVariables(variables)
    flat.assign(np.ones(size * num_variables, np.float32))
    read = [variable.read_value() for variable in variables]
    flat.assign(np.full(size * num_variables, 2.0, np.float32))
    for values in read:
        np.testing.assert_array_equal(values, np.ones(size))


@pytest.mark.parametrize("num_variables", [1, 3])
def test_the_array_of_a_variable_follows_what_it_is_assigned(num_variables):
    variables = make_variables()[:num_variables]
    flat = tf_variables.FlatVariables(variables)
    array = flat.array_of(variables[-1])
    np.testing.assert_array_equal(array, variables[-1])
    flat.assign(np.arange(10, 10 + flat.layout.num_parameters, dtype=np.float32))
    np.testing.assert_array_equal(array, variables[-1])
    assert array.max() >= 10
    assert not array.flags.writeable


def test_there_is_no_array_of_a_strange_variable():
    with pytest.raises(ValueError, match="strange:0"):
        tf_variables.FlatVariables(make_variables()).array_of(
            tf.Variable(1.0, name="strange")
        )


def test_the_vector_is_a_copy():
    variables = [tf.Variable(tf.zeros([1024]))]
    flat = tf_variables.FlatVariables(variables)
    vector = flat.vector()
    vector[:] = 1.0
    np.testing.assert_array_equal(variables[0], np.zeros(1024))
    vector = flat.vector()
    variables[0].assign_add(tf.ones([1024]))
    np.testing.assert_array_equal(vector, np.zeros(1024))


@pytest.mark.parametrize("offset_bytes", [0, 4])
def test_target_and_online_network_share_nothing(offset_bytes):
    online = [tf.Variable(tf.zeros([512])), tf.Variable(tf.zeros([512]))]
    target = [tf.Variable(tf.zeros([512])), tf.Variable(tf.zeros([512]))]
    vector = make_vector_at(offset_bytes, 1024)
    for variables in (online, target):
        tf_variables.FlatVariables(variables).assign(vector)
    np.testing.assert_array_equal(values_of(online), values_of(target))
    for variable in online:
        variable.assign_sub(tf.ones([512]))
    online[0].scatter_nd_update([[0]], [5.0])
    np.testing.assert_array_equal(values_of(target), np.zeros(1024))
    np.testing.assert_array_equal(vector, np.zeros(1024))
    assert online[1].numpy()[0] == -1.0


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_gradients_are_flattened_in_order(wrap):
    variables = make_variables()
    flat = tf_variables.FlatVariables(variables)

    @wrap
    def gradient():
        with tf.GradientTape() as tape:
            w, b, scale = variables
            loss = tf.reduce_sum(w * [1.0, 2.0, 3.0]) + b[1] * scale
        return flat.flatten(tape.gradient(loss, variables))

    np.testing.assert_array_equal(gradient(), [1, 2, 3, 1, 2, 3, 0, 9, 8])


def test_sparse_gradients_are_made_dense():
    table = tf.Variable(tf.ones([3, 2]), name="table")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(table, [2, 2, 0]))
    sparse = tape.gradient(loss, [table])
    assert isinstance(sparse[0], tf.IndexedSlices)
    flat = tf_variables.FlatVariables([table]).flatten(sparse)
    np.testing.assert_array_equal(flat, [1, 1, 0, 0, 2, 2])


def test_a_missing_gradient_is_refused_by_name():
    variables = make_variables()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(variables[0]) + variables[2]
    gradients = tape.gradient(loss, variables)
    with pytest.raises(ValueError, match="no gradient for 'b:0'"):
        tf_variables.FlatVariables(variables).flatten(gradients)


def test_what_does_not_fit_is_refused():
    flat = tf_variables.FlatVariables(make_variables())
    with pytest.raises(ValueError, match=r"float32 of shape \(8,\)"):
        flat.assign(np.zeros(8, np.float32))
    with pytest.raises(ValueError, match="float64"):
        flat.assign(np.zeros(9))
    with pytest.raises(ValueError, match="2 tensors for 3 variables"):
        flat.flatten([tf.zeros([2, 3]), tf.zeros([2])])
    with pytest.raises(ValueError, match=r"'w:0' has shape \(3, 2\)"):
        flat.flatten([tf.zeros([3, 2]), tf.zeros([2]), tf.zeros([])])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [], "No parameters"),
        (lambda: [tf.Variable(1)], "int32: parameters travel as float32"),
        (lambda: [tf.Variable(1.0)] * 2, "given twice"),
    ],
)
def test_other_variables_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        tf_variables.FlatVariables(make())
