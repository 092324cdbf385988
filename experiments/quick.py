"""Which position encodings hold past the length they were trained on?

Question: ten encodings, trained alike on sequences of 128 bytes of Shakespeare, read sequences of up to 1024 bytes of
plays they have not seen. Does what lies further back help them, or harm them?

Command:  gnomon compare quick
          ten minutes on two cores: two workers of one thread, one to three minutes a run

Answer:   Transformer-XL, Shaw and ALiBi hold to 8 times the length, within 0.003, 0.039 and 0.002 nats. DeBERTa, T5
          and RoPE hold to 160 bytes and then lose 0.11, 0.18 and 1.5 nats at 256, and 0.51, 0.76 and 2.3 at 1024.
          SeqPE, learned and sinusoidal positions have lost 0.98, 0.87 and 1.2 nats at 160 bytes already, 32 past the
          training length. Without positions the loss creeps up, by 0.11 nats at 256 and 0.19 at 1024, but it is the
          worst of the ten in range (2.38 nats a byte on the paired targets; DeBERTa, the best, 1.68).
          One seed: what lies close together, such as DeBERTa, Transformer-XL, Shaw and RoPE in range, is not put in
          order by it. Equal steps are not equal costs: one of DeBERTa takes 2.4 times one without positions.

Lost: the paired difference to the loss at 128, in nats a byte, on the same 128 x 32 bytes at every length; its standard
error is 0.001 for ALiBi and Transformer-XL, below 0.03 for Shaw, DeBERTa, T5 and no positions, below 0.06 for the rest.
"""

from gnomon.lab.presets import quick

EXPERIMENTS = quick()
