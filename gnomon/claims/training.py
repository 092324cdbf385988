"""The claims that only trained or timed models can settle: what each says, and how it will be measured."""

from gnomon.claims.claim import Claim

TRAINING = (
    Claim(
        id="C06",
        title="relative positions: lengths and repeated patterns",
        english="Encodings of the distance between tokens carry over to other lengths better than encodings of the "
        "place, and learn patterns that come again well.",
        korean="토큰 사이의 거리를 나타내는 방식은 자리를 나타내는 방식보다 다른 길이에 더 잘 적응하며, 되풀이되는 "
        "패턴도 잘 배운다.",
        document="D1",
        section="최신 Position 기술 2",
        question="How does the loss grow past the training length, and how often is the second occurrence of a "
        "pattern right, for Shaw, Transformer-XL, T5 and DeBERTa beside learned and sinusoidal positions?",
        awaits="Loss by length, and accuracy on the second occurrence of a pattern, over several seeds.",
    ),
    Claim(
        id="C07",
        title="RoPE sees distance and is strong on long texts",
        english="Under RoPE the product of a query and a key follows their distance; it copes well with long "
        "contexts, and has become the usual choice of large language models.",
        korean="RoPE에서는 쿼리와 키의 내적이 둘 사이의 거리를 따르고, 긴 문맥을 잘 다루며, 대형 언어 모델의 "
        "통상적인 선택이 되었다.",
        document="D1",
        section="최신 Position 기술 3",
        question="Does the translation law hold, and how does the loss grow past the training length, plain and with "
        "linear, NTK and YaRN scaling?",
        awaits="Loss by length of RoPE, plain and scaled, over several seeds. C18 has the law, C10 the models.",
    ),
    Claim(
        id="C08",
        title="what the encodings cost",
        english="RoPE computes slightly more than plain attention, relative encodings are complicated, ALiBi is "
        "fast, and SeqPE costs slightly more than sinusoidal positions, RoPE and ALiBi.",
        korean="RoPE는 보통의 어텐션보다 조금 더 계산하고, 상대적 방식은 구현이 복잡하며, ALiBi는 빠르고, SeqPE는 "
        "사인파·RoPE·ALiBi보다 비용이 조금 더 든다.",
        document="D1",
        section="최신 Position 기술 2-5",
        question="How long does a forward and a backward pass take, and how much memory, as a ratio to attention "
        "without positions, and how many lines does each encoding take?",
        awaits="Times and memory of `make bench`, on a machine with nothing else to do.",
    ),
    Claim(
        id="C09",
        title="ALiBi extrapolates; its slopes set the reach",
        english="ALiBi copes very well with texts longer than those of training, is simple and light on memory; a "
        "head with a small slope looks far, one with a large slope near.",
        korean="ALiBi는 훈련보다 긴 글을 매우 잘 다루고 단순하며 메모리를 적게 쓴다. 기울기가 작은 헤드는 멀리, 큰 "
        "헤드는 가까이를 본다.",
        document="D1",
        section="최신 Position 기술 4",
        question="How does the loss grow with length, how far does each head look on average beside its slope, and "
        "what does it cost?",
        awaits="Loss by length, and the mean attended distance of each head against its slope.",
    ),
    Claim(
        id="C11",
        title="SeqPE adapts to long texts, extrapolates little",
        english="SeqPE learns positions as a sequence and adapts to long contexts; being learned, it does not reach "
        "arbitrarily far as sinusoidal values do.",
        korean="SeqPE는 위치를 하나의 수열로 학습하여 긴 문맥에 적응하지만, 학습되는 방식이라 사인파 값처럼 한없이 "
        "뻗어 나가지는 못한다.",
        document="D1",
        section="최신 Position 기술 5",
        question="How does the loss grow past the training length for `seqpe` (the digits of one position, as in the "
        "paper) and for `chain` (each position from the one before it, as the document tells it)?",
        awaits="Loss by length of both, over several seeds.",
    ),
    Claim(
        id="C12",
        title="past its table a learned position is nothing",
        english="A table of learned positions has no row, or an untrained one, for a place beyond those of training.",
        korean="학습된 위치 표에는 훈련 범위를 벗어난 자리에 해당하는 행이 없거나, 있더라도 학습되지 않은 행이다.",
        document="D2",
        section="1.1",
        question="What does the loss become past the training length when such a place is refused, read from an "
        "untrained row, clamped, wrapped or interpolated?",
        awaits="Loss past the training length under each way to go on, over several seeds.",
    ),
    Claim(
        id="C13",
        title="sinusoidal models fail past training length",
        english="A model with sinusoidal positions fails on texts longer than those of training: its perplexity "
        "explodes.",
        korean="사인파 위치를 쓰는 모델은 훈련보다 긴 글에서 실패하며, 퍼플렉서티가 폭발적으로 커진다.",
        document="D2",
        section="1; 1.2",
        question="What is the loss on the same targets at each length, and by position, past the training length?",
        awaits="Loss by length and by position, over several seeds.",
    ),
    Claim(
        id="C16",
        title="addition at 2.5 times the length",
        english="Absolute positions already fail at plain addition at 2.5 times the training length; ALiBi and "
        "relative encodings are much freer of it.",
        korean="절대 위치는 훈련 길이의 2.5배만 되어도 단순한 덧셈에 실패하고, ALiBi와 상대적 방식은 이 문제에서 "
        "훨씬 자유롭다.",
        document="D2",
        section="1.3",
        question="How often is the whole answer right, by length, in addition (plain, reversed, with index hints), "
        "multiplication, copying, reversing, sorting and counting?",
        awaits="Exact match by length for each task and encoding, over several seeds.",
    ),
    Claim(
        id="C17",
        title="a shift changes what absolute models see",
        english="Moving a sentence by five places changes every vector, output and attention pattern of a model with "
        "absolute positions; under relative schemes nothing changes.",
        korean="문장을 다섯 칸 밀면 절대 위치 모델의 모든 벡터와 출력, 어텐션 패턴이 달라지지만, 상대적 방식에서는 "
        "아무것도 달라지지 않는다.",
        document="D2",
        section="2; 2.1",
        question="By how much do outputs and attention weights change when all positions move by 5, for every "
        "encoding, untrained and trained?",
        awaits="The change in trained models. `gnomon laws` has the law `translation` for untrained ones.",
    ),
    Claim(
        id="C20",
        title="time series: models over-fit the date",
        english="Positions on a time axis tie a model to absolute time, though a pattern must be recognised whenever "
        "it comes.",
        korean="시간 축의 위치는 모델을 절대 시각에 묶어 둔다. 그러나 패턴은 언제 나타나든 알아볼 수 있어야 한다.",
        document="D2",
        section="2.3",
        question="Trained on one part of the time axis, how much accuracy is lost on a shifted part, by encoding, "
        "and with time stamps as real-valued positions?",
        awaits="Accuracy on the shifted part, for heart beats and other labelled series.",
    ),
    Claim(
        id="C21",
        title="the sum of content and position entangles",
        english="Adding positions to contents mixes them: positions of too small a norm are ignored, of too large a "
        "norm they drown the words.",
        korean="내용에 위치를 더하면 둘이 섞인다. 위치의 노름이 너무 작으면 무시되고, 너무 크면 단어의 뜻을 덮어 "
        "버린다.",
        document="D2",
        section="3; 3.1",
        question="Over ratios of the two norms, what is the loss, and what shares of the logits' variance come from "
        "contents and from positions?",
        awaits="Loss and shares over a sweep of the ratio.",
    ),
    Claim(
        id="C22",
        title="keeping them apart beats the sum",
        english="Attention that keeps contents and positions apart, as DeBERTa does, beats their sum, as in BERT.",
        korean="DeBERTa처럼 내용과 위치를 따로 두는 어텐션이 BERT처럼 둘을 더하는 방식보다 낫다.",
        document="D2",
        section="3.1",
        question="At the same budget, what is the masked-language loss of the sum, of c2p, of p2c and of both; and "
        "of a pair of words that binds only when adjacent?",
        awaits="Losses over several seeds.",
    ),
    Claim(
        id="C23",
        title="positions added once fade with depth",
        english="Positions that are added once, at the input, fade from layer to layer; those that enter every layer "
        "stay.",
        korean="입력에서 한 번만 더한 위치 정보는 층을 지날수록 옅어지고, 모든 층에 주입한 위치 정보는 남는다.",
        document="D2",
        section="3.2",
        question="How well does a linear probe read the position from each layer of a deep trained model, and how "
        "much of a layer's variance does the position explain?",
        awaits="Probes by layer of deep trained models.",
    ),
    Claim(
        id="C24",
        title="a cue learned by its place fails elsewhere",
        english="A cue that always stands at the start is learned by its place and is missed elsewhere, the more so "
        "with less data and more parameters.",
        korean="언제나 앞머리에 놓이는 단서는 자리로 기억되어 다른 곳에서는 놓치게 되며, 데이터가 적고 파라미터가 "
        "많을수록 심하다.",
        document="D2",
        section="4; 4.1",
        question="Trained with the cue at places 0 to 5, how far does accuracy fall with the cue in the middle or at "
        "the end, over amounts of data and sizes of model?",
        awaits="The fall in accuracy by encoding, amount of data and size.",
    ),
    Claim(
        id="C25",
        title="masked models learn distances slowly",
        english="A masked language model with absolute positions is slow to learn how influence depends on distance.",
        korean="절대 위치를 쓰는 마스크 언어 모델은 거리에 따라 영향이 달라진다는 것을 더디게 배운다.",
        document="D2",
        section="4.2",
        question="Where the answer depends on a token k places away, how often is it right for each k, and after how "
        "many steps?",
        awaits="Accuracy for each k, and steps to reach it, over several seeds.",
    ),
    Claim(
        id="C26",
        title="a little past training length: mere guessing",
        english="On texts only a little longer than those of training, models with absolute positions fall to the "
        "level of guessing.",
        korean="훈련보다 아주 조금 긴 글에서도 절대 위치 모델의 성능은 찍는 수준으로 떨어진다.",
        document="D2",
        section="1.1",
        question="How does the loss just past the training length compare with the entropy of byte frequencies, and "
        "accuracy with chance?",
        awaits="Loss and accuracy just past the training length, over several seeds.",
    ),
    Claim(
        id="C27",
        title="digits are learned by index, not by value",
        english="Absolute models learn the place in the input and not the place value of a digit: shifted operands "
        "break them.",
        korean="절대 위치 모델은 숫자의 자릿값이 아니라 입력에서의 순번을 외우므로, 피연산자를 밀면 무너진다.",
        document="D2",
        section="1.3",
        question="Trained at one offset or padding of the operands, how often is the sum right at others?",
        awaits="Exact match by offset, over several seeds.",
    ),
    Claim(
        id="C28",
        title="lost in the middle comes from dilution",
        english="That models overlook what stands in the middle of a long text is partly due to the fading of "
        "positions.",
        korean="모델이 긴 글의 가운데를 놓치는 현상은 부분적으로 위치 정보가 옅어지는 데서 온다.",
        document="D2",
        section="3.2",
        question="How often is a needle found by its depth in the text, and does the fading of C23 predict it across "
        "models?",
        awaits="Recall by depth, and its correlation with the probes of C23.",
    ),
    Claim(
        id="C30",
        title="high frequencies over-fit",
        english="The fast waves of sinusoidal positions over-fit, and past the training length their phases come in "
        "combinations never seen.",
        korean="사인파 위치의 빠른 파동은 과적합되고, 훈련 길이를 넘으면 위상들이 본 적 없는 조합으로 나타난다.",
        document="D2",
        section="1.2 (1)",
        question="With one band of frequencies at a time held within its trained range, which band carries the loss "
        "past the training length, for sinusoidal positions and for RoPE?",
        awaits="Loss with each band held, in trained models.",
    ),
    Claim(
        id="C31",
        title="one undefined position poisons everything",
        english="One position without a meaning disturbs the whole computation, since every token attends to every "
        "other.",
        korean="모든 토큰이 서로를 참조하므로, 의미 없는 위치 하나가 계산 전체를 어지럽힌다.",
        document="D2",
        section="1.1",
        question="With one position disturbed, how many outputs change, and by how much, bidirectional and causal "
        "(where earlier rows must be equal to the bit)?",
        awaits="Counts and sizes of the changes in trained models.",
    ),
    Claim(
        id="C32",
        title="far tokens distract past training length",
        english="Past the training length, far and irrelevant tokens draw attention to themselves.",
        korean="훈련 길이를 넘으면 멀고 무관한 토큰이 주의를 끌어간다.",
        document="D2",
        section="1.2 (3)",
        question="What share of attention goes to keys farther away than the training length, by encoding, and does "
        "it go with the loss?",
        awaits="Attention mass by distance beside the loss, in trained models.",
    ),
    Claim(
        id="C33",
        title="each place learns a pattern anew",
        english="With absolute positions a pattern has to be learned again at every place, so more data is needed.",
        korean="절대 위치에서는 자리마다 같은 패턴을 다시 배워야 하므로 데이터가 더 많이 든다.",
        document="D2",
        section="2.1",
        question="How does the loss fall with the share of the data, by encoding, with a convolutional net beside?",
        awaits="Learning curves over shares of the data, over several seeds.",
    ),
    Claim(
        id="C35",
        title="SeqPE: better order, more flexible lengths",
        english="SeqPE carries the order of tokens better than sinusoidal positions and ALiBi, and adapts to lengths "
        "more flexibly than RoPE and ALiBi.",
        korean="SeqPE는 사인파와 ALiBi보다 순서를 더 잘 나타내고, RoPE와 ALiBi보다 다양한 길이에 더 유연하게 "
        "적응한다.",
        document="D1",
        section="최신 Position 기술 5",
        question="In the comparisons of C06, C07, C09, C11 and C16, where do `seqpe` and `chain` stand?",
        awaits="Those comparisons.",
    ),
)  # fmt: skip
