"""Signed and encrypted models: public keys to believe, and keys to decipher with."""
from __future__ import annotations

import ctypes
import dataclasses
import pathlib
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from . import _abi as s
from ._errors import INVALID_ARGUMENT, UNSUPPORTED, VireoError

KeySource = Union[str, "pathlib.PurePath", Tuple[bytes, bytes]]


@dataclasses.dataclass(frozen=True)
class Signature:
    """What a file says of its maker. verified: by a key that the trust knows; key: the signer's, as hexadecimal digits."""
    present: bool
    verified: bool
    encrypted: bool
    key: str
    revision: int


def signature_of(told: Any) -> Signature:
    return Signature(bool(told.present), bool(told.verified), bool(told.encrypted), bytes(told.key).hex() if told.present else "", told.revision)


def _read(source: KeySource, form: str) -> Tuple[bytes, bytes]:
    """(id, key) of a pair, or of a file that `vireo keygen` wrote."""
    if isinstance(source, tuple):
        name, key = source
        where = "a key"
    else:
        where = str(source)
        try:
            words = pathlib.Path(source).read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as failure:
            raise VireoError(INVALID_ARGUMENT, f"{where}: not a key file: {failure}") from failure
        if len(words) != 3 or words[0] != form:
            raise VireoError(INVALID_ARGUMENT, f"{where}: not a file of `vireo keygen` that begins with {form}")
        try:
            name, key = bytes.fromhex(words[1]), bytes.fromhex(words[2])
        except ValueError as failure:
            raise VireoError(INVALID_ARGUMENT, f"{where}: {failure}") from failure
    if len(name) != 8 or len(key) != 32:
        raise VireoError(INVALID_ARGUMENT, f"{where}: an id of {len(name)} and a key of {len(key)} bytes; 8 and 32 are needed")
    return name, key


class Trust:
    """For Runtime(trust=...).

    public  keys of makers to believe; secret: keys of encrypted models. Each a file of `vireo keygen`, or (id, key) as bytes
    require refuse models without a verified signature
    accept  called with each verified signature; False refuses the model. Here older revisions are refused
    """

    def __init__(self, public: Sequence[KeySource] = (), secret: Sequence[KeySource] = (), *, require: bool = False,
                 accept: Optional[Callable[[Signature], bool]] = None):
        makers = dict(_read(k, "vireo-ed25519-public") for k in public)
        ciphers = dict(_read(k, "vireo-xchacha20-secret") for k in secret)

        def finds(keys: Dict[bytes, bytes]) -> Callable[[Any, Any, Any], int]:
            def find(_: Any, name: Any, out: Any) -> int:
                key = keys.get(bytes(name[:8]))
                if key is None:
                    return UNSUPPORTED
                ctypes.memmove(out, key, len(key))
                return 0
            return find

        def judge(_: Any, told: Any) -> int:
            try:
                return 0 if accept is None or accept(signature_of(told[0])) else UNSUPPORTED
            except Exception:  # pylint: disable=broad-except
                return UNSUPPORTED  # a judge that fails accepts nothing
        self._struct = s.sized(s.Trust)
        self._struct.require = int(require)
        self._struct.public_key, self._struct.secret_key = s.Trust_public_key(finds(makers)), s.Trust_secret_key(finds(ciphers))
        if accept is not None:
            self._struct.accept = s.Trust_accept(judge)
