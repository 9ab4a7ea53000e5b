//! Token estimates and the cutting of tool output to a budget.
//!
//! A token counts as four bytes. Cuts fall on character boundaries, so the result is always valid text.

/// Bytes that count as one token.
const BYTES_PER_TOKEN: usize = 4;

/// Tokens of tool output that the model gets at most, whatever it asks for.
pub(crate) const MAX_OUTPUT_TOKENS: usize = 10_000;

/// The text if it fits into the budget, else its head and tail around a marker.
pub(crate) fn cut(text: &str, max_tokens: usize) -> String {
    let budget = max_tokens.saturating_mul(BYTES_PER_TOKEN);
    if text.len() <= budget {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(budget / 2);
    let tail = text.ceil_char_boundary(text.len() - (budget - budget / 2));
    let removed = (tail - head).div_ceil(BYTES_PER_TOKEN);
    format!("{}…{removed} tokens truncated…{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn keeps_what_fits() {
        assert_eq!(cut("12345678", 2), "12345678");
    }

    #[test]
    fn keeps_head_and_tail() {
        assert_eq!(cut("aaaabbbbccccdddd", 2), "aaaa…2 tokens truncated…dddd");
    }

    #[test]
    fn never_splits_a_character() {
        let text = "é".repeat(100);
        for budget in 0..60 {
            let cut = cut(&text, budget);
            assert!(cut.len() <= text.len() + 40, "{cut}");
            assert!(cut.chars().all(|c| c == 'é' || c.is_ascii() || c == '…'));
        }
    }
}
