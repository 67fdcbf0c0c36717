//! The program itself, as people start it: one process or one each, started again, ended in order.
mod chaos;
mod endings;
mod fence;
mod killed;
mod service;
mod sets;
mod site;
mod traces;
mod user_plane;

use site::*;
