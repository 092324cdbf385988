"""What the diagrams of the second document assert, box by box, in our words."""

from tests.limit_pages import Box, Diagram, Facts, Told


def _rise(id: str, label: str, column: str, name: str = "runs") -> Told:
    def told(facts: Facts) -> str:
        return f"{facts.mean(id, name, column, encoding=label):+.2f} nats"

    return told


def _past_the_table(facts: Facts) -> str:
    rise = facts.mean("C12", "runs", "rise at 1.125 times the length", past_the_table="an untrained row")
    return f"an untrained row: loss {rise:+.2f} nats at 1.125 times the length"


def _values_exist(facts: Facts) -> str:
    furthest, error = facts.value("C05", "furthest"), facts.value("C05", "largest_error")
    looked = f"right up to position {furthest:,}, off by {error:.1g} at most where it was looked at"
    return f"{looked}; the loss does not follow, see below"


def _phases(facts: Facts) -> str:
    low, high, share = facts.value("C30", "unseen")[0]
    return f"waves of {low:.3g} to {high:.3g} places: {share:.0%} of the places past training have a new combination"


def _distracted(facts: Facts) -> str:
    far, alike = (facts.mean("C32", "runs", name, encoding="sinusoidal") for name in ("share far away", "if all alike"))
    return (
        f"sinusoidal, at twice the length: {far:.0%} of attention lies farther off than training reached; "
        f"{alike:.0%} if all keys were alike"
    )


def _guessing(facts: Facts) -> str:
    guess = facts.value("C26", "byte_frequencies")
    parts = []
    for label in ("learned", "sinusoidal"):
        within = facts.mean("C26", "runs", "loss at the training length", encoding=label)
        past = facts.mean("C26", "runs", "loss at 1.125 times the length", encoding=label)
        parts.append(f"{label} {within:.2f} in training, {past:.2f} at 1.125 times")
    return f"{'; '.join(parts)}; byte frequencies alone {guess:.2f} nats"


def _explodes(facts: Facts) -> str:
    return f"sinusoidal: {facts.mean('C13', 'runs', 'rise at 2 times the length'):+.2f} nats at twice the length"


def _shift(column: str, digits: str = ".2f") -> Told:
    def told(facts: Facts) -> str:
        parts = [f"{label} {facts.mean('C17', 'trained', column, encoding=label):{digits}}" for label in SHIFTED]
        return ", ".join(parts)

    return told


SHIFTED = ("learned", "sinusoidal", "rope", "alibi")


def _share(facts: Facts) -> str:
    return (
        f"share that follows distance: {facts.value('C18', 'share_identity')[0]:.0%} without projections, "
        f"{_mean(facts.value('C18', 'share_two_rotations')):.0%} under two rotations, "
        f"{_mean(facts.value('C18', 'share_general')):.0%} under random weights, "
        f"{facts.mean('C18', 'trained', 'share of distance', encoding='sinusoidal'):.0%} in trained models"
    )


def _rope_residual(facts: Facts) -> str:
    most = facts.most("C18", "rope_float64", "change of the logit")
    return f"change of its logit under a shift, in float64: {most:.0e} at most"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _flat(facts: Facts) -> str:
    below, width = facts.value("C19", "below_over_right_1d"), facts.value("C19", "width")
    return f"in the encoding, on a grid {width} wide, {below:.1f} times as far as the right one"


def _two_axes(facts: Facts) -> str:
    return (
        f"{facts.value('C19', 'below_over_right_2d'):.1f} times as far; neighbours among the nearest: "
        f"{facts.value('C19', 'neighbours_found_2d'):.0%}, on one axis {facts.value('C19', 'neighbours_found_1d'):.0%}"
    )


def _digits(facts: Facts) -> str:
    parts = []
    for positions, told in (("flat", "row by row"), ("grid", "on two axes")):
        here, wide = (
            facts.mean("C19", "digits", name, encoding=_named("learned", positions), positions=positions)
            for name in ("as trained", "3 wider")
        )
        parts.append(f"{told} {here:.0%} of answers right, {wide:.0%} on a wider canvas")
    return f"a table of positions: {'; '.join(parts)}"


def _named(encoding: str, positions: str) -> str:
    return f"{encoding} axes=2" if positions == "grid" else encoding


def _layers(label: str) -> Told:
    def told(facts: Facts) -> str:
        last = int(facts.most("C23", "layers", "layers passed"))
        found = [facts.mean("C23", "layers", "R^2 of a guess", encoding=label, layers_passed=at) for at in (0, last)]
        return f"{label}: a position is guessed with R² {found[0]:.2f} at the input, {found[1]:.2f} after {last} layers"

    return told


def _of_logits(label: str) -> Told:
    """What reads no place off the stream is asked of its logits: a column of the layer that comes next."""

    def told(facts: Facts) -> str:
        last = int(facts.most("C23", "layers", "layers passed")) - 1
        column = "logits: distance"
        found = [facts.mean("C23", "layers", column, encoding=label, layers_passed=at) for at in (0, last)]
        return f"{label}: distance sets {found[0]:.0%} of the logits of the first layer, {found[1]:.0%} of the last"

    return told


def _sum_or_apart(facts: Facts) -> str:
    losses = {at: facts.mean("C22", "masked", "loss, nats a masked byte", label=at) for at in ("sinusoidal", "deberta")}
    return f"{', '.join(f'{label} {loss:.2f}' for label, loss in losses.items())} nats a masked byte"


def _facts_of_models(facts: Facts) -> str:
    counts = {name: len(facts.value("C10", name)) for name in ("confirmed", "contradicted", "undisclosed", "supposed")}
    return ", ".join(f"{count} {name}" for name, count in counts.items()) + " of what is said of models"


DIAGRAMS = (
    Diagram(
        "The limits of absolute positions",
        "the mind map before section 1",
        (
            Box("root", "Limits of absolute positions"),
            Box("length", "1. Length: no extrapolation"),
            Box("shift", "2. Translation: no invariance"),
            Box("sum", "3. Entanglement"),
            Box("data", "4. Data efficiency"),
            Box("falls", "past the training length the loss rises", ("C13", "C26"), _explodes),
            Box("unseen", "places that training never had are undefined", ("C12",), _past_the_table),
            Box("waves", "fast waves over-fit", ("C30",)),
            Box("alias", "distant places look alike", ("C14",)),
            Box("rigid", "a shift changes what the model sees", ("C17",)),
            Box("again", "each place learns a pattern anew", ("C33",)),
            Box("image", "patches lose their plane", ("C19",)),
            Box("time", "time series tie the model to the date", ("C20",)),
            Box("mix", "the sum mixes contents and positions", ("C21",)),
            Box("fades", "positions fade in deep layers", ("C23",)),
            Box("apart", "kept apart they do better", ("C22",)),
            Box("cue", "a cue is learned by its place", ("C24",)),
            Box("slow", "masked models learn distances slowly", ("C25",)),
        ),
        (
            ("root", "length"), ("root", "shift"), ("root", "sum"), ("root", "data"),
            ("length", "falls"), ("length", "unseen"), ("length", "waves"), ("length", "alias"),
            ("shift", "rigid"), ("shift", "again"), ("shift", "image"), ("shift", "time"),
            ("sum", "mix"), ("sum", "fades"), ("sum", "apart"),
            ("data", "cue"), ("data", "slow"),
        ),
        "LR",
    ),
    Diagram(
        "What happens past the training length",
        "section 1, before 1.1",
        (
            Box("trained", "training: each place up to the training length is learned"),
            Box("next", "a longer text: a place that training never had"),
            Box("table", "a table: no row, or one that was never trained", ("C12",), _past_the_table),
            Box("wave", "waves: a value there is, so that they could extrapolate", ("C05",), _values_exist),
            Box("noise", "one meaningless position disturbs all others", ("C31",)),
            Box("phases", "combinations of phases never seen", ("C30",), _phases),
            Box("attention", "attention goes to far tokens", ("C32",), _distracted),
            Box("guess", "down to the level of guessing", ("C26",), _guessing),
        ),
        (
            ("trained", "next"), ("next", "table", "learned"), ("next", "wave", "sinusoidal"), ("table", "noise"),
            ("wave", "phases"), ("noise", "attention"), ("phases", "attention"), ("attention", "guess"),
        ),
    ),
    Diagram(
        "A sentence that begins five places later",
        "section 2, before 2.1",
        (
            Box("here", "'cat' at place 0: x + P0"),
            Box("there", "'cat' at place 5: x + P5"),
            Box("vector", "what enters is another vector", ("C17",), _shift("what enters")),
            Box("pattern", "attention, in the layer that changes most", ("C17",), _shift("most")),
            Box("output", "the output is another", ("C17",), _shift("output")),
            Box("worse", "in nats of the loss", ("C17",), _shift("loss, nats", "+.3f")),
            Box("again", "so a pattern has to be learned at each place", ("C33",)),
        ),
        (
            ("here", "vector"), ("there", "vector"), ("vector", "pattern"), ("pattern", "output"), ("output", "worse"),
            ("worse", "again"),
        ),
        "LR",
        "Changes are relative to the size of what changes; under a relative encoding they are 0 but for rounding.",
    ),
    Diagram(
        "The four terms of a logit",
        "section 2.2",
        (
            Box("logit", "(x_i + p_i)ᵀ W_Qᵀ W_K (x_j + p_j)"),
            Box("cc", "content · content"),
            Box("cp", "content · position"),
            Box("pc", "position · content"),
            Box("pp", "position · position"),
            Box("broken", "not of the distance alone, once there are projections", ("C18",), _share),
            Box("rope", "RoPE: of the distance alone", ("C18",), _rope_residual),
        ),
        (
            ("logit", "cc"), ("logit", "cp"), ("logit", "pc"), ("logit", "pp"), ("pp", "broken"),
            ("logit", "rope", "a rotation in place of the sum"),
        ),
    ),
    Diagram(
        "A plane laid out on one axis",
        "section 2.3",
        (
            Box("patch", "a patch at (x, y)"),
            Box("right", "its right neighbour: index + 1"),
            Box("below", "its lower neighbour: index + W", ("C19",), _flat),
            Box("plane", "positions on two axes: both are 1 away", ("C19",), _two_axes),
            Box("digits", "trained on digits as patches", ("C19",), _digits),
        ),
        (
            ("patch", "right"), ("patch", "below"), ("patch", "plane"), ("right", "digits"), ("below", "digits"),
            ("plane", "digits"),
        ),
    ),
    Diagram(
        "Positions on their way through the layers",
        "section 3",
        (
            Box("sum", "contents + positions, once at the input", ("C21",)),
            Box("deep", "layer after layer the sum is mixed", ("C23",), _layers("sinusoidal")),
            Box("every", "positions in every layer", ("C23",), _of_logits("rope")),
            Box("lost", "lost in the middle", ("C28",)),
            Box("apart", "kept apart, as in DeBERTa", ("C22",), _sum_or_apart),
        ),
        (("sum", "deep"), ("deep", "lost"), ("every", "lost"), ("sum", "apart", "instead")),
    ),
    Diagram(
        "From places to distances",
        "section 5",
        (
            Box("first", "2017: absolute positions"),
            Box("long", "fail on long texts", ("C13",), _explodes),
            Box("data", "waste data", ("C33",)),
            Box("deep", "fade in depth", ("C23",)),
            Box("t5", "relative biases", ("C06",)),
            Box("rope", "RoPE", ("C07",), _rise("C07", "rope", "rise at 2 times the length")),
            Box("alibi", "ALiBi", ("C09",), _rise("C09", "alibi", "rise at twice", "text")),
            Box("today", "what models of today use, as the documents tell", ("C10",), _facts_of_models),
        ),
        (
            ("first", "long"), ("first", "data"), ("first", "deep"), ("long", "t5"), ("long", "rope"),
            ("long", "alibi"), ("data", "rope"), ("deep", "rope"), ("t5", "today"), ("rope", "today"),
            ("alibi", "today"),
        ),
        note="Numbers of RoPE and ALiBi: by how much their loss rises at twice the training length.",
    ),
)  # fmt: skip
