//! Turns user input into Responses API content parts; reads local images within limits.

use std::path::Path;

use agentd_protocol::item::UserInput;
use base64::Engine as _;
use serde_json::json;
use serde_json::value::RawValue;

/// Largest image file that is sent, in bytes.
const MAX_IMAGE_BYTES: u64 = 20 << 20;

/// Largest input of one request, in bytes of text and URLs; clients get it echoed as an item.
const MAX_INPUT_BYTES: usize = 8 << 20;

/// An input that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is too much of it.
    #[error("the input has {0} bytes; the limit is {MAX_INPUT_BYTES}")]
    TooLarge(usize),
    /// The image cannot be read.
    #[error("cannot read image {path}: {reason}")]
    Image {
        /// The path as it was given.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The part cannot be expressed as JSON.
    #[error("cannot encode user input: {0}")]
    Encode(#[from] serde_json::Error),
}

/// Content parts for `input`, in order. Mentions and skills add nothing by themselves.
pub fn content_parts(input: &[UserInput]) -> Result<Vec<Box<RawValue>>, InputError> {
    let size = input.iter().map(size).sum();
    if size > MAX_INPUT_BYTES {
        return Err(InputError::TooLarge(size));
    }
    let mut parts = Vec::new();
    for (index, one) in input.iter().enumerate() {
        match one {
            UserInput::Text { text, .. } => parts.push(text_part(text)?),
            UserInput::Image { url, detail } => parts.push(image_part(url, detail.as_deref())?),
            UserInput::LocalImage { path, detail } => {
                let url = data_url(Path::new(path))?;
                parts.push(text_part(&format!(
                    "<image name=[Image #{}] path=\"{path}\">",
                    index + 1
                ))?);
                parts.push(image_part(&url, detail.as_deref())?);
                parts.push(text_part("</image>")?);
            }
            UserInput::Skill { .. } | UserInput::Mention { .. } => {}
        }
    }
    Ok(parts)
}

fn size(input: &UserInput) -> usize {
    match input {
        UserInput::Text { text, .. } => text.len(),
        UserInput::Image { url, .. } => url.len(),
        UserInput::LocalImage { path, .. } | UserInput::Skill { path, .. } | UserInput::Mention { path, .. } => {
            path.len()
        }
    }
}

fn text_part(text: &str) -> Result<Box<RawValue>, InputError> {
    Ok(serde_json::value::to_raw_value(
        &json!({"type": "input_text", "text": text}),
    )?)
}

fn image_part(url: &str, detail: Option<&str>) -> Result<Box<RawValue>, InputError> {
    let part = json!({"type": "input_image", "image_url": url, "detail": detail.unwrap_or("auto")});
    Ok(serde_json::value::to_raw_value(&part)?)
}

fn data_url(path: &Path) -> Result<String, InputError> {
    let fail = |reason: String| InputError::Image {
        path: path.display().to_string(),
        reason,
    };
    let meta = std::fs::metadata(path).map_err(|e| fail(e.to_string()))?;
    if !meta.is_file() {
        return Err(fail("not a regular file".into()));
    }
    if meta.len() > MAX_IMAGE_BYTES {
        return Err(fail(format!(
            "{} bytes is more than the limit of {MAX_IMAGE_BYTES}",
            meta.len()
        )));
    }
    let bytes = std::fs::read(path).map_err(|e| fail(e.to_string()))?;
    let mime = mime(&bytes).ok_or_else(|| fail("not a PNG, JPEG, GIF or WebP image".into()))?;
    Ok(format!(
        "data:{mime};base64,{}",
        base64::engine::general_purpose::STANDARD.encode(bytes)
    ))
}

fn mime(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
