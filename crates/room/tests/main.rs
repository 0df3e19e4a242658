//! The tests of the room: one program, which links once.

mod agent;
mod allocator;
mod av1;
mod bitrate;
mod clients;
mod faults;
mod h264;
mod loopback;
mod numbers;
mod offers;
mod one_way;
mod parsers;
mod program;
mod proxy;
mod str0m_on_air;
mod virtual_time;
mod vp9;
mod web;
mod wifi;
mod world;
