//! From byte streams to messages and back. Knows framing and the size limit; knows nothing of what messages say.

pub mod json_lines;
pub mod unix;
mod upgrade;
pub mod websocket;

use agentd_protocol::rpc::ErrorObject;
use bytes::Bytes;
use std::io;

/// Largest message that is taken, in bytes.
pub const MAX_MESSAGE: usize = 64 * 1024 * 1024;

/// What came in.
#[derive(Debug)]
pub enum Received {
    /// One message.
    Message(Bytes),
    /// One above [`MAX_MESSAGE`]; its bytes are gone, the next message is intact.
    TooLarge,
    /// Something that the framing itself could not read; to be answered with this error.
    Unreadable(ErrorObject),
    /// The client closed its side.
    End,
}

/// The reading half of a connection.
pub trait Receive: Send + 'static {
    /// The next message. Cancel safe: nothing is lost when the future is dropped.
    fn receive(&mut self) -> impl Future<Output = io::Result<Received>> + Send;
}

/// The writing half of a connection.
pub trait Transmit: Send + 'static {
    /// Writes these messages in order, and flushes.
    fn transmit(&mut self, batch: Vec<Bytes>) -> impl Future<Output = io::Result<()>> + Send;

    /// Nothing more will be written.
    fn end(&mut self) -> impl Future<Output = ()> + Send;
}
