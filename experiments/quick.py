"""Which position encodings hold past the length they were trained on?

Question: six encodings, trained alike on sequences of 128 bytes of Shakespeare, read sequences of up to 1024 bytes of
plays they have not seen. Does what lies further back help them, or harm them?

Command:  gnomon compare quick
          four minutes on two cores: two workers of one thread, 65 to 85 seconds a run

Answer:   ALiBi holds to 8 times the length, within 0.003 nats. T5 and RoPE hold to 160 bytes and then lose 0.18 and
          1.5 nats at 256, 0.76 and 2.3 at 1024. Learned and sinusoidal positions have lost 1.1 and 1.2 nats at 160
          bytes already, 32 past the training length. Without positions the loss creeps up, by 0.11 nats at 256 and
          0.19 at 1024, but it is the worst of the six in range (2.27 nats a byte; RoPE, the best, 1.70).
          One seed: what lies close together, such as ALiBi and T5 in range, is not put in order by it.

Lost: the paired difference to the loss at 128, in nats a byte, on the same 128 x 32 bytes at every length; its standard
error is 0.001 for ALiBi, 0.003 to 0.03 for T5, 0.01 for no positions, 0.05 for the others.
"""

from gnomon.lab.presets import quick

EXPERIMENTS = quick()
