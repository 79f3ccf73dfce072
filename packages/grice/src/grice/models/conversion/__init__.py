"""Published causal language models, converted to the run-time format with numpy alone.

A source is one GGUF file, or a folder in the layout of Hugging Face: ``config.json``,
``*.safetensors``, ``tokenizer.json``. Families: Llama (SmolLM2 too), Qwen2 and Qwen3.
"""

from grice.models.conversion.convert import convert, convert_states

__all__ = ["convert", "convert_states"]
