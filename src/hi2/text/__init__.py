"""Turn text into terms: tokenizers, and documents as bags of terms."""
