"""NumPy arrays in and out; torch's are tried in tests/integration/torch."""

from __future__ import annotations

import numpy as np
import pytest

from cais_tools.errors import UsageError
from cais_tools.training.operations import Operation
from cais_tools.training.tensors import array_of, empty_like, write


def test_a_contiguous_array_is_not_copied() -> None:
    tensor = np.arange(6.0)
    array, dtype = array_of(tensor)
    assert np.shares_memory(array, tensor)
    assert dtype == "float64"


def test_strides_and_byte_order_are_straightened_and_the_result_lands_in_place() -> None:
    whole = np.arange(16, dtype=">i4").reshape(4, 4)
    view = whole[::2, 1::2]
    array, dtype = array_of(view)
    assert (array.flags.c_contiguous, dtype, array.tolist()) == (True, "int32", [[1, 3], [9, 11]])
    write(view, -array)
    assert whole[2].tolist() == [8, -9, 10, -11]
    assert whole[1].tolist() == [4, 5, 6, 7]


def test_shapes_without_dimensions_or_elements() -> None:
    scalar = np.array(3.0, np.float32)
    array, _ = array_of(scalar)
    assert array.shape == ()
    write(scalar, np.array(4.0, np.float32))
    assert scalar == 4.0
    assert array_of(np.empty((0, 3)))[0].shape == (0, 3)
    assert empty_like(np.empty(3, np.float16), (2, 3)).dtype == np.float16


@pytest.mark.parametrize("wrong", [[1, 2], "text", None, np.array(["a"]), np.array([1j])])
def test_what_cannot_be_reduced_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError):
        array_of(wrong)


def test_ranks_that_differ_in_anything_have_different_fingerprints() -> None:
    def operation(kind: str = "ALL_REDUCE", size: int = 60, root: int = 0, layer: int = 0) -> Operation:
        return Operation(kind, np.zeros(size, np.int32), "int32", root, layer)

    prints = {
        operation().fingerprint(3),
        operation().fingerprint(4),
        operation("ALL_REDUCE_MAX").fingerprint(3),
        operation(size=61).fingerprint(3),
        operation(root=1).fingerprint(3),
        operation(layer=1).fingerprint(3),
        Operation("ALL_REDUCE", np.zeros(60, np.float32), "float32").fingerprint(3),
    }
    assert len(prints) == 7
    assert operation().fingerprint(3) == operation().fingerprint(3)


def test_layers_have_fifteen_bits() -> None:
    with pytest.raises(UsageError, match="layer 32768 does not exist"):
        Operation("ALL_REDUCE", np.zeros(1), "float64", layer_id=32768)
