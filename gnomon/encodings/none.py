"""No position encoding: what a model knows of order comes from its mask alone."""

from gnomon.checked import checked
from gnomon.encoding import Encoding


@checked
class NoPE(Encoding):
    """No position encoding (NoPE).

    logit_ij = <q_i, k_j> / sqrt(d)

    Under a causal mask a model of two layers or more can still count the tokens it sees; without a mask it treats its
    input as a set: outputs are permuted as inputs are.

    Positions: any, ignored. Cost: none.
    Use: with a causal mask, where length matters more than exact distance, or in some layers among others that have
    positions.
    Fails: without a mask it cannot tell any order from another; with one, a single layer sees the past as a bag of
    tokens, and order has to be built up over layers. It was the least accurate in range of `gnomon compare`.
    Source: Kazemnejad et al. 2023, "The Impact of Positional Encoding on Length Generalization in Transformers".
    """

    bibtex = """@inproceedings{kazemnejad2023impact,
  title = {The Impact of Positional Encoding on Length Generalization in Transformers},
  author = {Kazemnejad, Amirhossein and Padhi, Inkit and Natesan Ramamurthy, Karthikeyan and Das, Payel
            and Reddy, Siva},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2023},
  eprint = {2305.19466},
  archivePrefix = {arXiv}
}"""
