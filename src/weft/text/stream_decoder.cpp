#include "weft/text/stream_decoder.h"

#include <string_view>

#include "weft/base/utf8.h"
#include "weft/text/characters.h"

namespace weft {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options)
    : tokenizer_(&tokenizer), options_(options) {
  finish();
}

std::string StreamDecoder::push(std::int32_t id) {
  const std::string_view bytes = tokenizer_->token_bytes(id);
  const TokenKind kind = tokenizer_->kind(id);
  // Encoding puts the space before text that nothing but a BOS precedes.
  const bool in_text = kind == TokenKind::user_defined && tokenizer_->normalizer() == TextNormalizer::sentencepiece;
  const bool plain = kind == TokenKind::normal || kind == TokenKind::byte || kind == TokenKind::unused || in_text;
  const bool dropping = drop_space_ && plain;
  if (!plain && id != tokenizer_->bos()) drop_space_ = false;
  if (options_.skip_special && tokenizer_->is_control(id)) return {};

  pending_ += bytes;
  const std::size_t complete = complete_utf8_prefix(pending_);
  std::string out;
  text::append_repaired(out, std::string_view(pending_).substr(0, complete));
  pending_.erase(0, complete);
  // A vocabulary that has SentencePiece's visible space only as bytes.
  if (kind == TokenKind::byte && is_sentencepiece(tokenizer_->type()) && out.ends_with(text::spm_space))
    out.replace(out.size() - text::spm_space.size(), text::spm_space.size(), " ");
  if (dropping && !out.empty()) {
    if (out[0] == ' ') out.erase(0, 1);
    // One of each token, as SentencePiece does it.
    drop_space_ = out.empty() && tokenizer_->removes_extra_spaces();
  }
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  text::append_repaired(out, pending_);
  pending_.clear();
  drop_space_ = options_.from == DecodeFrom::start_of_text && tokenizer_->adds_space_prefix();
  return out;
}

}  // namespace weft
