"""Every encoding by its name. An encoding is one file here, and one line in ENCODINGS."""

import inspect
from dataclasses import fields
from typing import get_type_hints

from gnomon.checked import checked
from gnomon.encoding import Encoding, Shape
from gnomon.encodings import user
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.chain import Chain
from gnomon.encodings.cope import Cope
from gnomon.encodings.deberta import Deberta
from gnomon.encodings.fire import Fire
from gnomon.encodings.kerple import Kerple
from gnomon.encodings.learned import Learned
from gnomon.encodings.none import NoPE
from gnomon.encodings.relative_bias import RelativeBias
from gnomon.encodings.rope import Rope
from gnomon.encodings.rope_mixed import RopeMixed
from gnomon.encodings.sandwich import Sandwich
from gnomon.encodings.seqpe import SeqPE
from gnomon.encodings.shaw import Shaw
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.encodings.transformer_xl import TransformerXL
from gnomon.encodings.user_hooks import look
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError, unknown
from gnomon.typed import typed
from gnomon.user_code import file_of, guarded, is_class

ENCODINGS: dict[str, type[Encoding]] = {
    "none": NoPE,
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "shaw": Shaw,
    "transformer_xl": TransformerXL,
    "t5": T5,
    "deberta": Deberta,
    "rope": Rope,
    "rope_mixed": RopeMixed,
    "alibi": Alibi,
    "seqpe": SeqPE,
    "chain": Chain,
    "kerple": Kerple,
    "fire": Fire,
    "sandwich": Sandwich,
    "cope": Cope,
    "xpos": XPos,
    "relative_bias": RelativeBias,
}


@checked
def named(name: str) -> type[Encoding]:
    """The class of an encoding that comes with gnomon, or of one in a user's file: `path/to/file.py:Class`."""
    if is_class(name):
        return user.load(name)
    if name not in ENCODINGS:
        raise unknown("encoding", name, ENCODINGS)
    return ENCODINGS[name]


@checked
def create(name: str, shape: Shape, **options: object) -> Encoding:
    """The encoding `name`, or `path/to/file.py:Class`, for a model of the given shape.

    What its constructor takes under the name of a field of Shape comes from the shape; everything else is an option.
    An unknown name or option is an OptionError that names the nearest known one.
    """
    return build(named(name), shape, **options)


def _called(kind: type[Encoding]) -> str:
    """What a user calls a class: the name of an encoding that comes with gnomon, that of the class for another."""
    return next((name for name, known in ENCODINGS.items() if known is kind), kind.__name__)


@checked
def build(kind: type[Encoding], shape: Shape, **options: object) -> Encoding:
    """An encoding of any class, its sizes taken from `shape`; `options` go to its constructor."""
    known, of_shape = options_of(kind), [field.name for field in fields(Shape)]
    for option, value in options.items():
        if option in of_shape:
            raise OptionError(
                f"{option} is no option: it is the shape's to say",
                given=f"{option}={value!r}",
                allowed=", ".join(known) or "no options",
                do=f"give Shape(..., {option}={value!r})",
            )
        if option not in known:
            raise unknown(f"option of {_called(kind)}", option, known)
    missing = [name for name, default in known.items() if default is inspect.Parameter.empty and name not in options]
    if missing:
        raise OptionError(
            f"{_called(kind)} needs an option that has no default value: {missing[0]}",
            given="without " + ", ".join(missing),
            allowed=", ".join(known),
            do=f"give {missing[0]}=..., or give it a default value in the constructor of {kind.__name__}",
        )
    taken, hints = inspect.signature(kind).parameters, get_type_hints(kind.__init__)
    # What a user's own constructor does not annotate is passed as it is.
    options = {
        name: typed(value, hints[name], f"{name} of {_called(kind)}") if name in hints else value
        for name, value in options.items()
    }
    sizes = {field.name: getattr(shape, field.name) for field in fields(Shape) if field.name in taken}
    with guarded(kind):
        try:
            encoding = kind(**sizes, **options)
        except (MemoryError, RuntimeError) as error:
            if file_of(kind) is not None:
                raise
            # Tables of these sizes are more than torch can allocate.
            raise OptionError(
                f"{_called(kind)} cannot be built: {str(error).splitlines()[0]}",
                given=", ".join(f"{name}={value!r}" for name, value in (sizes | options).items()),
                do="choose smaller sizes",
            ) from error
    if file_of(kind) is not None:
        user.made(encoding, kind)
        look(encoding, shape, options)
    return encoding


@checked
def options_of(kind: type[Encoding]) -> dict[str, object]:
    """The options of an encoding's constructor with their default values; `Parameter.empty` where one has none."""
    sizes = {field.name for field in fields(Shape)}
    taken = inspect.signature(kind).parameters
    return {name: parameter.default for name, parameter in taken.items() if name not in sizes}
