"""ONNX models written by protobuf alone: the few messages of the format that a small graph needs."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The part of onnx.proto3 that is written here: message → field → (number, type). A name in brackets is a list. The
# numbers are the format itself; the package `onnx` would bring them too, and 31 MB that nothing else needs.
_MESSAGES: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "Model": {
        "ir_version": (1, "int64"),
        "producer_name": (2, "string"),
        "graph": (7, "Graph"),
        "opset_import": (8, "[Opset]"),
    },
    "Opset": {"domain": (1, "string"), "version": (2, "int64")},
    "Graph": {
        "node": (1, "[Node]"),
        "name": (2, "string"),
        "initializer": (5, "[Tensor]"),
        "input": (11, "[Value]"),
        "output": (12, "[Value]"),
    },
    "Node": {
        "input": (1, "[string]"),
        "output": (2, "[string]"),
        "name": (3, "string"),
        "op_type": (4, "string"),
        "attribute": (5, "[Attribute]"),
        "domain": (7, "string"),
    },
    "Attribute": {
        "name": (1, "string"),
        "f": (2, "float"),
        "i": (3, "int64"),
        "ints": (8, "[int64]"),
        "type": (20, "int32"),
    },
    "Tensor": {"dims": (1, "[int64]"), "data_type": (2, "int32"), "name": (8, "string"), "raw_data": (9, "bytes")},
    "Value": {"name": (1, "string"), "type": (2, "Type")},
    "Type": {"tensor_type": (1, "TensorType")},
    "TensorType": {"elem_type": (1, "int32"), "shape": (2, "Shape")},
    "Shape": {"dim": (1, "[Dimension]")},
    "Dimension": {"dim_value": (1, "int64"), "dim_param": (2, "string")},
}
_ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}  # TensorProto.DataType
_FLOAT, _INT, _INTS = 1, 2, 7  # AttributeProto.AttributeType
_IR_VERSION = 9
_OPSETS = {"": 17, "com.microsoft": 1}

Attribute = int | float | Sequence[int]


class GraphBuilder:
    """An ONNX graph that grows node by node; values are called by name. Operators are those of opset 17.

    `com.microsoft` is the domain of onnxruntime's own operators.
    """

    def __init__(self, name: str) -> None:
        self._model = _message("Model")(ir_version=_IR_VERSION, producer_name="scrubjay")
        self._graph = self._model.graph
        self._graph.name = name
        for domain, version in _OPSETS.items():
            self._model.opset_import.add(domain=domain, version=version)

    def input(self, name: str, element: str, shape: Sequence[int | str]) -> str:
        """Declare an input of element type `element` (`float32`, `int64`, …); a string in `shape` is a free dimension."""
        _describe(self._graph.input.add(), name, element, shape)
        return name

    def output(self, value: str, name: str, element: str, shape: Sequence[int | str]) -> None:
        """Hand out `value` as the output `name`."""
        self._graph.node.add(op_type="Identity", input=[value], output=[name], name=name)
        _describe(self._graph.output.add(), name, element, shape)

    def constant(self, array: "NDArray[Any]") -> str:
        """Add an array to the model and return the name of its value."""
        name = f"constant_{len(self._graph.initializer)}"
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        self._graph.initializer.add(
            name=name, dims=array.shape, data_type=_ELEMENTS[array.dtype.name], raw_data=little.tobytes()
        )
        return name

    def node(self, op: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Attribute) -> str:
        """Add an operator and return the name of its first output; the others are called `…_1`, `…_2`."""
        name = f"{op}_{len(self._graph.node)}"
        names = [name, *(f"{name}_{number}" for number in range(1, outputs))]
        node = self._graph.node.add(op_type=op, name=name, domain=domain, input=inputs, output=names)
        for key, value in attributes.items():
            if isinstance(value, float):
                node.attribute.add(name=key, type=_FLOAT, f=value)
            elif isinstance(value, int):
                node.attribute.add(name=key, type=_INT, i=value)
            else:
                node.attribute.add(name=key, type=_INTS, ints=value)
        return name

    def serialized(self) -> bytes:
        """Return the model as an `.onnx` file holds it."""
        data: bytes = self._model.SerializeToString(deterministic=True)
        return data


def _describe(value: Any, name: str, element: str, shape: Sequence[int | str]) -> None:
    value.name = name
    value.type.tensor_type.elem_type = _ELEMENTS[element]
    for size in shape:
        value.type.tensor_type.shape.dim.add(**{"dim_param" if isinstance(size, str) else "dim_value": size})


@functools.cache
def _pool() -> Any:
    """Register the messages in a pool of their own, where those of the package `onnx` cannot be in the way."""
    from google.protobuf import descriptor_pb2, descriptor_pool  # type: ignore[import-untyped]

    types = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="scrubjay/onnx.proto", package="scrubjay.onnx", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, type_) in fields.items():
            plain = type_.strip("[]")
            label = types.LABEL_OPTIONAL if plain == type_ else types.LABEL_REPEATED
            entry = message.field.add(name=field, number=number, label=label)
            if plain in _MESSAGES:
                entry.type, entry.type_name = types.TYPE_MESSAGE, f".scrubjay.onnx.{plain}"
            else:
                entry.type = types.Type.Value(f"TYPE_{plain.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _message(name: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"scrubjay.onnx.{name}"))
