"""Which position encodings hold past the length they were trained on?

Question: six encodings, trained alike on sequences of 128 bytes of Shakespeare, read sequences of up to 1024 bytes of
plays they have not seen. Does what lies further back help them, or harm them?

Command:  gnomon compare quick
          about five minutes on two cores: two workers of one thread, some 90 seconds a run

Answer:   ALiBi holds, to 8 times the length. T5 and RoPE hold to 160 bytes and then lose; RoPE ends 2.3 nats above its
          loss at 128. Learned and sinusoidal positions have lost 1.3 and 1.4 nats at 160 bytes, 32 past the training
          length. Without positions the loss creeps up, by 0.12 nats at 256 and 0.22 at 1024, but it is the worst of the
          six in range. One seed: an order of encodings that lie close together, such as ALiBi and T5 in range, is not
          settled by it.

Every length is scored on the same 128 x 32 bytes; "lost" is the paired difference to the loss at 128, in nats a byte.
"""

from gnomon.lab.presets import quick

EXPERIMENTS = quick()
