//! The async node: drives a [`Node`](crate::Node) over any [`Transport`](crate::transport::Transport).

pub mod clock;
