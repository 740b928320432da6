"""One drawn graph: what a maker of one operator asks for, and the model and inputs that come of it.

A maker is a function of a Case. It reads what the standard says of the drawn version (`schema`, `version`), draws inputs and
attributes that satisfy it, and returns (inputs, attributes). An input is a numpy array, None (left out), or a list of arrays
(a sequence). Constant() marks one that stands in the file in every model that exporters write (axes, shapes).
"""
import random
import re

import ml_dtypes  # noqa: F401  what onnx gives its narrow types as
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NEWEST = 26  # of ai.onnx, in the ONNX Runtime that answers
# Types that numpy has itself, so that ONNX Runtime's binding takes and returns them. All others come through a Cast.
NATIVE = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.INT16, TensorProto.INT32,
          TensorProto.INT64, TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64, TensorProto.BOOL,
          TensorProto.STRING}
FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
WORDS = ["", "a", "b", "abc", "Abc", "the", "The", "42", "-1.5", "a b", "x,y", "naïve", "Straße", "日本", " ", "cat", "dog", "zz"]
MAKERS = {}
PATTERNS = {}


def maker(*operators, domain="", chain=False, exact=False):
    """`chain`: may stand behind another node, with c.x() taking its result. `exact`: rounds nothing on small dyadic numbers."""
    def register(function):
        for name in operators:
            MAKERS[domain, name] = (function, chain, exact)
        return function
    return register


def pattern(name):
    """A maker of several nodes: it appends them, and gives the results that it asks for."""
    def register(function):
        PATTERNS[name] = function
        return function
    return register


def element_type(text):
    """TensorProto's number for "tensor(float)" or "seq(tensor(float))"."""
    return TensorProto.DataType.Value(re.search(r"tensor\((\w+)\)", text).group(1).upper())


def numpy_type(elem):
    return np.dtype(object) if elem == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(elem)


def elem_of(array):
    if array.dtype == object or array.dtype.kind in "US":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


class Constant:
    def __init__(self, value, dtype="int64"):
        self.array = np.asarray(value, dtype)


class Unfit(Exception):
    """The maker cannot use what was drawn so far (a pinned input of the wrong rank, say)."""


class Case:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers, self.infos, self.feed = [], [], [], {}
        self.outputs = []    # (name, ValueInfoProto)
        self.operators = []  # (domain, name, version, attributes, inputs) of each drawn node
        self.exact = True
        self.atol, self.rtol = 1e-6, 2e-5
        self.narrow = False  # a float16 or bfloat16 has a part
        self.phase = 0.0     # the largest argument of a Sin or Cos that nodes before it have rounded
        self.functions, self.pinned = [], None
        self.empty = self.draw.random() < 0.06
        self.special = self.draw.random() < 0.3
        self.opset = None
        self.shaped = False  # made by a pattern
        self.domains = {}

    @staticmethod
    def unfit():
        raise Unfit()

    # Drawing. ------------------------------------------------------------------------------------------------------------
    def chance(self, p):
        return self.draw.random() < p

    def one(self, *choices):
        return self.draw.choice(choices)

    def size(self, low=1, high=9):
        if self.empty and low == 0 or low <= 0 and self.chance(0.02):
            return 0 if self.chance(0.4) else self.draw.randint(max(low, 1), high)
        return min(high, self.one(1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9)) if low <= 1 else self.draw.randint(low, high)

    def shape(self, low=0, high=4, limit=2000, sizes=0):
        rank = self.one(*[r for r in (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6) if low <= r <= high])
        while True:
            shape = [self.size(0 if self.empty and sizes == 0 else 1) for _ in range(rank)]
            if np.prod(shape, initial=1) <= limit:
                return tuple(shape)

    def axis(self, rank):
        """Any axis of `rank`, half the time counted from the end."""
        return self.draw.randrange(-rank, rank)

    def axes(self, rank, low=0):
        some = self.draw.sample(range(rank), self.draw.randint(min(low, rank), rank))
        return [a - rank if self.chance(0.4) else a for a in some]

    def broadcast(self, count, high=4):
        """`count` shapes that broadcast together."""
        whole = self.shape(0, high)
        shapes = []
        for _ in range(count):
            start = self.draw.randint(0, len(whole)) if self.chance(0.4) else 0
            shapes.append(tuple(1 if self.chance(0.25) else s for s in whole[start:]))
        if self.chance(0.8):
            shapes[self.draw.randrange(count)] = whole
        return shapes

    def t(self, variable, allow=None):
        """The element type drawn for a type variable; `allow` limits the draw."""
        if variable not in self.types:
            texts = next((c.allowed_type_strs for c in self.schema.type_constraints if c.type_param_str == variable), None)
            if texts is None:
                return element_type(variable)
            elems = sorted({element_type(x) for x in texts if x.startswith("tensor(") and "complex" not in x})
            if allow is not None:
                elems = [e for e in elems if e in allow]
            if not elems:
                raise Unfit()
            common = [e for e in elems if e in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32)]
            pick = TensorProto.FLOAT if TensorProto.FLOAT in elems and self.chance(0.35) else self.one(*(common if common and self.chance(0.5) else elems))
            self.types[variable] = pick
        return self.types[variable]

    def array(self, shape, elem, low=-4, high=4, special=None, real=False):
        """Numbers of [low, high]: quarters for floats (sums of products of them are exact) unless `real`."""
        shape = tuple(shape)
        dtype = numpy_type(elem)
        if elem == TensorProto.STRING:
            return np.array([self.draw.choice(WORDS) for _ in range(int(np.prod(shape, initial=1)))], object).reshape(shape)
        if elem == TensorProto.BOOL:
            return self.rng.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu" or elem in (TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2):
            bits = {TensorProto.INT4: (-8, 7), TensorProto.UINT4: (0, 15), TensorProto.INT2: (-2, 1), TensorProto.UINT2: (0, 3)}.get(elem)
            least, most = bits or (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
            a = self.rng.integers(max(int(np.ceil(low)), least), min(int(high), most) + 1, shape).astype(dtype)
            values = [least, most, least + 1, most - 1, 0]
        else:
            a = self.rng.uniform(low, high, shape) if real else np.round(self.rng.uniform(low, high, shape) * 4) / 4
            a = np.asarray(a).astype(dtype)
            values = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 65504.0, -65504.0, 1e30]
        if special and self.special and a.size:
            flat = a.reshape(-1)
            for i in range(flat.size):
                if self.chance(0.25):
                    with np.errstate(all="ignore"):
                        flat[i] = np.asarray(self.draw.choice(values)).astype(dtype)
            a = flat.reshape(shape)
        return a

    def x(self, variable="T", low_rank=0, high_rank=4, allow=None, special=False, low=-4, high=4, real=False, shape=None):
        """The operator's main input: the node before it, where there is one."""
        if self.pinned is not None:
            a, self.pinned = self.pinned, None
            elem = elem_of(a.array)
            texts = next((c.allowed_type_strs for c in self.schema.type_constraints if c.type_param_str == variable), [variable])
            if not low_rank <= a.array.ndim <= high_rank or elem not in {element_type(t) for t in texts if t.startswith("tensor(")}:
                raise Unfit()
            if allow is not None and elem not in allow or shape is not None and tuple(shape) != a.array.shape:
                raise Unfit()
            if self.types.get(variable, elem) != elem:
                raise Unfit()
            self.types[variable] = elem
            return a
        elem = self.t(variable, allow)
        return self.array(self.shape(low_rank, high_rank) if shape is None else shape, elem, low, high, special, real)

    # Building. -----------------------------------------------------------------------------------------------------------
    def fresh(self, prefix):
        return f"{prefix}{len(self.infos) + len(self.initializers) + len(self.nodes)}_{len(self.feed)}"

    def give(self, value):
        """The name of a value in the graph: input, initialiser, or what stands before."""
        if value is None:
            return ""
        if isinstance(value, Pinned):
            return value.name
        if isinstance(value, list):
            name = self.fresh("s")
            self.infos.append(helper.make_tensor_sequence_value_info(name, elem_of(value[0]), None))
            self.feed[name] = value
            return name
        constant = isinstance(value, Constant)
        array = value.array if constant else value
        elem = elem_of(array)
        name = self.fresh("x")
        if constant or self.chance(0.2) or elem not in NATIVE and (elem not in FLOATS or self.chance(0.5)):
            self.initializers.append(numpy_helper.from_array(array, name))
        elif elem in NATIVE:
            self.infos.append(helper.make_tensor_value_info(name, elem, array.shape))
            self.feed[name] = array
        else:
            self.infos.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape))
            self.feed[name] = array.astype(np.float32)
            self.nodes.append(helper.make_node("Cast", [name], [name + "c"], to=elem))
            name += "c"
        return name

    def run_maker(self, domain, name, schema):
        """Draws inputs and attributes; appends the node and gives the names of its results."""
        self.schema, self.version, self.types = schema, schema.since_version, {}
        self.results = 1              # how many outputs are asked for
        self.result_types = {}        # where the schema's type variable does not say
        function, _, exact = MAKERS[domain, name]
        inputs, attributes = function(self)
        if self.pinned is not None:
            raise Unfit()
        self.exact = self.exact and exact
        given = [self.give(v) for v in inputs]
        while given and not given[-1]:
            given.pop()
        plain = [v.array if isinstance(v, (Constant, Pinned)) else v for v in inputs]
        self.operators.append((domain, name, schema.since_version, attributes, plain))
        self.narrow = self.narrow or any(isinstance(v, np.ndarray) and elem_of(v) in FLOATS and v.dtype.itemsize == 2 for v in plain)
        outs = []
        for i in range(self.results):
            formal = schema.outputs[min(i, len(schema.outputs) - 1)]
            elem = self.result_types.get(i)
            text = next((c.allowed_type_strs[0] for c in schema.type_constraints if c.type_param_str == formal.type_str), formal.type_str)
            if elem is None:
                elem = self.types.get(formal.type_str) or element_type(text)
            outs.append((self.fresh("y") + f"_{i}", elem, text.startswith("seq")))
        node = helper.make_node(name, given, [o[0] for o in outs], domain=domain)
        for key, value in attributes.items():
            if value is not None:
                if schema.attributes[key].type == onnx.defs.OpSchema.AttrType.FLOAT:
                    value = float(value)
                node.attribute.append(helper.make_attribute(key, value, attr_type=schema.attributes[key].type))
        self.nodes.append(node)
        return outs

    def model(self, outs):
        """With `outs` (name, type, sequence) as its results."""
        nodes, infos = list(self.nodes), []
        for name, elem, sequence in outs:
            if sequence:
                infos.append(helper.make_tensor_sequence_value_info(name, elem, None))
                continue
            if elem not in NATIVE:
                nodes.append(helper.make_node("Cast", [name], [name + "f"], to=TensorProto.FLOAT))
                name, elem = name + "f", TensorProto.FLOAT
            infos.append(helper.make_tensor_value_info(name, elem, None))
        graph = helper.make_graph(nodes, "drawn", self.infos, infos, self.initializers)
        imports = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, v) for d, v in self.domains.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10 if self.opset < 25 else 11)


class Pinned:
    """A value that a node before computes: its name, and what it holds."""
    def __init__(self, name, array):
        self.name, self.array = name, array


def array_of(value):
    return value.array if isinstance(value, (Pinned, Constant)) else value
