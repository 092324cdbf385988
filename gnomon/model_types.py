"""Which dimensions the text models of transformers 5.24 pair, by model type; a test reads their modelling files."""

NEIGHBOURS = (
    "axk1", "axk2", "bailing_hybrid", "blt", "blt_global_transformer", "blt_local_decoder", "blt_patcher", "codegen",
    "cohere", "cohere2", "cohere2_moe", "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4",
    "dots3_note_text", "ernie4_5", "ernie4_5_moe", "ernie4_5_vl_moe_text", "glm", "glm4", "glm4_moe_lite",
    "glm4v_text", "glm_moe_dsa", "glm_ocr_text", "gptj", "helium", "hy_v4_vl_text", "llama4_text", "longcat_flash",
    "mistral4", "mistral_large4_text", "moonshine", "moonshine_streaming", "openai_privacy_filter", "roformer",
    "youtu",
)  # fmt: skip
"""They pair (x_2m, x_{2m+1}): `interleaved`. deepseek_v4 turns the last dimensions of a head, not the first."""

SWITCHED = (
    "axk1", "deepseek_v3", "glm4_moe_lite", "mistral4", "youtu",
)  # fmt: skip
"""Those of them whose config may say otherwise, as `rope_interleave`."""

HALVES = (
    "afmoe", "apertus", "apertus1p5_text", "arcee", "aria_text", "bamba", "beam", "bitnet", "chameleon",
    "cohere_compass_text", "cosmos3_edge_text", "csm", "csm_depth_decoder_model", "cwm", "dbrx", "deepseek_ocr2_text",
    "dia_decoder", "diffllama", "diffusion_gemma_text", "doge", "dory", "dots1", "embedding_gemma2_text",
    "emu3_text_model", "esm", "esmc", "eurobert", "evolla", "exaone4", "exaone_moe", "falcon", "falcon_h1",
    "flex_olmo", "flint", "gemma", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text", "gemma4_unified_text",
    "glm4_moe", "glm4v_moe_text", "glm_image_text", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gradium_phonon_tts",
    "granite", "granite_docling_text", "granite_swa", "granitemoe", "granitemoe_swa", "granitemoehybrid",
    "granitemoeshared", "gte", "hrm_text", "hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl", "hunyuan_vl_text",
    "hy_v3", "hy_v4", "hyperclovax", "idefics", "jais2", "jetmoe", "jina_embeddings_v3", "kolibri1",
    "kyutai_speech_to_text", "laguna", "lara_mini", "lfm2", "lfm2_moe", "lfm3", "llama", "mellum", "mimi",
    "mimo_v2_flash", "minicpm3", "minimax", "minimax_m2", "minimax_m3_vl_text", "ministral", "ministral3", "mistral",
    "mixtral", "mllama_text_model", "modernbert", "modernbert-decoder", "molmo2_text", "moshi",
    "muse_glimmer_assistant", "muse_glimmer_text", "muse_spark_text", "nemotron", "neomme", "neucodec", "nomic_bert",
    "olmo", "olmo2", "olmo3", "olmo_hybrid", "olmoe", "paddleocr_vl", "paddleocr_vl_text", "persimmon", "phi", "phi3",
    "phi4_multimodal", "phimoe", "pocket_tts", "qwen2", "qwen2_5_omni_talker", "qwen2_5_omni_text", "qwen2_5_vl",
    "qwen2_5_vl_text", "qwen2_moe", "qwen2_vl", "qwen2_vl_text", "qwen3", "qwen3_5_moe_text", "qwen3_5_text",
    "qwen3_moe", "qwen3_next", "qwen3_omni_moe_talker_code_predictor", "qwen3_omni_moe_talker_text",
    "qwen3_omni_moe_text", "qwen3_vl_moe_text", "qwen3_vl_text", "qwen4_exp_text", "recurrent_gemma", "seed_oss",
    "smollm3", "solar_open", "stablelm", "starcoder2", "step3p5", "t5_gemma_module", "t5gemma2_decoder",
    "t5gemma2_text", "timesfm2_5", "ultrabert", "unlimited_ocr_text", "vaultgemma", "voxtral_realtime",
    "voxtral_realtime_text", "xcodec2", "zamba2", "zaya",
)  # fmt: skip
"""They pair (x_m, x_{m + r/2}): `half`."""
