//! Stopping a turn before its end: interrupts, cancelled approvals, failures of the model service.
//!
//! A stop ends the model stream at once, cancels what runs, and then waits for the tools to report their end: the turn
//! is over only when nothing of it runs any more. Every open item is completed and every open call gets an output.

use agentd_protocol::item::ThreadItem;
use agentd_protocol::turn::{TurnError, TurnStatus};

use crate::effect::{Effect, Rejection, Reply};
use crate::history::{assistant_message, text_message};
use crate::input::ReplyToken;
use crate::out::Out;
use crate::thread::ThreadState;
use crate::turn::ActiveTurn;

/// Why a turn is being stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The user, or the daemon's shutdown.
    Interrupted {
        /// What the user saw of a message that was cut; the model is told, so that both remember the same.
        partial_message: String,
    },
    /// The model service failed for good.
    Failed(TurnError),
}

impl ActiveTurn {
    pub(crate) fn interrupt(
        &mut self,
        thread: &mut ThreadState,
        turn_id: Option<String>,
        reply: Option<ReplyToken>,
        out: &mut Out<'_, '_>,
    ) {
        let result = match turn_id {
            Some(expected) if expected != self.id => Err(Rejection::WrongTurn {
                expected,
                found: self.id.clone(),
            }),
            _ => Ok(Reply::Interrupted),
        };
        let accepted = result.is_ok();
        if let Some(token) = reply {
            out.reply(token, result);
        }
        if accepted {
            self.stop_by_user(thread, out);
        }
    }

    /// Stops the turn because the user wants it.
    pub(crate) fn stop_by_user(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        if self.stop.is_none() {
            let partial_message = self.partial_message();
            self.close_stream(out);
            self.begin_stop(Stop::Interrupted { partial_message }, out);
            self.advance(thread, out);
        }
    }

    /// What was shown of messages that the model has not finished.
    pub(crate) fn partial_message(&self) -> String {
        let texts = self.stream.iter().filter_map(|open| match self.items.get(open.index) {
            Some(ThreadItem::AgentMessage(message)) => Some(message.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Cancels whatever runs. The turn ends in [`ActiveTurn::advance`], when the last tool has reported its end.
    pub(crate) fn begin_stop(&mut self, stop: Stop, out: &mut Out<'_, '_>) {
        self.stop = Some(stop);
        if let Some(request) = self.request.take() {
            out.push(Effect::CancelModel { request });
        }
        let asked = self.calls.iter().any(|call| call.is_asking());
        for at in 0..self.calls.len() {
            self.stop_call(at, out);
        }
        if asked {
            out.emit_status(self.status());
        }
        self.retry_delay_ms = None;
    }

    /// The end of a stopped turn; all its calls are answered.
    pub(crate) fn end_stopped(&mut self, thread: &mut ThreadState, stop: Stop, out: &mut Out<'_, '_>) {
        match stop {
            Stop::Failed(error) => {
                self.flush_pending(thread, out);
                self.finish(thread, TurnStatus::Failed, Some(error), out);
            }
            Stop::Interrupted { partial_message } => {
                if !partial_message.is_empty() {
                    thread.append_history(&self.id, assistant_message(&partial_message), out);
                }
                self.flush_pending(thread, out);
                let notice = text_message("user", &[agentd_prompts::turn_aborted().to_owned()]);
                thread.append_history(&self.id, notice, out);
                self.finish(thread, TurnStatus::Interrupted, None, out);
            }
        }
    }
}
