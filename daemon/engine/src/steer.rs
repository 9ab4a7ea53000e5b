//! Input that joins a running turn, by `turn/steer` or by another `turn/start`.
//!
//! It is stored before it is answered: accepted input is never lost, whatever happens before the model hears of it. While
//! the model writes, its request is cancelled at once; what was shown of a message is completed as an item and told to the
//! model, so that both remember the same. While calls run, the input waits for their outputs.

use crate::effect::{Effect, Rejection, Reply};
use crate::history::assistant_message;
use crate::input::{StartTurn, Steer};
use crate::out::Out;
use crate::rollout::{InputQueued, RolloutLine};
use crate::thread::ThreadState;
use crate::turn::{ActiveTurn, PendingInput, apply_settings, emit_settings};

impl ActiveTurn {
    /// `turn/steer`.
    pub(crate) fn steer(&mut self, thread: &mut ThreadState, steer: Steer, out: &mut Out<'_, '_>) {
        if steer.expected_turn_id != self.id {
            let rejection = Rejection::SteeredWrongTurn {
                expected: steer.expected_turn_id,
                found: self.id.clone(),
            };
            return out.reply(steer.reply, Err(rejection));
        }
        let pending = PendingInput::new(thread, steer.input, &steer.content, steer.client_user_message_id, out);
        self.queue(pending, out);
        let turn_id = self.id.clone();
        out.reply(steer.reply, Ok(Reply::Steered { turn_id }));
        self.turn_to_pending(thread, out);
    }

    /// `turn/start` while the turn runs: its settings hold from the next request on.
    pub(crate) fn start_again(&mut self, thread: &mut ThreadState, start: StartTurn, out: &mut Out<'_, '_>) {
        if apply_settings(thread, &start, out) {
            emit_settings(thread, out);
        }
        self.model = start.model;
        self.facts = start.facts;
        if start.output_schema.is_some() {
            self.output_schema = start.output_schema;
        }
        let pending = PendingInput::new(thread, start.input, &start.content, start.client_user_message_id, out);
        self.queue(pending, out);
        out.reply(start.reply, Ok(Reply::TurnStarted(self.reply_view())));
        self.turn_to_pending(thread, out);
    }

    fn queue(&mut self, pending: PendingInput, out: &mut Out<'_, '_>) {
        if let Some(item) = &pending.item {
            out.append(RolloutLine::InputQueued(InputQueued {
                turn_id: self.id.clone(),
                item: item.clone(),
                message: pending.message.clone(),
            }));
            self.pending.push(pending);
        }
    }

    /// Makes the model listen, if there is anything to hear.
    fn turn_to_pending(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        if self.pending.is_empty() {
            return;
        }
        self.cut_request(thread, out);
        self.advance(thread, out);
    }

    /// Ends the request that runs without ending the turn.
    fn cut_request(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        let Some(request) = self.request.take() else { return };
        out.push(Effect::CancelModel { request });
        self.attempt = 0;
        let shown = self.partial_message();
        self.close_stream(out);
        if !shown.is_empty() {
            thread.append_history(&self.id, assistant_message(&shown), out);
        }
    }
}
