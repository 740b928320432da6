"""Runtimes that compare.py puts beside each other, one module each.

A module has
    why_not()                                 None, or why this machine cannot run it
    prepare(model, folder, shapes, options)   offline, once: converts an ONNX file; returns what load() takes
    load(file, threads, feed, options)        a function that runs once on `feed` ({input name: array}) and returns the outputs as a list
options is the set of words behind the name: "openvino+bf16" is the module openvino with {"bf16"}.
What prepare() or load() cannot do it says in a PeerError.
"""
import importlib

NAMES = ("vireo", "onnxruntime", "openvino", "mnn", "ncnn", "executorch")


class PeerError(Exception):
    pass


def find(name):
    """The module of a name as it stands on the command line, and its options."""
    word, *options = name.split("+")
    if word not in NAMES:
        raise PeerError(f"no peer '{word}'; there are {', '.join(NAMES)}")
    return importlib.import_module(f"{__name__}.{word}_peer"), frozenset(options)


def missing(*modules):
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # a wheel for another machine fails in its own ways
            return f"{module} cannot be imported: {error}"
    return None
