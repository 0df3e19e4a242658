//! The bitrate of a host, against stubs of the routes of Foundation Sunshine and Vibepollo, and over simulated air.

mod air;
mod program;
mod routes;
mod stub;
