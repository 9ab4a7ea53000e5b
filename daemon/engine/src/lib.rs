//! The agent loop as a pure machine.
//!
//! [`Engine::step`] takes one [`input::Input`] and returns the [`effect::Effect`]s that follow from it. Nothing in this
//! crate performs IO, waits, reads a clock or draws a random number: time and ids come in with [`Now`].

pub mod effect;
pub mod input;
pub mod rollout;

/// Time and ids for one step.
pub struct Now<'a> {
    /// Unix milliseconds.
    pub ms: i64,
    /// Yields a fresh uuid v7 as text.
    pub ids: &'a mut dyn FnMut() -> String,
}
