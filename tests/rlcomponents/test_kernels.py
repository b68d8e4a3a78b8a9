"""Tests of rlcomponents.kernels."""

import pytest

from rlcomponents import kernels


def test_kernels_work_where_no_folder_can_keep_them(monkeypatch):
    def njit(*, cache=False, **options):
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: function

    monkeypatch.setattr(kernels.numba, "njit", njit)
    with pytest.warns(UserWarning, match="Set NUMBA_CACHE_DIR"):
        kernel = kernels.compiled(lambda: "ran")
    assert kernel() == "ran"
