//! What can be wrong with a configuration: always the place, the key, what fits there and what was found.

/// A value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{place}: cannot read the configuration: {reason}")]
    Unreadable {
        /// The file.
        place: String,
        /// Why.
        reason: String,
    },
    /// It is no TOML.
    #[error("{place}: not valid TOML: {reason}")]
    Syntax {
        /// File and line, or the option.
        place: String,
        /// What the parser says.
        reason: String,
    },
    /// A value does not fit its key.
    #[error("{place}: `{key}`: expected {expected}, found {found}")]
    Value {
        /// File and line, or the option.
        place: String,
        /// Dotted key.
        key: String,
        /// What fits.
        expected: String,
        /// What is there.
        found: String,
    },
}
