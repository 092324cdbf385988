"""Arguments of the wrong kind are told by name, by every public call alike."""

import copy
import gc
import inspect
import math
import pickle

import numpy as np
import pytest
import torch

import gnomon
from gnomon import (
    Attention,
    Cache,
    Mask,
    Memory,
    Shape,
    SinkCache,
    Transformer,
    WindowCache,
    attend,
    convert,
    encodings,
    laws,
    positions,
    report,
)
from gnomon.checked import checked
from gnomon.encodings import ENCODINGS, create
from gnomon.encodings.none import NoPE
from gnomon.encodings.rope import Rope
from gnomon.errors import OptionError, PositionError, UserError

Q = torch.randn(1, 2, 3, 4)
MODEL = dict(vocabulary=11, width=8, depth=1, heads=2)

WRONG = {
    "a cache of text": lambda: Cache("3"),
    "a cache of half a token": lambda: Cache(2.5),
    "a cache of nan": lambda: Cache(math.nan),
    "a cache of true": lambda: Cache(True),
    "a window of text": lambda: WindowCache("3"),
    "sinks of half a token": lambda: SinkCache(0.5, 3),
    "a memory of nothing": lambda: Memory(None),
    "a shape of text": lambda: Shape(width="8", heads=2, head_dim=4),
    "a shape of nothing": lambda: Shape(width=0, heads=2, head_dim=4),
    "a mask of text": lambda: Mask(causal="yes"),
    "a window of half a turn": lambda: Mask(window=1.5),
    "an encoding's name": lambda: attend(Q, Q, Q, "rope"),
    "an encoding's class": lambda: attend(Q, Q, Q, NoPE),
    "positions that are numbers": lambda: attend(Q, Q, Q, NoPE(), torch.arange(3)),
    "a mask that is a tensor": lambda: attend(Q, Q, Q, NoPE(), mask=torch.ones(3, 3)),
    "dropout of text": lambda: attend(Q, Q, Q, NoPE(), dropout="0.1"),
    "dropout of nan": lambda: attend(Q, Q, Q, NoPE(), dropout=math.nan),
    "queries that are lists": lambda: attend([1.0], Q, Q, NoPE()),
    "a backend that is a number": lambda: attend(Q, Q, Q, NoPE(), backend=3),
    "a width of text": lambda: Attention("8", 2, NoPE()),
    "heads by halves": lambda: Attention(8, 2.0, NoPE()),
    "a vocabulary of text": lambda: Transformer(**{**MODEL, "vocabulary": "11"}, encoding=NoPE()),
    "a vocabulary of nothing": lambda: Transformer(**{**MODEL, "vocabulary": 0}, encoding=NoPE()),
    "no depth": lambda: Transformer(**{**MODEL, "depth": -1}, encoding=NoPE()),
    "half a feed-forward": lambda: Transformer(**MODEL, encoding=NoPE(), feed_forward=2.5),
    "a model of names": lambda: Transformer(**MODEL, encoding="rope"),
    "a list of names": lambda: Transformer(**MODEL, encoding=["rope"]),
    "tokens that are a list": lambda: Transformer(**MODEL, encoding=NoPE())([1, 2]),
    "tokens by halves": lambda: Transformer(**MODEL, encoding=NoPE())(torch.tensor([[0.5]])),
    "a token past the vocabulary": lambda: Transformer(**MODEL, encoding=NoPE())(torch.tensor([[11]])),
    "a token before it": lambda: Transformer(**MODEL, encoding=NoPE())(torch.tensor([[-1]])),
    "a cache that is a number": lambda: Transformer(**MODEL, encoding=NoPE())(torch.tensor([[1]]), cache=3),
    "a length of text": lambda: positions.sequence("3"),
    "a start of text": lambda: positions.sequence(3, "0"),
    "a length by halves": lambda: positions.sequence(2.5),
    "a start past float64": lambda: positions.sequence(3, 2**63),
    "an end past float64": lambda: positions.sequence(3, 2**53),
    "a step past float64": lambda: positions.sequence(3, step=1e300),
    "documents by halves": lambda: positions.packed([1, 2.5]),
    "documents that are one number": lambda: positions.packed(5),
    "padding of numbers": lambda: positions.padded(torch.tensor([[0, 2, 1]])),
    "padding that is a list": lambda: positions.padded([[True]]),
    "a grid by halves": lambda: positions.grid(2.5, 2),
    "a grid of text": lambda: positions.grid("2", 2),
    "pieces by halves": lambda: positions.multimodal([2.5]),
    "a piece of two numbers": lambda: positions.multimodal([(2, 2)]),
    "time backwards": lambda: positions.multimodal([(2, 2, 2)], interval=-1.0),
    "moments of text": lambda: positions.timed(["now"]),
    "ragged moments": lambda: positions.timed([[1.0], [1.0, 2.0]]),
    "a moment past float64": lambda: positions.timed([1e300]),
    "half a draw": lambda: positions.randomised(2, 3.5),
    "a draw for no rows": lambda: positions.randomised(2, 3, rows=0),
    "a batch of numbers": lambda: positions.batch(torch.arange(3)),
    "a batch of nothing": lambda: positions.batch(),
    "coordinates that are a list": lambda: positions.Positions([0.0]),
    "turns of halves": lambda: positions.Positions(positions.sequence(2).coords, index=torch.tensor([[0.5, 1.0]])),
    "documents as a list": lambda: positions.Positions(positions.sequence(2).coords, segment=[0, 0]),
    "a base of text": lambda: Rope(4, theta="10000"),
    "a base of nan": lambda: Rope(4, theta=math.nan),
    "imaginary moments": lambda: positions.timed(torch.tensor([1 + 2j])),
    "an imaginary start": lambda: positions.sequence(2, torch.tensor([1j, 2j])),
    "an imaginary start of numpy": lambda: positions.sequence(2, np.array([1j, 2j])),
    "starts of text": lambda: positions.sequence(2, np.array(["a"])),
    "an imaginary move": lambda: positions.sequence(2).shifted(torch.tensor(1j)),
    "a start of many digits": lambda: positions.sequence(2, 10**400),
    "a window of many digits": lambda: Mask(window=2**64),
    "documents of text": lambda: positions.packed(np.array(["a", "b"])),
    "documents in a square": lambda: positions.packed(torch.tensor([[2, 3]])),
    "one document as a number": lambda: positions.packed(torch.tensor(5)),
    "tokens before the first": lambda: positions.sequence(10).tokens(-3, 10),
    "tokens past the last": lambda: positions.sequence(10).tokens(3, 99),
    "tokens backwards": lambda: positions.sequence(10).tokens(5, 3),
    "a row that is none": lambda: positions.sequence(3, [0, 1]).row(torch.tensor([5])),
    "no width": lambda: attend(Q[..., :0], Q[..., :0], Q, NoPE()),
    "8 bits": lambda: attend(*(Q.to(torch.float8_e4m3fn),) * 3, NoPE()),
    "another precision": lambda: Attention(8, 2, NoPE())(torch.randn(1, 3, 8).double()),
    "another place": lambda: Attention(8, 2, NoPE())(torch.randn(1, 3, 8, device="meta")),
    "keys elsewhere": lambda: attend(Q, Q.to("meta"), Q.to("meta"), NoPE()),
    "a table past 64 bits": lambda: create("learned", Shape(width=8, heads=2, head_dim=4), max_positions=2**63),
    "a table past all memory": lambda: create("learned", Shape(width=8, heads=2, head_dim=4), max_positions=2**55),
    "another pairing": lambda: Rope(4, pairing="whole"),
    "a shape that is a table": lambda: create("rope", {"width": 8, "heads": 2}),
    "a name that is a number": lambda: create(3, Shape(width=8, heads=2)),
    "a class that is none of an encoding": lambda: encodings.build(int, Shape(width=8, heads=2)),
    "a class that is an object": lambda: encodings.options_of(NoPE()),
    "no config": lambda: convert.rope_options(None),
    "no rows": lambda: convert.paired(None, 8, to="half"),
    "encodings as one name": lambda: laws.table("rope"),
    "a law that is a name": lambda: laws.judge("cached", laws.cases(["none"])[0]),
    "records that are a number": lambda: report.write(3, "report.html"),
    "a path that is none": lambda: report.figure([], None),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments_are_users_errors(wrong):
    with pytest.raises(UserError) as error:
        WRONG[wrong]()
    assert error.value.given is not None or error.value.allowed is not None, (
        "says neither what it got nor what it wants"
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300, 2.0**53 + 2])
@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_no_encoding_takes_a_position_that_float64_does_not_count(name, bad):
    encoding = create(name, Shape(width=8, heads=2, head_dim=4))
    pos = positions.Positions(torch.tensor([[[0.0], [bad]]], dtype=torch.float64))
    with pytest.raises(PositionError):
        encoding.check_positions(pos)


@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_constructors_of_encodings_check_their_arguments(name):
    kind = ENCODINGS[name]
    parameters = inspect.signature(kind).parameters
    for option in parameters:
        sizes = dict(width=8, heads=2, head_dim=4, depth=1, causal=True)
        given = {key: value for key, value in sizes.items() if key in parameters}
        with pytest.raises(OptionError, match=option):
            kind(**{**given, option: object()})


def test_numbers_of_numpy_are_numbers():
    assert positions.sequence(np.int64(3), np.float32(2)).coords.flatten().tolist() == [2, 3, 4]
    assert positions.sequence(2, np.array([1.0, 5.0])).rows == 2
    assert positions.packed(np.array([1, 2])).length == 3
    assert positions.timed(np.array([[0.5, 1.0]])).coords.flatten().tolist() == [0.5, 1.0]
    assert Cache(np.int32(4)).capacity == 4


def test_checked_leaves_the_call_as_it_is():
    @checked
    def call(a: int, b: float = 1.0, *rest: int, c: str | None = None, d=None):
        """What it does."""
        return a, b, rest, c, d

    assert call(1, 2, 3, 4, c="x", d=object) == (1, 2.0, (3, 4), "x", object)
    assert isinstance(call(1, 2)[1], float)
    assert call.__doc__ == "What it does." and list(inspect.signature(call).parameters) == ["a", "b", "rest", "c", "d"]
    with pytest.raises(TypeError, match="missing"):
        call()
    with pytest.raises(TypeError, match="unexpected"):
        call(1, e=1)
    for wrong in (dict(a="1"), dict(a=True), dict(a=1, b="2"), dict(a=1, c=1)):
        with pytest.raises(OptionError, match="call, "):
            call(**wrong)
    with pytest.raises(OptionError, match="rest"):
        call(1, 2, 3, "4")


def model(**changes) -> Transformer:
    return Transformer(**{**MODEL, **changes}, encoding=NoPE())


TOKENS = torch.tensor([[1, 2, 3]])


@pytest.mark.parametrize("kind", [lambda: Cache(9), lambda: WindowCache(4), lambda: SinkCache(1, 4), lambda: Memory(4)])
def test_what_came_before_belongs_to_one_model(kind):
    past, first = kind(), model()
    first(TOKENS, cache=past)
    before = past.length
    for other in (model(), model(width=16), model(depth=2), copy.deepcopy(first), Attention(8, 2, NoPE())):
        with pytest.raises(OptionError, match="belongs to the model"):
            other(torch.randn(1, 1, 8) if isinstance(other, Attention) else TOKENS[:, :1], cache=past)
    assert past.length == before
    first(TOKENS[:, :1], cache=past)


def test_what_came_before_outlives_its_model():
    past = Cache(9)
    model()(TOKENS, cache=past)
    gc.collect()
    model()(TOKENS, cache=past)


def test_what_came_before_has_one_precision():
    past, one = Cache(9), model()
    one(TOKENS, cache=past)
    with pytest.raises(OptionError, match="one batch of one model"):
        one.double()(TOKENS, cache=past)
    assert past.length == 3


def test_gnomon_says_how_to_make_what_it_wants():
    with pytest.raises(OptionError) as error:
        attend(Q, Q, Q, "rope")
    assert "gnomon.encodings.create" in error.value.do
    with pytest.raises(OptionError) as error:
        gnomon.attend(Q, Q, Q, NoPE(), [0, 1, 2])
    assert "positions.sequence" in error.value.do


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_documents_are_counted_in_any_type(dtype):
    assert positions.packed(torch.ones(3, dtype=dtype)).segments().tolist() == [[0, 1, 2]]
    assert positions.packed(np.array([1, 2], dtype=np.uint16)).length == 3


def test_a_module_alone_reads_its_memory():
    torch.manual_seed(0)
    module = Attention(16, 2, create("rope", Shape(width=16, heads=2)), mask=gnomon.BIDIRECTIONAL).double()
    x, memory = torch.randn(2, 7, 16, dtype=torch.float64), Memory(3)
    module(x[:, :3], cache=memory)
    assert torch.allclose(module(x[:, 3:], cache=memory), module(x)[:, 3:], atol=1e-12)


@pytest.mark.parametrize("name", ["chain", "rope"])
def test_a_cache_of_another_batch(name):
    options = dict(scaling="dynamic", original_length=4.0, factor=2.0) if name == "rope" else {}
    net = Transformer(**MODEL, encoding=create(name, Shape(width=8, heads=2), **options))
    cache = Cache(9)
    net(torch.ones(2, 3, dtype=torch.long), positions.padded(torch.tensor([[0, 1, 1], [1, 1, 1]])), cache=cache)
    with pytest.raises(UserError):
        net(torch.ones(3, 1, dtype=torch.long), positions.sequence(1), cache=cache)
    assert cache.length == 3


def test_a_cache_can_be_pickled():
    past, one = Cache(9), model()
    one(TOKENS, cache=past)
    again = pickle.loads(pickle.dumps(past))
    assert torch.equal(one(TOKENS[:, :1], cache=again), one(TOKENS[:, :1], cache=past))


@pytest.mark.parametrize("name", ["deberta", "t5", "kerple", "sandwich", "alibi"])
@pytest.mark.parametrize("pos", [(1e15, 0.3), (4e15, 0.7), (1e9, 0.1)])
def test_backends_agree_where_float64_rounds_steps(name, pos):
    torch.manual_seed(0)
    encoding = create(name, Shape(width=8, heads=2)).double()
    q, k, v = (torch.randn(1, 2, 8, 4, dtype=torch.float64) for _ in range(3))
    for places in (positions.sequence(8, pos[0], step=pos[1]), positions.sequence(8, step=pos[1]).shifted(pos[0])):
        found, expected = (attend(q, k, v, encoding, places, backend=backend) for backend in ("sdpa", "reference"))
        assert (found - expected).abs().max() < 1e-9


UNCHECKED = {
    "gnomon.Domain": "its bounds may be infinite; what is no range is told of a user's encoding",
    "gnomon.Encoding": "takes nothing",
    "gnomon.Positions": "looks at the values of its tensors itself",
    "gnomon.Property": "a flag",
    "gnomon.convert.Config": "a protocol",
    "gnomon.laws.Case": "the constructor that it holds says what it takes",
    "gnomon.laws.Law": "holds a function",
    "gnomon.laws.Outcome": "an error may be infinite",
    "gnomon.laws.Row": "what has been found",
    "gnomon.pairs.Clipped": "abstract",
    "gnomon.pairs.Content": "abstract",
    "gnomon.pairs.Dense": "abstract",
    "gnomon.pairs.Divisible": "abstract",
    "gnomon.pairs.Ended": "abstract",
    "gnomon.pairs.Values": "holds what has been made",
    "gnomon.pairs.filled": "called for some queries at a time, with a function",
    "gnomon.pairs.made": "called for some queries at a time, with a function",
    "gnomon.pairs.of_heads": "called for some heads at a time, with a function",
    "gnomon.pairs.cut": "called for each block",
    "gnomon.pairs.near": "called for each block, with a function",
    "gnomon.pairs.part": "called for some queries at a time, with a function",
    "gnomon.pairs.at_once": "called for each block",
    "gnomon.pairs.at": "called for each pair inside of kernels",
    "gnomon.pairs.dense": "called for each plan, with a function",
    "gnomon.pairs.pointwise": "called for each plan, with a function",
}
"""Public callables whose arguments nobody holds to their annotations, and why; besides errors, which are raised."""


def public() -> dict[str, object]:
    """What can be called by a name that `gnomon` or one of its public modules gives it."""
    found = {}
    for name in gnomon.__all__:
        thing = getattr(gnomon, name)
        inner = vars(thing).items() if inspect.ismodule(thing) else ()
        names = getattr(thing, "__all__", ())
        found |= {
            f"gnomon.{name}.{key}": value
            for key, value in inner
            if callable(value)
            and key[0] != "_"
            and key not in gnomon.__all__
            and (key in names or home(value) == f"gnomon.{name}")
        }
        if callable(thing):
            found[f"gnomon.{name}"] = thing
    return {name: thing for name, thing in found.items() if not name.startswith("gnomon.errors.")}


def home(thing: object) -> str | None:
    return getattr(thing, "__module__", None)


def is_checked(thing: object) -> bool:
    call = thing.__init__ if inspect.isclass(thing) else thing
    return getattr(call, "__code__", None) is checked(lambda: None).__code__


def test_every_public_call_is_checked():
    """Or is said not to be, for a reason; and nothing is excused that is checked, or gone."""
    named = public()
    assert {
        "gnomon.attend",
        "gnomon.encodings.create",
        "gnomon.positions.sequence",
        "gnomon.laws.judge",
    } <= named.keys()
    errors = {name for name, thing in named.items() if inspect.isclass(thing) and issubclass(thing, Exception)}
    assert {name for name, thing in named.items() if not is_checked(thing)} - errors == UNCHECKED.keys()
