//! Facts about the user's workspace: instruction files, git state, environment. Reads only; runs nothing from the workspace.

pub mod environment;
pub mod git;
pub mod images;
pub mod instructions;
pub mod roots;
