"""How fast one pair of RoPE turns, on which axis, and how logits grow, as papers write it: what lowering is held to."""

import math

from torch import Tensor

from gnomon.encodings.rope_scaling import Scaling


def frequency(m: int, pairs: int, theta: float, scaling: Scaling, length: Tensor | None) -> float | Tensor:
    """The frequency of pair `m` of `pairs`, where `length` is that of the document or None.

    With rho = L w / 2 pi, how often the pair turns within the original length L, and s the factor:

    linear        w / s                             Chen et al. 2023, arXiv:2306.15595: positions are divided by s
    ntk           w s^{-m / (pairs - 1)}            the fastest pair is left alone, the slowest is slowed by s
    dynamic       as ntk, by 1 + f (n / L - 1) where the text has n > L tokens
    yarn          between w and w / s, linear in ln rho between beta_fast and beta_slow turns, as released:
                  Peng et al. 2023, arXiv:2309.00071, whose text has it linear in rho
    llama3        between w and w / s, linear in rho between high_freq_factor and low_freq_factor turns
    longrope      w / e_m, other e past L           Ding et al. 2024, arXiv:2402.13753
    proportional  w / s
    """
    w = theta ** (-m / pairs)
    s, scheme = scaling.factor or 1.0, scaling.scheme
    if scheme in ("linear", "proportional"):
        return w / s
    if scheme == "ntk":
        return w * s ** (-m / (pairs - 1))
    if scheme == "dynamic":
        excess = (_said(scaling, length) / scaling.original_length - 1).clamp(min=0)
        return w * (1 + s * excess) ** (-m / (pairs - 1))
    if scheme == "yarn":
        slow = _yarn(m, pairs, theta, scaling)
        return w * (1 - slow) + (w / s) * slow
    if scheme == "llama3":
        turns = scaling.original_length * w / (2 * math.pi)
        low, high = scaling.low_freq_factor, scaling.high_freq_factor
        fast = min(max((turns - low) / (high - low), 0.0), 1.0)
        return w * fast + (w / s) * (1 - fast)
    if scheme == "longrope":
        past = (_said(scaling, length) > scaling.original_length).to(length.dtype)
        return w / (scaling.long_factor[m] * past + scaling.short_factor[m] * (1 - past))
    return w


def _said(scaling: Scaling, length: Tensor) -> Tensor:
    return length if scaling.length is None else length * 0 + scaling.length


def _yarn(m: int, pairs: int, theta: float, scaling: Scaling) -> float:
    """How much of pair `m` is slowed: 0 where it turns often within the original length, 1 where it hardly does."""
    turns = [scaling.original_length * theta ** (-i / pairs) / (2 * math.pi) for i in range(2 * pairs)]
    if scaling.truncate:
        # The last pair that is fast and the first that is slow, among as many pairs as there are dimensions.
        low = max(sum(t >= scaling.beta_fast for t in turns) - 1, 0)
        high = sum(t > scaling.beta_slow for t in turns[:-1])
        part = (m - low) / (high - low if high != low else 1e-3)
    else:
        fast, slow = min(scaling.beta_fast, turns[0]), max(scaling.beta_slow, turns[-1])
        part = math.log(fast / turns[m]) / math.log(fast / slow)
    return min(max(part, 0.0), 1.0)


def turns(m: int, head_dim: int, fraction: float, scaling: Scaling) -> bool:
    """Whether pair `m` turns at all: `proportional` stops those that do not lie in the fraction of the head."""
    return scaling.scheme != "proportional" or 2 * (m + 1) <= fraction * head_dim + 1e-9


def growth(scaling: Scaling) -> float:
    """How many times larger the rotated part of a logit is, where both tokens have a place; with s the factor:

    yarn      (1 + 0.1 ln s)^2                   its section 3.4, where it is 1 / t
    yarn      ((1 + 0.1 a ln s) / (1 + 0.1 b ln s))^2    with a = mscale and b = mscale_all_dim, as DeepSeek released
    longrope  1 + ln s / ln L                    its section 3.3
    """
    if scaling.scheme not in ("yarn", "longrope"):
        return 1.0
    if scaling.attention_factor is not None:
        return scaling.attention_factor**2
    if scaling.scheme == "longrope":
        return 1 + math.log(scaling.factor, scaling.original_length)
    above, below = (scaling.mscale, scaling.mscale_all_dim) if scaling.mscale and scaling.mscale_all_dim else (1.0, 0.0)
    tenth = math.log(scaling.factor) / 10
    return ((1 + above * tenth) / (1 + below * tenth)) ** 2


def axis(m: int, pairs: int, axes: int, sections: tuple[int, ...] | None, layout: str) -> int:
    """The axis whose coordinate turns pair `m`."""
    if sections is None:
        return m // (pairs // axes)
    if layout == "chunked":
        return [a for a, count in enumerate(sections) for _ in range(count)][m]
    # The axes take turns; an axis that has had all its pairs leaves its turns to the first.
    return m % axes if m // axes < sections[m % axes] else 0
