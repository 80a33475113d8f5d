//! The engines against the definition, the paper's examples and each other: one program, because each has to be linked.

mod agreement;
mod cut_work;
mod equivalence;
mod examples;
mod life;
mod printed_rules;
mod probe;
mod support;
