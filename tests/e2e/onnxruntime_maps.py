"""ONNX Runtime's C API, as far as a model of one map needs it: its Python gives operators no other maps than those to float, and
none that is empty."""
import ctypes
import pathlib
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p

# Places in OrtApi of version 10, which later versions keep: the struct grows at its end.
VERSION = 10
PLACE = {"GetErrorMessage": 2, "CreateEnv": 3, "CreateSessionFromArray": 8, "Run": 9, "CreateSessionOptions": 10, "CreateTensorAsOrtValue": 48,
         "CreateTensorWithDataAsOrtValue": 49, "GetTensorMutableData": 51, "FillStringTensor": 52, "GetStringTensorDataLength": 53,
         "GetStringTensorContent": 54, "GetTensorElementType": 60, "GetDimensionsCount": 61, "GetDimensions": 62, "GetTensorTypeAndShape": 65,
         "CreateCpuMemoryInfo": 69, "GetAllocatorWithDefaultOptions": 78, "CreateValue": 82, "ReleaseStatus": 93, "ReleaseValue": 96}
STRING, MAP = 8, 3  # ONNXTensorElementDataType, ONNXType
NUMPY = {1: "float32", 7: "int64", 11: "float64"}


class Failed(Exception):
    """What ONNX Runtime says of a call that failed."""


class Runtime:
    def __init__(self):
        import onnxruntime
        library = ctypes.CDLL(str(next(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))))
        library.OrtGetApiBase.restype = c_void_p
        get_api = ctypes.CFUNCTYPE(c_void_p, ctypes.c_uint32)(ctypes.cast(library.OrtGetApiBase(), ctypes.POINTER(c_void_p))[0])
        self.api = ctypes.cast(get_api(VERSION), ctypes.POINTER(c_void_p))
        self.environment = self.made("CreateEnv", c_int(4), c_char_p(b"maps"))
        self.options = self.made("CreateSessionOptions")
        self.memory = self.made("CreateCpuMemoryInfo", c_int(0), c_int(0))
        self.allocator = self.made("GetAllocatorWithDefaultOptions")

    def call(self, name, *arguments):
        kinds = [c_void_p if type(a).__name__ == "CArgObject" or isinstance(a, ctypes.Array) else type(a) for a in arguments]
        passed = [ctypes.cast(a, c_void_p) if isinstance(a, ctypes.Array) else a for a in arguments]
        status = ctypes.CFUNCTYPE(c_void_p, *kinds)(self.api[PLACE[name]])(*passed)
        if status:
            text = ctypes.CFUNCTYPE(c_char_p, c_void_p)(self.api[PLACE["GetErrorMessage"]])(status).decode()
            self.release("ReleaseStatus", c_void_p(status))
            raise Failed(text)

    def release(self, name, handle):
        ctypes.CFUNCTYPE(None, c_void_p)(self.api[PLACE[name]])(handle)

    def made(self, name, *arguments):
        out = c_void_p()
        self.call(name, *arguments, byref(out))
        return out

    def tensor(self, kind, values, keep):
        import numpy as np
        dims = (ctypes.c_int64 * 1)(len(values))
        if kind == STRING:
            out = self.made("CreateTensorAsOrtValue", self.allocator, dims, c_size_t(1), c_int(kind))
            texts = (c_char_p * max(len(values), 1))(*[v.encode() for v in values])
            self.call("FillStringTensor", out, texts, c_size_t(len(values)))
            return out
        array = np.array(values, NUMPY[kind])
        keep.append(array)
        return self.made("CreateTensorWithDataAsOrtValue", self.memory, c_void_p(array.ctypes.data), c_size_t(array.nbytes), dims, c_size_t(1), c_int(kind))

    def array(self, value):
        import numpy as np
        info, rank, kind = self.made("GetTensorTypeAndShape", value), c_size_t(), c_int()
        self.call("GetDimensionsCount", info, byref(rank))
        self.call("GetTensorElementType", info, byref(kind))
        dims = (ctypes.c_int64 * rank.value)()
        self.call("GetDimensions", info, dims, rank)
        count = int(np.prod(list(dims)))
        if kind.value == STRING:
            total, starts = c_size_t(), (c_size_t * max(count, 1))()
            self.call("GetStringTensorDataLength", value, byref(total))
            text = ctypes.create_string_buffer(max(total.value, 1))
            if count:
                self.call("GetStringTensorContent", value, text, total, starts, c_size_t(count))
            ends = [*list(starts)[1:count], total.value]
            return np.array([text.raw[a:b].decode() for a, b in zip(list(starts)[:count], ends)], object).reshape(list(dims))
        kind = np.dtype(NUMPY[kind.value])
        if count == 0:
            return np.zeros(list(dims), kind)
        data = self.made("GetTensorMutableData", value)
        return np.frombuffer(ctypes.string_at(data.value, count * kind.itemsize), kind).reshape(list(dims)).copy()

    def session(self, model):
        """A function from the map "x", {key: value}, to the tensor "y". Not thread-safe; lives as long as the process."""
        data = model.SerializeToString()
        session = self.made("CreateSessionFromArray", self.environment, c_char_p(data), c_size_t(len(data)), self.options)
        declared = model.graph.input[0].type.map_type
        kinds = declared.key_type, declared.value_type.tensor_type.elem_type

        def run(given):
            keep = []
            parts = (c_void_p * 2)(self.tensor(kinds[0], list(given), keep), self.tensor(kinds[1], list(given.values()), keep))
            values = (c_void_p * 1)(self.made("CreateValue", parts, c_size_t(2), c_int(MAP)))
            results = (c_void_p * 1)()
            try:
                self.call("Run", session, c_void_p(), (c_char_p * 1)(b"x"), values, c_size_t(1), (c_char_p * 1)(b"y"), c_size_t(1), results)
                out = self.array(c_void_p(results[0]))
                self.release("ReleaseValue", c_void_p(results[0]))
                return out
            finally:
                for value in (*parts, values[0]):
                    self.release("ReleaseValue", c_void_p(value))
        return run
