//! The tests of the end-host controllers: one program, which links once.

mod allocation_life;
mod allocation_model;
mod allocation_ops;
mod allocation_reports;
mod conference_cone;
mod conference_optimum;
mod diagnosis;
mod gcc;
mod gcc_pacer;
mod plum;
mod room;
mod room_ops;
mod rtp_fec;
mod rtp_nack;
mod rtp_ops;
mod rtp_path;
mod stream_latency;
mod stream_life;
mod stream_path;
mod stream_walk;
mod tcp_custom;
mod tcp_network;
mod tcp_recovery;
mod vidaptive;
