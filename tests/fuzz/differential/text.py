"""Makers of operators on text."""
import numpy as np
from onnx import TensorProto

from case import WORDS, maker


@maker("StringConcat", exact=True)
def string_concat(c):
    a, b = c.broadcast(2)
    return [c.array(a, TensorProto.STRING), c.array(b, TensorProto.STRING)], {}


@maker("StringNormalizer", exact=True)
def string_normalizer(c):
    shape = c.one((c.size(),), (1, c.size()))
    plain = [w for w in WORDS if w.isascii()]  # other letters change by the locale
    x = np.array([c.draw.choice(plain) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    return [x], {"case_change_action": c.one(None, "NONE", "LOWER", "UPPER"), "is_case_sensitive": c.one(None, 0, 1),
                 "stopwords": c.one(None, ["the"], ["The", "cat", "42"])}


@maker("StringSplit", exact=True)
def string_split(c):
    texts = ["a b c", " a  b ", "", "one", "x,y,z", ",x,", "a--b-c", "  ", "naïve text", "a,b c"]
    shape = c.shape(0, 2)
    x = np.array([c.draw.choice(texts) for _ in range(int(np.prod(shape, initial=1)))], object).reshape(shape)
    c.results = 2
    c.result_types = {0: TensorProto.STRING, 1: TensorProto.INT64}
    return [x], {"delimiter": c.one(None, "", " ", ",", "-", "--"), "maxsplit": c.one(None, 1, 2)}


@maker("RegexFullMatch", exact=True)
def regex(c):
    c.result_types[0] = TensorProto.BOOL
    return [c.array(c.shape(), TensorProto.STRING)], {"pattern": c.one("a.*", "[a-z]+", "", "(abc|dog|42)", r"-?\d+(\.\d+)?", ".*", "[A-Z][a-z]*", r"\w+\s\w+", "a{1,3}", "^cat$", "(?i)THE")}


@maker("TfIdfVectorizer", exact=True)
def tfidf(c):
    text = c.chance(0.3)
    pool = ["a", "b", "cat", "dog"] if text else [1, 2, 3, 4]
    grams = [[[w] for w in c.draw.sample(pool, c.draw.randint(1, 4))]]
    grams.append([[c.draw.choice(pool), w] for w in c.draw.sample(pool, c.draw.randint(1, 3))])
    grams.append([[c.draw.choice(pool), c.draw.choice(pool), w] for w in c.draw.sample(pool, c.draw.randint(0, 2))])
    counts, flat = [], []
    for level in grams:
        counts.append(len(flat))
        flat += [w for g in level for w in g]
    total = sum(len(level) for level in grams)
    low = c.draw.randint(1, 3)
    attributes = {"mode": c.one("TF", "IDF", "TFIDF"), "min_gram_length": low, "max_gram_length": c.draw.randint(low, 3), "max_skip_count": c.draw.randint(0, 3),
                  "ngram_counts": counts, "ngram_indexes": c.draw.sample(range(total), total), "pool_strings" if text else "pool_int64s": flat}
    if c.chance(0.6):
        attributes["weights"] = [c.one(0.5, 1.0, 2.0) for _ in range(total)]
    shape = c.one((c.size(),), (c.size(), c.size()))
    if text:
        c.types["T"] = TensorProto.STRING
        x = np.array([c.draw.choice(pool) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    else:
        c.types["T"] = c.one(TensorProto.INT64, TensorProto.INT32)
        x = c.array(shape, c.types["T"], 0, 5)
    c.result_types[0] = TensorProto.FLOAT
    return [x], attributes
