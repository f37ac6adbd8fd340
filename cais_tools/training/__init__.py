"""The training API: tensors that are reduced by a switch, or by the ranks themselves where that is better."""
