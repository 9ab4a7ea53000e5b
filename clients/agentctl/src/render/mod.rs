//! Drawing for people. [`Renderer`] turns what the daemon says into text on a [`screen::Screen`]; one file per kind of item.
//! Nothing in here talks to the daemon or decides anything.

mod command;
mod item;
mod message;
mod patch;
mod plan;
mod question;
pub(crate) mod screen;
mod spinner;
mod style;
mod text;
mod turn;

pub(crate) use text::{age, one_line, seconds};
pub(crate) use turn::Renderer;
