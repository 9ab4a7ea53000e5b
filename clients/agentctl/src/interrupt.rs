//! Ctrl-C: the first one is a flag that the running command looks at, the second one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// Whether the user pressed Ctrl-C.
#[derive(Clone)]
pub(crate) struct Interrupt {
    pressed: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over Ctrl-C for the rest of the program.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let pressed = Arc::new(AtomicBool::new(false));
        // Order matters: the handler that ends the program must look before the flag is set by the same signal.
        flag::register_conditional_shutdown(SIGINT, i32::from(crate::exit::INTERRUPTED), Arc::clone(&pressed))
            .context("take over Ctrl-C")?;
        flag::register(SIGINT, Arc::clone(&pressed)).context("take over Ctrl-C")?;
        Ok(Self { pressed })
    }

    /// Whether Ctrl-C was pressed since the last [`Interrupt::reset`].
    pub(crate) fn pressed(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }

    /// Makes the next Ctrl-C a first one again.
    pub(crate) fn reset(&self) {
        self.pressed.store(false, Ordering::SeqCst);
    }
}
