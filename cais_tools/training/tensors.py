"""Tensors of torch and of NumPy, as arrays that can be sent: the one place that knows both."""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from cais_tools.errors import UsageError
from cais_tools.training.operations import BFLOAT16, Tensor

__all__ = ["array_of", "empty_like", "is_torch", "write"]


def is_torch(tensor: Any) -> bool:
    """Whether it is a tensor of torch; does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def array_of(tensor: Any) -> tuple[Tensor, str]:
    """The tensor's elements, C-contiguous, and the name of their type (bfloat16 as its bits in uint16).

    Shares memory with the tensor where it is contiguous and in this machine's memory; a CUDA tensor is copied into
    pinned memory. Raises UsageError for what is no dense tensor of numbers.
    """
    if is_torch(tensor):
        return _array_of_torch(tensor)
    if not isinstance(tensor, np.ndarray):
        raise UsageError(f"a {type(tensor).__name__} is no tensor", hint="give a torch.Tensor or a numpy.ndarray")
    if tensor.dtype.kind not in "biuf":
        raise UsageError(f"an array of {tensor.dtype} cannot be reduced")
    array = np.ascontiguousarray(tensor, tensor.dtype.newbyteorder("=")).reshape(tensor.shape)
    return array, array.dtype.name


def write(tensor: Any, result: Tensor) -> None:
    """Put a result of the tensor's size into it, whatever its strides and wherever it is."""
    if not is_torch(tensor):
        tensor[...] = result.reshape(tensor.shape)
        return
    torch = sys.modules["torch"]
    # A result that came as bytes cannot be written to, and torch wants that it could.
    values = torch.from_numpy(np.require(result, requirements="W"))
    if tensor.dtype == torch.bfloat16:
        values = values.view(torch.bfloat16)
    with torch.no_grad():
        tensor.copy_(values.view(tensor.shape), non_blocking=False)


def empty_like(tensor: Any, shape: tuple[int, ...]) -> Any:
    """A new tensor of another shape, of the same kind, type and place."""
    if is_torch(tensor):
        return tensor.new_empty(shape)
    return np.empty(shape, tensor.dtype)


def _array_of_torch(tensor: Any) -> tuple[Tensor, str]:
    torch = sys.modules["torch"]
    if tensor.layout != torch.strided or tensor.is_complex() or tensor.is_quantized:
        raise UsageError(f"a {tensor.layout} tensor of {tensor.dtype} cannot be reduced", hint="give a dense one")
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.device.type != "cpu":
        tensor = _to_host(torch, tensor)
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy(), BFLOAT16
    try:
        array = tensor.numpy()
    except TypeError:
        raise UsageError(f"a tensor of {tensor.dtype} cannot be reduced") from None
    return array, array.dtype.name


def _to_host(torch: Any, tensor: Any) -> Any:
    """A copy in memory that the device can reach; complete when this returns."""
    staged = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.device.type == "cuda")
    staged.copy_(tensor, non_blocking=True)
    if tensor.device.type == "cuda":
        torch.cuda.current_stream(tensor.device).synchronize()
    return staged
