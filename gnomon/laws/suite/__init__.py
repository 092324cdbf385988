"""Every law by its name, in the order of the printed table. Each is a number that is zero but for rounding.

A law is a function `Case -> Outcome` in the file of its idea, and one line in LAWS; the first line of its docstring is
the law's sentence. No law names an encoding. Positions are random, weights have standard deviation 0.3, float64 is
exact to 1e-12.
"""

from gnomon.encoding import Property
from gnomon.laws.law import Law
from gnomon.laws.suite.batching import batch, packed, padded
from gnomon.laws.suite.caching import cached, evicted
from gnomon.laws.suite.derivatives import gradients
from gnomon.laws.suite.history import state
from gnomon.laws.suite.kernels import flex, grouped, lowering
from gnomon.laws.suite.masking import blank, causality, window
from gnomon.laws.suite.places import domain, matters, placeless
from gnomon.laws.suite.properties import cacheable, content_free, contextual, continuity, recurrent, translation
from gnomon.laws.suite.rounding import half, precision
from gnomon.laws.suite.training import training

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        Law("lowering", lowering),
        Law("flex", flex),
        Law("gradients", gradients),
        Law("cached", cached),
        Law("evicted", evicted),
        Law("packed", packed),
        Law("padded", padded),
        Law("batch", batch),
        Law("causality", causality),
        Law("window", window),
        Law("blank", blank),
        Law("grouped", grouped),
        Law("placeless", placeless),
        Law("matters", matters),
        Law("domain", domain),
        Law("precision", precision),
        Law("half", half, margin=2.0),
        Law("state", state),
        Law("training", training),
        Law("translation", translation, Property.TRANSLATION_INVARIANT),
        Law("continuity", continuity, Property.CONTINUOUS),
        Law("cacheable", cacheable, Property.CACHEABLE),
        Law("content_free", content_free, Property.CONTENT_FREE),
        Law("contextual", contextual, Property.CONTEXTUAL),
        Law("recurrent", recurrent, Property.RECURRENT),
    )
}
